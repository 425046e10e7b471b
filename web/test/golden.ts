// The files that the Rust crate's tests write (`crates/report/src/golden.rs`).

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Report } from "../src/report";
import { parse } from "../src/data";

const folder = join(dirname(fileURLToPath(import.meta.url)), "golden");

export function text(name: string): string {
  return readFileSync(join(folder, name), "utf8");
}

/** Reports by name, with their text. */
export function reports(): { name: string; json: string; report: Report }[] {
  return ["queue", "rebuild"].map((name) => {
    const json = text(`${name}.json`);
    return { name, json, report: parse(json) };
  });
}

/** The CSV files that the program writes for a report. */
export function csvNames(name: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.startsWith(`${name}-`) && file.endsWith(".csv"))
    .sort();
}

/** What the program does to JSON before it goes into the page. */
export function embed(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
