// Light or dark: the system's choice until the reader makes one, which is kept where the browser allows it. The
// root element always says which (`data-theme`); on paper the style sheet has only the light one.

import { h } from "./dom";

type Theme = "light" | "dark";

const KEY = "towtank-theme";

function kept(): Theme | null {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === "light" || theme === "dark" ? theme : null;
  } catch {
    return null; // Pages opened from a disk may have no storage.
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then the choice lasts as long as the page.
  }
}

const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

function current(): Theme {
  return document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
}

/** Applies the kept choice, or the system's and its later changes. */
export function applyTheme(): void {
  const follow = (): void => {
    document.documentElement.dataset["theme"] = kept() ?? (system?.matches === true ? "dark" : "light");
    document.dispatchEvent(new Event("towtank-theme"));
  };
  follow();
  system?.addEventListener("change", follow);
}

/** The button that changes it. */
export function themeButton(): HTMLButtonElement {
  const button = h("button", { class: "quiet", type: "button" });
  const show = (): void => {
    button.textContent = current() === "dark" ? "☀ Light" : "☾ Dark";
  };
  button.addEventListener("click", () => {
    const theme = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset["theme"] = theme;
    keep(theme);
    show();
  });
  document.addEventListener("towtank-theme", show);
  show();
  return button;
}
