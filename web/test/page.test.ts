// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { render } from "../src/page";
import { flat } from "../src/scenario";
import { embed, reports, text } from "./golden";

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
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
    expect(root.querySelector("h1")?.textContent).toBe(report.title);
    expect(root.querySelector(".answer")?.textContent).toBe(report.answer);
    expect(root.querySelectorAll(".stage > svg").length).toBe(report.figures.length);
    expect(root.querySelectorAll("#claims .badge").length).toBe(report.claims.length);
    expect(root.querySelectorAll(".warnings li").length).toBe(report.warnings.length);
    for (const link of root.querySelectorAll("nav a")) {
      expect(root.querySelector(link.getAttribute("href") ?? "#none"), link.textContent ?? "").not.toBeNull();
    }
  }
});

test("cards carry value, unit, interval and n, or why there is no value", () => {
  render(root, embed(text("queue.json")));
  const cards = [...root.querySelectorAll(".card")].map((card) => card.textContent);
  expect(cards[0]).toBe("Mean wait3.981s95 %: 3.921 to 4.041 s30 replicatesfrom arrival to the start of service");
  expect(cards[3]).toBe("Throughput0.8requests/s1 replicate");
  expect(cards[5]).toContain("the queue has no limit, so nothing can be refused");
});

test("a seed that no double holds is shown exactly", () => {
  render(root, embed(text("queue.json")));
  expect(root.querySelector(".facts")?.textContent).toContain("seed 18446744073709551615");
  expect(root.querySelector(".origin")?.textContent).toContain("18446744073709551615");
});

test("a sweep says where the ends lie and lists its points", () => {
  render(root, embed(text("rebuild.json")));
  expect(root.querySelector(".card")?.textContent).toContain("least at servers=64, streams=4");
  expect(root.querySelectorAll("#points tbody tr").length).toBe(10);
});

test("a partial report says so", () => {
  render(root, embed(text("queue.json").replace('"partial": false', '"partial": true')));
  expect(root.querySelector("h1 .badge")?.textContent).toBe("partial");
  expect(root.querySelector(".warnings")?.textContent).toContain("stopped before its end");
});

test("what a partial report says of itself is not said twice", () => {
  const partial = text("queue.json").replace('"partial": false', '"partial": true');
  render(root, embed(partial.replace('"warnings": []', '"warnings": ["the run was stopped"]')));
  expect(root.querySelectorAll(".warnings li").length).toBe(1);
});

test("text from a report is text, never markup", () => {
  const hostile = "<img src=x onerror=alert(1)></script>";
  const json = text("queue.json").replace("M/M/1 queue at load 0.8", hostile);
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
  expect(root.querySelector("h1 code")?.textContent).toBe("server-3");
  expect(root.querySelector(".notes")?.textContent).toBe(note);
  expect(root.querySelectorAll("#claims sup").length).toBe(2);
  expect([...root.querySelectorAll("#claims td .note")].map((note) => note.textContent)).toEqual([
    "Tolerance loosened: the closed form gives 1.2 for disks of one size; these are of three",
  ]);
  expect(root.querySelector("#claims .badge")?.textContent).toBe("✗ misses");
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
