// The data of a figure as rows of a tidy table: the same as `crates/report/src/csv/figures.rs` writes. Tests hold both to
// `web/test/golden/figures.json`, which has each kind of figure.

import type { Field } from "./data";
import type { Band, BoxStats, Figure, Kind, Num, Reference } from "./report";

type Place = { name: string; x: Num; y: Num };
type Of<T extends Kind["type"]> = Extract<Kind, { type: T }>;

/** The header, then a row per drawn value. */
export function rows(figure: Figure): Field[][] {
  const { kind } = figure;
  switch (kind.type) {
    case "line":
      return [...lineRows(kind), ...bandRows(figure.bands ?? [], kind)];
    case "box":
      return [
        ["role", "category", "quantity", "unit", "value"],
        ...kind.boxes.flatMap((each) => boxRows(each, kind.y.unit)),
        ...places(kind.references).map(({ name, y }) => ["reference", name, "at", kind.y.unit, y]),
      ];
    case "boxes":
      return placedRows(kind);
    case "histogram":
      return [
        ["role", "series", "unit", "height_unit", "from", "to", "height"],
        ...kind.series.flatMap(({ name, bins }) =>
          bins.map((bin) => ["data", name, kind.x.unit, kind.y.unit, bin.from, bin.to, bin.height]),
        ),
        ...places(kind.references).map(({ name, x, y }) => ["reference", name, kind.x.unit, kind.y.unit, x, x, y]),
      ];
    case "ecdf":
      return [
        ["role", "series", "unit", "value", "share"],
        ...kind.series.flatMap(({ name, points }) => points.map(([value, share]) => ["data", name, kind.x.unit, value, share])),
        ...places(kind.references).map(({ name, x, y }) => ["reference", name, kind.x.unit, x, y]),
      ];
    case "heatmap":
      return matrixRows(["row", "column"], kind.rows, kind.columns, kind.value.unit, kind.values);
    case "timeline":
      return timelineRows(kind);
    case "chord":
      return chordRows(kind);
    case "bar":
      return barRows(kind);
  }
}

function places(references: readonly Reference[]): Place[] {
  return references.flatMap((each): Place[] => {
    if (each.type === "curve") return each.points.map(({ x, y }) => ({ name: each.name, x, y }));
    return [each.type === "horizontal" ? { name: each.name, x: null, y: each.at } : { name: each.name, x: each.at, y: null }];
  });
}

function lineRows(kind: Of<"line">): Field[][] {
  const [x, y] = [kind.x.unit, kind.y.unit];
  return [
    ["role", "series", "x_unit", "y_unit", "x", "y", "low", "high"],
    ...kind.series.flatMap(({ name, points }) => points.map((p): Field[] => ["data", name, x, y, p.x, p.y, p.low, p.high])),
    ...places(kind.references).map((p): Field[] => ["reference", p.name, x, y, p.x, p.y, null, null]),
  ];
}

/** A row for each end of a band. */
function bandRows(bands: readonly Band[], { x, y }: Of<"line">): Field[][] {
  return bands.flatMap(({ name, from, to }) => [from, to].map((at): Field[] => ["band", name, x.unit, y.unit, at, null, null, null]));
}

function boxRows(box: BoxStats, unit: string): Field[][] {
  const rows = boxParts(box).map(([quantity, value]): Field[] => ["data", box.label, quantity, unit, value]);
  return [...rows, ["data", box.label, "n", "", box.n]];
}

/** The numbers of a box, but for how many values it has. */
function boxParts(box: BoxStats): [string, Num][] {
  return [
    ["low", box.low],
    ["q1", box.q1],
    ["median", box.median],
    ["q3", box.q3],
    ["high", box.high],
    ["mean", box.mean],
    ...box.outliers.map((value): [string, Num] => ["outlier", value]),
  ];
}

function placedRows(kind: Of<"boxes">): Field[][] {
  const [across, up] = [kind.x.unit, kind.y.unit];
  return [
    ["role", "series", "x_unit", "quantity", "unit", "x", "value"],
    ...kind.series.flatMap(({ name, boxes }) =>
      boxes.flatMap(({ x, stats }): Field[][] => [
        ...boxParts(stats).map(([quantity, value]): Field[] => ["data", name, across, quantity, up, x, value]),
        ["data", name, across, "n", "", x, stats.n],
      ]),
    ),
    ...places(kind.references).map(({ name, x, y }): Field[] => ["reference", name, across, "at", up, x, y]),
  ];
}

function matrixRows(
  heads: [string, string],
  names: readonly string[],
  columns: readonly string[],
  unit: string,
  values: readonly (readonly Num[])[],
): Field[][] {
  const row = (name: string, values: readonly Num[]): Field[][] =>
    values.slice(0, columns.length).map((value, at): Field[] => [name, columns[at], unit, value]);
  return [[...heads, "unit", "value"], ...names.flatMap((name, at) => row(name, values[at] ?? []))];
}

/** Flows that the reader can choose have a column that tells them apart. */
function chordRows(kind: Of<"chord">): Field[][] {
  const { unit } = kind.value;
  const others = kind.others ?? [];
  if (others.length === 0) return matrixRows(["from", "to"], kind.labels, kind.labels, unit, kind.matrix);
  const all = [{ ...kind, name: kind.name ?? "" }, ...others];
  const rows = all.flatMap(({ name, labels, matrix }) =>
    matrixRows(["from", "to"], labels, labels, unit, matrix)
      .slice(1)
      .map((row): Field[] => [name, ...row]),
  );
  return [["of", "from", "to", "unit", "value"], ...rows];
}

function timelineRows(kind: Of<"timeline">): Field[][] {
  const { unit } = kind.x;
  const body = kind.lanes.flatMap((lane): Field[][] => [
    ...lane.spans.map((span): Field[] => [lane.name, span.what, span.note, unit, span.from, span.to]),
    ...lane.marks.map((mark): Field[] => [lane.name, mark.what, "", unit, mark.at, mark.at]),
  ]);
  return [["lane", "what", "note", "unit", "from", "to"], ...body];
}

function barRows(kind: Of<"bar">): Field[][] {
  const { unit } = kind.y;
  return [
    ["role", "series", "category", "unit", "value", "low", "high"],
    ...kind.series.flatMap(({ name, values, low, high }) =>
      kind.categories.map((category, at): Field[] => ["data", name, category, unit, values[at], low[at], high[at]]),
    ),
    ...places(kind.references).map((p): Field[] => ["reference", p.name, "", unit, p.y, null, null]),
  ];
}
