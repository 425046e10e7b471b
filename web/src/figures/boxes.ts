// Box and whiskers at places of a numeric axis, a colour for each series. Series that have a box at the same place stand
// beside each other, and a line joins their medians.

import * as Plot from "@observablehq/plot";
import { quantity } from "../human";
import type { BoxStats, Kind, Num } from "../report";
import { numericAxis, type NumericAxis, upright } from "./axis";
import { base, type Drawing, heightFor, pointerTip, referenceMarks, referenceValues, seriesLegend, svgOf, xAxis, yAxis } from "./drawing";
import { seriesColour, seriesDash } from "./palette";

type Boxes = Extract<Kind, { type: "boxes" }>;

/** The widest box, in pixels. */
const WIDEST = 22;

interface Place {
  series: string;
  /** Where it stands: on the axis, and in pixels beside that. */
  x: number;
  beside: number;
  place: Num;
  box: BoxStats;
}

export function drawBoxes(kind: Boxes, width: number): Drawing {
  const height = Math.max(heightFor(width), Math.min(460, Math.round(width * 0.62)));
  const all = kind.series.flatMap((series) => series.boxes.map((placed) => placed.stats));
  const ys = all.flatMap((box) => [box.low, box.q1, box.median, box.q3, box.high, box.mean, ...box.outliers]);
  const y = numericAxis(kind.y, [...ys, ...referenceValues(kind.references, "y")], {
    pixels: height - 74,
    spacing: upright(kind.y.scale),
  });
  const left = y.room + 18;
  const anchors = anchorsOf(kind);
  const pixels = width - left - 18;
  const x = numericAxis(kind.x, [...anchors, ...referenceValues(kind.references, "x")], { pixels, spacing: 62, zero: false, anchors });
  // Half of the room between places, shared by the series.
  const room = Math.min(WIDEST, (0.55 * pixels) / Math.max(1, anchors.length) / Math.max(1, kind.series.length));
  const marks = kind.series.flatMap((series, at) => {
    const beside = (at - (kind.series.length - 1) / 2) * (room + 2);
    const places = series.boxes.map(
      (placed): Place => ({ series: series.name, x: x.to(placed.x), beside, place: placed.x, box: placed.stats }),
    );
    return boxMarks(places, at, Math.max(3, room), y);
  });
  const spots = kind.series.flatMap((series) =>
    series.boxes.map((placed): Place => ({ series: series.name, x: x.to(placed.x), beside: 0, place: placed.x, box: placed.stats })),
  );
  const names = kind.series.map((series) => series.name);
  const svg = svgOf(
    Plot.plot({
      ...base(width, height, { left }),
      x: x.scale,
      y: y.scale,
      marks: [
        ...yAxis(y),
        ...xAxis(x),
        ...referenceMarks(kind.references, x, y, names),
        ...marks,
        pointerTip(
          spots.filter((spot) => !Number.isNaN(spot.x) && !Number.isNaN(y.to(spot.box.median))),
          { x: (spot) => spot.x, y: (spot) => y.to(spot.box.median) },
          (spot) => tip(spot, kind),
        ),
      ],
    }),
  );
  const entries = names.map((name, at) => ({ name, colour: seriesColour(at), series: name, form: "area" as const }));
  return {
    svg,
    legend: seriesLegend(entries, kind.references),
    description: `${y.label} against ${x.label}, as boxes: ${names.join(", ")}`,
  };
}

/** Every place where a box stands. */
function anchorsOf(kind: Boxes): number[] {
  const places = kind.series.flatMap((series) => series.boxes.map((placed) => placed.x));
  return [...new Set(places)].filter((place): place is number => place !== null);
}

function boxMarks(places: readonly Place[], at: number, size: number, y: NumericAxis): Plot.Markish[] {
  const colour = seriesColour(at);
  const dash = seriesDash(at);
  const to = (read: (box: BoxStats) => Num) => (place: Place) => y.to(read(place.box));
  const x = (place: Place): number => place.x;
  const dx = places[0]?.beside ?? 0;
  const beyond = places.flatMap((place) => place.box.outliers.map((value) => ({ x: place.x, value: y.to(value) })));
  const line = { x, y: to((box) => box.median), dx, stroke: colour, strokeOpacity: 0.5, strokeWidth: 1.3 };
  // Widths in pixels do not depend on the scale of the axis: a wide stroke is the box, and a narrow one the whisker.
  return [
    Plot.line(places, dash === undefined ? line : { ...line, strokeDasharray: dash }),
    Plot.ruleX(places, { x, y1: to((box) => box.low), y2: to((box) => box.high), dx, stroke: "var(--ink)", strokeWidth: 1.2 }),
    Plot.ruleX(places, { x, y1: to((box) => box.q1), y2: to((box) => box.q3), dx, stroke: "var(--surface)", strokeWidth: size }),
    Plot.ruleX(places, { x, y1: to((box) => box.q1), y2: to((box) => box.q3), dx, stroke: colour, strokeOpacity: 0.45, strokeWidth: size }),
    ...[
      { read: (box: BoxStats) => box.median, stroke: colour, wide: size + 4, strong: 2.5 },
      { read: (box: BoxStats) => box.low, stroke: "var(--ink)", wide: size / 2, strong: 1.2 },
      { read: (box: BoxStats) => box.high, stroke: "var(--ink)", wide: size / 2, strong: 1.2 },
    ].map(({ read, stroke, wide, strong }) =>
      Plot.vector(places, { x, y: to(read), dx, rotate: 90, length: wide, anchor: "middle", shape: DASH, stroke, strokeWidth: strong }),
    ),
    Plot.dot(beyond, { x: "x", y: "value", dx, r: 2.5, stroke: colour }),
  ];
}

/** A vector without a head. */
const DASH: Plot.VectorShapeImplementation = {
  draw(context, length) {
    context.moveTo(0, 0);
    context.lineTo(0, -length);
  },
};

function tip({ series, place, box }: Place, kind: Boxes): string {
  const say = (value: Num): string => (value === null ? "–" : quantity(value, kind.y.unit));
  return [
    series,
    `${kind.x.label}: ${place === null ? "–" : quantity(place, kind.x.unit)} (n = ${box.n})`,
    `upper whisker: ${say(box.high)}`,
    `third quartile: ${say(box.q3)}`,
    `median: ${say(box.median)}`,
    `first quartile: ${say(box.q1)}`,
    `lower whisker: ${say(box.low)}`,
  ].join("\n");
}
