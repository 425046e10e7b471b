// Elements without a framework. Text goes in as text nodes, never as HTML: titles and labels come from files.

export type Child = Node | string | false | null | undefined | readonly Child[];

type Attributes = Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>;

/** An HTML element; attributes whose value is a function become listeners (`onclick`). */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  fill(element, attributes, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element. */
export function s<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS(SVG, name) as SVGElementTagNameMap[Name];
  fill(element, attributes, children);
  return element;
}

function fill(element: Element, attributes: Attributes, children: readonly Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  append(element, children);
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === false || child === null || child === undefined) continue;
    if (Array.isArray(child)) append(element, child as readonly Child[]);
    else element.append(child as Node | string);
  }
}

/** Names up to this many characters are not parted. */
const WHOLE = 24;

/** The space between a number and its unit. */
const UNIT = /(\d) (?=(?:%|[KMGTP]iB(?:\/s)?|[mµ]?s|min|h)(?![\w]))/g;

/** Text in which `names` stand between backticks, as elements. A number and its unit stay together. */
export function prose(text: string): Child[] {
  const parts = text.split("`");
  const plain = (part: string): string => part.replace(UNIT, "$1\u00a0");
  // An odd backtick is one that means itself.
  if (parts.length % 2 === 0) return [plain(text)];
  return parts.map((part, at) => (at % 2 === 0 ? plain(part) : h("code", { class: part.length <= WHOLE ? "whole" : null }, part)));
}

/** Behind which signs a name may be parted; numbers such as 1,024, 0.5 and 10:23 stay whole. */
const PARTS = /(?<=[_=+/\]])(?=.)|(?<=[.:])(?=[A-Za-z_])|(?<=,)(?!\d{3}\b)(?=.)/;

/** A name such as `time_to_clean_s` or `sizes=[64KiB,1MiB]` that may be parted behind its signs, but not inside its words. */
export function identifier(name: string): Child[] {
  return name.split(PARTS).flatMap((part, at): Child[] => (at === 0 ? [part] : [h("wbr"), part]));
}

/** Hands the reader a file made in the page. */
export function download(name: string, type: string, text: string): void {
  saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/** The same with bytes. */
export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser reads the blob after the click has returned.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Puts text on the clipboard; false where the browser does not let the page. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
