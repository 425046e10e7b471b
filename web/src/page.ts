// The page as a whole: what stands above what.

import { answer, finding, verdict } from "./answer";
import { tableFiles } from "./csv";
import { parse, restore } from "./data";
import { download, h, prose } from "./dom";
import { errorBox, figureElement } from "./figures/figure";
import { saysNothing } from "./figures/look";
import { digits } from "./human";
import type { Figure, Report } from "./report";
import { origin, scenario } from "./scenario";
import { groups, hero } from "./measures";
import { chapter, claims, points, section, studyTable, warnings } from "./sections";
import { source } from "./source";
import { themeButton } from "./theme";

/** Fills the page from the text in its data element. */
export function render(root: HTMLElement, embedded: string): void {
  const json = restore(embedded);
  let report: Report;
  try {
    report = parse(json);
  } catch (error) {
    root.replaceChildren(errorBox(`The report in this page cannot be read: ${String(error)}.`));
    return;
  }
  const parts = body(report, json);
  const main = h("main", {}, front(report), contents(parts), ...parts.map(([, element]) => element));
  root.replaceChildren(top(report), main, foot(report));
}

/** A part that fails must not take the others with it. */
function guarded(make: () => HTMLElement | null): HTMLElement | null {
  try {
    return make();
  } catch (error) {
    return errorBox(`This part could not be shown: ${error instanceof Error ? error.message : String(error)}`);
  }
}

type Part = [short: string, element: HTMLElement];

function body(report: Report, json: string): Part[] {
  const parts: Part[] = [];
  const add = (id: string, title: string, make: () => HTMLElement | null, short = title): void => {
    const content = guarded(make);
    if (content !== null) parts.push([short, section(id, title, content)]);
  };
  const main = mainFigure(report);
  const of = source(report);
  const chapters = report.chapters ?? [];
  const placed = new Set(chapters.flatMap((each) => each.parts.flatMap((part) => part.figures)));
  const rest = report.figures.filter((figure) => figure !== main && !placed.has(figure.id));
  const others = rest.filter((figure) => !saysNothing(figure.kind));
  const tabled = new Set(chapters.flatMap((each) => each.parts.flatMap((part) => part.tables ?? [])));
  const compared = report.tables.find((table) => table.id === report.answer.compared);
  const tables = report.tables.filter((table) => !tabled.has(table.id) && table !== compared);
  add("compared", compared?.title ?? "", () => (compared === undefined ? null : studyTable(compared, report)));
  add("summary", "Measures", () => groups(report));
  add("figures", "Figures", () =>
    rest.length === 0
      ? null
      : h("div", {}, h("div", { class: "figures" }, ...others.map((each) => figureElement(each, { source: of }))), leftOut(rest)),
  );
  // A chapter has its own claims, beside the figures that they are about.
  add("claims", "Claims", () => (chapters.length > 0 ? null : claims(report)));
  chapters.forEach((each, at) => {
    add(`chapter-${at + 1}`, each.title, () => chapter(each, report), each.short);
  });
  add("points", "Points", () => points(report));
  add("tables", "Tables", () =>
    tables.length === 0 ? null : h("div", {}, ...tables.map((table) => guarded(() => studyTable(table, report)))),
  );
  add("scenario", "Scenario", () => scenario(report));
  add("origin", "Origin", () => origin(report));
  add("data", "Data", () => downloads(report, json));
  return parts;
}

/** Distributions of one value, which are not drawn. */
function leftOut(figures: readonly Figure[]): HTMLElement | null {
  const titles = figures.filter((figure) => saysNothing(figure.kind)).map((figure) => figure.title);
  return titles.length === 0 ? null : h("p", { class: "about left-out" }, `Not drawn, since there is one value only: ${titles.join("; ")}.`);
}

function top(report: Report): HTMLElement {
  const brand = h("p", { class: "brand" }, h("b", {}, "Towtank"), ` ${report.study}`);
  return h("header", { class: "top" }, brand, themeButton());
}

/** The figure that shows the answer: the report's choice, else its first one that is in no chapter. */
function mainFigure(report: Report): Figure | undefined {
  const first = (report.chapters ?? []).length > 0 ? undefined : report.figures.find((figure) => !saysNothing(figure.kind));
  return report.figures.find((figure) => figure.id === report.main_figure) ?? first;
}

/** From so many characters on, the finding is set in a smaller size. */
const LONG = 70;

/** What a reader sees first: the finding, the verdict, the main number, the answer, and the figure that shows it. */
function front(report: Report): HTMLElement {
  const figure = mainFigure(report);
  const badge = report.partial ? h("span", { class: "badge partial" }, "partial") : null;
  return h(
    "div",
    { class: figure === undefined ? "front alone" : "front" },
    h(
      "div",
      { class: "told" },
      h("h1", { class: finding(report).length > LONG ? "long" : null }, prose(finding(report)), badge),
      report.title === finding(report) ? null : h("p", { class: "of" }, prose(report.title)),
      h("div", { class: "main" }, guarded(() => verdict(report.answer)), guarded(() => hero(report))),
      guarded(() => answer(report.answer)),
      warnings(report),
      facts(report),
    ),
    figure === undefined ? null : h("div", { class: "shown" }, figureElement(figure, { source: source(report), heading: "h2" })),
  );
}

/** How many replicates each point has, and of how many where runs are missing; the words are those of the terminal. */
function replicates(report: Report): string {
  const all = report.replicates;
  if (all === 0) return "";
  const words = all === 1 ? "1 replicate" : `${all} replicates`;
  if (!report.partial) return words;
  const summaries = report.points.length > 0 ? report.points.map((point) => point.summary) : [report.summary];
  const counts = summaries.map((summary) => Math.max(0, ...Object.values(summary).map((measure) => measure.n)));
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (least === all) return `a part of ${words}`;
  return least === most ? `${least} of ${words}` : `${least} to ${most} of ${words}`;
}

function facts(report: Report): HTMLElement {
  const all = [
    report.points.length > 0 ? `${report.points.length} points` : "",
    replicates(report),
    report.replicates === 0 ? "" : `seed ${String(report.seed)}`,
    report.events > 0 ? `${digits(Number(report.events))} events` : "",
    report.executor,
  ];
  return h("p", { class: "facts" }, ...all.filter((fact) => fact !== "").map((fact) => h("span", {}, fact)));
}

function contents(parts: readonly Part[]): HTMLElement {
  return h("nav", { "aria-label": "contents" }, ...parts.map(([short, element]) => h("a", { href: `#${element.id}` }, short)));
}

function downloads(report: Report, json: string): HTMLElement {
  const button = (name: string, about: string, type: string, text: () => string): HTMLElement =>
    h(
      "button",
      { type: "button", class: "file", onclick: () => download(name, type, text()) },
      h("b", {}, name),
      h("span", {}, about),
    );
  return h(
    "div",
    { class: "files" },
    button("report.json", "everything, unrounded", "application/json", () => json),
    ...tableFiles(report).map((file) => button(file.name, file.rows === 1 ? "1 row" : `${file.rows} rows`, "text/csv", file.text)),
  );
}

function foot(report: Report): HTMLElement {
  // What was measured on a machine is not measured again in the same way.
  const same = report.executor === "store" ? "" : "The same scenario and seed give the same numbers. ";
  return h("footer", {}, `Made by Towtank ${report.towtank}. ${same}This page loads nothing from the network.`);
}
