// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { draw, figureElement } from "../src/figures/figure";
import { cut, saysNothing, series, without } from "../src/figures/look";
import { inside } from "../src/figures/zoom";
import type { BoxStats, Kind } from "../src/report";

const axis = { label: "share", unit: "%", scale: "linear" as const };
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

function lines(...values: number[][]): Kind {
  const of = (ys: number[], at: number) => ({
    name: `line ${at + 1}`,
    draw: "line" as const,
    points: ys.map((y, x) => ({ x, y, low: null, high: null })),
  });
  return { type: "line", x: axis, y: axis, series: values.map(of), references: [] };
}

function bars(...values: number[]): Kind {
  const one = { name: "share", values, low: [], high: [] };
  return { type: "bar", x: "n", y: axis, categories: values.map((_, at) => `bar ${at + 1}`), series: [one], stacked: false, references: [] };
}

test("one extreme does not squash the rest, and several do not count as extremes", () => {
  expect(cut(lines([90, 100], [80, 95], [97, 85], [850, 874]))).toEqual({ limit: 100, beyond: [{ name: "line 4", most: 874 }] });
  expect(cut(bars(90, 100, 95, 874))?.beyond.map((each) => each.name)).toEqual(["bar 4"]);
  // Half of all, less than five times the next, too few to compare, and an axis that shows both.
  expect(cut(lines([90], [80], [850], [874]))).toBeNull();
  expect(cut(bars(90, 100, 95, 300))).toBeNull();
  expect(cut(bars(1, 874))).toBeNull();
  const log = bars(90, 100, 95, 874) as Extract<Kind, { type: "bar" }>;
  expect(cut({ ...log, y: { ...axis, scale: "log" } })).toBeNull();
});

test("a cut axis ends near the rest, writes the values that it cuts, and shows all when asked", async () => {
  const kind = bars(90, 100, 95, 874);
  const text = draw(kind, 560, { cut: cut(kind) }).svg.textContent ?? "";
  expect(text).toContain("↑ 874 %");
  expect(text).not.toContain("800");
  expect(draw(kind, 560).svg.textContent).toContain("800");
  const element = figureElement({ id: "shares", title: "Shares", caption: "", kind });
  document.body.replaceChildren(element);
  await settled();
  expect(element.querySelector(".cut")?.textContent).toContain("Beyond the axis: bar 4 (up to 874 %).");
  element.querySelector<HTMLButtonElement>(".cut button")?.click();
  expect(element.querySelector(".stage")?.textContent).toContain("800");
  expect(element.querySelector(".cut")?.textContent).toBe("Cut the axis");
});

test("series can be hidden by their legend, keep their colours, and are never all hidden", async () => {
  const kind = lines([1, 2], [3, 4]);
  expect(series(kind)).toEqual(["line 1", "line 2"]);
  expect(series(lines([1, 2]))).toEqual([]);
  const rest = without(kind, new Set(["line 1"]));
  expect(draw(rest, 560).svg.outerHTML).not.toContain("--series-1");
  expect(draw(rest, 560).svg.outerHTML).toContain("--series-2");
  const element = figureElement({ id: "two", title: "Two", caption: "", kind });
  document.body.replaceChildren(element);
  await settled();
  const button = (name: string): HTMLButtonElement | null => element.querySelector(`[data-series="${name}"]`);
  const pressed = (): (string | null)[] => [...element.querySelectorAll("button.entry")].map((each) => each.getAttribute("aria-pressed"));
  button("line 1")?.focus();
  button("line 1")?.click();
  expect(pressed()).toEqual(["false", "true"]);
  expect((document.activeElement as HTMLElement | null)?.dataset["series"]).toBe("line 1");
  button("line 2")?.click();
  expect(pressed()).toEqual(["true", "true"]);
});

test("a stretch stays on its axis, and all of it is no stretch", () => {
  expect(inside([2, 4], [0, 10])).toEqual([2, 4]);
  expect(inside([-1, 3], [0, 10])).toEqual([0, 4]);
  expect(inside([9, 12], [0, 10])).toEqual([7, 10]);
  expect(inside([-1, 11], [0, 10])).toBeNull();
});

test("the keys zoom and move the axis, and its ticks follow", async () => {
  const kind = lines(Array.from({ length: 101 }, (_, at) => at));
  const element = figureElement({ id: "long", title: "Long", caption: "", kind });
  document.body.replaceChildren(element);
  await settled();
  const stage = element.querySelector<HTMLElement>(".stage");
  const ticks = (): number[] =>
    [...element.querySelectorAll('[aria-label="x-axis tick label"] text')].map((each) => Number(each.textContent));
  const press = (key: string): void => void stage?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  expect(Math.max(...ticks())).toBe(100);
  press("+");
  expect([Math.min(...ticks()), Math.max(...ticks())]).toEqual([25, 75].map((end) => ticks().reduce((a, b) => (Math.abs(b - end) < Math.abs(a - end) ? b : a))));
  expect(Math.min(...ticks())).toBeGreaterThanOrEqual(25);
  const before = Math.max(...ticks());
  press("ArrowRight");
  expect(Math.max(...ticks())).toBeGreaterThan(before);
  press("0");
  expect(Math.max(...ticks())).toBe(100);
});

test("a distribution of one value says nothing, and one of two does", () => {
  const box: BoxStats = { label: "a", low: 1, q1: 1, median: 1, q3: 1, high: 1, mean: 1, n: 1, outliers: [] };
  const boxes = (n: number): Kind => ({ type: "box", x: "n", y: axis, boxes: [{ ...box, n }], references: [] });
  const bins = (...heights: number[]): Kind => ({
    type: "histogram",
    x: axis,
    y: axis,
    series: [{ name: "a", bins: heights.map((height, at) => ({ from: at, to: at + 1, height })) }],
    references: [],
  });
  const curve = (...values: number[]): Kind => ({
    type: "ecdf",
    x: axis,
    series: [{ name: "a", points: values.map((value) => [value, 1]) }],
    references: [],
    tail: false,
  });
  expect([boxes(1), bins(0, 1, 0), curve(3)].map(saysNothing)).toEqual([true, true, true]);
  expect([boxes(2), bins(1, 1), curve(3, 4), bars(1), lines([1])].map(saysNothing)).toEqual([false, false, false, false, false]);
});
