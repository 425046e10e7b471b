import { expect, test } from "vitest";
import { placeNames } from "../src/figures/bands";
import { besideEachOther, rowsOf } from "../src/figures/drawing";

test("names of vertical lines that would lie on each other go to different rows", () => {
  expect(rowsOf(["a", "b"], [100, 200])).toEqual([0, 0]);
  expect(rowsOf(["90% reads", "10% reads", "50% reads"], [100, 120, 200])).toEqual([0, 1, 0]);
  expect(rowsOf(["full", "nearfull", "backfillfull"], [100, 101, 102])).toEqual([0, 1, 2]);
});

test("names of horizontal lines at one height stand beside each other", () => {
  const ends = besideEachOther(["nearfull", "full", "even"], [50, 55, 120], 300);
  expect(ends[0]).toBe(300);
  expect(ends[1]).toBeLessThan(300 - 7 * "nearfull".length);
  expect(ends[2]).toBe(300);
});

test("names of bands begin where their bands do, in rows where they would touch, and end at the edge", () => {
  const at = (...starts: [string, number][]) => placeNames(starts.map(([name, x]) => ({ name, x })), 500);
  expect(at(["detection", 50], ["wait", 300]).map(({ row, anchor }) => [row, anchor])).toEqual([[0, "start"], [0, "start"]]);
  // Planted: three bands begin within a few pixels, and one at the very end.
  const close = at(["detection", 50], ["wait until marked out", 55], ["peering", 60], ["transfers", 490]);
  expect(close.map(({ row }) => row)).toEqual([2, 1, 0, 0]);
  expect(close.at(-1)).toEqual({ name: "transfers", x: 500, anchor: "end", row: 0 });
});
