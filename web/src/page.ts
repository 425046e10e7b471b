// The page as a whole: what stands above what.

import { files } from "./csv";
import { parse, restore } from "./data";
import { download, h, prose } from "./dom";
import { errorBox, figureElement } from "./figures/figure";
import { digits } from "./human";
import type { Report } from "./report";
import { origin, scenario } from "./scenario";
import { cards, claims, points, section, studyTable, sweepCards, warnings } from "./sections";
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
  root.replaceChildren(top(report), head(report, parts), ...parts.map(([, element]) => element), foot(report));
}

/** A part that fails must not take the others with it. */
function guarded(make: () => HTMLElement | null): HTMLElement | null {
  try {
    return make();
  } catch (error) {
    return errorBox(`This part could not be shown: ${error instanceof Error ? error.message : String(error)}`);
  }
}

type Part = [title: string, element: HTMLElement];

function body(report: Report, json: string): Part[] {
  const parts: Part[] = [];
  const add = (id: string, title: string, make: () => HTMLElement | null): void => {
    const content = guarded(make);
    if (content !== null) parts.push([title, section(id, title, content)]);
  };
  add("summary", "Summary", () => cards(report) ?? sweepCards(report));
  add("claims", "Claims", () => claims(report));
  add("figures", "Figures", () =>
    report.figures.length === 0 ? null : h("div", { class: "figures" }, ...report.figures.map(figureElement)),
  );
  add("points", "Points", () => points(report));
  add("tables", "Tables", () =>
    report.tables.length === 0 ? null : h("div", {}, ...report.tables.map((table) => guarded(() => studyTable(table)))),
  );
  add("scenario", "Scenario", () => scenario(report));
  add("origin", "Origin", () => origin(report));
  add("data", "Data", () => downloads(report, json));
  return parts;
}

function top(report: Report): HTMLElement {
  const brand = h("p", { class: "brand" }, h("b", {}, "Towtank"), ` ${report.study}`);
  return h("div", { class: "top" }, brand, themeButton());
}

function head(report: Report, parts: readonly Part[]): HTMLElement {
  const facts = [
    report.points.length > 0 ? `${report.points.length} points` : "",
    report.replicates === 0 ? "" : report.replicates === 1 ? "1 replicate" : `${report.replicates} replicates`,
    report.replicates === 0 ? "" : `seed ${String(report.seed)}`,
    report.events > 0 ? `${digits(Number(report.events))} events` : "",
    report.executor,
  ];
  const links = parts.map(([title, element]) => h("a", { href: `#${element.id}` }, title));
  return h(
    "header",
    { class: "head" },
    h("h1", {}, prose(report.title || report.study || "Report"), report.partial ? h("span", { class: "badge partial" }, "partial") : null),
    report.answer === "" ? null : h("p", { class: "answer" }, prose(report.answer)),
    h("p", { class: "facts" }, ...facts.filter((fact) => fact !== "").map((fact) => h("span", {}, fact))),
    warnings(report),
    h("nav", { "aria-label": "contents" }, ...links),
  );
}

function downloads(report: Report, json: string): HTMLElement {
  const button = (name: string, about: string, type: string, text: string): HTMLElement =>
    h(
      "button",
      { type: "button", class: "file", onclick: () => download(name, type, text) },
      h("b", {}, name),
      h("span", {}, about),
    );
  return h(
    "div",
    { class: "files" },
    button("report.json", "everything, unrounded", "application/json", json),
    ...files(report).map((file) => button(file.name, file.rows === 1 ? "1 row" : `${file.rows} rows`, "text/csv", file.text)),
  );
}

function foot(report: Report): HTMLElement {
  // What was measured on a machine is not measured again in the same way.
  const same = report.executor === "store" ? "" : "The same scenario and seed give the same numbers. ";
  return h("footer", {}, `Made by Towtank ${report.towtank}. ${same}This page loads nothing from the network.`);
}
