// The parts of the page between the figures: warnings, points, claims, chapters, tables.

import { table as csvTable, tableFiles } from "./csv";
import { type Exact, numberOf, settingText } from "./data";
import { h, prose } from "./dom";
import { figureElement } from "./figures/figure";
import { digits, heading, quantity, range, Shown, smallProbability } from "./human";
import { marked, rowNames } from "./linked";
import { anchor } from "./links";
import { headline, titleOf } from "./measures";
import type { Chapter, Claim, Measure, Part, Reading, Report, Table, Tolerance } from "./report";
import { keyWords, valueWords, words } from "./settings";
import { source } from "./source";
import { type Heading, type Shown as Cell, tableElement } from "./table";

/** A part with its heading, which the list of contents links to. */
export function section(id: string, title: string, ...children: (Node | string | null | false)[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
}

/** Warnings are one line until the reader unfolds them: the figure has to stay in sight. */
export function warnings(report: Report): HTMLElement | null {
  const stopped = "This run was stopped early. The report covers only what was committed.";
  // Whoever makes a report of a stopped run says why; one that says nothing is not left without a word.
  const silent = report.partial && report.warnings.length === 0;
  const all = silent ? [stopped] : report.warnings.map((warning) => warning.text);
  if (all.length === 0) return null;
  return h(
    "details",
    { class: "warnings", "aria-label": "warnings" },
    h(
      "summary",
      {},
      h("strong", {}, all.length === 1 ? "Warning" : `${all.length} warnings`),
      h("span", { class: "first", "aria-hidden": "true" }, prose(all[0] ?? "")),
    ),
    h("ul", {}, ...all.map((text) => h("li", {}, prose(text)))),
  );
}

/** The points of a sweep. */
export function points(report: Report): HTMLElement | null {
  const first = report.points[0];
  if (first === undefined) return null;
  const keys = Object.keys(first.settings);
  const main = headline(report);
  const every = [...new Set(report.points.flatMap((point) => Object.keys(point.summary)))];
  const names = [...every.filter((name) => name === main), ...every.filter((name) => name !== main)];
  const units = names.map((name) => {
    const all = report.points.map((point) => point.summary[name]).filter((measure) => measure !== undefined);
    return Shown.column(all.map((measure) => measure.value ?? 0), all[0]?.unit ?? "");
  });
  const headings: Heading[] = [
    ...keys.map((key): Heading => ({ name: keyName(key, keys), title: key, numeric: report.points.every((p) => typeof p.settings[key] === "number") })),
    ...names.map((name, at): Heading => ({
      name: titleOf(name, report),
      unit: units[at]?.unit,
      numeric: true,
      title: [name, report.glossary[name]].filter((text) => text !== undefined).join(": "),
    })),
  ];
  const rows = report.points.map((point): Cell[] => [
    ...keys.map((key): Cell => settingCell(point.settings[key])),
    ...names.map((name, at): Cell => measureCell(name, point.summary[name], units[at])),
  ]);
  const file = tableFiles(report).find((each) => each.name === "summary.csv");
  const csv = file === undefined ? {} : { csv: { name: file.name, text: file.text } };
  return tableElement(headings, rows, { label: "points of the sweep", ...csv, names: pointNames(report) });
}

/** The names of points where marks have them: a point goes by its settings. */
function pointNames(report: Report): (string | null)[] {
  const names = marked(report);
  return report.points.map((point) => [point.label, words(point.label, "=")].find((name) => names.has(name)) ?? null);
}

/** A key in words, whole where another ends alike. */
function keyName(key: string, keys: readonly string[]): string {
  const alone = keys.filter((other) => keyWords(other) === keyWords(key)).length === 1;
  return heading(alone ? keyWords(key) : key);
}

function settingCell(value: unknown): Cell {
  return { text: valueWords(value), key: typeof value === "number" ? value : settingText(value) };
}

function measureCell(name: string, measure: Measure | undefined, shown: Shown | undefined): Cell {
  if (measure === undefined || shown === undefined) return { text: "", key: null };
  const { value, low, high } = measure;
  if (value === null) return { text: "–", key: null, title: measure.reason ?? undefined, class: "none" };
  const half = low === null || high === null ? null : h("span", { class: "half" }, ` ±${shown.rough((high - low) / 2)}`);
  const title = low === null || high === null ? quantity(value, measure.unit) : `${quantity(value, measure.unit)}, 95 %: ${range(low, high, measure.unit)}`;
  const small = smallProbability(name, value);
  if (small !== null) return { text: small, key: value, title: quantity(value, measure.unit) };
  return { text: h("span", {}, shown.digits(value), half), key: value, title };
}

/** A study's own table. */
export function studyTable(table: Table, report: Report): HTMLElement {
  const units = table.columns.map((column, at) => {
    const values = table.rows.map((row) => numberOf(row[at] as Exact)).filter((value) => value !== null);
    return Shown.column(values, column.unit);
  });
  const headings = table.columns.map((column, at): Heading => ({
    name: column.name,
    unit: units[at]?.unit,
    numeric: column.kind === "number",
  }));
  const measure = table.columns.findIndex((column) => column.name === "measure");
  const cells = (row: typeof table.rows[number]) =>
    row.map((cell, at) =>
      at === measure && typeof cell === "string" ? { text: titleOf(cell, report), key: cell } : studyCell(cell as Exact, units[at]),
    );
  const rows = table.rows.map(cells);
  return h(
    "div",
    { class: "study-table" },
    h("div", { class: "head" }, h("h3", { id: `table-${table.id}` }, prose(table.title)), anchor(`table-${table.id}`, table.title)),
    table.about === "" ? null : h("p", { class: "about" }, prose(table.about)),
    tableElement(headings, rows, {
      label: table.title,
      csv: { name: `${table.id}.csv`, text: () => csvTable(table) },
      names: rowNames(table, marked(report)),
    }),
  );
}

function studyCell(cell: Exact, shown: Shown | undefined): Cell {
  if (cell === null) return { text: "", key: null };
  if (typeof cell === "boolean") return { text: cell ? "yes" : "no", key: Number(cell) };
  if (typeof cell === "string") return { text: words(cell), key: cell, class: cell.length <= 24 ? "short" : "long" };
  if (typeof cell === "object") return { text: "–", key: null, title: cell.reason, class: "none" };
  const value = Number(cell);
  return { text: shown?.digits(value) ?? String(cell), key: value, title: String(cell) };
}

const VERDICTS = {
  holds: { mark: "✓", word: "holds", would: "would hold" },
  misses: { mark: "✗", word: "misses", would: "would miss" },
  cannot_tell: { mark: "?", word: "cannot tell", would: "could not tell" },
  fitted: { mark: "≈", word: "fitted", would: "fitted" },
  not_judged: { mark: "–", word: "not judged", would: "not judged" },
} as const;

/** What needs a look comes first. */
const VERDICT_ORDER: readonly Claim["verdict"][] = ["not_judged", "misses", "cannot_tell", "holds", "fitted"];

/** How many claims hold, miss, cannot tell and were fitted. Those that are not judged come first. */
function tally(all: readonly Claim[]): string {
  const count = (verdict: Claim["verdict"]): number => all.filter((claim) => claim.verdict === verdict).length;
  const open = count("not_judged");
  const parts = open > 0 ? [`${open} of ${all.length} not judged, since runs are missing`] : [];
  if (open === 0) parts.push(`${count("holds")} of ${all.length} hold`);
  else if (open < all.length) parts.push(`${count("holds")} hold`);
  if (count("misses") > 0) parts.push(`${count("misses")} ${count("misses") === 1 ? "misses" : "miss"}`);
  if (count("cannot_tell") > 0) parts.push(`${count("cannot_tell")} cannot tell`);
  if (count("fitted") > 0) parts.push(`${count("fitted")} used in calibration and never counted as holding`);
  return `${parts.join("; ")}.`;
}

/** Published values compared with ours. */
export function claims(report: Report): HTMLElement | null {
  if (report.claims.length === 0) return null;
  const file = tableFiles(report).find((each) => each.name === "claims.csv");
  const csv = file === undefined ? {} : { csv: { name: file.name, text: file.text } };
  const ordered = VERDICT_ORDER.flatMap((verdict) => report.claims.filter((claim) => claim.verdict === verdict));
  return h("div", {}, h("p", { class: "lead" }, tally(report.claims)), claimTable(ordered, { label: "claims", ...csv }, true));
}

/** Claims in the order given, with or without their sources, and with the notes that several share below. */
function claimTable(ordered: readonly Claim[], options: Parameters<typeof tableElement>[2], sources: boolean): HTMLElement {
  const headings: Heading[] = [
    { name: "verdict", numeric: false },
    { name: "claim", numeric: false },
    { name: "published", numeric: true },
    { name: "ours", numeric: true },
    { name: "difference", numeric: true },
    { name: "tolerance", numeric: false },
    { name: "source", numeric: false },
  ];
  const shared = sharedNotes(ordered);
  return h(
    "div",
    {},
    tableElement(
      sources ? headings : headings.slice(0, -1),
      ordered.map((claim) => (sources ? claimRow(claim, shared) : claimRow(claim, shared).slice(0, -1))),
      options,
    ),
    shared.length > 0 && h("ol", { class: "notes" }, ...shared.map((note) => h("li", {}, prose(note)))),
  );
}

/** What one source published: its parts in its own order, each with its figures, tables and claims. */
export function chapter(of: Chapter, report: Report): HTMLElement {
  const claimed = (part: Part): Claim[] => part.claims.flatMap((name) => report.claims.find((claim) => claim.name === name) ?? []);
  const all = of.parts.flatMap(claimed);
  const part = (each: Part): HTMLElement => {
    const drawn = each.figures.flatMap((id) => report.figures.find((figure) => figure.id === id) ?? []);
    const tables = (each.tables ?? []).flatMap((id) => report.tables.find((table) => table.id === id) ?? []);
    const judged = claimed(each);
    return h(
      "div",
      { class: "part" },
      h("h3", { class: "of-part" }, prose(each.title)),
      drawn.length > 0 && h("div", { class: "figures" }, ...drawn.map((each) => figureElement(each, { source: source(report) }))),
      ...tables.map((table) => studyTable(table, report)),
      // Most claims of a part have one source, which would fill a column for nothing.
      judged.length > 0 && h("p", { class: "about" }, `Claims of: ${[...new Set(judged.map((claim) => claim.source))].join("; ")}.`),
      judged.length > 0 && claimTable(judged, { label: `claims: ${each.title}` }, false),
    );
  };
  return h(
    "div",
    {},
    of.about !== "" && h("p", { class: "about" }, prose(of.about)),
    all.length > 0 && h("p", { class: "lead" }, tally(all)),
    ...of.parts.map(part),
  );
}

/** Notes that several claims share: they are said once, below. */
function sharedNotes(all: readonly Claim[]): string[] {
  const notes = all.map((claim) => claim.note).filter((note) => note != null);
  return [...new Set(notes)].filter((note) => notes.indexOf(note) !== notes.lastIndexOf(note));
}

function claimRow(claim: Claim, shared: readonly string[]): Cell[] {
  const verdict = VERDICTS[claim.verdict];
  const badge = h("span", { class: `badge ${claim.verdict}` }, h("span", { "aria-hidden": "true" }, `${verdict.mark} `), verdict.word);
  const would = claim.would_be == null ? null : h("div", { class: "half" }, VERDICTS[claim.would_be].would);
  const number = shared.indexOf(claim.note ?? "") + 1;
  const own = claim.note == null || number > 0 ? null : h("p", { class: "note" }, prose(claim.note));
  const mark = number > 0 ? h("sup", { title: claim.note }, String(number)) : null;
  const wider = claim.loosened == null ? null : h("p", { class: "note" }, "Tolerance loosened: ", prose(claim.loosened));
  const statement = h("div", { class: "statement" }, prose(claim.statement), mark, own, wider);
  const [theirs, ours] = [claim.published.value, claim.ours.value];
  const apart = theirs === null || ours === null || theirs === 0 ? null : (ours - theirs) / Math.abs(theirs);
  const tolerance = toleranceText(claim.tolerance, claim.unit) + (claim.loosened == null ? "" : ", loosened");
  return [
    { text: would === null ? badge : h("div", {}, badge, would), key: verdict.word },
    { text: statement, key: claim.name, title: claim.name },
    readingCell(claim.published, claim.unit),
    readingCell(claim.ours, claim.unit),
    { text: apart === null ? "–" : `${apart > 0 ? "+" : ""}${digits(apart * 100, 2)} %`, key: apart },
    { text: tolerance, key: tolerance, class: tolerance.length <= 16 ? "short" : undefined },
    { text: claim.source, key: claim.source, class: "source" },
  ];
}

function readingCell(reading: Reading, unit: string): Cell {
  if (reading.value === null) return { text: "–", key: null, class: "none" };
  const interval =
    reading.low === null || reading.high === null ? null : h("div", { class: "half" }, range(reading.low, reading.high, unit));
  return { text: h("div", {}, quantity(reading.value, unit), interval), key: reading.value, title: String(reading.value) };
}

/** How near ours must come; the words are those of the terminal. */
export function toleranceText(tolerance: Tolerance, unit: string): string {
  const of = (value: number | null): number => value ?? Number.NaN;
  switch (tolerance.kind) {
    case "relative":
      return `±${digits(of(tolerance.fraction) * 100)} %`;
    case "absolute":
      return `±${quantity(of(tolerance.amount), unit)}`;
    case "range":
      return range(of(tolerance.low), of(tolerance.high), unit);
    case "interval":
      return "within our 95 %";
    case "at_least":
      return "at least";
    case "at_most":
      return "at most";
    case "above":
      return "above (95 %)";
  }
}
