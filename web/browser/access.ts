// What keeps people from using a page: the rules of axe, which other pages are judged by, too.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Chromium } from "./chromium";

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

/** The rules that the opened page breaks, each with its first elements. */
export async function barriers(browser: Chromium): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await browser.call("Runtime.evaluate", { expression: axe });
  const found = await browser.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
    return (await axe.run()).violations;
  });
  return found.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ")} (${nodes.length})`);
}
