// CSV for the page's downloads: the same bytes as `crates/report/src/csv.rs` writes; tests hold both to the same files.

import { type Field, settingText } from "./data";
import { rows as figureRows } from "./figurerows";
import type { Claim, Column, Figure, Measure, Report, Table, Tolerance } from "./report";

export interface CsvFile {
  name: string;
  /** How many rows follow the header; null for figures, whose rows are not counted before they are written. */
  rows: number | null;
  /** The text, made when it is asked for: that of all figures takes longer than the page should to open. */
  text: () => string;
}

/** Every file of a report, in the order in which the program writes them. */
export function files(report: Report): CsvFile[] {
  const taken = new Set<string>();
  const file = (id: string, rows: number | null, text: () => string): CsvFile => ({ name: `${fresh(id, taken, "-")}.csv`, rows, text });
  const found = [file("summary", summaryRows(report), () => summary(report))];
  const runs = report.runs ?? null;
  if (runs !== null) found.push(file("runs", runs.rows.length, () => named(runs, (column) => column.name)));
  if (report.claims.length > 0) found.push(file("claims", report.claims.length, () => claims(report.claims)));
  for (const each of report.tables) found.push(file(each.id, each.rows.length, () => table(each)));
  for (const each of report.figures) found.push(file(`figure-${each.id}`, null, () => figureCsv(each)));
  return found;
}

/** The files that are offered together: a figure offers its own beside it. */
export function tableFiles(report: Report): CsvFile[] {
  return files({ ...report, figures: [] });
}

/** The data of a figure, one row per drawn value. */
export function figureCsv(figure: Figure): string {
  return lines(figureRows(figure));
}

/** One table. */
export function table(of: Table): string {
  return named(of, (column) => header(column.name, column.unit));
}

function named(of: Table, name: (column: Column) => string): string {
  const taken = new Set<string>();
  return lines([of.columns.map((column) => fresh(name(column), taken, "_")), ...of.rows]);
}

/** Name and unit: `rate` in `bytes/s` is `rate_bytes_per_s`. A name that has the unit in it stays. */
export function header(name: string, unit: string): string {
  const spelt = unit.replaceAll("/", "_per_").replaceAll("%", "percent").replaceAll("µ", "u");
  const suffix = spelt
    .replace(/[^A-Za-z0-9]/gu, "_")
    .split("_")
    .filter((part) => part !== "")
    .join("_");
  if (suffix === "" || `_${name}_`.includes(`_${suffix}_`)) return name;
  return `${name}_${suffix}`;
}

function fresh(wanted: string, taken: Set<string>, joint: string): string {
  let name = wanted;
  for (let count = 2; taken.has(name); count += 1) name = `${wanted}${joint}${count}`;
  taken.add(name);
  return name;
}

function lines(rows: readonly (readonly Field[])[]): string {
  return rows.map((row) => line(row.map(field))).join("");
}

function line(fields: readonly string[]): string {
  // An empty line would be skipped by most readers.
  return fields.length === 1 && fields[0] === "" ? '""\n' : `${fields.join(",")}\n`;
}

function field(cell: Field): string {
  if (cell === undefined || cell === null || typeof cell === "object") return "";
  return typeof cell === "string" ? textField(cell) : String(cell);
}

function textField(text: string): string {
  const guarded = /^[=+\-@\t\r']/.test(text) ? `'${text}` : text;
  const quoted = guarded === "" || guarded.startsWith(" ") || guarded.endsWith(" ") || /[,"\n\r]/.test(guarded);
  return quoted ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

function summaryRows(report: Report): number {
  const count = (measures: Record<string, Measure>): number => Object.keys(measures).length;
  return count(report.summary) + report.points.reduce((sum, point) => sum + count(point.summary), 0);
}

function summary(report: Report): string {
  const keys = names(report.points.map((point) => point.settings));
  const head = ["measure", "value", "unit", "low", "high", "n", "reason"];
  const row = (settings: Field[], [name, m]: [string, Measure]): Field[] => [
    ...settings,
    name,
    m.value,
    m.unit,
    m.low,
    m.high,
    m.n,
    m.reason,
  ];
  const rows = Object.entries(report.summary).map((entry) => row(keys.map(() => undefined), entry));
  for (const point of report.points) {
    const settings = keys.map((key): Field => setting(point.settings[key]));
    rows.push(...Object.entries(point.summary).map((entry) => row(settings, entry)));
  }
  const taken = new Set<string>();
  return lines([[...keys, ...head].map((name) => fresh(name, taken, "_")), ...rows]);
}

function setting(value: unknown): Field {
  if (value === null || value === undefined) return undefined;
  return typeof value === "number" || typeof value === "bigint" ? value : settingText(value);
}

function names(maps: readonly Record<string, unknown>[]): string[] {
  return [...new Set(maps.flatMap((map) => Object.keys(map)))];
}

const CLAIM_HEADERS = [
  "claim",
  "verdict",
  "would_be",
  "published",
  "published_low",
  "published_high",
  "ours",
  "ours_low",
  "ours_high",
  "unit",
  "tolerance",
  "loosened",
  "source",
  "statement",
  "note",
];

function claims(all: readonly Claim[]): string {
  const rows = all.map((claim): Field[] => [
    claim.name,
    claim.verdict,
    claim.would_be,
    claim.published.value,
    claim.published.low,
    claim.published.high,
    claim.ours.value,
    claim.ours.low,
    claim.ours.high,
    claim.unit,
    toleranceText(claim.tolerance),
    claim.loosened,
    claim.source,
    claim.statement,
    claim.note,
  ]);
  return lines([CLAIM_HEADERS, ...rows]);
}

function toleranceText(tolerance: Tolerance): string {
  const text = (value: number | null): string => (value === null ? "" : String(value));
  switch (tolerance.kind) {
    case "relative":
      return `relative ${text(tolerance.fraction)}`;
    case "absolute":
      return `absolute ${text(tolerance.amount)}`;
    case "range":
      return `range ${text(tolerance.low)} ${text(tolerance.high)}`;
    default:
      return tolerance.kind;
  }
}
