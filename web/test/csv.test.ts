import { expect, test } from "vitest";
import { figureCsv, files, header, tableFiles } from "../src/csv";
import type { Figure } from "../src/report";
import { csvNames, reports, text } from "./golden";

test("the page's CSV files are the program's, byte for byte", () => {
  for (const { name, report } of reports()) {
    const made = files(report);
    expect(made.map((file) => `${name}-${file.name}`).sort()).toEqual(csvNames(name));
    for (const file of made) expect(file.text(), file.name).toBe(text(`${name}-${file.name}`));
  }
});

test("the rows of every kind of figure are the program's", () => {
  const cases = JSON.parse(text("figures.json")) as { figure: Figure; csv: string }[];
  expect(new Set(cases.map(({ figure }) => figure.kind.type)).size).toBe(9);
  for (const { figure, csv } of cases) expect(figureCsv(figure), figure.kind.type).toBe(csv);
});

test("the rows that a button names are those of its file", () => {
  for (const { name, report } of reports()) {
    for (const file of tableFiles(report)) {
      // Line breaks inside of quotes are of a field.
      const rows = file.text().replaceAll(/"[^"]*"/g, "").split("\n").length - 2;
      expect(file.rows, `${name}-${file.name}`).toBe(rows);
    }
  }
});

test("headers name the unit once", () => {
  expect(header("rate", "bytes/s")).toBe("rate_bytes_per_s");
  expect(header("busy", "%")).toBe("busy_percent");
  expect(header("wait_s", "s")).toBe("wait_s");
  expect(header("share", "")).toBe("share");
  expect(header("objects_looked_at", "objects")).toBe("objects_looked_at");
});
