// Written from the types of the `report` crate by its tests; do not edit.
// `TOWTANK_UPDATE=1 cargo test -p towtank-report` writes it anew.

/** The answer, in parts that each rendering shows in the same order. */
export interface Answer {
  /** Safety of the data; absent if the study does not assess it. */
  verdict?: Status;
  /** Why, in a few words; present where `verdict` is. */
  reason?: string;
  /** The finding: one sentence, with its full stop. It is the title of the page. Empty where a study gives none. */
  finding: string;
  /** What happens when, in the order of time. */
  course?: Step[];
  /** The `id` of the table of what is compared, or of what moves; its first columns belong to the answer. */
  compared?: string | null;
  /** Whether each column of that table after the first is one of what is compared, so that none is left out where there is little room. */
  by_column?: boolean;
  /** The measures by which points and results are compared, in this order; all of them where there are none. */
  measures?: string[];
  /** What else belongs to the answer, by label. */
  lines?: Line[];
}

/** Safety of the data, the worst case over all points and replicates. */
export type Status = "safe" | "at_risk" | "unknown" | "not_safe";

/** An event of the course: the mean of its time over replicates, and the range where they differ. */
export interface Step {
  /** When, in seconds from the beginning. */
  at_s: Num;
  /** The earliest of the replicates; null where they do not differ. */
  earliest_s?: Num;
  /** The latest of the replicates; null where they do not differ. */
  latest_s?: Num;
  /** What happens: words that begin in lower case, but for names, without a full stop. */
  what: string;
}

/** A finite number, or none: NaN and the infinities become none on the way in, and `-0` becomes `0`. */
export type Num = number | null;

/** A line of the answer. */
export interface Line {
  /** What it is about. */
  label: Label;
  /** Words without a full stop at the end. */
  text: string;
  /** The flag or key that changes it. */
  change?: string | null;
}

/** What a line of an answer is about, in the order in which lines are shown. */
export type Label = "limit" | "try" | "moves" | "risk" | "clients" | "also" | "assumed" | "leaves_out";

/** One axis of a sweep. */
export interface SweepAxis {
  /** The scenario key that varies: `cluster.servers`. */
  key: string;
  /** The values it takes, in order. */
  values: unknown[];
}

/** The mean of a measurement over replicates, with its 95 % interval. */
export interface Measure {
  /** The mean, unrounded, in `unit`; null when there is none. */
  value: Num;
  /** The unit: `s`, `bytes`, `bytes/s`, `requests/s`, …; empty for a bare number. */
  unit: string;
  /** Lower end of the 95 % interval of the mean; null with fewer than two replicates, or by `no_interval`. */
  low: Num;
  /** Upper end of the 95 % interval of the mean; null with fewer than two replicates, or by `no_interval`. */
  high: Num;
  /** Number of replicates in the mean. */
  n: number;
  /** Why there is no value. */
  reason?: string | null;
  /** Why several replicates have no interval; the ends of their values are there instead. */
  no_interval?: Spread | null;
}

/** The values of replicates whose mean has no interval. */
export interface Spread {
  /** The least value of a replicate. */
  least: number;
  /** The greatest value of a replicate. */
  most: number;
  /** Why the mean has no interval. */
  reason: string;
}

/** The results of one point of a sweep. */
export interface PointSummary {
  /** The swept keys and this point's values. */
  settings: Record<string, unknown>;
  /** The settings in short, for legends: `servers=8`. */
  label: string;
  /** Mean over replicates by measure. */
  summary: Record<string, Measure>;
  /** Digest over this point's replicates. */
  digest: string | null;
  /** Whether a replicate was stopped early or is missing. */
  partial: boolean;
}

/** A table of results. Becomes one CSV file, named after its `id`. */
export interface Table {
  /** Stable name: lower-case letters, digits, `_` and `-`; the CSV file is `ID.csv`. */
  id: string;
  /** Heading of the table. */
  title: string;
  /** One or two sentences: what a row is, and how its values were measured. May be empty. */
  about: string;
  /** The columns, left to right. */
  columns: Column[];
  /** The rows, each with one cell per column. */
  rows: Cell[][];
}

/** A column of a table. */
export interface Column {
  /** Stable name, preferably in snake case. */
  name: string;
  /** The unit of its numbers: `s`, `bytes`, `bytes/s`, …; empty for none. */
  unit: string;
  /** The kind of its cells. */
  kind: ColumnKind;
}

/** The kind of a column's cells. */
export type ColumnKind = "number" | "text" | "flag";

/** One cell. Made with `From`: a float that is not finite becomes [`Cell::Missing`]. */
export type Cell =
  /** An empty cell: no value applies. */
  | null
  /** True or false. */
  | boolean
  /** A number with all its digits; JSON numbers are never NaN. */
  | number
  /** Text. */
  | string
  /** A value that should exist but is missing. */
  | {
    /** Always null. */
    value: null;
    /** Why the value is missing. */
    reason: string;
  };

/** A figure with its data. */
export interface Figure {
  /** Stable name; also the name of the downloaded SVG. */
  id: string;
  /** Heading. */
  title: string;
  /** One or two sentences below the figure: what to see in it. May be empty. */
  caption: string;
  /** The type of the figure, with its data. */
  kind: Kind;
  /** Stretches of a numeric horizontal axis that have a name, such as the phases of a recovery; absent if there are none. */
  bands?: Band[];
}

/** A type of figure, with its data. */
export type Kind =
  /** Lines or points over a numeric axis; log-log if both axes are logarithmic. */
  | {
    type: "line";
    /** Horizontal axis. */
    x: Axis;
    /** Vertical axis. */
    y: Axis;
    /** The lines. */
    series: LineSeries[];
    /** References: an ideal line, a limit. */
    references: Reference[];
  }
  /** Box plots, one per category. */
  | {
    type: "box";
    /** Name of the category axis: `servers`. */
    x: string;
    /** Vertical axis. */
    y: Axis;
    /** The boxes, left to right. */
    boxes: BoxStats[];
    /** References, such as limits. */
    references: Reference[];
  }
  /** Box plots at places of a numeric axis, a series of them for each variant; log-log if both axes are logarithmic. */
  | {
    type: "boxes";
    /** Horizontal axis. */
    x: Axis;
    /** Vertical axis. */
    y: Axis;
    /** The series. */
    series: BoxSeries[];
    /** References: an ideal line, a limit. */
    references: Reference[];
  }
  /** Histograms with common or separate bins. */
  | {
    type: "histogram";
    /** Horizontal axis: the value. */
    x: Axis;
    /** Vertical axis: count, share or density. */
    y: Axis;
    /** One histogram per series. */
    series: HistogramSeries[];
    /** References: a mean, a limit. */
    references: Reference[];
  }
  /** Empirical distribution functions. */
  | {
    type: "ecdf";
    /** Horizontal axis: the value. */
    x: Axis;
    /** One step line per series. */
    series: EcdfSeries[];
    /** References, such as limits. */
    references: Reference[];
    /** Whether to draw the share above the value on a logarithmic axis, which shows the tail. */
    tail: boolean;
  }
  /** A heat map: coloured squares. */
  | {
    type: "heatmap";
    /** Name of the column axis. */
    x: string;
    /** Name of the row axis. */
    y: string;
    /** Names of the columns, left to right. */
    columns: string[];
    /** Names of the rows, top to bottom. */
    rows: string[];
    /** The quantity that the colour shows. */
    value: Axis;
    /** The values, one list per row. */
    values: Num[][];
  }
  /** A timeline: spans and marks on lanes. */
  | {
    type: "timeline";
    /** Horizontal axis: time. */
    x: Axis;
    /** The lanes, top to bottom. */
    lanes: Lane[];
  }
  /** A chord diagram: flows between members of one set, drawn as ribbons inside a circle. */
  | {
    type: "chord";
    /** The quantity that flows. */
    value: Axis;
    /** Names of the members, around the circle. */
    labels: string[];
    /** The group (rack) of each label; members of a group share a colour. Empty if each label has its own. */
    groups: string[];
    /** `matrix[from][to]`: the flow from one member to another. */
    matrix: Num[][];
    /** What these flows are of, where the reader can choose others: `replicate 3`. Else empty. */
    name?: string;
    /** Flows that the reader can choose instead. */
    others?: ChordFlows[];
  }
  /** Bars, side by side or stacked. */
  | {
    type: "bar";
    /** Name of the category axis. */
    x: string;
    /** Vertical axis. */
    y: Axis;
    /** Names of the categories, left to right. */
    categories: string[];
    /** The series, each with one bar per category. */
    series: BarSeries[];
    /** Whether bars are stacked instead of side by side. */
    stacked: boolean;
    /** References, such as limits. */
    references: Reference[];
  };

/** An axis or a colour scale. */
export interface Axis {
  /** The quantity, without the unit. */
  label: string;
  /** The unit of its numbers; empty for none. */
  unit: string;
  /** Linear or logarithmic. */
  scale: Scale;
}

/** The scale of an axis. */
export type Scale = "linear" | "log";

/** A line of a figure. */
export interface LineSeries {
  /** Name in the legend. */
  name: string;
  /** Its points, in order of x. */
  points: CurvePoint[];
  /** How the points are joined. */
  draw: Draw;
}

/** A point of a line, with its interval if it has one. */
export interface CurvePoint {
  /** Position on the horizontal axis. */
  x: Num;
  /** Position on the vertical axis; a missing value leaves a gap. */
  y: Num;
  /** Lower end of the interval. */
  low: Num;
  /** Upper end of the interval. */
  high: Num;
}

/** How points are joined. */
export type Draw = "line" | "step" | "points";

/** A reference that results are compared with. */
export type Reference =
  /** A curve: the ideal, the closed form. */
  | {
    type: "curve";
    /** Name in the legend. */
    name: string;
    /** Its points. */
    points: CurvePoint[];
  }
  /** A value of the vertical axis: a limit. */
  | {
    type: "horizontal";
    /** Name beside the line. */
    name: string;
    /** The value on the vertical axis. */
    at: Num;
  }
  /** A value of the horizontal axis: a deadline. */
  | {
    type: "vertical";
    /** Name beside the line. */
    name: string;
    /** The value on the horizontal axis. */
    at: Num;
  };

/** A box with its whiskers. */
export interface BoxStats {
  /** Its category. */
  label: string;
  /** Lower whisker. */
  low: Num;
  /** First quartile. */
  q1: Num;
  /** Median. */
  median: Num;
  /** Third quartile. */
  q3: Num;
  /** Upper whisker. */
  high: Num;
  /** Mean, drawn as a dot. */
  mean: Num;
  /** Values beyond the whiskers. */
  outliers: Num[];
  /** Number of values. */
  n: number;
}

/** Boxes of one series along a numeric axis. */
export interface BoxSeries {
  /** Name in the legend. */
  name: string;
  /** Its boxes, in order of x; the medians are joined by a line. */
  boxes: PlacedBox[];
}

/** A box at a place of a numeric axis. */
export interface PlacedBox {
  /** Position on the horizontal axis. */
  x: Num;
  /** The box; its label is not drawn. */
  stats: BoxStats;
}

/** The histogram of one series. */
export interface HistogramSeries {
  /** Name in the legend. */
  name: string;
  /** Its bins, in order. */
  bins: Bin[];
}

/** A bin: values from `from` up to, but not including, `to`. */
export interface Bin {
  /** Lower end. */
  from: Num;
  /** Upper end. */
  to: Num;
  /** Height, in the vertical axis' unit. */
  height: Num;
}

/** The empirical distribution of one series. */
export interface EcdfSeries {
  /** Name in the legend. */
  name: string;
  /** `(value, share of values at or below it)`, rising in both. */
  points: [Num, Num][];
}

/** A lane of a timeline. */
export interface Lane {
  /** Name at its left. */
  name: string;
  /** Activities with their start and end. */
  spans: Span[];
  /** Events without a duration. */
  marks: Mark[];
}

/** An activity with a start and an end. */
export interface Span {
  /** Start, in the unit of the time axis. */
  from: Num;
  /** End, in the unit of the time axis. */
  to: Num;
  /** Name of the activity; spans of one name share a colour and a legend entry. */
  what: string;
  /** Details, shown on hover; may be empty. */
  note: string;
}

/** An event without a duration. */
export interface Mark {
  /** Time of the event. */
  at: Num;
  /** Name of the event. */
  what: string;
}

/** Flows of a chord diagram that can be drawn instead of its first ones. */
export interface ChordFlows {
  /** What they are of: `replicate 3`. */
  name: string;
  /** Names of the members, around the circle. */
  labels: string[];
  /** The group (rack) of each label; members of a group share a colour. Empty if each label has its own. */
  groups: string[];
  /** `matrix[from][to]`: the flow from one member to another. */
  matrix: Num[][];
}

/** The bars of one series. */
export interface BarSeries {
  /** Name in the legend. */
  name: string;
  /** One value per category. */
  values: Num[];
  /** Lower ends of the intervals, one per category; empty if there are none. */
  low: Num[];
  /** Upper ends of the intervals, one per category; empty if there are none. */
  high: Num[];
}

/** A stretch of the horizontal axis with a name: a phase. */
export interface Band {
  /** Its name. */
  name: string;
  /** Where it starts on the horizontal axis. */
  from: Num;
  /** Where it ends. */
  to: Num;
}

/** A published statement compared with our result. */
export interface Claim {
  /** Stable snake_case name. */
  name: string;
  /** Where it was published: paper, figure or table; or the closed form. */
  source: string;
  /** The claim in one sentence. */
  statement: string;
  /** The unit of all its numbers; empty for bare numbers. */
  unit: string;
  /** The published result. */
  published: Reading;
  /** Our result. */
  ours: Reading;
  /** The allowed difference between the two. */
  tolerance: Tolerance;
  /** Whether the claim holds. */
  verdict: Verdict;
  /** Of a fitted claim, the verdict that its numbers alone would give. */
  would_be?: Verdict | null;
  /** Why the tolerance is looser than the one that the source gives; absent if it is not. */
  loosened?: string | null;
  /** A remark for the reader: which seeds, which assumption, why it misses. */
  note?: string | null;
}

/** A number with its range, if it has one. */
export interface Reading {
  /** The number; null if it is missing. */
  value: Num;
  /** Lower end of its range: the paper's error bar, or our 95 % range over seeds. */
  low: Num;
  /** Upper end of its range. */
  high: Num;
}

/** How far our result may be from the published one. */
export type Tolerance =
  /** Within this fraction of the published value: 0.05 is 5 %. */
  | {
    kind: "relative";
    /** The fraction. */
    fraction: number | null;
  }
  /** Within this amount, in the claim's unit. */
  | {
    kind: "absolute";
    /** The amount. */
    amount: number | null;
  }
  /** Our result is between these ends, both included. */
  | {
    kind: "range";
    /** Lower end. */
    low: number | null;
    /** Upper end. */
    high: number | null;
  }
  /** The published value is in our range (the 95 % range over seeds). */
  | {
    kind: "interval";
  }
  /** Our result is at least the published value. */
  | {
    kind: "at_least";
  }
  /** Our result is at most the published value. */
  | {
    kind: "at_most";
  }
  /** Our result exceeds the published value with its whole range; undecided if it has no range. */
  | {
    kind: "above";
  };

/** Whether a claim holds. */
export type Verdict = "holds" | "misses" | "cannot_tell" | "fitted" | "not_judged";

/** What one source published, in its order. */
export interface Chapter {
  /** Heading: the source. */
  title: string;
  /** A name of a word or two, for lists of contents. */
  short: string;
  /** A sentence or two below the heading. May be empty. */
  about: string;
  /** The parts, in the order of the source. */
  parts: Part[];
}

/** What the source has under one number or title. */
export interface Part {
  /** Heading: `Table 2`, `Figure 8`. */
  title: string;
  /** The `id` of each figure that answers to it. */
  figures: string[];
  /** The `id` of each table that answers to it. */
  tables?: string[];
  /** The names of the claims about it. */
  claims: string[];
}

/** A sentence that the reader must know before trusting the numbers. */
export interface Warning {
  /** How serious it is. */
  severity: Severity;
  /** The sentence, without a full stop. */
  text: string;
}

/** How serious a warning is, the most serious first. */
export type Severity = "danger" | "unknown" | "note";

/** The one result type. Fields are listed in the order in which they are written. */
export interface Report {
  /** The layout of this file: `towtank-report/2`. */
  schema: string;
  /** The version of Towtank that made it. */
  towtank: string;
  /** Raised whenever a change of the model changes results; reports with different numbers are not comparable. */
  results_version: number;
  /** Name of the study: `queue`, `rebuild`, …. */
  study: string;
  /** Heading: the title of the scenario, or of the study. */
  title: string;
  /** The answer: verdict, finding, course, what is compared, and what belongs to it. */
  answer: Answer;
  /** The name of the main measure: the number that the page shows first. */
  headline?: string | null;
  /** The `id` of the figure that shows the answer. */
  main_figure?: string | null;
  /** The scenario with every default filled in and every unit resolved. */
  scenario: unknown;
  /** Hash of the resolved scenario and of the contents of its input files. */
  scenario_hash: string;
  /** The seed of all random draws. */
  seed: number;
  /** Replicates of each point; 0 where nothing was simulated. */
  replicates: number;
  /** The executor of the kernel; the only field that may differ between equal runs. */
  executor: string;
  /** Digest over all points and replicates; equal on any number of workers. */
  digest: string | null;
  /** Events committed, over all points and replicates. */
  events: number;
  /** Whether the run was stopped early; the report then contains only what was committed. */
  partial: boolean;
  /** The axes of the sweep; empty for a single point. */
  sweep: SweepAxis[];
  /** Mean over replicates by measure; empty with a sweep, where each point has its own. */
  summary: Record<string, Measure>;
  /** What each measure means, by name. */
  glossary: Record<string, string>;
  /** Titles of measures in words, by name; without the unit. */
  titles?: Record<string, string>;
  /** The points of the sweep; empty for a single point. */
  points: PointSummary[];
  /** A row for each replicate of each point: settings, `replicate`, `events`, then every measure. Absent where nothing was simulated. */
  runs?: Table | null;
  /** The tables of the study. */
  tables: Table[];
  /** Figures, with their data. */
  figures: Figure[];
  /** Published values compared with ours. */
  claims: Claim[];
  /** Claims and figures by source, in the order of each source; empty where the report is of one study. */
  chapters?: Chapter[];
  /** What the reader must know before trusting the numbers, the most serious first. */
  warnings: Warning[];
}
