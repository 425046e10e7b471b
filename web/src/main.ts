// Where the page starts.

import "./style.css";
import { followNames } from "./linked";
import { followAddress } from "./links";
import { render } from "./page";
import { prepare } from "./paper";
import { applyTheme } from "./theme";

applyTheme();
const root = document.getElementById("page");
const data = document.getElementById("report");
if (root !== null) render(root, data?.textContent ?? "");
followAddress();
if (root !== null) followNames(root);

let restore: (() => void) | null = null;
addEventListener("beforeprint", () => {
  restore ??= prepare(document);
});
addEventListener("afterprint", () => {
  restore?.();
  restore = null;
});
