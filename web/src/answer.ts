// The answer: finding and verdict, what happens when, and what limits, helps, moves and is at risk.

import { h, prose } from "./dom";
import { clock } from "./human";
import type { Answer, Label, Line, Report, Step } from "./report";

const VERDICTS = {
  safe: { mark: "✓", word: "Safe" },
  at_risk: { mark: "!", word: "At risk" },
  unknown: { mark: "?", word: "Unknown" },
  not_safe: { mark: "✗", word: "Not safe" },
} as const;

/** The words before lines, in the order in which they are shown; those of the terminal. */
const LABELS: readonly [Label, string][] = [
  ["limit", "limit"],
  ["try", "try"],
  ["moves", "moves"],
  ["risk", "risk"],
  ["clients", "clients"],
  ["also", "also"],
  ["assumed", "assumed"],
  ["leaves_out", "leaves out"],
];

/** The finding; the title where a study gives none. */
export function finding(report: Report): string {
  return report.answer.finding || report.title || report.study || "Report";
}

/** Safety in a word and a colour, and why; nothing where the study does not ask that. */
export function verdict(answer: Answer): HTMLElement | null {
  if (answer.verdict == null) return null;
  const { mark, word } = VERDICTS[answer.verdict];
  return h(
    "div",
    { class: "standing" },
    h("p", { class: `status ${answer.verdict}` }, h("span", { "aria-hidden": "true" }, `${mark} `), word),
    h("p", { class: "why" }, prose(answer.reason ?? "no reason was recorded")),
  );
}

/** The course and the lines. */
export function answer({ course, lines }: Answer): HTMLElement | null {
  const steps = course ?? [];
  const all = lines ?? [];
  if (steps.length + all.length === 0) return null;
  const labelled = LABELS.flatMap(([label, word]) => {
    const own = all.filter((line) => line.label === label);
    return own.length === 0 ? [] : [h("dt", {}, word), ...own.map((line) => h("dd", {}, ...lineText(line)))];
  });
  return h(
    "div",
    { class: "answer" },
    steps.length === 0 ? null : h("ol", { class: "course" }, ...steps.map(step)),
    labelled.length === 0 ? null : h("dl", { class: "lines" }, ...labelled),
  );
}

function step(one: Step): HTMLElement {
  return h("li", {}, h("span", { class: "when" }, clock(one.at_s ?? 0)), " ", h("span", {}, ...prose(whatWithRange(one))));
}

/** What happens, with the range of its time where replicates differ. */
export function whatWithRange({ what, earliest_s: low, latest_s: high }: Step): string {
  if (low == null || high == null || clock(low) === clock(high)) return what;
  return `${what} (${clock(low)} to ${clock(high)})`;
}

function lineText(line: Line): (Node | string)[] {
  const change = line.change == null ? [] : [" ", h("code", { class: "change" }, line.change)];
  return [h("span", {}, ...prose(line.text)), ...change];
}
