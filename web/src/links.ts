// Links to parts of the page. A link into a folded part unfolds it, and what is linked to is in sight once figures have
// their heights.

import { h } from "./dom";

/** A link to a part by its id, beside its heading. */
export function anchor(id: string, what: string): HTMLAnchorElement {
  return h("a", { class: "anchor", href: `#${encodeURIComponent(id)}`, "aria-label": `link to: ${what.replaceAll("`", "")}` }, "#");
}

/** Frames in which figures above may still get their drawings, and with them other heights. */
const FRAMES = 4;

/** Shows what a fragment such as `#figure-progress` names; false where there is no such part. */
export function reveal(fragment: string): boolean {
  const target = document.getElementById(named(fragment));
  if (target === null) return false;
  for (let each = target.parentElement; each !== null; each = each.parentElement) {
    if (each instanceof HTMLDetailsElement) each.open = true;
  }
  let left = FRAMES;
  const look = (): void => {
    target.scrollIntoView({ block: "start", behavior: "instant" });
    left -= 1;
    if (left > 0) requestAnimationFrame(look);
  };
  look();
  return true;
}

function named(fragment: string): string {
  const text = fragment.replace(/^#/, "");
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A lone per cent sign is no escape.
  }
}

/** Follows the fragment of the address, now and whenever it changes. */
export function followAddress(): void {
  const follow = (): void => void (location.hash !== "" && reveal(location.hash));
  follow();
  addEventListener("hashchange", follow);
  // A click on the link to where the reader is already changes no address.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a.anchor, nav a") : null;
    if (link !== null && link.getAttribute("href") === location.hash) follow();
  });
}
