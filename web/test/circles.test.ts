// No files of the page import each other in a circle, not even for types.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/** For each file, without its extension, the files that it imports. */
type Imports = Map<string, string[]>;

function importsOf(file: string, text: string): string[] {
  const found = text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]*)"/g);
  return [...found].map((each) => normalize(join(dirname(file), each[1] ?? "")));
}

/** Files that import themselves by way of others. */
function inCircles(imports: Imports): string[] {
  const reached = (from: string): Set<string> => {
    const seen = new Set<string>();
    const open = [from];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      const next = (imports.get(file) ?? []).filter((each) => !seen.has(each));
      next.forEach((each) => seen.add(each));
      open.push(...next);
    }
    return seen;
  };
  return [...imports.keys()].filter((file) => reached(file).has(file));
}

test("no files of the page import each other in a circle", () => {
  const folder = join(dirname(fileURLToPath(import.meta.url)), "../src");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const imports: Imports = new Map(
    names.map((name) => [name.replace(/\.ts$/, ""), importsOf(name, readFileSync(join(folder, name), "utf8"))]),
  );
  expect(imports.get(normalize("figures/figure"))).toContain("csv");
  expect(inCircles(imports)).toEqual([]);
});

test("a planted circle is found", () => {
  const files = { a: 'import { b } from "./deep/b";', "deep/b": 'import type { C } from "../c";', c: 'export * from "./a";', d: 'import "./a";' };
  const imports: Imports = new Map(Object.entries(files).map(([name, text]) => [name, importsOf(name, text)]));
  expect(inCircles(imports)).toEqual(["a", normalize("deep/b"), "c"]);
});
