// Paper: it shows what is folded, and tables that are wider than a sheet in several parts, each with the first column.

/** Columns of a table that a sheet of A4 holds, the first one included. */
const COLUMNS = 8;

/** Gets the page ready for paper; what comes back restores it. */
export function prepare(root: ParentNode): () => void {
  const opened = [...root.querySelectorAll("details")].filter((each) => !each.open);
  for (const each of opened) each.open = true;
  const parts: HTMLElement[] = [];
  const hidden: HTMLElement[] = [];
  for (const table of root.querySelectorAll<HTMLTableElement>(".scroll > table")) {
    const made = split(table);
    if (made.length === 0) continue;
    table.after(...made);
    parts.push(...made);
    hidden.push(table);
    table.hidden = true;
  }
  return () => {
    for (const each of opened) each.open = false;
    for (const each of parts) each.remove();
    for (const each of hidden) each.hidden = false;
  };
}

/** The parts of a table; none where it fits as it is. */
function split(table: HTMLTableElement): HTMLTableElement[] {
  const columns = table.rows[0]?.cells.length ?? 0;
  if (columns <= COLUMNS) return [];
  const count = Math.ceil((columns - 1) / (COLUMNS - 1));
  const each = Math.ceil((columns - 1) / count);
  return Array.from({ length: count }, (_, at) => {
    const part = table.cloneNode(true) as HTMLTableElement;
    const [from, to] = [1 + at * each, 1 + (at + 1) * each];
    for (const row of part.rows) {
      const cells = [...row.cells];
      cells.filter((_cell, index) => index > 0 && (index < from || index >= to)).forEach((cell) => cell.remove());
    }
    return part;
  });
}
