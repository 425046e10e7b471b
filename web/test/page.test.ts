// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { render } from "../src/page";
import { prepare } from "../src/paper";
import { flat } from "../src/scenario";
import { embed, reports, text } from "./golden";

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
/** The text of an element, with spaces that keep a number and its unit together as ordinary ones. */
const plain = (element: Element | null) => element?.textContent?.replaceAll("\u00a0", " ");
let root: HTMLElement;

beforeEach(() => {
  root = document.createElement("div");
  document.body.replaceChildren(root);
});

test("a whole report is shown, and nothing in it fails", async () => {
  for (const { json, report } of reports()) {
    render(root, embed(json));
    await settled();
    expect(root.querySelectorAll(".error").length).toBe(0);
    expect(plain(root.querySelector("h1"))).toBe(report.answer.finding);
    expect(root.querySelector(".of")?.textContent).toBe(report.title);
    expect(root.querySelectorAll(".course li").length).toBe(report.answer.course?.length ?? 0);
    expect([...root.querySelectorAll(".lines dd")].length).toBe(report.answer.lines?.length ?? 0);
    expect(root.querySelectorAll(".stage > svg").length).toBe(report.figures.length);
    expect(root.querySelectorAll("#claims .badge").length).toBe(report.claims.length);
    expect(root.querySelectorAll(".warnings li").length).toBe(report.warnings.length);
    for (const link of root.querySelectorAll("nav a")) {
      expect(root.querySelector(link.getAttribute("href") ?? "#none"), link.textContent ?? "").not.toBeNull();
    }
  }
});

test("chapters show each claim and figure once, beside what it answers to", async () => {
  const report = JSON.parse(text("rebuild.json"));
  const claims = report.claims.map((claim: { name: string }) => claim.name);
  report.main_figure = report.figures[0].id;
  const figures = report.figures.slice(1).map((figure: { id: string }) => figure.id);
  const first = { title: "Figure 8", figures: figures.slice(0, 2), claims: claims.slice(0, 1) };
  const tables = report.tables.map((table: { id: string }) => table.id);
  const second = { title: "Table 2", figures: figures.slice(2, 3), tables: tables.slice(0, 1), claims: claims.slice(1) };
  report.chapters = [{ title: "A paper with a long title", short: "A paper", about: "Slides.", parts: [first, second] }];
  render(root, embed(JSON.stringify(report)));
  await settled();
  expect(root.querySelectorAll(".error").length).toBe(0);
  expect(root.querySelector("#claims")).toBeNull();
  expect(root.querySelector("#chapter-1 h2")?.textContent).toBe("A paper with a long title");
  expect([...root.querySelectorAll("nav a")].map((link) => link.textContent)).toContain("A paper");
  const parts = [...root.querySelectorAll("#chapter-1 .part")];
  expect(parts.map((part) => part.querySelector("h3")?.textContent)).toEqual(["Figure 8", "Table 2"]);
  expect(parts.map((part) => part.querySelectorAll("figure").length)).toEqual([2, 1]);
  expect(parts.map((part) => part.querySelectorAll(".badge").length)).toEqual([1, claims.length - 1]);
  expect(root.querySelectorAll(".stage > svg").length).toBe(report.figures.length);
  // A table of a part is there and nowhere else.
  expect(parts.map((part) => part.querySelectorAll(".study-table").length)).toEqual([0, 1]);
  expect(root.querySelectorAll(".study-table").length).toBe(tables.length);
});

test("cards carry value, unit, interval and n, or why there is no value", () => {
  render(root, embed(text("queue.json")));
  const cards = [...root.querySelectorAll(".card")].map((card) => card.textContent);
  expect(cards[0]).toBe("P99 wait18.23s95 %: 17.9 to 18.57 s30 replicates");
  expect(cards[1]).toBe("Throughput0.8requests/s1 replicate");
  expect(cards[4]).toContain("the queue has no limit, so nothing can be refused");
  expect(root.querySelector(".hero")?.textContent).toBe("Mean wait3.981s95 %: 3.921 to 4.041 s30 replicates");
});

test("the status, the main number and the main figure come first, the other measures folded below", () => {
  render(root, embed(text("queue.json")));
  expect(root.querySelector(".status")?.textContent).toBe("! At risk");
  expect(plain(root.querySelector(".standing .why"))).toBe("the desk is busy 80 % of the time");
  expect(root.querySelector(".front figure")?.id).toBe("figure-latency-tail");
  expect(root.querySelectorAll("details.group[open]").length).toBe(0);
  expect([...root.querySelectorAll(".group > summary")].map((each) => each.textContent)).toEqual([
    "Times1 measure",
    "Rates1 measure",
    "Counts1 measure",
    "Shares and ratios2 measures, 1 without a value",
  ]);
});

test("the points of a sweep begin with the main measure", () => {
  const report = JSON.parse(text("rebuild.json"));
  const keys = Object.keys(report.points[0].settings).length;
  const names = Object.keys(report.points[0].summary);
  const firstShown = (headline: string | undefined) => {
    render(root, embed(JSON.stringify({ ...report, headline })));
    const cell = [...root.querySelectorAll("#points thead th")][keys];
    return names.find((name) => cell?.getAttribute("title")?.startsWith(name));
  };
  expect(firstShown(names[2])).toBe(names[2]);
  expect(firstShown(undefined)).toBe(names[0]);
});

test("a report of an earlier version, without headline and verdict, shows its first measure and no verdict", () => {
  const { headline: _headline, answer: _answer, main_figure: _figure, titles: _titles, ...older } = JSON.parse(text("queue.json"));
  render(root, embed(JSON.stringify({ ...older, answer: { finding: "" } })));
  expect(root.querySelector("h1")?.textContent).toBe(older.title);
  expect(root.querySelector(".hero .label")?.textContent).toBe("Mean wait");
  expect(root.querySelector(".status")).toBeNull();
  expect(root.querySelector(".front figure")).not.toBeNull();
});

test("a main measure without a value says why, and is no zero", () => {
  render(root, embed(text("queue.json").replace('"headline": "mean_wait"', '"headline": "refused_share"')));
  expect(root.querySelector(".hero .value")?.textContent).toBe("–");
  expect(root.querySelector(".hero .reason")?.textContent).toBe("the queue has no limit, so nothing can be refused");
});

test("every part of an answer is shown, in the order and with the words of the terminal", () => {
  const report = JSON.parse(text("rebuild.json"));
  render(root, embed(JSON.stringify(report)));
  const shown = [...root.querySelectorAll(".course li")].map((each) => each.textContent);
  expect(shown).toContain("1:34:00 all copies back (1:33:00 to 1:35:00)");
  expect([...root.querySelectorAll(".lines dt")].map((each) => each.textContent)).toEqual(["limit", "try", "also", "assumed", "leaves out"]);
  expect(root.querySelector(".lines .change")?.textContent).toBe("--disk-write");
  // What is compared is shown once, before all other parts.
  expect(root.querySelector("section")?.id).toBe("compared");
  expect(root.querySelectorAll(`#table-${report.answer.compared}`).length).toBe(1);
});

test("paper gets wide tables in parts that each have the first column, and gives them back", () => {
  render(root, embed(text("rebuild.json")));
  const tables = (): number => root.querySelectorAll(".scroll > table").length;
  const wide = document.createElement("div");
  wide.className = "scroll";
  const cells = Array.from({ length: 20 }, (_, at) => `<td>c${at}${at === 0 ? "" : "_of_eleven"}</td>`).join("");
  wide.innerHTML = `<table><tbody><tr>${cells}</tr></tbody></table>`;
  root.append(wide);
  const before = tables();
  const restore = prepare(root);
  const parts = [...wide.querySelectorAll("table")].filter((table) => !table.hidden);
  expect(parts.length).toBeGreaterThan(1);
  expect(new Set(parts.map((table) => table.rows[0]?.cells[0]?.textContent))).toEqual(new Set(["c0"]));
  const others = parts.flatMap((table) => [...(table.rows[0]?.cells ?? [])].slice(1).map((cell) => cell.textContent));
  expect(others).toEqual(Array.from({ length: 19 }, (_, at) => `c${at + 1}_of_eleven`));
  expect(root.querySelectorAll("details:not([open])").length).toBe(0);
  restore();
  expect(tables()).toBe(before);
  expect(wide.querySelector("table")?.hidden).toBe(false);
  expect(root.querySelectorAll("details:not([open])").length).toBeGreaterThan(0);
});

test("paper gets the first rows of long tables, a count of all, and figures of half a sheet, and gives them back", async () => {
  render(root, embed(text("rebuild.json")));
  await settled();
  const table = [...root.querySelectorAll<HTMLElement>(".table")].find((each) => Number(each.dataset["rows"]) > 30);
  const rows = (): number => table?.querySelectorAll("tbody tr").length ?? 0;
  const width = (): string | null | undefined => root.querySelector("#figure-spread svg")?.getAttribute("width");
  const [before, wide] = [rows(), width()];
  const restore = prepare(root);
  expect([...(table?.querySelectorAll("table:not([hidden])") ?? [])].map((part) => part.querySelectorAll("tbody tr").length)).toContain(8);
  expect(table?.querySelector(".rest")?.textContent).toBe(`The first 8 of ${table?.dataset["rows"]} rows; all are in ${table?.dataset["file"]}.`);
  expect(Number(width())).toBeLessThan(340);
  restore();
  expect([rows(), width()]).toEqual([before, wide]);
  expect(root.querySelectorAll(".rest").length).toBe(0);
});

test("a seed that no double holds is shown exactly", () => {
  render(root, embed(text("queue.json")));
  expect(root.querySelector(".facts")?.textContent).toContain("seed 18446744073709551615");
  expect(root.querySelector(".origin")?.textContent).toContain("18446744073709551615");
});

test("a sweep says where the ends lie and lists its points", () => {
  render(root, embed(text("rebuild.json")));
  expect(root.querySelector(".hero")?.textContent).toContain("least at servers 64, streams 4");
  expect(root.querySelectorAll("#points tbody tr").length).toBe(10);
});

test("a sweep names no end that its interval does not tell from other points", () => {
  const report = JSON.parse(text("rebuild.json"));
  for (const point of report.points) {
    for (const measure of Object.values<{ low: number; high: number }>(point.summary)) Object.assign(measure, { low: 0, high: 1e18 });
  }
  render(root, embed(JSON.stringify(report)));
  expect(root.querySelector(".hero")?.textContent).toContain("least not distinguished from other points");
});

test("a measure without an interval says why, and between what its replicates lie", () => {
  const report = JSON.parse(text("queue.json"));
  const reason = "it is a maximum";
  Object.assign(report.summary.mean_wait, { low: null, high: null, no_interval: { least: 3, most: 5, reason } });
  render(root, embed(JSON.stringify(report)));
  expect(root.querySelector(".hero")?.textContent).toContain("replicates: 3 to 5 s");
  expect(root.querySelector(".hero")?.textContent).toContain("no interval: it is a maximum");
});

test("a partial report says so", () => {
  render(root, embed(text("queue.json").replace('"partial": false', '"partial": true')));
  expect(root.querySelector("h1 .badge")?.textContent).toBe("partial");
  expect(root.querySelector(".warnings")?.textContent).toContain("stopped early");
});

test("what a partial report says of itself is not said twice", () => {
  const partial = text("queue.json").replace('"partial": false', '"partial": true');
  render(root, embed(partial.replace('"warnings": []', '"warnings": [{"severity": "unknown", "text": "the run was stopped"}]')));
  expect(root.querySelectorAll(".warnings li").length).toBe(1);
});

test("text from a report is text, never markup", () => {
  const hostile = "<img src=x onerror=alert(1)></script>";
  const json = text("queue.json").replace("A request waits 3.98 s on average, within 0.5 % of the closed form.", hostile);
  render(root, embed(json));
  expect(root.querySelector("h1")?.textContent).toBe(hostile);
  expect(root.querySelector("img")).toBeNull();
});

test("a page without readable data says so", () => {
  render(root, "not json");
  expect(root.querySelector(".error")?.textContent).toContain("cannot be read");
});

test("scenario values stand under the keys that --set takes", () => {
  expect(flat({ a: { b: [1, "x"], c: null }, d: "60TiB" })).toEqual([
    ["a.b", '[1,"x"]'],
    ["a.c", "null"],
    ["d", "60TiB"],
  ]);
});

test("names between backticks are set apart, and a note that claims share is said once", () => {
  const note = "the paper counts detection, which took 90 s there";
  const json = text("rebuild.json")
    .replace("Rebuild after losing one server", "Rebuild of `server-3`")
    .replace('"verdict": "fitted"', `"verdict": "fitted",\n      "note": "${note}"`);
  render(root, embed(json));
  expect(root.querySelector(".of code")?.textContent).toBe("server-3");
  expect(plain(root.querySelector(".notes"))).toBe(note);
  expect(root.querySelectorAll("#claims sup").length).toBe(2);
  expect([...root.querySelectorAll("#claims td .note")].map((note) => note.textContent)).toEqual([
    "Tolerance loosened: the closed form gives 1.2 for disks of one size; these are of three",
  ]);
  expect(root.querySelector("#claims .badge")?.textContent).toBe("✗ misses");
});

test("claims of a run that was stopped are not judged, and its replicates are counted", () => {
  const part = text("rebuild.json")
    .replace('"partial": false', '"partial": true')
    .replace(/"verdict": "\w+"/g, '"verdict": "not_judged"')
    .replace(/,\s*"would_be": "\w+"/g, "")
    .replace('"n": 30', '"n": 7');
  render(root, embed(part));
  const badges = [...root.querySelectorAll("#claims .badge")].map((badge) => badge.textContent);
  expect(badges).toEqual(Array(5).fill("– not judged"));
  expect(root.querySelector("#claims .lead")?.textContent).toBe("5 of 5 not judged, since runs are missing.");
  expect(root.querySelector(".facts")?.textContent).toContain("of 30 replicates");
});

test("all four verdicts are shown, and what a fitted claim would be", () => {
  render(root, embed(text("rebuild.json")));
  const badges = [...root.querySelectorAll("#claims .badge")].map((badge) => badge.textContent);
  expect(badges).toEqual(["✗ misses", "? cannot tell", "✓ holds", "✓ holds", "≈ fitted"]);
  expect(root.querySelector("#claims .badge.fitted")?.parentElement?.textContent).toBe("≈ fittedwould hold");
  expect(root.querySelector("#claims .lead")?.textContent).toBe(
    "2 of 5 hold; 1 misses; 1 cannot tell; 1 used in calibration and never counted as holding.",
  );
  const tolerances = [...root.querySelectorAll("#claims td")].map((cell) => cell.textContent);
  expect(tolerances).toContain("at most, loosened");
});
