// What a figure's drawing consists of, and what all drawings made with Observable Plot share.

import * as Plot from "@observablehq/plot";
import type { Axis, Band, Num, Reference } from "../report";
import { type AxisWishes, numericAxis, type NumericAxis } from "./axis";
import type { Cut } from "./look";
import { seriesColour } from "./palette";
import type { Across, Stretch } from "./zoom";

/** An entry of a legend. */
export interface LegendEntry {
  name: string;
  colour: string;
  /** How its swatch looks. */
  form: "line" | "dash" | "area" | "dot";
  dash?: string | undefined;
  /** The series that the entry shows and hides. */
  series?: string;
}

/** A finished drawing. */
export interface Drawing {
  svg: SVGSVGElement;
  legend: LegendEntry[];
  /** A scale of colours, beside the legend. */
  ramp?: SVGSVGElement;
  /** For readers who do not see it. */
  description: string;
  /** Its horizontal axis, where that can be zoomed. */
  across?: Across;
}

/** What of a figure is drawn, beside its data. */
export interface Look {
  /** Stretches of the horizontal axis that have a name. */
  bands?: readonly Band[];
  /** The part of the horizontal axis that is drawn; all of it where there is none. */
  zoom?: Stretch | null;
  /** Where the vertical axis ends for the sake of most values. */
  cut?: Cut | null;
}

/** The values that an axis reaches: those below the cut. */
export function belowCut(values: readonly (number | null | undefined)[], end: Cut | null | undefined): (number | null | undefined)[] {
  return end == null ? [...values] : values.filter((value) => value == null || value <= end.limit);
}

/** The references of the part of the horizontal axis that is drawn. */
export function inZoom(references: readonly Reference[], zoom: Stretch | null | undefined): readonly Reference[] {
  if (zoom == null) return references;
  return references.filter((each) => each.type !== "vertical" || (each.at !== null && each.at >= zoom[0] && each.at <= zoom[1]));
}

/** A horizontal axis over some values, or over the part of it that is drawn. */
export function acrossAxis(axis: Axis, values: readonly (Num | undefined)[], wishes: AxisWishes, zoom: Stretch | null | undefined): NumericAxis {
  if (zoom == null) return numericAxis(axis, values, wishes);
  return numericAxis(axis, zoom, { pixels: wishes.pixels, spacing: wishes.spacing, zero: false, tight: true });
}

/** How the pixels of a plot belong to its horizontal axis. */
export function acrossOf(svg: SVGSVGElement, axis: NumericAxis, left: number, top = 34): Across {
  const scale = (svg as unknown as { scale: (name: string) => Plot.Scale | undefined }).scale("x");
  const [width, height] = [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
  return {
    left,
    right: width - 18,
    top,
    bottom: height - 40,
    at: (pixel) => Number(scale?.invert?.(pixel) ?? Number.NaN) * axis.shown.factor,
  };
}

/** Height of a figure of ordinary shape. */
export function heightFor(width: number): number {
  return Math.round(Math.max(230, Math.min(400, width * 0.62)));
}

/** Settings that every plot shares; colours come from the page, so that themes apply. */
export function base(width: number, height: number, margins: Partial<Margins> = {}): Plot.PlotOptions {
  return {
    width,
    height,
    marginTop: margins.top ?? 34,
    marginRight: margins.right ?? 18,
    marginBottom: margins.bottom ?? 40,
    marginLeft: margins.left ?? 44,
    color: { type: "identity" },
    style: { fontSize: "12px", background: "transparent", color: "var(--muted)", overflow: "visible" },
  };
}

interface Margins {
  top: number;
  right: number;
  bottom: number;
  left: number;
}

/** Light lines across the drawing at the ticks of a vertical axis, and its labels. */
export function yAxis(axis: NumericAxis): Plot.Markish[] {
  return [
    Plot.gridY(axis.ticks, { stroke: "var(--grid)", strokeOpacity: 1 }),
    Plot.axisY(axis.ticks, {
      label: axis.label,
      // Not tickFormat: on a logarithmic scale Plot leaves out some of the labels that go through it.
      text: axis.format,
      tickSize: 0,
      tickPadding: 6,
      labelArrow: "none",
      labelAnchor: "top",
    }),
  ];
}

/** The labels of a horizontal axis. */
export function xAxis(axis: NumericAxis): Plot.Markish[] {
  return [
    Plot.axisX(axis.ticks, {
      label: axis.label,
      text: axis.format,
      tickSize: 4,
      stroke: "var(--axis)",
      fill: "currentColor",
      labelArrow: "none",
      labelAnchor: "center",
    }),
  ];
}

/** The values that references name on one axis, so that the axis reaches them. */
export function referenceValues(references: readonly Reference[], direction: "x" | "y"): (number | null)[] {
  return references.flatMap((each) => {
    if (each.type === "curve") return each.points.map((point) => point[direction]);
    return each.type === (direction === "x" ? "vertical" : "horizontal") ? [each.at] : [];
  });
}

const DASH = "5 4";

/**
 * The series that a reference curve belongs to: the one whose name starts its own (`disk` and `disk, closed form`).
 * The rest of the name is what such curves have in common.
 */
export function ownerOf(name: string, series: readonly string[]): { at: number; rest: string } | null {
  const starts = series.map((each, at) => ({ at, each })).filter(({ each }) => each !== "" && name.startsWith(each));
  const longest = starts.sort((a, b) => b.each.length - a.each.length)[0];
  if (longest === undefined) return null;
  const rest = /^(?:\s*[,:–-]\s*|\s+)(.+)$/.exec(name.slice(longest.each.length))?.[1];
  return rest === undefined ? null : { at: longest.at, rest };
}

/** The width of a letter of a label and the height of its line, in pixels, at the most. */
const LETTER = 7;
const LINE = 13;

/** Where the labels of horizontal lines end, in pixels: to the left of one that lies on the same height. */
export function besideEachOther(names: readonly string[], heights: readonly number[], right: number): number[] {
  const placed: { y: number; left: number }[] = [];
  return names.map((name, index) => {
    const y = heights[index] ?? 0;
    const near = placed.filter((other) => Math.abs(other.y - y) < LINE).map((other) => other.left);
    const end = Math.min(right, ...near) - (near.length > 0 ? LETTER : 0);
    placed.push({ y, left: end - LETTER * name.length });
    return end;
  });
}

/** The rows of labels of vertical lines: each goes to the first row in which it touches no other. */
export function rowsOf(names: readonly string[], places: readonly number[]): number[] {
  const rows: { from: number; to: number }[][] = [];
  return names.map((name, index) => {
    const half = (LETTER * (name.length + 1)) / 2;
    const span = { from: (places[index] ?? 0) - half, to: (places[index] ?? 0) + half };
    const free = rows.findIndex((row) => row.every((other) => other.to <= span.from || span.to <= other.from));
    const row = free < 0 ? rows.length : free;
    rows[row] = [...(rows[row] ?? []), span];
    return row;
  });
}

type Level = { name: string; at: number };

/** The values of a channel in pixels. */
function pixels(channels: object, name: "x" | "y", scales: Plot.ScaleFunctions): number[] {
  const values = Array.from((channels as Record<string, { value: Iterable<number> }>)[name]?.value ?? []);
  const scale = scales[name];
  return scale === undefined ? values : values.map((value) => Number(scale(value)));
}

/** The names of horizontal lines at their right ends. */
function horizontalNames(levels: readonly Level[], style: Plot.TextOptions): Plot.Markish {
  const names = levels.map((level) => level.name);
  const options = { y: (level: Level) => level.at, text: "name", textAnchor: "end" as const, dy: -7, ...style };
  const place: Plot.InitializerFunction = (data, facets, channels, scales, dimensions) => {
    // Plot moves what stands on bands by half a band.
    const band = (scales.x as { bandwidth?: () => number } | undefined)?.bandwidth?.() ?? 0;
    const right = dimensions.width - dimensions.marginRight - band / 2;
    const ends = besideEachOther(names, pixels(channels, "y", scales), right);
    return { data, facets, channels: { x: { value: Float64Array.from(ends) } } };
  };
  return Plot.text(levels, Plot.initializer(options, place));
}

/** The names of vertical lines: the first row lies above the frame, the next ones in it. */
function verticalNames(levels: readonly Level[], style: Plot.TextOptions): Plot.Markish {
  const names = levels.map((level) => level.name);
  const options = { x: (level: Level) => level.at, text: "name", lineAnchor: "bottom" as const, dy: -5, ...style };
  const place: Plot.InitializerFunction = (data, facets, channels, scales, dimensions) => {
    const rows = rowsOf(names, pixels(channels, "x", scales));
    const heights = rows.map((row) => dimensions.marginTop + (row === 0 ? 0 : LINE * row + 10));
    return { data, facets, channels: { y: { value: Float64Array.from(heights) } } };
  };
  return Plot.text(levels, Plot.initializer(options, place));
}

/**
 * Reference lines with their names beside them. Curves go to the legend; those of a series have its colour. Horizontal
 * lines go there too if `named` is false.
 */
export function referenceMarks(
  references: readonly Reference[],
  x: NumericAxis | null,
  y: NumericAxis,
  series: readonly string[] = [],
  named = true,
): Plot.Markish[] {
  const halo = { fill: "var(--ink)", stroke: "var(--surface)", strokeWidth: 4, paintOrder: "stroke" as const };
  const line = { stroke: "var(--reference)", strokeWidth: 1.5, strokeDasharray: DASH };
  const levels = (type: "horizontal" | "vertical", axis: NumericAxis | null): Level[] =>
    references
      .flatMap((each) => (each.type === type ? [{ name: each.name, at: axis?.to(each.at) ?? Number.NaN }] : []))
      .filter((level) => !Number.isNaN(level.at));
  const curves = references.flatMap((each): Plot.Markish[] => {
    if (each.type !== "curve" || x === null) return [];
    const owner = ownerOf(each.name, series);
    const stroke = owner === null ? line.stroke : seriesColour(owner.at);
    const points = each.points.map((point): [number, number] => [x.to(point.x), y.to(point.y)]);
    return [Plot.line(points, { ...line, stroke, clip: true })];
  });
  const [across, down] = [levels("horizontal", y), levels("vertical", x)];
  const at = (level: Level): number => level.at;
  return [
    ...curves,
    ...(across.length > 0 ? [Plot.ruleY(across.map(at), line), ...(named ? [horizontalNames(across, halo)] : [])] : []),
    ...(down.length > 0 ? [Plot.ruleX(down.map(at), line), verticalNames(down, halo)] : []),
  ];
}

/** Legend entries of series and reference curves; a lone series needs none when the title says what it is. */
export function seriesLegend(entries: LegendEntry[], references: readonly Reference[]): LegendEntry[] {
  const names = entries.map((entry) => entry.name);
  const curves = references.filter((each) => each.type === "curve").map((each) => ownerOf(each.name, names)?.rest ?? each.name);
  const dashed = dashedEntries(curves);
  return entries.length > 1 || dashed.length > 0 ? [...entries, ...dashed] : [];
}

/** Legend entries of dashed lines, each name once. */
export function dashedEntries(names: readonly string[]): LegendEntry[] {
  return [...new Set(names)].map((name) => ({ name, colour: "var(--reference)", form: "dash", dash: DASH }));
}

/** What a box beside the pointer says; one text a datum. */
export function pointerTip<T>(
  data: readonly T[],
  place: { x?: (each: T) => unknown; y?: (each: T) => unknown; fx?: (each: T) => unknown },
  title: (each: T) => string,
  along: "xy" | "x" | "y" = "xy",
): Plot.Markish {
  const channels = { ...place, title } as Plot.TipOptions;
  const pointer = along === "x" ? Plot.pointerX(channels) : along === "y" ? Plot.pointerY(channels) : Plot.pointer(channels);
  return Plot.tip([...data], {
    ...pointer,
    fill: "var(--surface)",
    stroke: "var(--axis)",
    textPadding: 8,
    fontSize: 12,
    lineHeight: 1.3,
    lineWidth: 26,
  } as Plot.TipOptions);
}

/** Puts a name on each mark, by which rows of tables find it; one name for each datum, or one for all. */
export function named(names: readonly string[] | string): { render: Plot.RenderFunction } {
  return {
    render: (index, scales, values, dimensions, context, next) => {
      const group = next?.(index, scales, values, dimensions, context) ?? null;
      if (typeof names === "string") group?.setAttribute("data-name", names);
      else [...(group?.children ?? [])].forEach((each, at) => each.setAttribute("data-name", names[index[at] ?? -1] ?? ""));
      return group;
    },
  };
}

/** The svg of a plot without legends of its own. */
export function svgOf(plot: ReturnType<typeof Plot.plot>): SVGSVGElement {
  // Comparing names, not classes: the tests' DOM has another SVGSVGElement than the page.
  if (plot.tagName.toLowerCase() !== "svg") throw new Error("the plot has its own legend");
  return plot as unknown as SVGSVGElement;
}
