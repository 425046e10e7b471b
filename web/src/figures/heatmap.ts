// Heat maps. The colours are viridis, which grows evenly in lightness and survives colour blindness and a grey
// printer; a square without a value is hatched by the page's own colour.

import * as Plot from "@observablehq/plot";
import { s } from "../dom";
import { quantity } from "../human";
import { nameOf } from "../linked";
import type { Kind, Num } from "../report";
import { bandAxis, CHARACTER, cut, numericAxis, type NumericAxis } from "./axis";
import { base, type Drawing, named, pointerTip, svgOf } from "./drawing";

type Heatmap = Extract<Kind, { type: "heatmap" }>;

const SCHEME = "viridis";

/** Width of the colour scale, and the strips it is made of: strips need no canvas, which other programs lack. */
const RAMP = 260;
const STRIPS = 65;

interface Square {
  column: number;
  row: number;
  value: Num;
}

export function drawHeatmap(kind: Heatmap, width: number): Drawing {
  const squares = kind.values.flatMap((values, row) => values.map((value, column): Square => ({ column, row, value })));
  const colour = numericAxis(kind.value, squares.map((square) => square.value), { pixels: 240, spacing: 60, tight: true });
  const characters = width < 520 ? 12 : 24;
  const left = Math.max(...kind.rows.map((name) => Math.min(name.length, characters)), 2) * CHARACTER + 14;
  const band = bandAxis(kind.columns, width - left - 12, left);
  const tall = Math.max(12, Math.min(34, (width - left) / Math.max(1, kind.columns.length)));
  const height = Math.round(Math.max(140, Math.min(720, kind.rows.length * tall + 34 + band.room + 20)));
  const rowStride = Math.ceil((kind.rows.length * 13) / (height - 74));
  const known = squares.filter((square) => !Number.isNaN(colour.to(square.value)));
  const missing = squares.filter((square) => Number.isNaN(colour.to(square.value)));
  const plot = Plot.plot({
    ...base(width, height, { left, right: 12, top: 26, bottom: band.room + 20 }),
    color: { ...colour.scale, scheme: SCHEME },
    x: { type: "band", domain: kind.columns.map((_, at) => at), padding: 0 },
    y: { type: "band", domain: kind.rows.map((_, at) => at), padding: 0 },
    marks: [
      Plot.axisX(band.ticks, {
        label: kind.x,
        tickFormat: (at: number) => band.text[at] ?? "",
        tickRotate: band.rotate,
        tickSize: 0,
        labelArrow: "none",
        labelAnchor: "center",
      }),
      Plot.axisY(
        kind.rows.map((_, at) => at).filter((at) => at % rowStride === 0),
        {
          label: kind.y,
          tickFormat: (at: number) => cut(kind.rows[at] ?? "", characters),
          tickSize: 0,
          labelArrow: "none",
          labelAnchor: "top",
        },
      ),
      Plot.cell(missing, { x: "column", y: "row", fill: "var(--missing)", inset: 0.5 }),
      Plot.cell(known, { x: "column", y: "row", fill: (square: Square) => colour.to(square.value), inset: 0.5, ...named(known.map((square) => nameOf(kind.y, kind.rows[square.row] ?? ""))) }),
      pointerTip(squares, { x: (square) => square.column, y: (square) => square.row }, (square) => tip(square, kind)),
    ],
  });
  return {
    svg: svgOf(plot),
    legend: missing.length > 0 ? [{ name: "no value", colour: "var(--missing)", form: "area" }] : [],
    ramp: ramp(colour, Math.min(RAMP, width)),
    description: `${colour.label} by ${kind.y} (down) and ${kind.x} (across), as coloured squares`,
  };
}

/** The colour scale with its ticks. */
function ramp(axis: NumericAxis, width: number): SVGSVGElement {
  const colours = Plot.scale({ color: { ...axis.scale, scheme: SCHEME } });
  const [low, high] = axis.scale.domain;
  const log = axis.scale.type === "log";
  const at = (share: number): number => (log ? low * (high / low) ** share : low + (high - low) * share);
  const shareOf = (value: number): number =>
    log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  const step = (width - 2) / STRIPS;
  const strips = Array.from({ length: STRIPS }, (_, index) =>
    s("rect", { x: index * step, y: 16, width: step + 0.5, height: 10, fill: colours.apply(at((index + 0.5) / STRIPS)) }),
  );
  const ticks = axis.ticks.map((tick) => {
    const x = shareOf(tick) * (width - 2);
    const anchor = x < 14 ? "start" : x > width - 22 ? "end" : "middle";
    return s(
      "g",
      {},
      s("line", { x1: x, x2: x, y1: 16, y2: 30, stroke: "var(--surface)" }),
      s("text", { x, y: 39, "text-anchor": anchor }, axis.format(tick)),
    );
  });
  return s(
    "svg",
    { width, height: 44, viewBox: `0 0 ${width} 44`, fill: "var(--muted)", "font-size": 11, role: "img", "aria-label": axis.label },
    s("text", { y: 10 }, axis.label),
    ...strips,
    ...ticks,
  );
}

function tip(square: Square, kind: Heatmap): string {
  return [
    `${kind.y}: ${kind.rows[square.row] ?? ""}`,
    `${kind.x}: ${kind.columns[square.column] ?? ""}`,
    `${kind.value.label}: ${square.value === null ? "–" : quantity(square.value, kind.value.unit)}`,
  ].join("\n");
}
