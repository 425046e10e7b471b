// Numbers as people read them. The rules are those of `crates/report/src/human.rs`; both sides are held to
// `test/golden/human.json`.

const SIGNIFICANT = 4;

/** From this power of ten on, numbers are written as `1.235e15`. */
const PLAIN = 15;

type Ladder = readonly (readonly [string, number])[];

const SPANS: Ladder = [
  ["ns", 1],
  ["µs", 1e3],
  ["ms", 1e6],
  ["s", 1e9],
  ["min", 6e10],
  ["h", 3.6e12],
  ["d", 8.64e13],
];

const SIZES: Ladder = [
  ["B", 1],
  ["KiB", 2 ** 10],
  ["MiB", 2 ** 20],
  ["GiB", 2 ** 30],
  ["TiB", 2 ** 40],
  ["PiB", 2 ** 50],
  ["EiB", 2 ** 60],
];

const BITS: Ladder = [
  ["bit", 1],
  ["kbit", 1e3],
  ["Mbit", 1e6],
  ["Gbit", 1e9],
  ["Tbit", 1e12],
];

/** Nanoseconds in each unit of time a report may use. */
const TIME_BASES: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  min: 6e10,
  h: 3.6e12,
  d: 8.64e13,
};

/** A unit to show numbers in, and how many of the stored unit it holds. */
export class Shown {
  private constructor(
    readonly factor: number,
    readonly unit: string,
  ) {}

  /** The unit that shows a number of this size best. */
  static fitting(size: number, unit: string): Shown {
    const rate = unit.endsWith("/s");
    const bare = rate ? unit.slice(0, -2) : unit;
    const per = rate ? "/s" : "";
    const base = Object.hasOwn(TIME_BASES, bare) ? TIME_BASES[bare] : undefined;
    if (base !== undefined && !rate) return Shown.ladder(SPANS, size, base, "");
    if (bare === "bytes" || bare === "byte" || bare === "B") return Shown.ladder(SIZES, size, 1, per);
    if (bare === "bits" || bare === "bit") return Shown.ladder(BITS, size, 1, per);
    // Words that tell machines what a bare number is; a reader sees that it is one.
    if (unit === "ratio" || unit === "1") return new Shown(1, "");
    // Parts of a whole; a share may be negative or exceed the whole.
    if (unit === "fraction" || unit === "share") return new Shown(0.01, "%");
    return new Shown(1, unit === "per_s" ? "/s" : unit);
  }

  /** The unit for a whole column or axis: the one that fits its middle number. */
  static column(values: readonly number[], unit: string): Shown {
    const sizes = values.map(Math.abs).filter((size) => size > 0 && Number.isFinite(size));
    sizes.sort((a, b) => a - b);
    return Shown.fitting(sizes[Math.floor(sizes.length / 2)] ?? 0, unit);
  }

  /**
   * One unit for numbers of one kind that stand together: the one that fits the largest, where it shows the least of
   * them too; null where they lie too far apart.
   */
  static family(values: readonly number[], unit: string): Shown | null {
    const sizes = values.map(Math.abs).filter((size) => size > 0 && Number.isFinite(size));
    if (sizes.length < 2) return null;
    const shown = Shown.fitting(Math.max(...sizes), unit);
    return Math.min(...sizes) / shown.factor >= 0.01 ? shown : null;
  }

  private static ladder(steps: Ladder, size: number, base: number, per: string): Shown {
    const factors = steps.map(([, each]) => each / base);
    let step = Math.max(
      0,
      steps.findIndex(([, each]) => each === base),
    );
    if (size !== 0) {
      step = factors.findIndex((factor, at) => {
        const next = factors[at + 1];
        return next === undefined || rounded(Math.abs(size) / factor) < next / factor;
      });
    }
    return new Shown(factors[step] ?? 1, `${steps[step]?.[0] ?? ""}${per}`);
  }

  /** A number of the stored unit, in this one. */
  digits(value: number): string {
    return digits(value / this.factor);
  }

  /** The same with two digits, for half widths of intervals. */
  rough(value: number): string {
    return digits(value / this.factor, 2);
  }

  /** A label with this unit behind it, unless it says so already: `rate (MiB/s)`, `jobs at the station`. */
  label(name: string): string {
    const said = this.unit.length > 2 && name.split(/[^\p{L}/]+/u).includes(this.unit);
    return this.unit === "" || said ? name : `${name} (${this.unit})`;
  }
}

/** A number with its unit: `1.25 ms`. */
export function quantity(value: number, unit: string): string {
  const shown = Shown.fitting(value, unit);
  return withUnit(shown.digits(value), shown.unit);
}

/** More than the largest whole number that the Rust side counts with. */
const ODDS_END = 2n ** 128n;

/** A small probability in words, cut to two digits: `1 in 2,400`. */
export function odds(share: number): string {
  const one = 1 / share;
  const whole = one < Number(ODDS_END) ? BigInt(Math.trunc(one)) : ODDS_END - 1n;
  const step = 10n ** BigInt(Math.max(0, String(whole).length - 2));
  return `1 in ${digits(Number((whole / step) * step))}`;
}

/** A measure that is a probability as one in so many, where as a percentage it would have an exponent; else null. */
export function smallProbability(measure: string, value: number): string | null {
  return measure.includes("probability") && value > 0 && value < 1e-6 ? odds(value) : null;
}

/** Both ends of a range of such probabilities, the likelier first. */
export function smallRange(measure: string, low: number, high: number): string | null {
  const [least, most] = [smallProbability(measure, low), smallProbability(measure, high)];
  if (least === null || most === null) return null;
  return least === most ? least : `${most} to ${least}`;
}

/** Two ends in one unit: `3.92 to 4.04 s`. */
export function range(low: number, high: number, unit: string): string {
  const shown = Shown.fitting(Math.max(Math.abs(low), Math.abs(high)), unit);
  const [from, to] = [shown.digits(low), shown.digits(high)];
  return withUnit(from === to ? from : `${from} to ${to}`, shown.unit);
}

export function withUnit(text: string, unit: string): string {
  return unit === "" ? text : `${text} ${unit}`;
}

/** A name as a heading: `mean_wait` is `Mean wait`. */
export function heading(name: string): string {
  const words = name.replace(/[_-]/g, " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** A bare number, its digits cut to `least`, or to all before the point; a dash for what is no finite number. */
export function digits(value: number, least = SIGNIFICANT): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const sign = value < 0 ? "-" : "";
  const [all, exponent] = significant(Math.abs(value), least);
  const kept = all.replace(/0+$/, "");
  if (exponent < -4 || exponent >= PLAIN) {
    const rest = kept.slice(1);
    return `${sign}${kept.slice(0, 1)}${rest === "" ? "" : "."}${rest}e${exponent}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${kept}`;
  const before = exponent + 1;
  const whole = grouped(kept.slice(0, before).padEnd(before, "0"));
  return kept.length <= before ? `${sign}${whole}` : `${sign}${whole}.${kept.slice(before)}`;
}

function grouped(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, ",");
}

function rounded(value: number): number {
  if (value === 0 || !Number.isFinite(value)) return value;
  const [kept, exponent] = significant(value, SIGNIFICANT);
  return Number(`${kept.slice(0, 1)}.${kept.slice(1)}e${exponent}`);
}

/** The digits kept of a positive number, and the power of ten of the first. */
function significant(value: number, least: number): [string, number] {
  const power = exponentOf(value.toExponential(30));
  const keep = power < PLAIN ? Math.max(least, power + 1) : least;
  const text = value.toExponential(keep - 1);
  const exponent = exponentOf(text);
  return [text.slice(0, text.indexOf("e")).replace(".", ""), exponent];
}

function exponentOf(text: string): number {
  return Number(text.slice(text.indexOf("e") + 1));
}

/** Seconds as a clock shows them: `10:20`, `1:02:03`, `3 d 4:05:06`; a part of a second has its digits. */
export function clock(seconds: number): string {
  if (seconds > 0 && seconds < 60 && seconds % 1 !== 0) return quantity(seconds, "s");
  const whole = Math.round(Math.max(seconds, 0));
  const [days, hours] = [Math.floor(whole / 86_400), Math.floor(whole / 3600) % 24];
  const two = (count: number): string => String(count).padStart(2, "0");
  const minutes = Math.floor(whole / 60) % 60;
  if (days > 0) return `${days} d ${hours}:${two(minutes)}:${two(whole % 60)}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}
