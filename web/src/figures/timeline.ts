// Timelines: one lane a member, spans as bars, moments as marks.

import * as Plot from "@observablehq/plot";
import { quantity } from "../human";
import type { Kind, Mark, Span } from "../report";
import { CHARACTER, cut, numericAxis } from "./axis";
import { base, type Drawing, named, pointerTip, svgOf, xAxis } from "./drawing";
import { seriesColour } from "./palette";

type Timeline = Extract<Kind, { type: "timeline" }>;

export function drawTimeline(kind: Timeline, width: number): Drawing {
  const spans = kind.lanes.flatMap((lane, at) => lane.spans.map((span) => ({ lane: at, span })));
  const marks = kind.lanes.flatMap((lane, at) => lane.marks.map((mark) => ({ lane: at, mark })));
  const whats = [...new Set(spans.map(({ span }) => span.what))];
  const colour = (what: string): string => seriesColour(whats.indexOf(what));
  const characters = width < 520 ? 12 : 28;
  const left = Math.max(...kind.lanes.map((lane) => Math.min(lane.name.length, characters)), 2) * CHARACTER + 14;
  const tall = Math.max(9, Math.min(30, 900 / Math.max(1, kind.lanes.length)));
  const height = Math.round(kind.lanes.length * tall + 62);
  const stride = Math.ceil(13 / tall);
  const times = [...spans.flatMap(({ span }) => [span.from, span.to]), ...marks.map(({ mark }) => mark.at)];
  const x = numericAxis(kind.x, times, { pixels: width - left - 24, spacing: 62, tight: true });
  const lane = (each: { lane: number }): number => each.lane;
  const from = ({ span }: { span: Span }): number => x.to(span.from);
  const to = ({ span }: { span: Span }): number => x.to(span.to);
  const at = ({ mark }: { mark: Mark }): number => x.to(mark.at);
  const svg = svgOf(
    Plot.plot({
      ...base(width, height, { left, right: 24, top: 12, bottom: 42 }),
      x: x.scale,
      y: { type: "band", domain: kind.lanes.map((_, index) => index), padding: 0.22 },
      marks: [
        Plot.gridX(x.ticks, { stroke: "var(--grid)", strokeOpacity: 1 }),
        ...xAxis(x),
        Plot.axisY(
          kind.lanes.map((_, index) => index).filter((index) => index % stride === 0),
          { label: null, tickFormat: (index: number) => cut(kind.lanes[index]?.name ?? "", characters), tickSize: 0 },
        ),
        Plot.barX(spans, { y: lane, x1: from, x2: to, fill: (each: { span: Span }) => colour(each.span.what), insetLeft: 0.5, rx: 2, ...named(spans.map((each) => kind.lanes[each.lane]?.name ?? "")) }),
        Plot.tickX(marks, { y: lane, x: at, stroke: "var(--ink)", strokeWidth: 2 }),
        Plot.dot(marks, { y: lane, x: at, symbol: "diamond", r: 4.5, fill: "var(--ink)", stroke: "var(--surface)" }),
        ...markNames(marks, at, lane, x.scale.domain),
        pointerTip(spans, { x: (each) => (from(each) + to(each)) / 2, y: lane }, ({ span, lane: index }) =>
          [
            `${kind.lanes[index]?.name ?? ""}: ${span.what}`,
            ...(span.note === "" ? [] : [span.note]),
            `${quantity(span.from ?? 0, kind.x.unit)} to ${quantity(span.to ?? 0, kind.x.unit)}`,
            `lasts ${quantity((span.to ?? 0) - (span.from ?? 0), kind.x.unit)}`,
          ].join("\n"),
        ),
      ],
    }),
  );
  return {
    svg,
    legend: whats.map((what) => ({ name: what, colour: colour(what), form: "area" })),
    description: `${kind.lanes.length} lanes over ${x.label}: ${whats.join(", ")}`,
  };
}

type Placed = { lane: number; mark: Mark };

/** Names beside the marks, on the side where there is room. */
function markNames(
  marks: readonly Placed[],
  at: (each: Placed) => number,
  lane: (each: Placed) => number,
  [start, stop]: readonly [number, number],
): Plot.Markish[] {
  const late = (each: Placed): boolean => at(each) > start + 0.8 * (stop - start);
  const style = { x: at, y: lane, text: (each: Placed) => each.mark.what, fill: "var(--ink)", stroke: "var(--surface)" };
  return [
    Plot.text(marks.filter((each) => !late(each)), { ...style, textAnchor: "start", dx: 9 }),
    Plot.text(marks.filter(late), { ...style, textAnchor: "end", dx: -9 }),
  ];
}
