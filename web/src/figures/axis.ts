// Axes: which unit, which ends, which ticks. Figures ask here, so that all of them read alike.

import { extent, nice, ticks } from "d3-array";
import { digits, Shown } from "../human";
import type { Axis, Num } from "../report";

/** Room that one character of a tick label takes, in pixels, at the figures' font size. */
export const CHARACTER = 6.6;

/** A numeric axis, ready to draw. */
export interface NumericAxis {
  /** A stored number in the axis' unit; NaN where there is none, which marks leave out. */
  to: (value: Num | undefined) => number;
  /** The same, where a logarithmic axis shows what it cannot hold (zero and below) at its low end. */
  clipped: (value: number) => number;
  /** Label with unit. */
  label: string;
  /** The unit shown. */
  shown: Shown;
  /** What Plot's scale takes. */
  scale: { type: "linear" | "log"; domain: [number, number] };
  /** Where ticks stand. */
  ticks: number[];
  /** Text of a tick. */
  format: (value: number) => string;
  /** Room that tick labels take beside the axis. */
  room: number;
  /** The low end of the domain. */
  floor: number;
}

/** What a drawing wants of an axis. */
export interface AxisWishes {
  /** Length of the axis in pixels. */
  pixels: number;
  /** Room a tick wants along the axis, in pixels. */
  spacing: number;
  /** Zero on a linear axis: always, as bars need it; never, as clouds of dots do; or where the data start near it. */
  zero?: boolean;
  /** Start where the data start, as time axes do. */
  tight?: boolean;
  /** Values to put ticks at, when there is room for them. */
  anchors?: readonly number[];
}

/** Room that a tick of a vertical axis wants: powers stand closer than steps. */
export function upright(scale: Axis["scale"]): number {
  return scale === "log" ? 30 : 44;
}

/** An axis over some values; missing ones are left out. */
export function numericAxis(axis: Axis, values: readonly (Num | undefined)[], wishes: AxisWishes): NumericAxis {
  const log = axis.scale === "log";
  const found = values.filter((value): value is number => typeof value === "number" && (!log || value > 0));
  const shown = Shown.column(found, axis.unit);
  const scaled = found.map((value) => value / shown.factor);
  const count = Math.max(2, Math.floor(wishes.pixels / wishes.spacing));
  const domain = log ? logDomain(scaled) : linearDomain(scaled, count, wishes);
  const marks = log ? logTicks(domain, count) : ticks(domain[0], domain[1], count);
  const anchored = wishes.anchors?.map((value) => value / shown.factor);
  const chosen = anchored !== undefined && fits(anchored, domain, log, wishes) ? anchored : marks;
  return {
    to: (value) => (typeof value === "number" && (!log || value > 0) ? value / shown.factor : Number.NaN),
    clipped: (value) => (log && value <= 0 ? domain[0] : value / shown.factor),
    label: shown.label(axis.label),
    shown,
    scale: { type: log ? "log" : "linear", domain },
    ticks: chosen,
    format: (value) => digits(value),
    room: Math.max(0, ...chosen.map((tick) => digits(tick).length)) * CHARACTER,
    floor: domain[0],
  };
}

function linearDomain(values: readonly number[], count: number, wishes: AxisWishes): [number, number] {
  let [low, high] = extent(values);
  if (low === undefined || high === undefined) return [0, 1];
  // A line that starts near zero is read best from zero; one that varies little far away from it is not.
  const near = low > 0 && low < 0.5 * high && wishes.tight !== true;
  if (wishes.zero ?? near) low = Math.min(0, low);
  if (wishes.zero === true) high = Math.max(0, high);
  if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  if (wishes.tight === true) return [low, high];
  const [start, stop] = nice(low, high, count);
  return [start, stop];
}

function logDomain(values: readonly number[]): [number, number] {
  const [low, high] = extent(values);
  if (low === undefined || high === undefined) return [1, 10];
  const margin = Math.max(1.08, (high / low) ** 0.04);
  return [low / margin, high * margin];
}

/** Powers of ten, or 1-2-5 steps when the range holds few of them; never more than there is room for. */
function logTicks([low, high]: readonly [number, number], count: number): number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const inside = (steps: readonly number[], stride: number): number[] => {
    const all: number[] = [];
    for (let power = first; power <= last; power += 1) {
      if (power % stride !== 0) continue;
      for (const step of steps) all.push(Number(`${step}e${power}`));
    }
    return all.filter((tick) => tick >= low && tick <= high);
  };
  for (const steps of [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]]) {
    const marks = inside(steps, 1);
    if (marks.length >= 2 && marks.length <= count) return marks;
  }
  for (let stride = 1; stride <= last - first; stride += 1) {
    const marks = inside([1], stride);
    if (marks.length <= count && marks.length >= 1) return marks;
  }
  return ticks(low, high, count);
}

/** Whether every anchor can have its own tick with its label not touching the next. */
function fits(anchors: readonly number[], domain: readonly [number, number], log: boolean, wishes: AxisWishes): boolean {
  if (anchors.length < 2) return false;
  const place = (value: number): number => (log ? Math.log(value) : value);
  const [start, stop] = [place(domain[0]), place(domain[1])];
  const sorted = [...anchors].sort((a, b) => a - b);
  return sorted.every((value, at) => {
    const next = sorted[at + 1];
    if (next === undefined) return true;
    const pixels = ((place(next) - place(value)) / (stop - start)) * wishes.pixels;
    return pixels >= ((digits(value).length + digits(next).length) / 2) * CHARACTER + 6;
  });
}

/** How names stand along an axis: which of them, and whether turned. */
export interface BandAxis {
  /** Indexes of the names that get a label. */
  ticks: number[];
  /** Degrees. */
  rotate: number;
  /** Room below the axis. */
  room: number;
  /** The names as they are written there: in lines where they stand upright, cut where they would leave the drawing. */
  text: string[];
}

/** Lines that an upright name may take. */
const LINES = 4;

/**
 * Names of categories and of their axis as they are drawn: what all categories have in common, `scheduler = `, is said once,
 * as the name of the axis.
 */
export function plainNames(axis: string, names: readonly string[]): { axis: string; names: readonly string[] } {
  const key = /^([\w.[\]-]+) = /.exec(names[0] ?? "")?.[1];
  const prefix = `${key} = `;
  if (key === undefined || names.length < 2 || !names.every((name) => name.startsWith(prefix))) return { axis, names };
  return { axis: key, names: names.map((name) => name.slice(prefix.length)) };
}

/** Names along a horizontal axis of `pixels`, which begins `left` pixels from the edge of the drawing. */
export function bandAxis(names: readonly string[], pixels: number, left: number): BandAxis {
  const step = pixels / Math.max(1, names.length);
  const all = names.map((_, at) => at);
  const width = Math.floor((step - 6) / CHARACTER);
  const lines = names.map((name) => wrapped(name, width));
  const most = Math.max(1, ...lines.map((each) => each?.length ?? LINES + 1));
  if (most <= LINES) {
    return { ticks: all, rotate: 0, room: 10 + 14 * most, text: lines.map((each) => (each ?? []).join("\n")) };
  }
  // Numbers and times can be thinned out; names cannot, so they turn.
  const countable = names.every((name) => name.trim() !== "" && !Number.isNaN(Number(name)));
  const longest = Math.max(1, ...names.map((name) => name.length)) * CHARACTER;
  const stride = Math.ceil((countable ? longest + 8 : 13) / step);
  const ticks = all.filter((at) => at % stride === 0);
  if (countable) return { ticks, rotate: 0, room: 24, text: [...names] };
  // A turned name ends at its tick, so the first ones have the least room.
  const room = (at: number): number => Math.min(TURNED, Math.floor((left + (at + 0.5) * step - 4) / (0.77 * CHARACTER)));
  const text = names.map((name, at) => cut(name, room(at)));
  const drawn = Math.max(...ticks.map((at) => (text[at] ?? "").length)) * CHARACTER;
  return { ticks, rotate: -40, room: 20 + drawn * 0.66, text };
}

/** Characters of a turned name. */
const TURNED = 24;

/** A name in lines of at most so many characters, parted between words; null where a word is longer. */
function wrapped(name: string, width: number): string[] | null {
  const lines: string[] = [];
  for (const word of name.split(" ")) {
    if (word.length > width) return null;
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** A name cut to what fits. */
export function cut(name: string, characters: number): string {
  return name.length <= characters ? name : `${name.slice(0, Math.max(1, characters - 1))}…`;
}
