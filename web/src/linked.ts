// Rows of tables and marks of figures that have one name: who points at one sees the others. Names are those of devices,
// servers, points and series.

import type { Kind, Report, Table } from "./report";
import { words } from "./settings";

/** A name as marks and rows carry it. A bare number means something only with what it numbers: `server 3`. */
export function nameOf(what: string, text: string): string {
  return /^[\d.,]+$/.test(text) ? `${what.toLowerCase()} ${text}` : words(text);
}

/** The names of the marks of a figure. */
export function namesOf(kind: Kind): string[] {
  switch (kind.type) {
    case "bar":
      return [...kind.categories.map((name) => nameOf(kind.x, name)), ...kind.series.map((each) => words(each.name))];
    case "box":
      return kind.boxes.map((box) => nameOf(kind.x, box.label));
    case "heatmap":
      return kind.rows.map((name) => nameOf(kind.y, name));
    case "timeline":
      return kind.lanes.map((lane) => words(lane.name));
    case "chord":
      return kind.labels.map((name) => nameOf("server", name));
    case "line":
      return kind.series.map((each) => words(each.name));
    default:
      return [];
  }
}

/** All names that a mark of the report has. */
export function marked(report: Report): Set<string> {
  return new Set(report.figures.flatMap((figure) => namesOf(figure.kind)));
}

/** The name of each row of a table, from its first columns; null where no mark has that name. */
export function rowNames(table: Table, names: ReadonlySet<string>): (string | null)[] {
  const named = (row: Table["rows"][number]): string | null => {
    for (const [at, column] of table.columns.entries()) {
      const cell = row[at];
      // A number is a name in the first column only: further to the right it is a value.
      if (typeof cell !== "string" && (at > 0 || typeof cell !== "number")) continue;
      const name = nameOf(column.name, String(cell));
      if (names.has(name)) return name;
    }
    return null;
  };
  return table.rows.map(named);
}

/** Lights all that has a name, and nothing else; null lights nothing. */
function light(root: ParentNode, name: string | null): void {
  for (const each of root.querySelectorAll(".lit-name, .has-lit")) each.classList.remove("lit-name", "has-lit");
  if (name === null) return;
  for (const each of root.querySelectorAll(`[data-name="${CSS.escape(name)}"]`)) {
    each.classList.add("lit-name");
    each.closest(".stage")?.classList.add("has-lit");
  }
}

/** Follows the pointer, and the rows that are stepped through with the arrow keys. */
export function followNames(root: HTMLElement): void {
  let lit: string | null = null;
  const to = (name: string | null): void => {
    if (name === lit) return;
    lit = name;
    light(root, name);
  };
  const nameAt = (target: EventTarget | null): string | null =>
    target instanceof Element ? (target.closest("[data-name]")?.getAttribute("data-name") ?? null) : null;
  root.addEventListener("pointerover", (event) => to(nameAt(event.target)));
  root.addEventListener("pointerleave", () => to(null));
  root.addEventListener("focusin", (event) => to(nameAt(event.target)));
  root.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const frame = event.target;
    if (step === undefined || !(frame instanceof HTMLElement) || !frame.matches(".scroll")) return;
    const rows = [...frame.querySelectorAll<HTMLElement>("tr[data-name]")];
    if (rows.length === 0) return;
    event.preventDefault();
    const at = rows.findIndex((row) => row.classList.contains("lit-name"));
    const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
    to(next?.dataset["name"] ?? null);
    next?.scrollIntoView({ block: "nearest" });
  });
}
