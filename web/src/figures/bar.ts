// Bars by category, side by side or stacked, with whiskers where the report has intervals.

import * as Plot from "@observablehq/plot";
import { quantity, range } from "../human";
import type { Kind, Num } from "../report";
import { bandAxis, cut, numericAxis, type NumericAxis } from "./axis";
import { base, type Drawing, heightFor, pointerTip, referenceMarks, referenceValues, svgOf, yAxis } from "./drawing";
import { seriesColour } from "./palette";

type Bar = Extract<Kind, { type: "bar" }>;

interface Piece {
  category: number;
  series: number;
  value: Num;
  low: Num;
  high: Num;
  /** Ends of the bar: from zero, or from the piece below. */
  from: number;
  to: number;
}

export function drawBar(kind: Bar, width: number): Drawing {
  const height = heightFor(width);
  const pieces = kind.stacked ? stacked(kind) : sideBySide(kind);
  const ends = pieces.flatMap((piece) => [piece.from, piece.to, piece.low, piece.high]);
  const y = numericAxis(kind.y, [...ends, ...referenceValues(kind.references, "y")], {
    pixels: height - 68,
    spacing: 36,
    zero: true,
  });
  const left = y.room + 18;
  const band = bandAxis(kind.categories, width - left - 18);
  const svg = svgOf(
    Plot.plot({
      ...base(width, height, { left, bottom: band.room + 20 }),
      // Categories are facets, so that side by side and stacked bars share everything else.
      fx: { domain: kind.categories.map((_, at) => at), padding: kind.categories.length > 12 ? 0.15 : 0.25 },
      x: { type: "band", domain: kind.stacked ? [0] : kind.series.map((_, at) => at), padding: 0.06, axis: null },
      y: y.scale,
      marks: [
        Plot.gridY(y.ticks, { stroke: "var(--grid)", strokeOpacity: 1, facet: "super" }),
        ...yAxis(y).slice(1),
        Plot.axisFx(band.ticks, {
          anchor: "bottom",
          label: kind.x,
          tickFormat: (at: number) => cut(kind.categories[at] ?? "", 24),
          tickRotate: band.rotate,
          labelArrow: "none",
          labelAnchor: "center",
        }),
        ...bars(kind, pieces, y),
        Plot.ruleY([y.scale.type === "log" ? y.floor : 0], { stroke: "var(--axis)", facet: "super" }),
        ...referenceMarks(kind.references, null, y, "super"),
      ],
    }),
  );
  const entries = kind.series.map((series, at) => ({ name: series.name, colour: seriesColour(at), form: "area" as const }));
  return {
    svg,
    legend: entries.length > 1 ? entries : [],
    description: `${y.label} by ${kind.x}, as bars: ${kind.series.map((series) => series.name).join(", ")}`,
  };
}

function bars(kind: Bar, pieces: readonly Piece[], y: NumericAxis): Plot.Markish[] {
  const place = { fx: (piece: Piece) => piece.category, x: (piece: Piece) => (kind.stacked ? 0 : piece.series) };
  const known = pieces.filter((piece) => piece.value !== null);
  const whiskers = known.filter((piece) => piece.low !== null && piece.high !== null);
  return [
    Plot.barY(known, {
      ...place,
      y1: (piece: Piece) => y.clipped(piece.from),
      y2: (piece: Piece) => y.clipped(piece.to),
      fill: (piece: Piece) => seriesColour(piece.series),
      fillOpacity: 0.88,
      rx: 1,
    }),
    Plot.ruleX(whiskers, {
      ...place,
      y1: (piece: Piece) => y.clipped(piece.low ?? 0),
      y2: (piece: Piece) => y.clipped(piece.high ?? 0),
      stroke: "var(--ink)",
      strokeWidth: 1.5,
      marker: "tick",
    }),
    pointerTip(known, { ...place, y: (piece) => (y.clipped(piece.from) + y.clipped(piece.to)) / 2 }, (piece) => tip(piece, kind)),
  ];
}

function sideBySide(kind: Bar): Piece[] {
  return kind.series.flatMap((series, at) =>
    series.values.map((value, category): Piece => ({
      category,
      series: at,
      value,
      low: series.low[category] ?? null,
      high: series.high[category] ?? null,
      from: 0,
      to: value ?? 0,
    })),
  );
}

/** Positive pieces grow up from zero and negative ones down. */
function stacked(kind: Bar): Piece[] {
  const tops = kind.categories.map(() => ({ above: 0, below: 0 }));
  return kind.series.flatMap((series, at) =>
    series.values.map((value, category): Piece => {
      const top = tops[category] ?? { above: 0, below: 0 };
      const side = (value ?? 0) < 0 ? "below" : "above";
      const from = top[side];
      top[side] += value ?? 0;
      return { category, series: at, value, low: null, high: null, from, to: top[side] };
    }),
  );
}

function tip(piece: Piece, kind: Bar): string {
  const interval = piece.low !== null && piece.high !== null ? [`95 %: ${range(piece.low, piece.high, kind.y.unit)}`] : [];
  return [
    `${kind.x}: ${kind.categories[piece.category] ?? ""}`,
    `${kind.series[piece.series]?.name ?? ""}: ${piece.value === null ? "–" : quantity(piece.value, kind.y.unit)}`,
    ...interval,
  ].join("\n");
}
