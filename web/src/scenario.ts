// Where the numbers come from: the resolved scenario, seed, versions and digest.

import { settingText } from "./data";
import { h, identifier } from "./dom";
import type { Report } from "./report";

/** Every scenario value under its dotted key, which is how `--set` names it. */
export function flat(value: unknown, prefix = ""): [string, string][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [[prefix, settingText(value)]];
  const entries = Object.entries(value);
  if (entries.length === 0 && prefix !== "") return [[prefix, "{}"]];
  return entries.flatMap(([key, each]) => flat(each, prefix === "" ? key : `${prefix}.${key}`));
}

/** The scenario, folded. */
export function scenario(report: Report): HTMLElement {
  const rows = flat(report.scenario).map(([key, value]) =>
    h("tr", {}, h("th", { scope: "row" }, identifier(key)), h("td", { class: value === "null" ? "none" : null }, value === "null" ? "not set" : identifier(value))),
  );
  return h(
    "details",
    { class: "scenario" },
    h("summary", {}, `${rows.length} values, with every default filled in`),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "table: scenario" }, h("table", { class: "keys" }, h("tbody", {}, ...rows))),
  );
}

/** What is needed to get the same numbers again. */
export function origin(report: Report): HTMLElement {
  const facts: [string, string][] = [
    ["study", report.study],
    ["seed", report.replicates === 0 ? "" : String(report.seed)],
    ["replicates", report.replicates === 0 ? "" : String(report.replicates)],
    ["executor", report.executor],
    ["events", report.events > 0 ? String(report.events) : ""],
    ["digest", report.digest ?? ""],
    ["scenario hash", report.scenario_hash],
    ["towtank", `${report.towtank} (results version ${report.results_version})`],
    ["layout", report.schema],
  ];
  const known = facts.filter(([, value]) => value !== "");
  return h("dl", { class: "origin" }, ...known.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
