import { expect, test } from "vitest";
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
