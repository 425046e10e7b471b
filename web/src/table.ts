// Sortable tables. A click on a heading sorts by it, a second one the other way round; missing values stay last.

import { download, h, identifier } from "./dom";

/** A cell: what is shown, what it is sorted by, and what is said on hover. */
export interface Shown {
  text: string | Node;
  /** Null sorts last in either direction. */
  key: number | string | null;
  title?: string | undefined;
  class?: string | undefined;
}

export interface Heading {
  name: string;
  unit?: string | undefined;
  numeric: boolean;
  title?: string | undefined;
}

/** Rows shown at first. */
const ROWS = 25;

interface Options {
  /** The file behind the CSV button. */
  csv?: { name: string; text: () => string };
  /** What the table is, for readers who hear it. */
  label: string;
  /** The name of each row, by which marks of figures find it; null where there is no such mark. */
  names?: readonly (string | null)[];
}

/** A table in a frame that scrolls sideways when the screen is narrow. */
export function tableElement(headings: readonly Heading[], given: readonly (readonly Shown[])[], options: Options): HTMLElement {
  const body = h("tbody");
  const frame = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `table: ${options.label}` });
  const tools = h("div", { class: "tools" });
  // A row in which nothing stands tells nothing.
  const named = new Map(given.map((row, at) => [row, options.names?.[at] ?? null]));
  const rows = given.filter((row) => row.some((cell) => typeof cell.text !== "string" || cell.text !== ""));
  let order = [...rows];
  let all = rows.length <= ROWS + 5;
  const fill = (): void => {
    const visible = all ? order : order.slice(0, ROWS);
    body.replaceChildren(...visible.map((row) => rowElement(row, headings, named.get(row) ?? null)));
  };
  const heads = headings.map((heading, at) => {
    const head = h("th", { scope: "col", class: heading.numeric ? "number" : null, title: heading.title });
    const sort = (): void => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", direction);
      order = sorted(rows, at, direction);
      fill();
    };
    const unit = heading.unit === undefined || heading.unit === "" ? null : h("span", { class: "unit" }, heading.unit);
    head.append(h("button", { type: "button", onclick: sort }, h("span", {}, identifier(heading.name)), unit));
    return head;
  });
  fill();
  frame.append(h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body));
  if (!all) {
    const more = h("button", { type: "button", class: "quiet small" }, `Show all ${rows.length} rows`);
    more.addEventListener("click", () => {
      all = true;
      fill();
      more.remove();
    });
    tools.append(more);
  }
  const { csv } = options;
  if (csv !== undefined) {
    const save = (): void => download(csv.name, "text/csv", csv.text());
    tools.append(h("button", { type: "button", class: "quiet small", onclick: save }, csv.name));
  }
  return h("div", { class: "table", "data-rows": rows.length, "data-file": csv?.name }, frame, tools);
}

function rowElement(row: readonly Shown[], headings: readonly Heading[], name: string | null): HTMLElement {
  return h(
    "tr",
    { "data-name": name },
    ...row.map((cell, at) => {
      const classes = [headings[at]?.numeric === true ? "number" : "", cell.class ?? ""].filter((name) => name !== "");
      return h("td", { class: classes.length > 0 ? classes.join(" ") : null, title: cell.title }, typeof cell.text === "string" ? identifier(cell.text) : cell.text);
    }),
  );
}

/** Numbers by size, text by reading order with numbers inside by size (disk-9 before disk-10). */
export function sorted<Cell extends { key: number | string | null }>(
  rows: readonly (readonly Cell[])[],
  column: number,
  direction: "ascending" | "descending",
): (readonly Cell[])[] {
  const sign = direction === "ascending" ? 1 : -1;
  return [...rows].sort((left, right) => {
    const [a, b] = [left[column]?.key ?? null, right[column]?.key ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  });
}
