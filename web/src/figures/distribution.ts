// Histograms and empirical distribution functions.

import * as Plot from "@observablehq/plot";
import { digits, quantity } from "../human";
import type { Bin, Kind, Num } from "../report";
import { numericAxis, type NumericAxis, upright } from "./axis";
import {
  acrossAxis,
  acrossOf,
  base,
  type Drawing,
  heightFor,
  inZoom,
  type Look,
  pointerTip,
  referenceMarks,
  referenceValues,
  seriesLegend,
  svgOf,
  xAxis,
  yAxis,
} from "./drawing";
import { seriesColour, seriesDash } from "./palette";

type Histogram = Extract<Kind, { type: "histogram" }>;
type Ecdf = Extract<Kind, { type: "ecdf" }>;

export function drawHistogram(kind: Histogram, width: number, { zoom }: Look = {}): Drawing {
  const height = heightFor(width);
  const bins = kind.series.flatMap((series) => series.bins);
  const y = numericAxis(kind.y, [...bins.map((bin) => bin.height), ...referenceValues(kind.references, "y")], {
    pixels: height - 74,
    spacing: upright(kind.y.scale),
    zero: true,
  });
  const left = y.room + 18;
  const ends = bins.flatMap((bin) => [bin.from, bin.to]);
  const xs = [...ends, ...referenceValues(kind.references, "x")];
  const x = acrossAxis(kind.x, xs, { pixels: width - left - 18, spacing: 62, tight: true }, zoom);
  const many = kind.series.length > 1;
  // On a logarithmic axis a bin that starts at zero starts at the edge, and so do bars on a logarithmic height.
  const from = (bin: Bin): number => bin.from === null ? Number.NaN : x.clipped(bin.from);
  const marks = kind.series.flatMap((series, at): Plot.Markish[] => {
    const box = { x1: from, x2: (bin: Bin) => x.to(bin.to), y1: y.scale.type === "log" ? y.floor : 0, clip: true };
    const colour = seriesColour(at);
    const drawn = series.bins.filter((bin) => !Number.isNaN(y.to(bin.height)));
    const bars = Plot.rectY(drawn, {
      ...box,
      y2: (bin: Bin) => y.to(bin.height),
      fill: colour,
      fillOpacity: many ? 0.4 : 0.75,
      insetLeft: many ? 0 : 0.5,
      insetRight: many ? 0 : 0.5,
    } as Plot.RectYOptions);
    return many ? [bars, outline(drawn, from, (bin) => y.to(bin.height), colour)] : [bars];
  });
  const data = kind.series.flatMap((series) => series.bins.map((bin) => ({ bin, name: series.name })));
  const svg = svgOf(
    Plot.plot({
      ...base(width, height, { left }),
      x: x.scale,
      y: y.scale,
      marks: [
        ...yAxis(y),
        ...xAxis(x),
        ...marks,
        Plot.ruleY([y.scale.domain[0]], { stroke: "var(--axis)" }),
        ...referenceMarks(inZoom(kind.references, zoom), x, y, kind.series.map((series) => series.name)),
        pointerTip(
          data.filter(({ bin }) => (bin.height ?? 0) > 0 && between(x, (from(bin) + x.to(bin.to)) / 2)),
          { x: ({ bin }) => (from(bin) + x.to(bin.to)) / 2, y: ({ bin }) => y.to(bin.height) },
          ({ bin, name }) =>
            [
              ...(many ? [name] : []),
              `${kind.x.label}: ${x.shown.digits(bin.from ?? 0)} to ${quantity(bin.to ?? 0, kind.x.unit)}`,
              `${kind.y.label}: ${bin.height === null ? "–" : quantity(bin.height, kind.y.unit)}`,
            ].join("\n"),
        ),
      ],
    }),
  );
  const entries = kind.series.map((series, at) => ({ name: series.name, colour: seriesColour(at), series: series.name, form: "area" as const }));
  return {
    svg,
    across: acrossOf(svg, x, left),
    legend: seriesLegend(entries, kind.references),
    description: `Histogram of ${x.label}: ${kind.series.map((series) => series.name).join(", ")}`,
  };
}

/** Whether a place lies on an axis. */
function between({ scale: { domain } }: NumericAxis, value: number): boolean {
  return value >= domain[0] && value <= domain[1];
}

/** The silhouette of overlapping bars, which keeps them apart. */
function outline(bins: readonly Bin[], from: (bin: Bin) => number, up: (bin: Bin) => number, colour: string): Plot.Markish {
  return Plot.line(bins, { x: from, y: up, curve: "step-after", stroke: colour, strokeWidth: 1.5, clip: true });
}

interface Step {
  value: Num;
  share: Num;
  name: string;
}

export function drawEcdf(kind: Ecdf, width: number, { zoom }: Look = {}): Drawing {
  const height = heightFor(width);
  const steps = kind.series.map((series) =>
    series.points.map(([value, share]): Step => ({
      value,
      // The last share is one; what is above it is nothing, which a logarithmic axis leaves out.
      share: share === null ? null : kind.tail ? 1 - share : share,
      name: series.name,
    })),
  );
  const all = steps.flat();
  const y = numericAxis(
    { label: kind.tail ? "share above" : "share at or below", unit: "", scale: kind.tail ? "log" : "linear" },
    kind.tail ? [...all.map((step) => step.share), 1] : [0, 1],
    { pixels: height - 74, spacing: upright(kind.tail ? "log" : "linear") },
  );
  const left = y.room + 18;
  const xs = [...all.map((step) => step.value), ...referenceValues(kind.references, "x")];
  const x = acrossAxis(kind.x, xs, { pixels: width - left - 18, spacing: 62, tight: true }, zoom);
  const lines = steps.map((series, at) => {
    const line = {
      x: (step: Step) => x.to(step.value),
      y: (step: Step) => y.to(step.share),
      curve: "step-after" as const,
      stroke: seriesColour(at),
      strokeWidth: 2,
      clip: true as const,
    };
    const dash = seriesDash(at);
    return Plot.line(series, dash === undefined ? line : { ...line, strokeDasharray: dash });
  });
  const svg = svgOf(
    Plot.plot({
      ...base(width, height, { left }),
      x: x.scale,
      y: y.scale,
      marks: [
        ...yAxis(y),
        ...xAxis(x),
        ...referenceMarks(inZoom(kind.references, zoom), x, y, kind.series.map((series) => series.name)),
        ...lines,
        pointerTip(
          all.filter((step) => between(x, x.to(step.value)) && !Number.isNaN(y.to(step.share))),
          { x: (step) => x.to(step.value), y: (step) => y.to(step.share) },
          (step) =>
            [
              ...(steps.length > 1 ? [step.name] : []),
              `${kind.x.label}: ${quantity(step.value ?? 0, kind.x.unit)}`,
              `${kind.tail ? "above" : "at or below"}: ${digits((step.share ?? 0) * 100)} %`,
            ].join("\n"),
        ),
      ],
    }),
  );
  const entries = kind.series.map((series, at) => ({
    name: series.name,
    colour: seriesColour(at),
    series: series.name,
    form: "line" as const,
    dash: seriesDash(at),
  }));
  return {
    svg,
    across: acrossOf(svg, x, left),
    legend: seriesLegend(entries, kind.references),
    description: `Distribution of ${x.label}: ${kind.series.map((series) => series.name).join(", ")}`,
  };
}
