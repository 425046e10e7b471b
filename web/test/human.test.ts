import { expect, test } from "vitest";
import { clock, digits, heading, odds, quantity, range, Shown, smallProbability, smallRange } from "../src/human";
import { text } from "./golden";

test("numbers are rounded as the terminal rounds them", () => {
  const cases = JSON.parse(text("human.json")) as [number, string, string][];
  expect(cases.length).toBeGreaterThan(1000);
  const wrong = cases
    .map(([value, unit, want]) => ({ value, unit, want, found: quantity(value, unit) }))
    .filter(({ want, found }) => want !== found);
  expect(wrong).toEqual([]);
});

test("small probabilities are the words of the terminal", () => {
  const cases = JSON.parse(text("odds.json")) as [number, string][];
  expect(cases.length).toBeGreaterThan(50);
  expect(cases.map(([share]) => odds(share))).toEqual(cases.map(([, want]) => want));
  expect(smallProbability("data_loss_probability_fraction", 1.969e-11)).toBe("1 in 50,000,000,000");
  expect(smallRange("data_loss_probability_fraction", 1e-11, 2e-11)).toBe("1 in 50,000,000,000 to 1 in 100,000,000,000");
  // Planted: what is no probability, or no small one.
  expect(smallProbability("moved_fraction", 1.969e-11)).toBe(null);
  expect(smallProbability("data_loss_probability_fraction", 1e-5)).toBe(null);
});

test("ranges, headings and what is no number", () => {
  expect(range(3.921, 4.04, "s")).toBe("3.921 to 4.04 s");
  expect(heading("mean_wait")).toBe("Mean wait");
  expect(digits(Number.NaN)).toBe("–");
  expect(digits(Number.POSITIVE_INFINITY)).toBe("–");
});

test("a column takes the unit of its middle number", () => {
  const shown = Shown.column([0, 90, 3600, 7200, 90_000], "s");
  expect(shown.unit).toBe("h");
  expect(shown.digits(90)).toBe("0.025");
  expect(Shown.column([], "bytes").unit).toBe("B");
  expect(shown.label("time")).toBe("time (h)");
  expect(Shown.fitting(1, "jobs").label("jobs at the station")).toBe("jobs at the station");
});

test("times read as on the terminal's clock", () => {
  const cases = JSON.parse(text("clock.json")) as [number, string][];
  expect(cases.map(([seconds]) => clock(seconds))).toEqual(cases.map(([, want]) => want));
});
