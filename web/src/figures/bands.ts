// Bands: stretches of the horizontal axis that have a name, such as the phases of a recovery. All but the last are shaded, as
// the waits before the transfers; thin lines part them, and their names stand above the frame, each where its band begins.

import * as Plot from "@observablehq/plot";
import type { Band } from "../report";
import type { NumericAxis } from "./axis";

/** The width of a letter and the height of a row of names, in pixels. */
const LETTER = 6.8;
const ROW = 14;

/** A band as drawn: its ends on the axis, in the axis' unit, and its number in the report. */
interface Seen {
  name: string;
  from: number;
  to: number;
  at: number;
}

/** Where the name of a band stands: the pixel where it begins or ends, and its row, counted from the frame upwards. */
export interface Name {
  name: string;
  x: number;
  anchor: "start" | "end";
  row: number;
}

/** The parts of bands that lie on an axis. */
function seen(bands: readonly Band[], axis: NumericAxis): Seen[] {
  const [low, high] = axis.scale.domain;
  const cut = (value: number): number => Math.min(high, Math.max(low, value));
  return bands
    .map(({ name, from, to }, at): Seen => ({ name, from: cut(axis.clipped(from ?? low)), to: cut(axis.clipped(to ?? high)), at }))
    .filter((band) => band.to > band.from);
}

/** The ends of bands, so that the axis reaches them. */
export function bandValues(bands: readonly Band[]): (number | null)[] {
  return bands.flatMap(({ from, to }) => [from, to]);
}

/** Names in rows, so that none touches another; those that would leave the drawing end at its edge. */
export function placeNames(starts: readonly { name: string; x: number }[], right: number): Name[] {
  const rows: number[] = [];
  // From the right, so that a name that runs over the next band finds that band's name below it.
  const placed = [...starts].reverse().map(({ name, x }): Name => {
    const wide = LETTER * name.length + 8;
    const end = x + wide > right;
    const [from, to] = end ? [right - wide, right] : [x, x + wide];
    const free = rows.findIndex((left) => to <= left);
    const row = free < 0 ? rows.length : free;
    rows[row] = from;
    return { name, x: end ? right : x, anchor: end ? "end" : "start", row };
  });
  return placed.reverse();
}

/** Bands ready to draw. */
export interface Drawn {
  /** Room above the frame that names take, in pixels. */
  room: number;
  /** What lies behind the data. */
  back: Plot.Markish[];
  /** The names. */
  names: Plot.Markish[];
}

/** Bands on an axis that lies between two pixels; `above` are the pixels that other names take above the frame. */
export function drawBands(bands: readonly Band[], axis: NumericAxis, [left, right]: readonly [number, number], above: number): Drawn {
  const all = seen(bands, axis);
  // One band that is all of the axis tells nothing.
  if (all.length === 0 || bands.length === 1) return { room: 0, back: [], names: [] };
  const [low, high] = axis.scale.domain;
  const share = (value: number): number =>
    axis.scale.type === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  const names = placeNames(
    all.map(({ name, from }) => ({ name, x: left + share(from) * (right - left) })),
    right,
  );
  const style = { fill: "var(--muted)", lineAnchor: "bottom" as const, frameAnchor: "top-left" as const };
  return {
    room: ROW * (1 + Math.max(...names.map((each) => each.row))),
    back: [
      Plot.rect(
        all.filter((band) => band.at < bands.length - 1),
        { x1: "from", x2: "to", fill: "var(--band)", clip: true },
      ),
      Plot.ruleX(all.map((band) => band.from).filter((from) => from > low), { stroke: "var(--axis)", strokeWidth: 0.75 }),
    ],
    names: names.map(({ name, x, anchor, row }) =>
      Plot.text([name], { ...style, text: (each: string) => each, textAnchor: anchor, dx: x - left + (anchor === "start" ? 2 : -2), dy: -5 - above - ROW * row }),
    ),
  };
}
