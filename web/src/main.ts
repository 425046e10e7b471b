// Where the page starts.

import "./style.css";
import { render } from "./page";
import { applyTheme } from "./theme";

applyTheme();
const root = document.getElementById("page");
const data = document.getElementById("report");
if (root !== null) render(root, data?.textContent ?? "");
