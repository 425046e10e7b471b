// Where the page starts.

import "./style.css";
import { render } from "./page";
import { applyTheme } from "./theme";

applyTheme();
const root = document.getElementById("page");
const data = document.getElementById("report");
if (root !== null) render(root, data?.textContent ?? "");

// Paper shows what is folded, and folds it again afterwards.
let opened: HTMLDetailsElement[] = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details")].filter((each) => !each.open);
  for (const each of opened) each.open = true;
});
addEventListener("afterprint", () => {
  for (const each of opened) each.open = false;
});
