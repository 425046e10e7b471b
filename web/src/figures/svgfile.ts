// A drawing as a file of its own: title and legend inside, the page's colours written out, no style sheet needed.

import { s } from "../dom";
import { CHARACTER } from "./axis";
import type { Drawing } from "./drawing";
import { swatch } from "./swatch";

const PADDING = 16;
const TITLE = 30;
const LEGEND_LINE = 20;

/** The text of an SVG file. */
export function svgFile(drawing: Drawing, title: string): string {
  const width = Number(drawing.svg.getAttribute("width"));
  const height = Number(drawing.svg.getAttribute("height"));
  const entries = placed(drawing, width);
  const legendHeight = entries.length === 0 ? 0 : (entries.at(-1)?.line ?? 0) * LEGEND_LINE + LEGEND_LINE;
  const top = TITLE + legendHeight;
  const body = drawing.svg.cloneNode(true) as SVGSVGElement;
  for (const part of body.querySelectorAll("style, .chord-tip, [aria-label=tip]")) part.remove();
  body.setAttribute("x", "0");
  body.setAttribute("y", String(top));
  const legend = entries.map(({ x, line, entry }) => {
    const sample = swatch(entry);
    sample.setAttribute("x", String(x));
    sample.setAttribute("y", String(TITLE + line * LEGEND_LINE));
    const beside = x + Number(sample.getAttribute("width")) + 6;
    const text = s("text", { x: beside, y: TITLE + line * LEGEND_LINE + 10, fill: "var(--muted)", "font-size": 12 }, entry.name);
    return s("g", {}, sample, text);
  });
  const ramp = rampOf(drawing, width);
  const [fullWidth, fullHeight] = [width + 2 * PADDING, height + top + (ramp === null ? 0 : 56) + 2 * PADDING];
  if (ramp !== null) ramp.setAttribute("y", String(top + height + 8));
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
    s("rect", { x: -PADDING, y: -PADDING, width: fullWidth, height: fullHeight, fill: "var(--surface)" }),
    s("text", { y: 14, fill: "var(--ink)", "font-size": 16, "font-weight": 600 }, title),
    ...legend,
    body,
    ramp,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${resolved(new XMLSerializer().serializeToString(file))}\n`;
}

function rampOf(drawing: Drawing, width: number): SVGElement | null {
  if (drawing.ramp === undefined) return null;
  const ramp = drawing.ramp.cloneNode(true) as SVGSVGElement;
  ramp.setAttribute("x", String(Math.max(0, width - Number(ramp.getAttribute("width")))));
  return ramp;
}

function placed(drawing: Drawing, width: number): { x: number; line: number; entry: Drawing["legend"][number] }[] {
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
