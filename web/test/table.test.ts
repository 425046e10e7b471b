// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { sorted, tableElement } from "../src/table";
import { identifier } from "../src/dom";

const column = (...keys: (number | string | null)[]) => keys.map((key) => [{ key, text: String(key) }]);
const order = (rows: readonly (readonly { key: number | string | null }[])[]) => rows.map((row) => row[0]?.key);

test("numbers sort by size, and what is missing stays last both ways", () => {
  const rows = column(10, null, 9, -1);
  expect(order(sorted(rows, 0, "ascending"))).toEqual([-1, 9, 10, null]);
  expect(order(sorted(rows, 0, "descending"))).toEqual([10, 9, -1, null]);
});

test("text sorts with the numbers in it by size", () => {
  expect(order(sorted(column("disk-10", "disk-9", "disk-1"), 0, "ascending"))).toEqual(["disk-1", "disk-9", "disk-10"]);
});

test("a click on a heading sorts, a second one turns it round, and says so", () => {
  const table = tableElement([{ name: "n", numeric: true }], column(2, 10, 1), { label: "numbers" });
  const cells = () => [...table.querySelectorAll("td")].map((cell) => cell.textContent);
  const head = table.querySelector("th");
  expect(cells()).toEqual(["2", "10", "1"]);
  head?.querySelector("button")?.click();
  expect(cells()).toEqual(["1", "2", "10"]);
  expect(head?.getAttribute("aria-sort")).toBe("ascending");
  head?.querySelector("button")?.click();
  expect(cells()).toEqual(["10", "2", "1"]);
  expect(head?.getAttribute("aria-sort")).toBe("descending");
});

test("long tables show their first rows, and all when asked; sorting sees all", () => {
  const rows = column(...Array.from({ length: 60 }, (_, at) => at));
  const table = tableElement([{ name: "n", numeric: true }], rows, { label: "numbers" });
  const count = () => table.querySelectorAll("tbody tr").length;
  expect(count()).toBe(25);
  const head = table.querySelector("th button") as HTMLButtonElement;
  head.click();
  head.click();
  expect(table.querySelector("td")?.textContent).toBe("59");
  (table.querySelector(".tools button") as HTMLButtonElement).click();
  expect(count()).toBe(60);
});

test("names are parted behind their signs, and numbers are not", () => {
  const parts = (name: string) => identifier(name).filter((part) => typeof part === "string");
  expect(parts("time_to_clean_s")).toEqual(["time_", "to_", "clean_", "s"]);
  expect(parts("disk.latency=5us")).toEqual(["disk.", "latency=", "5us"]);
  expect(parts("64KiB,1MiB")).toEqual(["64KiB,", "1MiB"]);
  for (const whole of ["1,024", "0.5", "10:23", "sfq:8", "redundancy"]) expect(parts(whole)).toEqual([whole]);
});
