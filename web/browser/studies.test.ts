// The checked-in bundle with a report of every study, in a real browser at three widths and on paper.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { embed } from "../test/golden";
import { barriers } from "./access";
import { badLabels, belowTheFold, notAsChosen, offCourse, overflows, partedWords, places } from "./checks";
import { Chromium } from "./chromium";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const program = process.env["TOWTANK"] ?? join(root, "target/debug/towtank");
const bundle = join(root, "crates/report/assets/report.html");
const folder = mkdtempSync(join(tmpdir(), "towtank-studies-"));
/** Sheets of A4 that a page may take. */
const SHEETS = 6;
const cluster = join(root, "docs/examples/cluster");
const exports = ["--crush-map", "crush.txt", "--osd-dump", "osd_dump.json", "--pg-dump", "pg_dump.json.gz"];
let browser: Chromium;

/** The arguments of each study, small enough for a build that is not optimised. */
const RUNS: Record<string, string[]> = {
  backfill: ["backfill", "--objects-per-group", "2000"],
  balance: ["balance", ...exports],
  "capacity-mix": ["capacity-sim", "--mix", "16KiB:90%:r100,1MiB:10%:r50"],
  "capacity-sim": ["capacity-sim"],
  durability: ["durability", ...exports, "--replace-after", "24h", "--burst", "3 disks"],
  eta: ["eta", "--report", "../underway/1.report.json.gz"],
  pfs: ["run", "pfs-interactive"],
  place: ["place", "--keys", "10000"],
  preview: ["preview", ...exports, "--mark-out", "osd.5"],
  put: ["put"],
  queue: ["run", "queue-network"],
  "pfs-schedulers": ["run", "pfs-schedulers", "--replicates", "2"],
  "queue-load": ["run", "queue-load"],
  rebuild: ["rebuild", "--objects", "20000", "--replicates", "3"],
  whatif: ["whatif", ...exports, "--fail", "osd.3"],
};

/** Studies whose pages have tables and no figure. */
const WITHOUT_FIGURE = ["eta", "durability"];

beforeAll(async () => {
  if (!existsSync(program)) throw new Error(`${program} is not built: cargo build -p towtank-cli, or set TOWTANK to its path`);
  browser = await Chromium.start();
});

afterAll(async () => {
  await browser.stop();
  rmSync(folder, { recursive: true });
});

test.each(["rebuild", "whatif"])("the main figure of %s shows the course", (name) => {
  const out = join(folder, `course-${name}`);
  execFileSync(program, [...(RUNS[name] ?? []), "--quiet", "--out", out], { cwd: cluster });
  const { figures, main_figure, answer } = JSON.parse(readFileSync(join(out, "report.json"), "utf8"));
  const figure = figures.find((each: { id: string }) => each.id === main_figure);
  expect(answer.course.length).toBeGreaterThan(1);
  expect(offCourse(figure)).toEqual([]);
  // Planted: a line that starts with its first object, a phase that is missing, and none at all.
  const [first, ...others] = figure.kind.series;
  const late = { ...figure.kind, series: [{ ...first, points: first.points.slice(1) }, ...others] };
  expect(offCourse({ ...figure, kind: late }).join()).toContain("a line starts at");
  expect(offCourse({ ...figure, bands: figure.bands.slice(0, -1) }).length).toBeGreaterThan(0);
  expect(offCourse({ ...figure, bands: [] })).toEqual(["it has no phases"]);
});

describe.each(Object.keys(RUNS))("the page of %s", (name) => {
  const page = join(folder, `${name}.html`);
  let screen = "";

  beforeAll(() => {
    const run = [...(RUNS[name] ?? []), "--quiet", "--verbose", "--out", join(folder, name)];
    screen = execFileSync(program, run, { cwd: cluster, encoding: "utf8" });
    const report = readFileSync(join(folder, name, "report.json"), "utf8");
    const html = readFileSync(bundle, "utf8").replace("__TOWTANK_TITLE__", name);
    writeFileSync(page, html.replace("__TOWTANK_REPORT__", () => embed(report)));
  }, 120_000);

  test.each([
    { width: 390, height: 844 },
    { width: 820, height: 1180 },
    { width: 1400, height: 900 },
  ])("is laid out right at $width x $height", async (view) => {
    await browser.open(page, { ...view, scheme: "light" });
    expect(browser.errors).toEqual([]);
    expect(await browser.evaluate(overflows)).toEqual([]);
    expect(await browser.evaluate(badLabels)).toEqual([]);
    expect(await browser.evaluate(notAsChosen)).toEqual([]);
    expect(await browser.evaluate(partedWords)).toEqual([]);
    const hasFigure = view.width >= 1400 && !WITHOUT_FIGURE.includes(name);
    expect(belowTheFold(await browser.evaluate(places), view.height, hasFigure)).toEqual([]);
  });

  test("has no barriers", async () => {
    await browser.open(page, { width: 1400, height: 900, scheme: "light" });
    expect(await barriers(browser)).toEqual([]);
  });

  // One answer in three renderings: the terminal's, the page's and that of report.json.
  test("says what the terminal and report.json say", async () => {
    const { answer } = JSON.parse(readFileSync(join(folder, name, "report.json"), "utf8"));
    await browser.open(page, { width: 1400, height: 900, scheme: "light" });
    const shown = await browser.evaluate(() => {
      const all = (selector: string): string[] => [...document.querySelectorAll(selector)].map((each) => each.textContent ?? "");
      return { finding: all("h1").join(), verdict: all(".status").join(), course: all(".course li"), lines: all(".answer .lines dd") };
    });
    const plain = (text: string): string => text.replace(/`/g, "").replace(/\s+/g, " ").trim();
    const words = (text: string): string => plain(text).replace(/ /g, "");
    // On the terminal, the verdict stands at the end of the first line of the finding.
    const verdict = ((answer.verdict ?? "") as string).replace("_", " ");
    const head = words(screen).replace(words(verdict.toUpperCase()), "");
    expect(plain(shown.finding)).toBe(plain(answer.finding));
    expect(head.startsWith(words(answer.finding))).toBe(true);
    expect(shown.verdict.replace(/^. /, "").toLowerCase()).toBe(verdict);
    expect(shown.course.length).toBe(answer.course?.length ?? 0);
    for (const step of shown.course) expect(words(screen)).toContain(words(step));
    expect(shown.lines.length).toBe(answer.lines?.length ?? 0);
    for (const line of shown.lines) expect(words(screen)).toContain(words(line));
  });

  test("loses nothing on paper, and takes few sheets", async () => {
    await browser.open(page, { width: 703, height: 1000, scheme: "light", print: true });
    expect(await browser.evaluate(overflows)).toEqual([]);
    expect(await browser.evaluate(badLabels)).toEqual([]);
    expect(await browser.evaluate(partedWords)).toEqual([]);
    await browser.open(page, { width: 1400, height: 900, scheme: "light" });
    expect(await browser.sheets()).toBeLessThanOrEqual(SHEETS);
  });
});
