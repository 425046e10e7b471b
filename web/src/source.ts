// Where a figure comes from: what its files say, since they leave the page without the rest of it.

import { finding } from "./answer";
import type { Report } from "./report";

/** Characters of a hash that tell one scenario from another; the page has all of them under Origin. */
const HASH = 16;

/** What is said below a figure that stands alone: of which answer it is, and what makes it again. */
export function source(report: Report): string[] {
  const parts = [
    `Towtank ${report.towtank} (results version ${report.results_version})`,
    report.study,
    report.scenario_hash === "" ? "" : `scenario ${report.scenario_hash.slice(0, HASH)}`,
    report.replicates === 0 ? "" : `seed ${report.seed}`,
    report.replicates === 0 ? "" : report.replicates === 1 ? "1 replicate" : `${report.replicates} replicates`,
    report.partial ? "a part of the run" : "",
  ];
  return [finding(report).replaceAll("`", ""), parts.filter((part) => part !== "").join(" · ")];
}
