// A small sample of how a series looks, for legends on the page and in files.

import { s } from "../dom";
import type { LegendEntry } from "./drawing";

/** The sample of an entry. */
export function swatch(entry: LegendEntry): SVGSVGElement {
  const dash = entry.dash === undefined ? {} : { "stroke-dasharray": entry.dash };
  const line = { x1: 0, x2: 22, y1: 6, y2: 6, stroke: entry.colour, "stroke-width": 2.5, ...dash };
  const mark =
    entry.form === "area"
      ? s("rect", { width: 12, height: 12, rx: 2, fill: entry.colour })
      : entry.form === "dot"
        ? s("circle", { cx: 6, cy: 6, r: 4.5, fill: entry.colour })
        : s("line", line);
  const wide = entry.form === "line" || entry.form === "dash" ? 22 : 12;
  return s("svg", { width: wide, height: 12, viewBox: `0 0 ${wide} 12`, "aria-hidden": "true" }, mark);
}
