// A figure on the page: title, legend, drawing, caption, and its files. Where there are several drawings to choose from,
// a list above the legend chooses one. A figure that fails to draw says so in its own place and leaves the page alone.

import { figureCsv } from "../csv";
import { copy, download, h, prose } from "../dom";
import { anchor } from "../links";
import type { Figure, Kind } from "../report";
import { drawBar } from "./bar";
import { drawBox } from "./box";
import { drawBoxes } from "./boxes";
import { drawChord } from "./chord";
import { drawEcdf, drawHistogram } from "./distribution";
import type { Drawing, LegendEntry } from "./drawing";
import { drawHeatmap } from "./heatmap";
import { drawLine } from "./line";
import { savePicture } from "./picture";
import { svgFile } from "./svgfile";
import { swatch } from "./swatch";
import { drawTimeline } from "./timeline";

/** Draws any kind of figure at a width. */
export function draw(kind: Kind, width: number): Drawing {
  switch (kind.type) {
    case "line":
      return drawLine(kind, width);
    case "box":
      return drawBox(kind, width);
    case "boxes":
      return drawBoxes(kind, width);
    case "histogram":
      return drawHistogram(kind, width);
    case "ecdf":
      return drawEcdf(kind, width);
    case "heatmap":
      return drawHeatmap(kind, width);
    case "timeline":
      return drawTimeline(kind, width);
    case "chord":
      return drawChord(kind, width);
    case "bar":
      return drawBar(kind, width);
    default: {
      const unknown: never = kind;
      throw new Error(`this page knows no figure of type ${JSON.stringify((unknown as { type?: unknown }).type)}`);
    }
  }
}

/** These want the whole width of the page. */
function isWide(kind: Kind): boolean {
  switch (kind.type) {
    case "timeline":
      return true;
    case "heatmap":
      return kind.columns.length > 16;
    case "chord":
      return kind.labels.length > 20;
    case "bar":
      return kind.categories.length * (kind.stacked ? 1 : kind.series.length) > 32;
    case "box":
      return kind.boxes.length > 20;
    case "boxes":
      return kind.series.reduce((sum, series) => sum + series.boxes.length, 0) > 12;
    default:
      return false;
  }
}

/** The names of the flows to choose from, the first of which is drawn first; none where there is no choice. */
function choices(kind: Kind): string[] {
  if (kind.type !== "chord" || kind.others === undefined || kind.others.length === 0) return [];
  return [kind.name ?? "", ...kind.others.map((other) => other.name)];
}

/** The kind with the flows at a place among the choices. */
function chosen(kind: Kind, at: number): Kind {
  if (kind.type !== "chord") return kind;
  const other = kind.others?.[at - 1];
  return other === undefined ? kind : { ...kind, ...other };
}

/** How a figure stands on the page. */
export interface Placed {
  /** What its files say of where it comes from, in lines. */
  source?: readonly string[];
  heading?: "h2" | "h3";
}

/** The figure as a part of the page; it draws itself when it knows its width, and again when that changes. */
export function figureElement(figure: Figure, { source = [], heading = "h3" }: Placed = {}): HTMLElement {
  const id = `figure-${figure.id}`;
  const stage = h("div", { class: "stage" });
  const legend = h("div", { class: "legend" });
  const names = choices(figure.kind);
  const list = h("select", {}, ...names.map((name, at) => h("option", { value: at }, name)));
  let current: Drawing | null = null;
  const shown = (): Figure => {
    const at = Math.max(0, list.selectedIndex);
    const name = names[at] ?? "";
    return { ...figure, title: name === "" ? figure.title : `${figure.title}: ${name}`, kind: chosen(figure.kind, at) };
  };
  const file = (): string => {
    if (current === null) throw new Error("there is no drawing");
    const plain = (text: string): string => text.replaceAll("`", "");
    return svgFile(current, { title: plain(shown().title), caption: plain(figure.caption), source });
  };
  const saves = saveButtons(figure, file);
  const element = h(
    "figure",
    { class: isWide(figure.kind) ? "figure wide" : "figure", id },
    h("div", { class: "head" }, h(heading, {}, prose(figure.title)), anchor(id, figure.title)),
    names.length > 0 && h("label", { class: "choice" }, "Shown: ", list),
    legend,
    stage,
    figure.caption !== "" && h("figcaption", {}, prose(figure.caption)),
    saves.element,
  );
  let drawn = 0;
  const redraw = (width: number): void => {
    drawn = width;
    current = attempt(shown(), width, stage, legend);
    saves.drawn(current !== null);
  };
  list.addEventListener("change", () => redraw(drawn));
  followWidth(stage, redraw);
  return element;
}

/** The buttons below a figure: its data on the clipboard and as a file, and its drawing as files. */
function saveButtons(figure: Figure, file: () => string): { element: HTMLElement; drawn: (is: boolean) => void } {
  const button = (name: string, title: string, act: () => void): HTMLButtonElement =>
    h("button", { type: "button", class: "quiet small", title, onclick: act }, name);
  const said = h("span", { class: "said", role: "status" });
  const say = (text: string): void => {
    said.textContent = text;
    setTimeout(() => (said.textContent = ""), 4000);
  };
  const copied = async (): Promise<void> => say((await copy(figureCsv(figure))) ? "copied" : "this browser does not let the page copy: use CSV");
  const pictured = async (): Promise<void> => {
    try {
      await savePicture(`${figure.id}.png`, file());
    } catch {
      say("this browser makes no PNG: use SVG");
    }
  };
  const drawings = [
    button("SVG", "download the drawing as SVG", () => download(`${figure.id}.svg`, "image/svg+xml", file())),
    button("PNG", "download the drawing as PNG", () => void pictured()),
  ];
  const element = h(
    "div",
    { class: "saves" },
    said,
    button("Copy data", "copy the data as CSV", () => void copied()),
    button("CSV", "download the data as CSV", () => download(`figure-${figure.id}.csv`, "text/csv", figureCsv(figure))),
    ...drawings,
  );
  return { element, drawn: (is) => drawings.forEach((each) => (each.hidden = !is)) };
}

function attempt(figure: Figure, width: number, stage: HTMLElement, legend: HTMLElement): Drawing | null {
  try {
    const drawing = draw(figure.kind, width);
    drawing.svg.setAttribute("role", figure.kind.type === "chord" ? "list" : "img");
    drawing.svg.setAttribute("aria-label", `${figure.title.replaceAll("`", "")}. ${drawing.description}`);
    // The marks of a drawing have labels, which only elements with a role may have.
    for (const marks of drawing.svg.querySelectorAll("g[aria-label]:not([role])")) marks.setAttribute("role", "group");
    stage.replaceChildren(drawing.svg);
    legend.replaceChildren(...drawing.legend.map(legendItem), ...(drawing.ramp === undefined ? [] : [drawing.ramp]));
    legend.hidden = legend.childElementCount === 0;
    return drawing;
  } catch (error) {
    legend.hidden = true;
    stage.replaceChildren(errorBox(`This figure could not be drawn: ${error instanceof Error ? error.message : String(error)}`));
    return null;
  }
}

/** Something went wrong, in its own place. */
export function errorBox(text: string): HTMLElement {
  return h("p", { class: "error", role: "alert" }, text, " The numbers are in the report's JSON.");
}

function legendItem(entry: LegendEntry): HTMLElement {
  return h("span", { class: "entry" }, swatch(entry), entry.name);
}

/** Calls back with the element's width, now and whenever it changes by more than a scroll bar's trembling. */
function followWidth(element: HTMLElement, redraw: (width: number) => void): void {
  let drawn = 0;
  const look = (): void => {
    const width = Math.floor(element.clientWidth) || 640;
    if (Math.abs(width - drawn) < 2) return;
    drawn = width;
    redraw(width);
  };
  // Before the element stands in the page it has no width.
  queueMicrotask(look);
  if (typeof ResizeObserver === "undefined") return;
  let asked = false;
  new ResizeObserver(() => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      // A hidden element (a closed part of the page, a printer's preview) keeps the drawing it has.
      if (element.clientWidth > 0) look();
    });
  }).observe(element);
}
