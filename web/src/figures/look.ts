// What of a figure's data is drawn: without the series that the reader hides, and without extremes that would squash the
// rest. A figure from which nothing can be read is found here, too.

import type { BoxStats, Kind, Num } from "../report";

/** The names of the series of a figure that a reader can hide; none where there is one at the most. */
export function series(kind: Kind): string[] {
  if (kind.type !== "line" && kind.type !== "boxes" && kind.type !== "histogram" && kind.type !== "ecdf" && kind.type !== "bar") return [];
  return kind.series.length > 1 ? kind.series.map((each) => each.name) : [];
}

/** The figure without some of its series; these keep their places, and with them the others keep their colours. */
export function without(kind: Kind, hidden: ReadonlySet<string>): Kind {
  if (hidden.size === 0) return kind;
  const shown = (name: string): boolean => !hidden.has(name);
  switch (kind.type) {
    case "line":
      return { ...kind, series: kind.series.map((each) => (shown(each.name) ? each : { ...each, points: [] })) };
    case "ecdf":
      return { ...kind, series: kind.series.map((each) => (shown(each.name) ? each : { ...each, points: [] })) };
    case "boxes":
      return { ...kind, series: kind.series.map((each) => (shown(each.name) ? each : { ...each, boxes: [] })) };
    case "histogram":
      return { ...kind, series: kind.series.map((each) => (shown(each.name) ? each : { ...each, bins: [] })) };
    case "bar":
      return {
        ...kind,
        series: kind.series.map((each) => (shown(each.name) ? each : { ...each, values: each.values.map(() => null), low: [], high: [] })),
      };
    default:
      return kind;
  }
}

/** Values that belong together and are cut together: a series, a bar, a box. */
interface Part {
  name: string;
  most: number;
}

/** A value that is so many times the next is an extreme, as long as at most a quarter of all are. */
const TIMES = 5;
const SHARE = 0.25;

/** Where a linear axis ends for the sake of most, and what lies beyond. */
export interface Cut {
  limit: number;
  beyond: Part[];
}

/**
 * Where the vertical axis of a figure is cut: most of what is compared would be squashed to a fifth of the drawing or less.
 * Where most values are that far apart, nothing is cut: the report draws such data on a logarithmic axis.
 */
export function cut(kind: Kind): Cut | null {
  const parts = partsOf(kind).filter((part) => Number.isFinite(part.most) && part.most > 0);
  const sorted = [...parts].sort((a, b) => b.most - a.most);
  const allowed = Math.floor(SHARE * sorted.length);
  for (let count = allowed; count >= 1; count -= 1) {
    const [last, next] = [sorted[count - 1], sorted[count]];
    if (last !== undefined && next !== undefined && last.most > TIMES * next.most) {
      return { limit: next.most, beyond: sorted.slice(0, count) };
    }
  }
  return null;
}

function partsOf(kind: Kind): Part[] {
  const most = (values: readonly Num[]): number => Math.max(...values.filter((value) => value !== null));
  if ("y" in kind && typeof kind.y !== "string" && kind.y.scale === "log") return [];
  switch (kind.type) {
    case "line":
      return kind.series.map(({ name, points }) => ({ name, most: most(points.flatMap(({ y, high }) => [y, high])) }));
    case "bar": {
      if (kind.stacked) {
        const of = (at: number): number => kind.series.reduce((sum, each) => sum + Math.max(0, each.values[at] ?? 0), 0);
        return kind.categories.map((name, at) => ({ name, most: of(at) }));
      }
      const name = (one: string, category: string): string => (kind.series.length > 1 ? `${one}, ${category}` : category);
      return kind.series.flatMap((each) =>
        kind.categories.map((category, at): Part => ({ name: name(each.name, category), most: each.values[at] ?? Number.NaN })),
      );
    }
    case "box":
      return kind.boxes.map((box) => ({ name: box.label, most: most(numbers(box)) }));
    default:
      return [];
  }
}

function numbers(box: BoxStats): Num[] {
  return [box.low, box.q1, box.median, box.q3, box.high, box.mean, ...box.outliers];
}

/**
 * Whether a figure of a distribution has one value only: a box, a histogram or a curve of one value shows nothing that the
 * number does not say.
 */
export function saysNothing(kind: Kind): boolean {
  switch (kind.type) {
    case "box":
      return kind.boxes.length > 0 && kind.boxes.reduce((sum, box) => sum + box.n, 0) <= 1;
    case "boxes": {
      const all = kind.series.flatMap((each) => each.boxes);
      return all.length > 0 && all.reduce((sum, { stats }) => sum + stats.n, 0) <= 1;
    }
    case "histogram": {
      const filled = kind.series.flatMap((each) => each.bins.filter((bin) => (bin.height ?? 0) > 0));
      const bins = kind.series.flatMap((each) => each.bins);
      return bins.length > 0 && filled.length <= 1;
    }
    case "ecdf": {
      const values = kind.series.flatMap((each) => each.points.map(([value]) => value));
      return values.length > 0 && new Set(values).size <= 1;
    }
    default:
      return false;
  }
}
