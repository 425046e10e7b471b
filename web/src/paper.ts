// Paper: it shows what is folded, figures at the width that they have there, the first rows of long tables with a count of
// the others, and tables that are wider than a sheet in several parts, each with the first column.

import { h } from "./dom";

/** Rows of a table on paper; all are in its file. */
const ROWS = 8;

/** A table is not cut for the sake of so few rows. */
const FEW = 2;

/** Characters of a table that a sheet of A4 holds beside each other, and those that the edges of a cell take. */
const CHARACTERS = 108;
const EDGES = 2.5;

/** Text wraps in cells, but no narrower than this; numbers do not wrap. */
const WRAPS = 18;

/** The event by which a figure is told its width, in pixels; without one it takes the width that it has. */
export const WIDTH = "towtank-width";

/** Widths of figures on a sheet of A4: two beside each other, and one alone. */
const HALF = 324;
const WHOLE = 676;

/** Gets the page ready for paper; what comes back restores it. */
export function prepare(root: ParentNode): () => void {
  const undo: (() => void)[] = [];
  for (const each of root.querySelectorAll("details")) {
    if (each.open) continue;
    each.open = true;
    undo.push(() => (each.open = false));
  }
  for (const table of root.querySelectorAll<HTMLTableElement>(".scroll > table")) {
    undo.push(shorten(table));
    const parts = split(table);
    if (parts.length === 0) continue;
    table.after(...parts);
    table.hidden = true;
    undo.push(() => {
      parts.forEach((part) => part.remove());
      table.hidden = false;
    });
  }
  const figures = [...root.querySelectorAll(".figure")];
  const tell = (figure: Element, width?: number): void =>
    void figure.querySelector(".stage")?.dispatchEvent(new CustomEvent(WIDTH, { detail: width }));
  for (const figure of figures) tell(figure, figure.matches(".lanes") ? WHOLE : HALF);
  undo.push(() => figures.forEach((figure) => tell(figure)));
  return () => undo.reverse().forEach((each) => each());
}

/** Leaves the first rows of a long table, and says how many there are; what comes back restores it. */
function shorten(table: HTMLTableElement): () => void {
  const frame = table.closest<HTMLElement>(".table");
  const body = table.querySelector("tbody");
  const rows = [...(body?.querySelectorAll("tr") ?? [])];
  const all = Number(frame?.dataset["rows"] ?? rows.length);
  if (frame === null || all <= ROWS + FEW) return () => {};
  const cut = rows.slice(ROWS);
  cut.forEach((row) => row.remove());
  const file = frame.dataset["file"];
  const where = file === undefined ? "" : `; all are in ${file}`;
  const note = h("p", { class: "rest" }, `The first ${ROWS} of ${all} rows${where}.`);
  frame.append(note);
  return () => {
    body?.append(...cut);
    note.remove();
  };
}

/** The characters that a column needs: its longest word, and numbers whole. */
function needed(table: HTMLTableElement, column: number): number {
  const words = (text: string): number => Math.max(0, ...text.split(/[\s_]+/).map((word) => word.length));
  const cells = [...table.rows].flatMap((row) => row.cells[column] ?? []);
  const each = cells.map((cell) => {
    const text = cell.textContent ?? "";
    return cell.tagName === "TH" ? words(text) : Math.max(words(text), Math.min(WRAPS, text.length));
  });
  return Math.max(0, ...each) + EDGES;
}

/** The parts of a table; none where it fits as it is. */
function split(table: HTMLTableElement): HTMLTableElement[] {
  const columns = table.rows[0]?.cells.length ?? 0;
  const widths = Array.from({ length: columns }, (_, at) => needed(table, at));
  const first = widths[0] ?? 0;
  const parts: number[][] = [[]];
  let used = first;
  for (let at = 1; at < columns; at += 1) {
    const width = widths[at] ?? 0;
    if (used + width > CHARACTERS && (parts.at(-1)?.length ?? 0) > 0) {
      parts.push([]);
      used = first;
    }
    parts.at(-1)?.push(at);
    used += width;
  }
  if (parts.length < 2) return [];
  return parts.map((kept) => {
    const part = table.cloneNode(true) as HTMLTableElement;
    for (const row of part.rows) [...row.cells].filter((_, at) => at > 0 && !kept.includes(at)).forEach((cell) => cell.remove());
    return part;
  });
}
