// Box and whiskers, from quartiles that the report carries.

import * as Plot from "@observablehq/plot";
import { quantity } from "../human";
import { nameOf } from "../linked";
import type { BoxStats, Kind, Num } from "../report";
import { bandAxis, numericAxis, plainNames, upright } from "./axis";
import { base, belowCut, type Drawing, heightFor, type Look, named, pointerTip, referenceMarks, referenceValues, svgOf, yAxis } from "./drawing";
import { seriesColour } from "./palette";

type Box = Extract<Kind, { type: "box" }>;

interface Place {
  at: number;
  box: BoxStats;
}

export function drawBox(kind: Box, width: number, { cut }: Look = {}): Drawing {
  // Boxes are read by their heights. A tall drawing also fills its card beside a round one.
  const height = Math.max(heightFor(width), Math.min(430, Math.round(width * 0.8)));
  const values = kind.boxes.flatMap((box) => [box.low, box.q1, box.median, box.q3, box.high, box.mean, ...box.outliers]);
  const y = numericAxis(kind.y, belowCut([...values, ...referenceValues(kind.references, "y")], cut), {
    pixels: height - 74,
    spacing: upright(kind.y.scale),
  });
  const left = y.room + 18;
  const names = kind.boxes.map((box) => box.label);
  const plain = plainNames(kind.x, names);
  const band = bandAxis(plain.names, width - left - 18, left);
  const places = kind.boxes.map((box, at): Place => ({ at, box }));
  const x = (place: Place): number => place.at;
  const to = (read: (box: BoxStats) => Num) => (place: Place) => y.to(read(place.box));
  const colour = seriesColour(0);
  const beyond = places.flatMap((place) => place.box.outliers.map((value) => ({ at: place.at, value: y.to(value) })));
  // Of one run there is no distribution: it is a dot.
  const boxes = places.filter((place) => place.box.n > 1);
  const single = places.filter((place) => place.box.n <= 1);
  const clip = cut != null;
  const half = Math.max(3, Math.min(28, (width - left) / places.length / 3));
  const svg = svgOf(
    Plot.plot({
      ...base(width, height, { left, bottom: band.room + 20 }),
      x: { type: "band", domain: places.map(x), padding: 0.35 },
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
        ...referenceMarks(kind.references, null, y),
        Plot.ruleX(boxes, { x, y1: to((box) => box.low), y2: to((box) => box.q1), stroke: "var(--ink)", clip }),
        Plot.ruleX(boxes, { x, y1: to((box) => box.q3), y2: to((box) => box.high), stroke: "var(--ink)", clip }),
        Plot.barY(boxes, {
          x,
          y1: to((box) => box.q1),
          y2: to((box) => box.q3),
          fill: colour,
          fillOpacity: 0.3,
          stroke: colour,
          clip,
          ...named(boxes.map((place) => nameOf(kind.x, place.box.label))),
        }),
        Plot.tickY(boxes, { x, y: to((box) => box.median), stroke: colour, strokeWidth: 2.5, clip }),
        ...[(box: BoxStats) => box.low, (box: BoxStats) => box.high].map((read) =>
          Plot.tickY(boxes, { x, y: to(read), stroke: "var(--ink)", insetLeft: half / 2, insetRight: half / 2, clip }),
        ),
        Plot.dot(beyond, { x: "at", y: "value", r: 2.5, stroke: colour, clip }),
        Plot.dot(boxes, { x, y: to((box) => box.mean), r: 3, fill: "var(--ink)", stroke: "var(--surface)", clip }),
        Plot.dot(single, { x, y: to((box) => box.median), r: 5, fill: colour, stroke: "var(--surface)", clip, ...named(single.map((place) => nameOf(kind.x, place.box.label))) }),
        pointerTip(places, { x, y: to((box) => box.median) }, (place) => tip(place.box, kind), "x"),
      ],
    }),
  );
  return { svg, legend: [], description: `${y.label} by ${kind.x}, as boxes: ${names.join(", ")}` };
}

function tip(box: BoxStats, kind: Box): string {
  const say = (value: Num): string => (value === null ? "–" : quantity(value, kind.y.unit));
  if (box.n <= 1) return `${kind.x}: ${box.label}\none run: ${say(box.median)}`;
  return [
    `${kind.x}: ${box.label} (n = ${box.n})`,
    `upper whisker: ${say(box.high)}`,
    `third quartile: ${say(box.q3)}`,
    `median: ${say(box.median)}`,
    `first quartile: ${say(box.q1)}`,
    `lower whisker: ${say(box.low)}`,
    ...(box.mean === null ? [] : [`mean: ${say(box.mean)}`]),
  ].join("\n");
}
