// Lines over a numeric axis, with intervals as bands and references dashed. Log-log when both axes say so.

import * as Plot from "@observablehq/plot";
import type { CurvePoint, Kind, LineSeries } from "../report";
import { numericAxis, type NumericAxis, upright } from "./axis";
import { bandValues, drawBands } from "./bands";
import {
  base,
  type Drawing,
  acrossAxis,
  acrossOf,
  belowCut,
  heightFor,
  inZoom,
  type Look,
  named,
  pointerTip,
  referenceMarks,
  referenceValues,
  seriesLegend,
  svgOf,
  xAxis,
  yAxis,
} from "./drawing";
import { seriesColour, seriesDash, SYMBOLS } from "./palette";

type Line = Extract<Kind, { type: "line" }>;

/** Above this many points, dots hide the line. */
const DOTS_MAX = 32;

/** Above this many points, lines get thinner. */
const CROWDED = 150;

interface Spot extends CurvePoint {
  series: string;
}

export function drawLine(kind: Line, width: number, { bands = [], zoom, cut }: Look = {}): Drawing {
  const height = heightFor(width);
  const all = kind.series.flatMap((series) => series.points);
  const seen = all.filter((point) => zoom == null || (point.x !== null && point.x >= zoom[0] && point.x <= zoom[1]));
  // Between two points there may be a line though there is no point.
  const points = seen.length > 0 ? seen : all;
  const references = inZoom(kind.references, zoom);
  const dots = kind.series.every((series) => series.draw === "points");
  const ys = points.flatMap((point) => [point.y, point.low, point.high]);
  const y = numericAxis(kind.y, belowCut([...ys, ...referenceValues(kind.references, "y")], cut), {
    pixels: height - 74,
    spacing: upright(kind.y.scale),
    ...(dots ? { zero: false } : {}),
  });
  const left = y.room + 18;
  const xs = [...points.map((point) => point.x), ...referenceValues(kind.references, "x"), ...bandValues(bands)];
  const wishes = { pixels: width - left - 18, spacing: 62, ...(dots ? { zero: false } : { tight: true }), anchors: anchorsOf(kind) };
  const x = acrossAxis(kind.x, xs, wishes, zoom);
  const named = references.some((each) => each.type === "vertical") ? 14 : 0;
  const behind = drawBands(bands, x, [left, width - 18], named);
  const marks = kind.series.flatMap((series, at) => seriesMarks(series, at, x, y));
  const spots = kind.series.flatMap((series) => series.points.map((point): Spot => ({ ...point, series: series.name })));
  const many = kind.series.length > 1;
  const svg = svgOf(
    Plot.plot({
      ...base(width, height + behind.room, { left, top: 34 + behind.room }),
      x: x.scale,
      y: y.scale,
      marks: [
        ...behind.back,
        ...yAxis(y),
        ...xAxis(x),
        ...behind.names,
        ...referenceMarks(references, x, y, kind.series.map((series) => series.name)),
        ...marks,
        pointerTip(
          spots.filter((spot) => [{ axis: x, at: x.to(spot.x) }, { axis: y, at: y.to(spot.y) }].every(({ axis, at }) => !Number.isNaN(at) && inside(axis, at))),
          { x: (spot) => x.to(spot.x), y: (spot) => y.to(spot.y) },
          (spot) => tip(spot, kind, x, y, many),
        ),
      ],
    }),
  );
  const entries = kind.series.map((series, at) => ({
    name: series.name,
    colour: seriesColour(at),
    series: series.name,
    form: series.draw === "points" ? ("dot" as const) : ("line" as const),
    dash: seriesDash(at),
  }));
  const names = kind.series.map((series) => series.name).join(", ");
  return {
    svg,
    across: acrossOf(svg, x, left, 34 + behind.room),
    legend: seriesLegend(entries, kind.references),
    description: `${y.label} against ${x.label}: ${names}${bands.length === 0 ? "" : `; phases: ${bands.map((each) => each.name).join(", ")}`}`,
  };
}

/** Whether a value lies on an axis; what is missing lies beside none. */
function inside({ scale: { domain } }: NumericAxis, value: number): boolean {
  return Number.isNaN(value) || (value >= domain[0] && value <= domain[1]);
}

/** The places of a sweep, when all lines share a few. */
function anchorsOf(kind: Line): number[] {
  const places = kind.series.flatMap((series) => series.points.map((point) => point.x));
  const unique = [...new Set(places)].filter((place): place is number => place !== null);
  return unique.length <= 10 ? unique : [];
}

function seriesMarks(series: LineSeries, at: number, x: NumericAxis, y: NumericAxis): Plot.Markish[] {
  const colour = seriesColour(at);
  const curve = series.draw === "step" ? ("step-after" as const) : ("linear" as const);
  const across = (point: CurvePoint): number => x.to(point.x);
  const up = (point: CurvePoint): number => y.to(point.y);
  // An interval that reaches down to zero or below has no low end on a logarithmic axis: it runs off the drawing.
  const low = (point: CurvePoint): number => (point.low === null ? Number.NaN : y.clipped(point.low));
  const high = (point: CurvePoint): number => y.to(point.high);
  const banded = series.points.filter((point) => point.low !== null && point.high !== null);
  const marks: Plot.Markish[] = [];
  // Dots at the very ends of an axis are whole, as long as none lies beyond.
  const clip = series.points.some((point) => !inside(x, x.to(point.x)) || !inside(y, y.to(point.y)));
  if (banded.length > 1 && series.draw !== "points") {
    const band = { x: across, y1: low, y2: high, curve, fill: colour, fillOpacity: 0.16, clip: true };
    marks.push(Plot.areaY(series.points, band));
  }
  if (banded.length > 0 && banded.length <= DOTS_MAX) {
    const whisker = { x: across, y1: low, y2: high, stroke: colour, strokeOpacity: 0.55, clip: true };
    marks.push(Plot.ruleX(banded, whisker));
  }
  if (series.draw !== "points") {
    const dash = seriesDash(at);
    const line = { ...named(series.name), x: across, y: up, curve, stroke: colour, clip: true as const, strokeWidth: series.points.length > CROWDED ? 1.3 : 2 };
    marks.push(Plot.line(series.points, dash === undefined ? line : { ...line, strokeDasharray: dash }));
  }
  if (series.draw === "points") {
    const dots = { x: across, y: up, r: 3, fill: colour, fillOpacity: 0.55, stroke: colour, clip, ...named(series.name) };
    marks.push(Plot.dot(series.points, { ...dots, symbol: SYMBOLS[at % SYMBOLS.length] ?? "circle" }));
  } else if (series.points.length <= DOTS_MAX && series.draw === "line") {
    const symbol = SYMBOLS[at % SYMBOLS.length] ?? "circle";
    marks.push(Plot.dot(series.points, { x: across, y: up, r: 3.4, fill: colour, stroke: "var(--surface)", symbol, clip, ...named(series.name) }));
  }
  return marks;
}

function tip(spot: Spot, kind: Line, x: NumericAxis, y: NumericAxis, many: boolean): string {
  const lines = many ? [spot.series] : [];
  const say = (axis: NumericAxis, value: number | null): string =>
    value === null ? "–" : `${axis.shown.digits(value)}${axis.shown.unit === "" ? "" : ` ${axis.shown.unit}`}`;
  lines.push(`${kind.x.label}: ${say(x, spot.x)}`, `${kind.y.label}: ${say(y, spot.y)}`);
  if (spot.low !== null && spot.high !== null) {
    lines.push(`95 %: ${y.shown.digits(spot.low)} to ${say(y, spot.high)}`);
  }
  return lines.join("\n");
}
