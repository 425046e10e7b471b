// CSV for the page's downloads: the same bytes as `crates/report/src/csv.rs` writes; tests hold both to the same files.

import { type Exact, settingText } from "./data";
import type { Claim, Measure, PointSummary, Report, Table, Tolerance } from "./report";

export interface CsvFile {
  name: string;
  text: string;
  rows: number;
}

type Field = Exact | undefined;

/** Every table of a report, in the order in which the program writes them. */
export function files(report: Report): CsvFile[] {
  const tables: [string, string, number][] = [];
  if (report.points.length > 0) tables.push(["points", points(report.points), report.points.length]);
  else tables.push(["summary", summary(report.summary), Object.keys(report.summary).length]);
  if (report.claims.length > 0) tables.push(["claims", claims(report.claims), report.claims.length]);
  for (const each of report.tables) tables.push([each.id, table(each), each.rows.length]);
  const taken = new Set<string>();
  return tables.map(([id, text, rows]) => ({ name: `${fresh(id, taken, "-")}.csv`, text, rows }));
}

/** One table. */
export function table(of: Table): string {
  const taken = new Set<string>();
  const headers = of.columns.map((column) => fresh(header(column.name, column.unit), taken, "_"));
  return lines([headers, ...of.rows]);
}

/** Name and unit: `rate` in `bytes/s` is `rate_bytes_per_s`. */
export function header(name: string, unit: string): string {
  const spelt = unit.replaceAll("/", "_per_").replaceAll("%", "percent").replaceAll("µ", "u");
  const suffix = spelt
    .replace(/[^A-Za-z0-9]/gu, "_")
    .split("_")
    .filter((part) => part !== "")
    .join("_");
  if (suffix === "" || name === suffix || name.endsWith(`_${suffix}`)) return name;
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

function summary(measures: Record<string, Measure>): string {
  const rows = Object.entries(measures).map(([name, m]) => [name, m.value, m.unit, m.low, m.high, m.n, m.reason]);
  return lines([["measure", "value", "unit", "low", "high", "n", "reason"], ...rows]);
}

function points(all: readonly PointSummary[]): string {
  const keys = names(all.map((point) => point.settings));
  const measures = names(all.map((point) => point.summary));
  const headers: string[] = [...keys];
  for (const name of measures) {
    const unit = all.find((point) => point.summary[name] !== undefined)?.summary[name]?.unit ?? "";
    headers.push(header(name, unit), header(`${name}_low`, unit), header(`${name}_high`, unit), `${name}_n`);
  }
  const rows = all.map((point) => {
    const settings = keys.map((key): Field => setting(point.settings[key]));
    const results = measures.flatMap((name): Field[] => {
      const measure = point.summary[name];
      return [measure?.value, measure?.low, measure?.high, measure?.n];
    });
    return [...settings, ...results];
  });
  const taken = new Set<string>();
  return lines([headers.map((name) => fresh(name, taken, "_")), ...rows]);
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
