// Settings of points in words, as the terminal has them: `population.size = 1MiB` is `size 1MiB`. Files for programs
// keep the keys.

import type { Figure, Kind } from "./report";

/** The last part of a key, in words. */
export function keyWords(key: string): string {
  return key.slice(key.lastIndexOf(".") + 1).replaceAll("_", " ");
}

/** A swept value: percents as everywhere in reports, tables without their quotes and brackets. */
export function valueWords(value: unknown): string {
  if (typeof value === "string") return /^[\d.]+%$/.test(value) ? `${value.slice(0, -1)} %` : value;
  if (Array.isArray(value)) return value.map(valueWords).join(", ");
  if (typeof value !== "object" || value === null) return String(value);
  const entry = ([key, inner]: [string, unknown]): string => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return `${keyWords(key)} ${valueWords(inner)}`;
    return Object.keys(inner).length === 0 ? keyWords(key) : `${keyWords(key)} (${valueWords(inner)})`;
  };
  return Object.entries(value).map(entry).join(", ");
}

/** A label of settings, `KEY = VALUE, …`, in words; any other text as it is. Short labels have `KEY=VALUE`. */
export function words(label: string, sign: " = " | "=" = " = "): string {
  // The brackets of a table may have commas in them.
  const parts = /[{[]/.test(label) ? [label] : label.split(", ");
  const pairs = parts.flatMap((part) => {
    const at = part.indexOf(sign);
    const [key, value] = [part.slice(0, Math.max(at, 0)), part.slice(at + sign.length)];
    return key === "" || /[ ,=]/.test(key) || value.includes(" = ") ? [] : [[key, value] as const];
  });
  if (pairs.length !== parts.length) return label;
  const alike = (key: string): boolean => pairs.filter(([other]) => keyWords(other) === keyWords(key)).length > 1;
  return pairs.map(([key, value]) => `${alike(key) ? key.replaceAll("_", " ") : keyWords(key)} ${plain(value)}`).join(", ");
}

function plain(value: string): string {
  if (!/^[{[]/.test(value)) return valueWords(value);
  try {
    return valueWords(JSON.parse(value));
  } catch {
    return value;
  }
}

/** A figure with its points in words. */
export function figureInWords(figure: Figure): Figure {
  return { ...figure, kind: kindInWords(figure.kind) };
}

function named<T extends { name: string }>(all: readonly T[]): T[] {
  return all.map((each) => ({ ...each, name: words(each.name) }));
}

function kindInWords(kind: Kind): Kind {
  switch (kind.type) {
    case "bar":
      return { ...kind, categories: kind.categories.map((each) => words(each)), series: named(kind.series) };
    case "box":
      return { ...kind, boxes: kind.boxes.map((box) => ({ ...box, label: words(box.label) })) };
    case "boxes":
      return { ...kind, series: named(kind.series) };
    case "histogram":
      return { ...kind, series: named(kind.series) };
    case "ecdf":
      return { ...kind, series: named(kind.series) };
    case "line":
      return { ...kind, series: named(kind.series) };
    case "heatmap":
      return { ...kind, rows: kind.rows.map((each) => words(each)), columns: kind.columns.map((each) => words(each)) };
    case "timeline":
      return { ...kind, lanes: named(kind.lanes) };
    default:
      return kind;
  }
}
