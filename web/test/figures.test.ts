// @vitest-environment happy-dom
import { describe, expect, test } from "vitest";
import { numericAxis, plainNames } from "../src/figures/axis";
import { sharedPrefix } from "../src/figures/chord";
import { ownerOf, seriesLegend } from "../src/figures/drawing";
import { draw, figureElement } from "../src/figures/figure";
import { inLines, svgFile } from "../src/figures/svgfile";
import { figureCsv } from "../src/csv";
import { reveal } from "../src/links";
import type { Figure, Kind } from "../src/report";
import { reports } from "./golden";

const figures = reports().flatMap(({ report }) => report.figures);
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("every figure of the samples", () => {
  for (const figure of figures) {
    for (const width of [320, 560, 1100]) {
      test(`${figure.kind.type} ${figure.id} at ${width} px`, () => {
        const { svg, description } = draw(figure.kind, width);
        const text = svg.outerHTML;
        expect(svg.querySelectorAll("path, rect, line, circle").length).toBeGreaterThan(3);
        expect(text).not.toMatch(/NaN|undefined|Infinity/);
        expect(Number(svg.getAttribute("width"))).toBeLessThanOrEqual(width);
        expect(description.length).toBeGreaterThan(10);
      });
    }
  }
});

test("the samples hold every type", () => {
  const types = new Set(figures.map((figure) => figure.kind.type));
  expect([...types].sort()).toEqual(["bar", "box", "boxes", "chord", "ecdf", "heatmap", "histogram", "line", "timeline"]);
});

describe("figures without data", () => {
  const axis = { label: "value", unit: "s", scale: "linear" as const };
  const log = { ...axis, scale: "log" as const };
  const empty: Kind[] = [
    { type: "line", x: axis, y: log, series: [], references: [] },
    { type: "line", x: log, y: axis, series: [{ name: "a", points: [{ x: 0, y: null, low: null, high: null }], draw: "line" }], references: [] },
    { type: "box", x: "n", y: axis, boxes: [], references: [] },
    { type: "boxes", x: log, y: log, series: [], references: [] },
    { type: "boxes", x: log, y: log, series: [{ name: "a", boxes: [] }], references: [] },
    { type: "histogram", x: axis, y: axis, series: [], references: [] },
    { type: "ecdf", x: log, series: [{ name: "a", points: [] }], references: [], tail: true },
    { type: "heatmap", x: "x", y: "y", columns: ["a"], rows: ["b"], value: axis, values: [[null]] },
    { type: "timeline", x: axis, lanes: [] },
    { type: "chord", value: axis, labels: ["a", "b"], groups: [], matrix: [[0, 0], [0, 0]] },
    { type: "bar", x: "n", y: axis, categories: [], series: [], stacked: true, references: [] },
  ];
  for (const kind of empty) {
    test(kind.type, () => {
      expect(draw(kind, 400).svg.outerHTML).not.toMatch(/NaN|undefined|Infinity/);
    });
  }
});

test("a figure that cannot be drawn says so in its own place", async () => {
  const kind: Kind = { type: "chord", value: { label: "", unit: "", scale: "linear" }, labels: ["a", "b"], groups: [], matrix: [[1]] };
  const bad: Figure = { id: "bad", title: "Bad", caption: "still here", kind };
  const element = figureElement(bad);
  await settled();
  expect(element.querySelector(".error")?.textContent).toContain("the matrix must have 2 rows and columns");
  expect(element.textContent).toContain("still here");
  const unknown = figureElement({ ...bad, kind: { type: "sparkle" } as unknown as Kind });
  await settled();
  expect(unknown.querySelector(".error")?.textContent).toContain("no figure of type");
});

test("the downloaded drawing stands alone", () => {
  document.documentElement.style.setProperty("--series-1", "#0072b2");
  const figure = figures.find((each) => each.id === "speedup") as Figure;
  const words = { title: figure.title, caption: figure.caption, source: ["osd.3 fails", "Towtank 1.2.3 · seed 7"] };
  const file = svgFile(draw(figure.kind, 560), words);
  expect(file).toContain("#0072b2");
  expect(file).not.toContain("var(--series-1)");
  expect(file).toContain(figure.title);
  expect(file).not.toContain("<style");
  // The caption is in lines that fit, and no word of it is lost.
  const lines = [...file.matchAll(/<text y="\d+">([^<]*)<\/text>/g)].map((found) => found[1] ?? "");
  expect(lines.join(" ")).toContain(figure.caption);
  expect(lines.slice(-2)).toEqual(["osd.3 fails", "Towtank 1.2.3 · seed 7"]);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(560 / 5.5);
});

test("lines part between words", () => {
  expect(inLines("one two  three", 7)).toEqual(["one two", "three"]);
  expect(inLines("a_word_that_is_too_long b", 5)).toEqual(["a_word_that_is_too_long", "b"]);
  expect(inLines("", 5)).toEqual([]);
});

test("the data of a figure can be copied, and a browser that does not let the page says what to do", async () => {
  const figure = figures.find((each) => each.id === "speedup") as Figure;
  const element = figureElement(figure);
  const button = [...element.querySelectorAll("button")].find((each) => each.textContent === "Copy data");
  const written: string[] = [];
  const clipboard = (writeText: (text: string) => Promise<void>): void =>
    void Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true });
  clipboard(async (text) => void written.push(text));
  button?.click();
  await settled();
  expect(written).toEqual([figureCsv(figure)]);
  expect(element.querySelector(".said")?.textContent).toBe("copied");
  clipboard(() => Promise.reject(new Error("not allowed")));
  button?.click();
  await settled();
  expect(element.querySelector(".said")?.textContent).toContain("use CSV");
});

test("a link to a part unfolds what it lies in", () => {
  const element = figureElement(figures.find((each) => each.id === "speedup") as Figure);
  const folded = document.createElement("details");
  folded.append(element);
  document.body.replaceChildren(folded);
  const link = element.querySelector("a.anchor")?.getAttribute("href") ?? "";
  expect(link).toBe("#figure-speedup");
  expect(reveal("#figure-nothing")).toBe(false);
  expect(folded.open).toBe(false);
  expect(reveal(link)).toBe(true);
  expect(folded.open).toBe(true);
  expect(reveal("#%")).toBe(false);
});

test("any of the flows can be chosen, and the drawing, its name and its file follow", async () => {
  const figure = figures.find((each) => each.kind.type === "chord") as Figure;
  if (figure.kind.type !== "chord") throw new Error("it is a chord diagram");
  const element = figureElement(figure);
  await settled();
  const list = element.querySelector("label select") as HTMLSelectElement;
  const others = figure.kind.others ?? [];
  const names = [...list.options].map((option) => option.textContent);
  expect(names).toEqual([figure.kind.name, ...others.map((other) => other.name)]);
  const members = (): number => element.querySelectorAll(".member").length;
  const label = (): string => element.querySelector(".stage svg")?.getAttribute("aria-label") ?? "";
  const first = element.querySelector(".stage svg")?.outerHTML;
  expect(members()).toBe(figure.kind.labels.length);
  expect(label()).toContain(figure.kind.name);
  for (const [at, other] of others.entries()) {
    list.selectedIndex = at + 1;
    list.dispatchEvent(new Event("change"));
    expect(members()).toBe(other.labels.length);
    expect(label()).toContain(other.name);
    expect(element.querySelector(".stage svg")?.outerHTML).not.toBe(first);
  }
  list.selectedIndex = 0;
  list.dispatchEvent(new Event("change"));
  expect(element.querySelector(".stage svg")?.outerHTML).toBe(first);
});

test("a figure without a choice has no list", async () => {
  const figure = figures.find((each) => each.kind.type === "chord") as Figure;
  const element = figureElement({ ...figure, kind: { ...figure.kind, others: [] } as Kind });
  await settled();
  expect(element.querySelector("select")).toBe(null);
});

test("pointing at a member brings out its ribbons", () => {
  const figure = figures.find((each) => each.kind.type === "chord") as Figure;
  const { svg } = draw(figure.kind, 560);
  const member = svg.querySelector('[data-member="3"]');
  member?.dispatchEvent(new Event("pointerover", { bubbles: true }));
  expect(svg.classList.contains("dimmed")).toBe(true);
  const lit = [...svg.querySelectorAll(".ribbon.lit")];
  expect(lit.length).toBeGreaterThan(0);
  expect(lit.every((each) => [each.getAttribute("data-from"), each.getAttribute("data-to")].includes("3"))).toBe(true);
  expect(svg.querySelector(".chord-tip")?.textContent).toContain("server-03");
  svg.dispatchEvent(new Event("pointerleave"));
  expect(svg.querySelectorAll(".lit").length).toBe(0);
});

test("axes choose their unit, keep near zeros and read well on logarithms", () => {
  const wishes = { pixels: 400, spacing: 60 };
  const time = numericAxis({ label: "time", unit: "s", scale: "linear" }, [0, 3600, 7200], wishes);
  expect([time.label, time.scale.domain, time.to(5400)]).toEqual(["time (h)", [0, 2], 1.5]);
  const far = numericAxis({ label: "x", unit: "", scale: "linear" }, [990, 1000], wishes);
  expect(far.scale.domain[0]).toBeGreaterThan(900);
  const log = numericAxis({ label: "x", unit: "", scale: "log" }, [0, 1, 1e6], wishes);
  expect(log.ticks).toEqual([1, 10, 100, 1000, 10_000, 100_000, 1_000_000].filter((_, at) => at % (log.ticks.length < 7 ? 2 : 1) === 0));
  expect(log.to(0)).toBeNaN();
  expect(log.clipped(0)).toBe(log.floor);
});

test("what all categories have in common is said once", () => {
  expect(plainNames("point", ["scheduler = fifo", "scheduler = sfq"])).toEqual({ axis: "scheduler", names: ["fifo", "sfq"] });
  for (const names of [["scheduler = fifo"], ["scheduler = fifo", "disks = 3"], ["a", "b"]]) {
    expect(plainNames("point", names)).toEqual({ axis: "point", names });
  }
});

test("labels lose what all of them share", () => {
  expect(sharedPrefix(["server-01", "server-02", "server-13"])).toBe("server-");
  expect(sharedPrefix(["a", "b"])).toBe("");
  expect(sharedPrefix([])).toBe("");
});

test("a reference curve belongs to the series whose name it starts with", () => {
  expect(ownerOf("disk, closed form", ["di", "disk"])).toEqual({ at: 1, rest: "closed form" });
  expect(ownerOf("diskette", ["disk"])).toBeNull();
  expect(ownerOf("ideal", ["disk", ""])).toBeNull();
  const entries = ["gate", "disk"].map((name) => ({ name, colour: "red", form: "line" as const }));
  const curves = ["gate, ideal", "disk, ideal"].map((name) => ({ type: "curve" as const, name, points: [] }));
  expect(seriesLegend(entries, curves).map((entry) => entry.name)).toEqual(["gate", "disk", "ideal"]);
});

test("each flow has a ribbon, and each arc a part that sends and one that takes", () => {
  const value = { label: "jobs", unit: "jobs/s", scale: "linear" as const };
  const matrix = [[0, 5, 0], [0, 0, 5], [1, 0, 0]];
  const { svg } = draw({ type: "chord", value, labels: ["a", "b", "c"], groups: [], matrix }, 400);
  const tips = [...svg.querySelectorAll(".ribbon")].map((each) => each.getAttribute("data-tip")).sort();
  expect(tips).toEqual(["a → b: 5 jobs/s", "b → c: 5 jobs/s", "c → a: 1 jobs/s"]);
  expect(svg.querySelector('[data-member="2"]')?.getAttribute("aria-label")).toBe("c: sends 1 jobs/s, takes 5 jobs/s, 2 partners");
  const parts = [...svg.querySelectorAll('[data-member="2"] path')];
  expect(parts.map((each) => each.getAttribute("fill-opacity"))).toEqual([null, "0.35"]);
  // Both directions between a pair are told apart.
  const both = draw({ type: "chord", value, labels: ["a", "b"], groups: [], matrix: [[0, 5], [2, 0]] }, 400).svg;
  expect([...both.querySelectorAll(".ribbon")].map((each) => each.getAttribute("data-tip")).sort()).toEqual([
    "a → b: 5 jobs/s",
    "b → a: 2 jobs/s",
  ]);
});

test("names round a circle do not touch, and every member can still be pointed at", () => {
  const value = { label: "sent", unit: "GiB", scale: "linear" as const };
  const labels = Array.from({ length: 64 }, (_, at) => `${at}`);
  // Of eight neighbours, four have arcs of a hundredth of the others'.
  const matrix = labels.map((_, a) => labels.map((_, b) => (b === (a + 8) % 64 ? (a % 8 < 4 ? 100 : 1) : 0)));
  const { svg } = draw({ type: "chord", value, labels, groups: [], matrix }, 350);
  const named = [...svg.querySelectorAll(".member text")].map((each) => each.textContent).filter((name) => name !== "");
  expect(named.length).toBeLessThan(64);
  expect(named).toContain("2");
  expect(svg.querySelectorAll(".member[data-tip]").length).toBe(64);
  expect(svg.querySelectorAll(".ribbon").length).toBe(64);
});

test("boxes of several series stand beside each other at a place, and say what they are", () => {
  const axis = { label: "servers", unit: "", scale: "log" as const };
  const box = { label: "", low: 1, q1: 2, median: 3, q3: 4, high: 5, mean: 3, n: 10, outliers: [9] };
  const series = ["groups", "objects"].map((name) => ({ name, boxes: [16, 32].map((x) => ({ x, stats: box })) }));
  const kind: Kind = { type: "boxes", x: axis, y: { ...axis, label: "rate" }, series, references: [] };
  const { svg, legend } = draw(kind, 560);
  expect(legend.map((entry) => entry.name)).toEqual(["groups", "objects"]);
  const shifts = new Set([...svg.querySelectorAll("[aria-label=rule]")].map((each) => each.getAttribute("transform")));
  expect(shifts.size).toBe(2);
  expect(svg.querySelectorAll("[aria-label=dot] circle").length).toBe(4);
});

test("a box figure beside a round one leaves no empty paper", () => {
  const value = { label: "jobs", unit: "", scale: "linear" as const };
  const box = { label: "a", low: 1, q1: 2, median: 3, q3: 4, high: 5, mean: 3, n: 30, outliers: [] };
  const boxes = draw({ type: "box", x: "station", y: value, boxes: [box, { ...box, label: "b" }], references: [] }, 540).svg;
  const matrix = [[0, 3, 1], [2, 0, 1], [1, 1, 0]];
  const labels = ["gate", "workers", "database"];
  const chord = draw({ type: "chord", value, labels, groups: [], matrix }, 540).svg;
  const height = (svg: SVGSVGElement): number => Number(svg.getAttribute("height"));
  expect(height(chord)).toBeLessThan(Number(chord.getAttribute("width")));
  expect(Math.abs(height(boxes) - height(chord))).toBeLessThan(60);
  // Nothing is cut off: the view holds the ring whole.
  const [, top, , tall] = (chord.getAttribute("viewBox") ?? "").split(" ").map(Number);
  expect(tall).toBe(height(chord));
  expect(-(top ?? 0)).toBeGreaterThan(150);
});
