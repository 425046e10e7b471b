// A drawing as a file of its own: title, legend, caption and source inside, the page's colours written out, no style sheet
// needed.

import { s } from "../dom";
import { CHARACTER } from "./axis";
import type { Drawing } from "./drawing";
import { swatch } from "./swatch";

const PADDING = 16;
const LEGEND_LINE = 20;

/** What stands in a file beside the drawing, without backticks. */
export interface Words {
  title: string;
  caption: string;
  /** Where the figure comes from, in lines. */
  source: readonly string[];
}

/** How a text is set: the size of its letters, the height of its lines, and how wide a letter is at the most. */
interface Type {
  size: number;
  line: number;
  letter: number;
  fill: string;
  weight?: number;
}

const TITLE: Type = { size: 16, line: 21, letter: 8.6, fill: "var(--ink)", weight: 600 };
const CAPTION: Type = { size: 12.5, line: 17, letter: 6.6, fill: "var(--muted)" };
const SOURCE: Type = { size: 11, line: 15, letter: 5.9, fill: "var(--muted)" };

/** The text of an SVG file. */
export function svgFile(drawing: Drawing, words: Words): string {
  const width = Number(drawing.svg.getAttribute("width"));
  const height = Number(drawing.svg.getAttribute("height"));
  const title = paragraph([words.title], TITLE, width, 0);
  const entries = placed(drawing, width);
  const legendTop = title.bottom + 9;
  const top = legendTop + (entries.length === 0 ? 0 : ((entries.at(-1)?.line ?? 0) + 1) * LEGEND_LINE);
  const body = drawing.svg.cloneNode(true) as SVGSVGElement;
  for (const part of body.querySelectorAll("style, .chord-tip, [aria-label=tip]")) part.remove();
  body.setAttribute("x", "0");
  body.setAttribute("y", String(top));
  const ramp = rampOf(drawing, width);
  if (ramp !== null) ramp.setAttribute("y", String(top + height + 8));
  const caption = paragraph([words.caption], CAPTION, width, top + height + (ramp === null ? 0 : 56) + 8);
  const source = paragraph(words.source, SOURCE, width, caption.bottom + 6);
  const [fullWidth, fullHeight] = [width + 2 * PADDING, source.bottom + 2 * PADDING];
  const file = s(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width: fullWidth,
      height: fullHeight,
      viewBox: `${-PADDING} ${-PADDING} ${fullWidth} ${fullHeight}`,
      "font-family": "system-ui, sans-serif",
      color: "var(--muted)",
    },
    s("title", {}, words.title),
    s("rect", { x: -PADDING, y: -PADDING, width: fullWidth, height: fullHeight, fill: "var(--surface)" }),
    title.element,
    ...entries.map((each) => legendEntry(each, legendTop)),
    body,
    ramp,
    caption.element,
    source.element,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${resolved(new XMLSerializer().serializeToString(file))}\n`;
}

/** Lines of text from a height on, and where they end; a text that says nothing takes no room. */
function paragraph(texts: readonly string[], type: Type, width: number, top: number): { element: SVGElement; bottom: number } {
  const lines = texts.flatMap((text) => inLines(text, Math.max(12, Math.floor(width / type.letter))));
  const element = s(
    "g",
    { fill: type.fill, "font-size": type.size, "font-weight": type.weight },
    ...lines.map((line, at) => s("text", { y: Math.round(top + at * type.line + type.size) }, line)),
  );
  return { element, bottom: top + lines.length * type.line };
}

/** A text in lines of at most so many characters, parted between words; a longer word has a line of its own. */
export function inLines(text: string, characters: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/).filter((each) => each !== "")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= characters) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

type Placed = { x: number; line: number; entry: Drawing["legend"][number] };

function legendEntry({ x, line, entry }: Placed, top: number): SVGElement {
  const sample = swatch(entry);
  sample.setAttribute("x", String(x));
  sample.setAttribute("y", String(top + line * LEGEND_LINE));
  const beside = x + Number(sample.getAttribute("width")) + 6;
  return s("g", {}, sample, s("text", { x: beside, y: top + line * LEGEND_LINE + 10, fill: "var(--muted)", "font-size": 12 }, entry.name));
}

function rampOf(drawing: Drawing, width: number): SVGElement | null {
  if (drawing.ramp === undefined) return null;
  const ramp = drawing.ramp.cloneNode(true) as SVGSVGElement;
  ramp.setAttribute("x", String(Math.max(0, width - Number(ramp.getAttribute("width")))));
  return ramp;
}

function placed(drawing: Drawing, width: number): Placed[] {
  let [x, line] = [0, 0];
  return drawing.legend.map((entry) => {
    const room = 28 + entry.name.length * CHARACTER + 16;
    if (x > 0 && x + room > width) [x, line] = [0, line + 1];
    const at = { x, line, entry };
    x += room;
    return at;
  });
}

/** Custom properties mean nothing outside the page: their present values take their place. */
function resolved(text: string): string {
  const style = getComputedStyle(document.documentElement);
  return text.replace(/var\((--[\w-]+)\)/g, (whole, name: string) => style.getPropertyValue(name).trim() || whole);
}
