// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { followNames, nameOf, rowNames } from "../src/linked";
import { render } from "../src/page";
import type { Column, Table } from "../src/report";
import { embed, text } from "./golden";

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("a bare number is no name, and a value far to the right is none either", () => {
  expect([nameOf("Server", "3"), nameOf("server", "osd.3")]).toEqual(["server 3", "osd.3"]);
  const column = (name: string, kind: Column["kind"]): Column => ({ name, unit: "", kind });
  const table: Table = {
    id: "t",
    title: "",
    about: "",
    columns: [column("server", "number"), column("server", "number"), column("host", "text")],
    rows: [[3, 4, "a"], [5, 3, "b"], [7, 3, "c"]],
  };
  expect(rowNames(table, new Set(["server 3", "b"]))).toEqual(["server 3", "b", null]);
});

test("rows and marks of one name light each other, and stepping through rows lights marks", async () => {
  const root = document.createElement("div");
  document.body.replaceChildren(root);
  render(root, embed(text("queue.json")));
  followNames(root);
  await settled();
  root.insertAdjacentHTML(
    "beforeend",
    '<div class="stage"><svg><g data-name="osd.3"></g><g data-name="osd.4"></g></svg></div>' +
      '<div class="scroll" tabindex="0"><table><tbody><tr data-name="osd.3"><td>osd.3</td></tr><tr data-name="osd.4"><td>osd.4</td></tr></tbody></table></div>',
  );
  const lit = (): (string | null)[] => [...root.querySelectorAll(".lit-name")].map((each) => each.getAttribute("data-name"));
  root.querySelector("td")?.dispatchEvent(new Event("pointerover", { bubbles: true }));
  root.querySelector("tr[data-name] td")?.dispatchEvent(new Event("pointerover", { bubbles: true }));
  expect(lit()).toEqual(["osd.3", "osd.3"]);
  root.querySelector('g[data-name="osd.4"]')?.dispatchEvent(new Event("pointerover", { bubbles: true }));
  expect(lit()).toEqual(["osd.4", "osd.4"]);
  root.querySelector("h1")?.dispatchEvent(new Event("pointerover", { bubbles: true }));
  expect(lit()).toEqual([]);
  const frame = [...root.querySelectorAll(".scroll")].at(-1);
  const press = (key: string): void => void frame?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press("ArrowDown");
  press("ArrowDown");
  expect(lit()).toEqual(["osd.4", "osd.4"]);
  press("ArrowUp");
  expect(lit()).toEqual(["osd.3", "osd.3"]);
});
