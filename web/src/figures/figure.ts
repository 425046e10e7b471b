// A figure on the page: title, legend, drawing, caption, and its files. Where there are several drawings to choose from,
// a list above the legend chooses one. A figure that fails to draw says so in its own place and leaves the page alone.

import { figureCsv } from "../csv";
import { copy, download, h, prose } from "../dom";
import { quantity } from "../human";
import { anchor } from "../links";
import { WIDTH } from "../paper";
import type { Figure, Kind } from "../report";
import { figureInWords } from "../settings";
import { drawBar } from "./bar";
import { drawBox } from "./box";
import { drawBoxes } from "./boxes";
import { drawChord } from "./chord";
import { drawEcdf, drawHistogram } from "./distribution";
import type { Drawing, LegendEntry, Look } from "./drawing";
import { drawHeatmap } from "./heatmap";
import { cut, type Cut, series, without } from "./look";
import { drawLine } from "./line";
import { savePicture } from "./picture";
import { svgFile } from "./svgfile";
import { swatch } from "./swatch";
import { drawTimeline } from "./timeline";
import { inside, type Stretch, zoomable } from "./zoom";

/** Draws any kind of figure at a width. */
export function draw(kind: Kind, width: number, look: Look = {}): Drawing {
  switch (kind.type) {
    case "line":
      return drawLine(kind, width, look);
    case "box":
      return drawBox(kind, width, look);
    case "boxes":
      return drawBoxes(kind, width);
    case "histogram":
      return drawHistogram(kind, width, look);
    case "ecdf":
      return drawEcdf(kind, width, look);
    case "heatmap":
      return drawHeatmap(kind, width);
    case "timeline":
      return drawTimeline(kind, width);
    case "chord":
      return drawChord(kind, width);
    case "bar":
      return drawBar(kind, width, look);
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

/** What the reader has chosen of a figure. */
interface Chosen {
  hidden: Set<string>;
  zoom: Stretch | null;
  /** Whether the axis reaches extremes that squash the rest. */
  whole: boolean;
}

/** The figure as a part of the page; it draws itself when it knows its width, and again when that changes. */
export function figureElement(given: Figure, { source = [], heading = "h3" }: Placed = {}): HTMLElement {
  const figure = figureInWords(given);
  const id = `figure-${figure.id}`;
  const stage = h("div", { class: "stage" });
  const legend = h("div", { class: "legend" });
  const note = h("p", { class: "cut" });
  const names = choices(figure.kind);
  const list = h("select", {}, ...names.map((name, at) => h("option", { value: at }, name)));
  const state: Chosen = { hidden: new Set(), zoom: null, whole: false };
  let [current, drawn]: [Drawing | null, number] = [null, 0];
  let full: Stretch | null = null;
  const shown = (): Figure => {
    const at = Math.max(0, list.selectedIndex);
    const name = names[at] ?? "";
    return { ...figure, title: name === "" ? figure.title : `${figure.title}: ${name}`, kind: without(chosen(figure.kind, at), state.hidden) };
  };
  const end = (): Cut | null => (state.whole ? null : cut(shown().kind));
  const file = (): string => {
    if (current === null) throw new Error("there is no drawing");
    const plain = (text: string): string => text.replaceAll("`", "");
    const beyond = end();
    const caption = beyond === null ? figure.caption : `${figure.caption} ${beyondText(beyond, shown().kind)}`;
    return svgFile(current, { title: plain(shown().title), caption: plain(caption), source });
  };
  const saves = saveButtons(given, file);
  const reset = h("button", { type: "button", class: "quiet small", onclick: () => show(null) }, "Show all of the axis");
  saves.element.prepend(reset);
  const redraw = (width = drawn): void => {
    drawn = width;
    const focus = document.activeElement instanceof HTMLElement && legend.contains(document.activeElement) ? document.activeElement.dataset["series"] : undefined;
    current = attempt(shown(), { bands: figure.bands ?? [], zoom: state.zoom, cut: end() }, width, stage);
    if (state.zoom === null && current?.across !== undefined) full = [current.across.at(current.across.left), current.across.at(current.across.right)];
    fillLegend(legend, current, state.hidden, (name) => toggle(name));
    const entries = [...legend.querySelectorAll<HTMLElement>("[data-series]")];
    if (focus !== undefined) entries.find((each) => each.dataset["series"] === focus)?.focus();
    fillNote(note, state.whole, cut(shown().kind), shown().kind, () => {
      state.whole = !state.whole;
      redraw();
    });
    saves.drawn(current !== null);
    reset.hidden = state.zoom === null;
  };
  const show = (stretch: Stretch | null): void => {
    state.zoom = stretch === null || full === null ? null : inside(stretch, full);
    redraw();
  };
  const toggle = (name: string): void => {
    if (!state.hidden.delete(name)) state.hidden.add(name);
    // A figure without any series would be an end that nothing leads out of.
    if (series(figure.kind).every((each) => state.hidden.has(each))) state.hidden.clear();
    redraw();
  };
  if (canZoom(figure.kind)) {
    const keys = "arrow keys move, plus and minus zoom, 0 shows all";
    for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", `${figure.title.replaceAll("`", "")}: ${keys}`]] as const) {
      stage.setAttribute(name, value);
    }
    stage.classList.add("zoomable");
    zoomable(stage, { now: () => (current?.across === undefined ? null : { svg: current.svg, across: current.across }), show });
  }
  list.addEventListener("change", () => redraw());
  followWidth(stage, redraw);
  return h(
    "figure",
    { class: `figure${isWide(figure.kind) ? " wide" : ""}${figure.kind.type === "timeline" ? " lanes" : ""}`, id },
    h("div", { class: "head" }, h(heading, {}, prose(figure.title)), anchor(id, figure.title)),
    names.length > 0 && h("label", { class: "choice" }, "Shown: ", list),
    legend,
    note,
    stage,
    figure.caption !== "" && h("figcaption", {}, prose(figure.caption)),
    saves.element,
  );
}

/** Whether the horizontal axis of a figure can be zoomed: it has numbers, and more than a few places. */
function canZoom(kind: Kind): boolean {
  if (kind.type === "line") return kind.series.some((each) => each.points.length > ZOOM_LEAST);
  return kind.type === "ecdf" || kind.type === "histogram";
}

/** Fewer points than these have no part that is worth a closer look. */
const ZOOM_LEAST = 8;

/** Legend entries of series are buttons that hide and show them. */
function fillLegend(legend: HTMLElement, drawing: Drawing | null, hidden: ReadonlySet<string>, toggle: (name: string) => void): void {
  const item = (entry: LegendEntry): HTMLElement => {
    const name = entry.series;
    if (name === undefined) return h("span", { class: "entry" }, swatch(entry), entry.name);
    const is = !hidden.has(name);
    const about = is ? "hide this series" : "show this series";
    return h(
      "button",
      { type: "button", class: "entry", "data-series": name, "aria-pressed": String(is), title: about, onclick: () => toggle(name) },
      swatch(entry),
      entry.name,
    );
  };
  legend.replaceChildren(...(drawing?.legend ?? []).map(item), ...(drawing?.ramp === undefined ? [] : [drawing.ramp]));
  legend.hidden = legend.childElementCount === 0;
}

/** What lies beyond the axis, in words. */
function beyondText({ beyond }: Cut, kind: Kind): string {
  const unit = "y" in kind && typeof kind.y !== "string" ? kind.y.unit : "";
  const names = beyond.slice(0, 2).map((each) => `${each.name} (up to ${quantity(each.most, unit)})`);
  const more = beyond.length - names.length;
  return `Beyond the axis: ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`;
}

function fillNote(note: HTMLElement, whole: boolean, found: Cut | null, kind: Kind, change: () => void): void {
  note.hidden = found === null;
  if (found === null) return;
  const button = h("button", { type: "button", class: "quiet small", onclick: change }, whole ? "Cut the axis" : "Show all values");
  note.replaceChildren(whole ? "" : `${beyondText(found, kind)} `, button);
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

function attempt(figure: Figure, look: Look, width: number, stage: HTMLElement): Drawing | null {
  try {
    const drawing = draw(figure.kind, width, look);
    drawing.svg.setAttribute("role", figure.kind.type === "chord" ? "list" : "img");
    drawing.svg.setAttribute("aria-label", `${figure.title.replaceAll("`", "")}. ${drawing.description}`);
    // The marks of a drawing have labels, which only elements with a role may have.
    for (const marks of drawing.svg.querySelectorAll("g[aria-label]:not([role])")) marks.setAttribute("role", "group");
    stage.replaceChildren(drawing.svg);
    return drawing;
  } catch (error) {
    stage.replaceChildren(errorBox(`This figure could not be drawn: ${error instanceof Error ? error.message : String(error)}`));
    return null;
  }
}

/** Something went wrong, in its own place. */
export function errorBox(text: string): HTMLElement {
  return h("p", { class: "error", role: "alert" }, text, " The numbers are in the report's JSON.");
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
  element.addEventListener(WIDTH, (event) => {
    const width: unknown = (event as CustomEvent).detail;
    if (typeof width !== "number") return look();
    drawn = width;
    redraw(width);
  });
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
