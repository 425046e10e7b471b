// Bars by category, side by side or stacked, with whiskers where the report has intervals.

import * as Plot from "@observablehq/plot";
import { quantity, range } from "../human";
import { nameOf } from "../linked";
import type { Kind, Num } from "../report";
import { bandAxis, numericAxis, type NumericAxis, plainNames, upright } from "./axis";
import { base, belowCut, dashedEntries, type Drawing, heightFor, type Look, named, pointerTip, referenceMarks, referenceValues, svgOf, yAxis } from "./drawing";
import { seriesColour } from "./palette";

type Bar = Extract<Kind, { type: "bar" }>;

/** In narrower figures a name beside its line would lie on the bars, so it goes to the legend. */
const NAMES_BESIDE = 480;

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

export function drawBar(kind: Bar, width: number, { cut }: Look = {}): Drawing {
  const height = heightFor(width);
  const beside = width >= NAMES_BESIDE;
  const pieces = kind.stacked ? stacked(kind) : sideBySide(kind);
  const ends = pieces.flatMap((piece) => [piece.from, piece.to, piece.low, piece.high]);
  const y = numericAxis(kind.y, belowCut([...ends, ...referenceValues(kind.references, "y")], cut), {
    pixels: height - 74,
    spacing: upright(kind.y.scale),
    zero: true,
  });
  const left = y.room + 18;
  const plain = plainNames(kind.x, kind.categories);
  const band = bandAxis(plain.names, width - left - 18, left);
  const svg = svgOf(
    Plot.plot({
      ...base(width, height, { left, bottom: band.room + 20 }),
      // A number line with a category at each whole number: bars and references then share one scale.
      x: { type: "linear", domain: [-0.5, kind.categories.length - 0.5] },
      y: y.scale,
      marks: [
        ...yAxis(y),
        Plot.axisX(band.ticks, {
          label: plain.axis,
          tickFormat: (at: number) => band.text[at] ?? "",
          tickRotate: band.rotate,
          tickSize: 0,
          labelArrow: "none",
          labelAnchor: "center",
        }),
        ...bars(kind, pieces, y, cut != null),
        Plot.ruleY([y.scale.type === "log" ? y.floor : 0], { stroke: "var(--axis)" }),
        ...referenceMarks(kind.references, null, y, [], beside),
      ],
    }),
  );
  const entries = kind.series.map((series, at) => ({ name: series.name, colour: seriesColour(at), series: series.name, form: "area" as const }));
  const across = kind.references.filter((each) => each.type === "horizontal");
  const lines = beside ? [] : across.map((each) => each.name);
  return {
    svg,
    legend: [...(entries.length > 1 ? entries : []), ...dashedEntries(lines)],
    description: `${y.label} by ${kind.x}, as bars: ${kind.series.map((series) => series.name).join(", ")}`,
  };
}

function bars(kind: Bar, pieces: readonly Piece[], y: NumericAxis, clip: boolean): Plot.Markish[] {
  const wide = 0.76 / (kind.stacked ? 1 : Math.max(1, kind.series.length));
  const start = (piece: Piece): number => piece.category - 0.38 + (kind.stacked ? 0 : piece.series * wide);
  const middle = (piece: Piece): number => start(piece) + wide / 2;
  const known = pieces.filter((piece) => piece.value !== null);
  const whiskers = known.filter((piece) => piece.low !== null && piece.high !== null);
  return [
    Plot.rect(known, {
      x1: start,
      x2: (piece: Piece) => start(piece) + wide,
      y1: (piece: Piece) => y.clipped(piece.from),
      y2: (piece: Piece) => y.clipped(piece.to),
      fill: (piece: Piece) => seriesColour(piece.series),
      fillOpacity: 0.88,
      insetLeft: kind.stacked ? 0 : 0.75,
      insetRight: kind.stacked ? 0 : 0.75,
      clip,
      ...named(known.map((piece) => nameOf(kind.x, kind.categories[piece.category] ?? ""))),
    }),
    Plot.ruleX(whiskers, {
      x: middle,
      y1: (piece: Piece) => y.clipped(piece.low ?? 0),
      y2: (piece: Piece) => y.clipped(piece.high ?? 0),
      stroke: "var(--ink)",
      strokeWidth: 1.5,
      marker: "tick",
      clip,
    }),
    ...(clip ? [beyond(known.filter((piece) => y.clipped(piece.to) > y.scale.domain[1]), middle, kind)] : []),
    pointerTip(known, { x: middle, y: (piece) => (y.clipped(piece.from) + Math.min(y.scale.domain[1], y.clipped(piece.to))) / 2 }, (piece) => tip(piece, kind)),
  ];
}

/** The values of bars that end above the axis, at their cut ends. */
function beyond(pieces: readonly Piece[], middle: (piece: Piece) => number, kind: Bar): Plot.Markish {
  const text = (piece: Piece): string => `↑ ${quantity(kind.stacked ? piece.to : (piece.value ?? 0), kind.y.unit)}`;
  return Plot.text(pieces, { x: middle, frameAnchor: "top", dy: -8, text, fill: "var(--ink)" });
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
