// The checked-in bundle in a real browser, at three widths, in both themes and on paper.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { embed, text } from "../test/golden";
import { barriers } from "./access";
import { badLabels, belowTheFold, notAsChosen, overflows, partedWords, places } from "./checks";
import { Chromium } from "./chromium";

const SIZES = [
  { width: 390, height: 844 },
  { width: 820, height: 1180 },
  { width: 1400, height: 900 },
];
/** The width of a sheet of A4 between its margins, in pixels. */
const PAPER = { width: 703, height: 1000, scheme: "light", print: true } as const;

const bundle = join(dirname(fileURLToPath(import.meta.url)), "../../crates/report/assets/report.html");
const folder = mkdtempSync(join(tmpdir(), "towtank-pages-"));
let browser: Chromium;

/** The page of one of the sample reports, as the program writes it. */
function page(name: string): string {
  const file = join(folder, `${name}.html`);
  const html = readFileSync(bundle, "utf8").replace("__TOWTANK_TITLE__", name);
  writeFileSync(file, html.replace("__TOWTANK_REPORT__", () => embed(text(`${name}.json`))));
  return file;
}

beforeAll(async () => {
  browser = await Chromium.start();
});

afterAll(async () => {
  await browser.stop();
  rmSync(folder, { recursive: true });
});

describe.each(["queue", "rebuild"])("the report %s", (name) => {
  test.each(SIZES.flatMap((size) => (["light", "dark"] as const).map((scheme) => ({ ...size, scheme }))))(
    "is laid out right at $width x $height in $scheme",
    async (view) => {
      await browser.open(page(name), view);
      const found = await browser.evaluate(places);
      expect(browser.errors).toEqual([]);
      expect(await browser.evaluate(overflows)).toEqual([]);
      expect(await browser.evaluate(badLabels)).toEqual([]);
      expect(await browser.evaluate(partedWords)).toEqual([]);
      expect(belowTheFold(found, view.height, view.width >= 1400)).toEqual([]);
      const theme = await browser.evaluate(() => document.documentElement.dataset["theme"]);
      expect(theme).toBe(view.scheme);
    },
  );

  test.each(["light", "dark"] as const)("has no barriers in %s", async (scheme) => {
    await browser.open(page(name), { width: 1400, height: 900, scheme });
    await browser.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
    expect(await barriers(browser)).toEqual([]);
  });

  test("loses nothing on paper", async () => {
    await browser.open(page(name), PAPER);
    expect(browser.errors).toEqual([]);
    expect(await browser.evaluate(overflows)).toEqual([]);
    expect(await browser.evaluate(badLabels)).toEqual([]);
    expect(await browser.evaluate(partedWords)).toEqual([]);
    expect(await browser.evaluate(() => [...document.querySelectorAll("details")].filter((each) => !each.open).length)).toBe(0);
  });

  test("opens its groups without getting wider", async () => {
    await browser.open(page(name), { width: 390, height: 844, scheme: "light" });
    await browser.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
    expect(await browser.evaluate(overflows)).toEqual([]);
  });
});

test("planted barriers are found", async () => {
  await browser.open(page("queue"), { width: 1400, height: 900, scheme: "light" });
  await browser.evaluate(() => {
    const main = document.querySelector("main");
    main?.insertAdjacentHTML("beforeend", '<button style="color: #bbb; background: #fff">pale</button><img src="data:,">');
  });
  const found = (await barriers(browser)).join("\n");
  expect(found).toContain("color-contrast");
  expect(found).toContain("image-alt");
});

describe("a figure that leaves the page", () => {
  test("is a picture, or a drawing with its caption and source", async () => {
    await browser.open(page("rebuild"), { width: 1400, height: 900, scheme: "light" });
    const files = await browser.evaluate(async () => {
      const made: Blob[] = [];
      // What a link saves is not in reach of a test; what it is made from is.
      URL.createObjectURL = (blob) => `#${made.push(blob as Blob)}`;
      HTMLAnchorElement.prototype.click = () => {};
      const figure = document.querySelector("#figure-bytes");
      const press = (name: string): void =>
        [...(figure?.querySelectorAll("button") ?? [])].find((each) => each.textContent === name)?.click();
      press("SVG");
      press("PNG");
      for (let wait = 0; made.length < 2 && wait < 100; wait += 1) await new Promise((resolve) => setTimeout(resolve, 50));
      const [drawing, picture] = made;
      const head = new DataView((await picture?.arrayBuffer()) ?? new ArrayBuffer(0));
      return { svg: await drawing?.text(), magic: head.getUint32(0).toString(16), width: head.getUint32(16) };
    });
    expect(files.magic).toBe("89504e47");
    expect(files.width).toBeGreaterThan(800);
    expect(files.svg).toContain("scenario 9f2c4e51d07ab836");
    expect(browser.errors).toEqual([]);
  });

  test("has an address at which the page opens", async () => {
    const view = { width: 1400, height: 900, scheme: "light" } as const;
    const top = (): Promise<number | undefined> =>
      browser.evaluate(() => document.getElementById("figure-clients")?.getBoundingClientRect().top);
    // Planted: without the address, the figure is far below.
    await browser.open(page("rebuild"), view);
    expect(await top()).toBeGreaterThan(900);
    // From one part of a page to another nothing is loaded, so another page lies between.
    await browser.open(page("queue"), view);
    await browser.open(`${page("rebuild")}#figure-clients`, view);
    await browser.settled();
    expect(Math.abs((await top()) ?? 1e6)).toBeLessThan(40);
  });
});

describe("a drawing", () => {
  const ticks = (): Promise<number[]> =>
    browser.evaluate(() =>
      [...document.querySelectorAll('#figure-progress [aria-label="x-axis tick label"] text')].map((each) => Number(each.textContent)),
    );

  test("is zoomed by the mouse, and its axis comes back", async () => {
    await browser.open(page("rebuild"), { width: 1400, height: 900, scheme: "light" });
    const box = await browser.evaluate(() => {
      const svg = document.querySelector("#figure-progress .stage svg");
      svg?.scrollIntoView({ block: "center", behavior: "instant" });
      const { left, top, width, height } = svg?.getBoundingClientRect() ?? new DOMRect();
      return { left, top, width, height };
    });
    const all = await ticks();
    const at = (share: number): [number, number] => [box.left + share * box.width, box.top + box.height / 2];
    await browser.drag(at(0.5), at(0.8));
    const part = await ticks();
    expect(Math.min(...part)).toBeGreaterThan(Math.min(...all));
    expect(Math.max(...part)).toBeLessThan(Math.max(...all));
    expect(await barriers(browser)).toEqual([]);
    expect(await browser.evaluate(badLabels)).toEqual([]);
    await browser.evaluate(() => {
      const buttons = [...document.querySelectorAll<HTMLElement>("#figure-progress .saves button")];
      buttons.find((each) => each.textContent === "Show all of the axis")?.click();
    });
    expect(await ticks()).toEqual(all);
    // Planted: a drag that is no longer than a click's trembling zooms nothing.
    await browser.drag(at(0.5), [at(0.5)[0] + 3, at(0.5)[1]]);
    expect(await ticks()).toEqual(all);
    expect(browser.errors).toEqual([]);
  });

  test("names its phases", async () => {
    await browser.open(page("rebuild"), { width: 390, height: 844, scheme: "light" });
    const said = await browser.evaluate(() => document.querySelector("#figure-progress .stage svg")?.textContent ?? "");
    expect(said).toContain("all is well");
    expect(said).not.toContain("wait");
  });
});

describe("a replicate that is chosen", () => {
  const members = (): Promise<number> => browser.evaluate(() => document.querySelectorAll("#figure-flows .member").length);

  test.each(SIZES)("by the keyboard is drawn at $width x $height", async (size) => {
    await browser.open(page("rebuild"), { ...size, scheme: "light" });
    expect(await browser.evaluate(notAsChosen)).toEqual([]);
    expect(await members()).toBe(16);
    await browser.evaluate(() => {
      document.querySelectorAll("details").forEach((each) => (each.open = true));
      document.querySelector<HTMLSelectElement>("#figure-flows select")?.focus();
    });
    await browser.press("ArrowDown");
    await browser.press("ArrowDown");
    await browser.settled();
    expect(await browser.evaluate(() => document.querySelector<HTMLSelectElement>("#figure-flows select")?.selectedIndex)).toBe(2);
    expect(await browser.evaluate(notAsChosen)).toEqual([]);
    expect(await members()).toBe(15);
    expect(await browser.evaluate(overflows)).toEqual([]);
    expect(await browser.evaluate(badLabels)).toEqual([]);
    expect(browser.errors).toEqual([]);
  });

  test("is the one on paper", async () => {
    await browser.open(page("rebuild"), PAPER);
    await browser.evaluate(() => {
      const list = document.querySelector<HTMLSelectElement>("#figure-flows select");
      if (list !== null) list.selectedIndex = 2;
      list?.dispatchEvent(new Event("change"));
    });
    await browser.settled();
    expect(await browser.evaluate(notAsChosen)).toEqual([]);
    expect(await members()).toBe(15);
    expect(await browser.evaluate(overflows)).toEqual([]);
  });
});

describe("a planted violation is noticed:", () => {
  const view = { width: 1400, height: 900, scheme: "light" } as const;

  test("a drawing that is not of what is chosen, and a list that is hidden", async () => {
    await browser.open(page("rebuild"), view);
    await browser.evaluate(() => {
      const list = document.querySelector<HTMLSelectElement>("#figure-flows select");
      // Without the event, the figure does not know.
      if (list !== null) list.selectedIndex = 1;
    });
    expect((await browser.evaluate(notAsChosen)).join()).toContain('"replicate 0" is chosen, but');
    await browser.open(page("rebuild"), view);
    await browser.evaluate(() => {
      const choice = document.querySelector<HTMLElement>("#figure-flows .choice");
      if (choice !== null) choice.style.display = "none";
    });
    expect((await browser.evaluate(notAsChosen)).join()).toContain("the list is not in sight");
  });

  test("an element that is wider than the window", async () => {
    await browser.open(page("queue"), view);
    await browser.evaluate(() => {
      const wide = document.createElement("p");
      wide.style.width = "3000px";
      document.body.append(wide);
    });
    expect((await browser.evaluate(overflows)).length).toBeGreaterThan(0);
  });

  test("a table that is cut on paper", async () => {
    await browser.open(page("queue"), PAPER);
    await browser.evaluate(() => {
      const table = document.querySelector<HTMLElement>(".scroll > table");
      if (table !== null) table.style.width = "2000px";
    });
    expect((await browser.evaluate(overflows)).length).toBeGreaterThan(0);
  });

  test("a word that is parted, and a page that takes more sheets", async () => {
    await browser.open(page("queue"), view);
    const before = await browser.sheets();
    await browser.open(page("queue"), view);
    await browser.evaluate(() => {
      const narrow = document.createElement("p");
      narrow.textContent = "redundancy";
      narrow.style.cssText = "width: 40px; overflow-wrap: anywhere; margin-bottom: 300mm";
      document.querySelector("main")?.append(narrow);
    });
    expect((await browser.evaluate(partedWords)).join()).toContain('"redundancy"');
    expect(await browser.sheets()).toBeGreaterThan(before);
  });

  test("a label on another, and one beside its figure", async () => {
    await browser.open(page("queue"), view);
    await browser.evaluate(() => {
      const label = document.querySelector("figure .stage svg text");
      label?.after(label.cloneNode(true));
    });
    expect((await browser.evaluate(badLabels)).some((found) => found.includes("lies on"))).toBe(true);
    await browser.open(page("queue"), view);
    await browser.evaluate(() => {
      document.querySelector("figure .stage svg text")?.setAttribute("transform", "translate(-3000,0)");
    });
    expect((await browser.evaluate(badLabels)).some((found) => found.includes("is cut"))).toBe(true);
  });

  test("an error on the console", async () => {
    await browser.open(page("queue"), view);
    await browser.evaluate(() => console.error("planted"));
    expect(browser.errors.join()).toContain("planted");
  });

  test("a figure, a number or a status below the fold", async () => {
    await browser.open(page("queue"), view);
    await browser.evaluate(() => {
      document.body.style.paddingTop = "2000px";
    });
    const late = belowTheFold(await browser.evaluate(places), view.height, true);
    expect(late.map((each) => each.split(" ").slice(0, 3).join(" "))).toEqual(["the main number", "the status ends", "the first figure"]);
  });
});
