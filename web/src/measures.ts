// Measures on the page: the main one large, the others as cards in folded groups.

import { h, prose } from "./dom";
import { heading, quantity, range, Shown, smallProbability, smallRange, withUnit } from "./human";
import { words } from "./settings";
import type { Measure, Report } from "./report";

/** The title of a measure: the report's, or its name in words. */
export function titleOf(name: string, report: Report): string {
  return report.titles?.[name] ?? heading(name);
}

/** What is shown of a measure: its number, and the lines below it. */
interface Told {
  value: HTMLElement;
  lines: HTMLElement[];
  /** Whether it has no value anywhere. */
  missing: boolean;
  /** The exact number. */
  exact: string | null;
}

/** The names of all measures, in the order of the report. */
export function namesOf(report: Report): string[] {
  const ofPoints = report.points.flatMap((point) => Object.keys(point.summary));
  return [...new Set([...Object.keys(report.summary), ...ofPoints])];
}

/** The main measure: the report's choice, else its first one. */
export function headline(report: Report): string | null {
  const names = namesOf(report);
  return names.find((name) => name === report.headline) ?? names[0] ?? null;
}

function told(name: string, report: Report, shown: Shown | null): Told {
  const measure = report.summary[name];
  return measure === undefined ? toldOfSweep(name, report, shown) : toldOfPoint(name, measure, shown);
}

function toldOfPoint(name: string, measure: Measure, family: Shown | null): Told {
  const { value, low, high, unit } = measure;
  const n = line("n", measure.n === 0 ? "" : measure.n === 1 ? "1 replicate" : `${measure.n} replicates`);
  if (value === null) return { ...nothing(measure.reason), exact: null };
  const shown = family ?? Shown.fitting(value, unit);
  const both = low === null || high === null ? null : (smallRange(name, low, high) ?? ends(low, high, unit, family));
  const interval = both === null ? spread(measure, family) : [line("interval", `95 %: ${both}`)];
  const small = smallProbability(name, value);
  return {
    value: small === null ? number(shown.digits(value), shown, false) : h("p", { class: "value odds" }, small),
    lines: [...interval, n],
    missing: false,
    exact: withUnit(`${name} = ${value}`, unit),
  };
}

/** Where the mean has no interval: the range of the replicates, and why. */
function spread({ no_interval: none, unit }: Measure, family: Shown | null): HTMLElement[] {
  if (none == null) return [];
  return [line("interval", `replicates: ${ends(none.least, none.most, unit, family)}`), line("n", `no interval: ${none.reason}`)];
}

function ends(low: number, high: number, unit: string, family: Shown | null): string {
  if (family === null) return range(low, high, unit);
  return withUnit(`${family.digits(low)} to ${family.digits(high)}`, family.unit);
}

/** With a sweep, what the measure ranges over and where its ends lie. */
function toldOfSweep(name: string, report: Report, family: Shown | null): Told {
  const found = report.points.flatMap((point) => {
    const measure = point.summary[name];
    return measure?.value === null || measure === undefined
      ? []
      : [{ value: measure.value, unit: measure.unit, label: point.label, low: measure.low, high: measure.high }];
  });
  found.sort((a, b) => a.value - b.value);
  const [least, most] = [found[0], found.at(-1)];
  if (least === undefined || most === undefined) {
    return { ...nothing(report.points.map((point) => point.summary[name]?.reason).find((each) => each != null)), exact: null };
  }
  const shown = family ?? Shown.column(found.map((each) => each.value), least.unit);
  const same = found.length === 1 || shown.digits(least.value) === shown.digits(most.value);
  const small = smallProbability(name, least.value);
  const text = same ? shown.digits(least.value) : `${shown.digits(least.value)} – ${shown.digits(most.value)}`;
  const odds = small === null ? null : same ? small : `${small} – ${smallProbability(name, most.value) ?? quantity(most.value, most.unit)}`;
  const missing = report.points.length - found.length;
  // Of one run of each the page does not know whether another seed would change it; the answer does.
  const judged = found.some((each) => each.low !== null);
  const lines = [
    ...(same ? [line("interval", found.length === 1 ? `at ${words(least.label, "=")}` : `the same at ${found.length} points`)] : []),
    ...(same || !judged ? [] : [line("interval", `least ${place(least, found)}`), line("interval", `most ${place(most, found)}`)]),
    ...(missing > 0 ? [line("n", `no value at ${missing} of ${report.points.length} points`)] : []),
  ];
  const value = odds === null ? number(text, shown, !same) : h("p", { class: "value odds" }, odds);
  return { value, lines, missing: false, exact: null };
}

interface Found {
  label: string;
  low: number | null;
  high: number | null;
}

/** Where an end lies: at a point only if its interval overlaps that of no other; else no point can be named. */
function place(end: Found, all: readonly Found[]): string {
  const apart = (other: Found) =>
    end.low !== null && end.high !== null && other.low !== null && other.high !== null && (end.high < other.low || other.high < end.low);
  return all.every((other) => other === end || apart(other)) ? `at ${words(end.label, "=")}` : "not distinguished from other points";
}

function nothing(reason: string | null | undefined): Omit<Told, "exact"> {
  return { value: h("p", { class: "value none" }, "–"), lines: [h("p", { class: "reason" }, prose(reason ?? "no value"))], missing: true };
}

/** A number of more characters than this is set smaller. */
const LONG = 10;

function number(text: string, shown: Shown, span: boolean): HTMLElement {
  const unit = shown.unit === "" ? null : h("span", { class: "unit" }, shown.unit);
  const size = text.length > LONG ? " long" : span ? " span" : "";
  return h("p", { class: `value${size}` }, text, unit);
}

function line(kind: string, text: string): HTMLElement {
  return h("p", { class: kind }, text);
}

/** The main measure, large. */
export function hero(report: Report): HTMLElement | null {
  const name = headline(report);
  if (name === null) return null;
  const { value, lines, exact } = told(name, report, null);
  const about = report.glossary[name];
  return h(
    "div",
    { class: "hero", title: exact },
    h("p", { class: "label", title: about }, titleOf(name, report)),
    value,
    h("div", { class: "lines" }, ...lines),
  );
}

const GROUPS = ["Times", "Rates", "Data", "Counts", "Shares and ratios"] as const;

type Group = (typeof GROUPS)[number];

function groupOf(unit: string): Group {
  if (["s", "ms", "us", "µs", "ns", "min", "h", "d"].includes(unit)) return "Times";
  if (unit.endsWith("/s") || unit === "per_s") return "Rates";
  if (unit === "bytes" || unit === "bits") return "Data";
  return ["", "1", "%", "percent", "fraction", "share", "ratio"].includes(unit) ? "Shares and ratios" : "Counts";
}

/** The values of a measure, of the report or of all its points. */
function valuesOf(name: string, report: Report): { value: number | null; unit: string }[] {
  const all = [report.summary, ...report.points.map((point) => point.summary)];
  return all.flatMap((summary) => summary[name] ?? []);
}

/** The other measures, in folded groups by the kind of their unit. */
export function groups(report: Report): HTMLElement | null {
  const main = headline(report);
  const units = new Map(namesOf(report).map((name) => [name, valuesOf(name, report)[0]?.unit ?? ""]));
  const made = GROUPS.flatMap((group) => {
    const names = [...units].filter(([name, unit]) => name !== main && groupOf(unit) === group).map(([name]) => name);
    return names.length === 0 ? [] : [groupElement(group, names, report, units)];
  });
  return made.length === 0 ? null : h("div", { class: "groups" }, ...made);
}

function groupElement(group: Group, names: readonly string[], report: Report, units: ReadonlyMap<string, string>): HTMLElement {
  const families = new Map<string, Shown | null>();
  for (const unit of new Set(names.map((name) => units.get(name) ?? ""))) {
    const bytes = unit === "bytes" || unit === "bytes/s";
    const values = names.filter((name) => units.get(name) === unit).flatMap((name) => valuesOf(name, report));
    families.set(unit, bytes ? Shown.family(values.flatMap(({ value }) => value ?? []), unit) : null);
  }
  const all = names.map((name) => ({ name, told: told(name, report, families.get(units.get(name) ?? "") ?? null) }));
  const missing = all.filter((each) => each.told.missing).length;
  return h(
    "details",
    { class: "group" },
    h(
      "summary",
      {},
      h("b", {}, group),
      h("span", {}, all.length === 1 ? "1 measure" : `${all.length} measures`, missing === 0 ? "" : `, ${missing} without a value`),
    ),
    h("div", { class: "cards" }, ...all.map((each) => card(each.name, each.told, report))),
  );
}

function card(name: string, { value, lines, exact }: Told, report: Report): HTMLElement {
  const about = report.glossary[name];
  return h(
    "article",
    { class: "card", title: exact ?? name },
    h("h3", {}, titleOf(name, report)),
    value,
    ...lines,
    about === undefined ? null : h("p", { class: "about" }, prose(about)),
  );
}
