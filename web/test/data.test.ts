import { expect, test } from "vitest";
import { parse, restore, settingText } from "../src/data";
import { embed, reports } from "./golden";

test("the download is report.json, byte for byte", () => {
  for (const { json } of reports()) expect(restore(embed(json))).toBe(json);
});

test("escapes that are data stay data", () => {
  const json = JSON.stringify({ title: "</script> \\u003c \\\\u0026 \u2028 <!--" });
  const embedded = embed(json);
  expect(embedded).not.toMatch(/[<>&\u2028]/);
  expect(restore(embedded)).toBe(json);
  expect(JSON.parse(embedded)).toEqual(JSON.parse(json));
});

test("whole numbers that no double holds stay exact", () => {
  const report = parse('{"seed": 18446744073709551615, "title": "seed 18446744073709551615", "events": 12, "x": 1.8446744073709552e19}');
  expect(String(report.seed)).toBe("18446744073709551615");
  expect(report.title).toBe("seed 18446744073709551615");
  expect(report.events).toBe(12);
  expect(settingText([report.seed])).toBe('["18446744073709551615"]');
});
