// A chord diagram in the manner of Circos: arcs for members, ribbons for what flows between them, coloured by the
// one that sends more. Pointing at an arc or a ribbon (or reaching an arc by the tab key) dims the rest.

import { type Chord, type ChordGroup, chord, ribbon } from "d3-chord";
import { arc } from "d3-shape";
import { s } from "../dom";
import { quantity } from "../human";
import type { Kind } from "../report";
import { cut } from "./axis";
import type { Drawing, LegendEntry } from "./drawing";
import { seriesColour, wheelColour } from "./palette";

type ChordKind = Extract<Kind, { type: "chord" }>;

/** Thickness of the ring of members and of the ring of groups outside it. */
const RING = 12;
const OUTER = 5;

interface Layout {
  kind: ChordKind;
  size: number;
  radius: number;
  colours: string[];
  /** Names as they fit round the circle. */
  labels: string[];
  fontSize: number;
}

export function drawChord(kind: ChordKind, width: number): Drawing {
  const count = kind.labels.length;
  const matrix = kind.matrix.map((row) => row.map((value) => Math.max(0, value ?? 0)));
  if (matrix.length !== count || matrix.some((row) => row.length !== count)) {
    throw new Error(`the matrix must have ${count} rows and columns, one a label`);
  }
  const layout = layOut(kind, width);
  const chords = chord()
    .padAngle(Math.min(0.04, 1.2 / Math.max(1, count)))
    .sortSubgroups((a, b) => b - a)(matrix);
  const ribbons = s("g", { class: "chord-ribbons" }, ...[...chords].map((each) => ribbonMark(each, layout)));
  const members = s("g", { class: "chord-members" }, ...chords.groups.map((group) => memberMark(group, layout, chords)));
  const half = layout.size / 2;
  const svg = s(
    "svg",
    { class: "chord", width: layout.size, height: layout.size, viewBox: `${-half} ${-half} ${layout.size} ${layout.size}` },
    ribbons,
    members,
    s("g", { class: "chord-groups" }, ...groupMarks(chords.groups, layout)),
  );
  highlight(svg);
  return {
    svg,
    legend: groupLegend(kind),
    description: `${kind.value.label} between ${count} members, as ribbons inside a circle`,
  };
}

function layOut(kind: ChordKind, width: number): Layout {
  const count = kind.labels.length;
  const size = Math.min(width, 760);
  let labels = kind.labels;
  // Names like server-07 waste the circle: what all share is said once, in the page's caption line.
  const shared = sharedPrefix(labels);
  const longest = Math.max(1, ...labels.map((label) => label.length));
  const roomy = size >= 520 && count <= 40;
  if (shared.length >= 3 && !roomy && labels.every((label) => label.length > shared.length)) {
    labels = labels.map((label) => label.slice(shared.length));
  }
  const characters = Math.min(longest, Math.max(4, Math.floor((size * 0.16) / 6)));
  labels = labels.map((label) => cut(label, characters));
  const shown = Math.max(1, ...labels.map((label) => label.length));
  const guess = size / 2 - shown * 6 - RING - OUTER - 14;
  const spacing = (2 * Math.PI * guess) / Math.max(1, count);
  const fontSize = Math.max(7, Math.min(12, spacing * 0.95));
  const radius = Math.max(40, size / 2 - shown * fontSize * 0.62 - RING - OUTER - 10);
  const groups = [...new Set(kind.groups)];
  const grouped = kind.groups.length === count;
  const colours = labels.map((_, at) =>
    grouped ? seriesColour(groups.indexOf(kind.groups[at] ?? "")) : wheelColour(at, count),
  );
  return { kind, size, radius, colours, labels, fontSize };
}

/** What all names start with, up to the last character that is no digit. */
export function sharedPrefix(names: readonly string[]): string {
  const first = names[0] ?? "";
  let length = first.length;
  for (const name of names) {
    while (!name.startsWith(first.slice(0, length))) length -= 1;
  }
  return first.slice(0, length).replace(/\d+$/, "");
}

function groupLegend(kind: ChordKind): LegendEntry[] {
  if (kind.groups.length !== kind.labels.length) return [];
  return [...new Set(kind.groups)].map((name, at) => ({ name, colour: seriesColour(at), form: "area" }));
}

function ribbonMark(each: Chord, layout: Layout): SVGElement {
  const { kind } = layout;
  const path = ribbon().radius(layout.radius - 2)(each as never) as unknown as string;
  const [from, to] = [each.source.index, each.target.index];
  const say = (a: number, b: number): string => {
    const value = kind.matrix[a]?.[b] ?? null;
    return `${kind.labels[a] ?? ""} → ${kind.labels[b] ?? ""}: ${value === null ? "–" : quantity(value, kind.value.unit)}`;
  };
  const text = from === to ? say(from, to) : `${say(from, to)}\n${say(to, from)}`;
  return s(
    "path",
    { d: path, fill: layout.colours[from], "data-from": from, "data-to": to, class: "ribbon" },
    s("title", {}, text),
  );
}

function memberMark(group: ChordGroup, layout: Layout, chords: readonly Chord[]): SVGElement {
  const { kind, radius, labels, fontSize } = layout;
  const shape = arc<ChordGroup>().innerRadius(radius).outerRadius(radius + RING);
  const middle = (group.startAngle + group.endAngle) / 2;
  const turned = (middle * 180) / Math.PI - 90;
  const flipped = middle > Math.PI;
  const at = group.index;
  const received = kind.matrix.reduce((sum, row) => sum + Math.max(0, row[at] ?? 0), 0);
  const name = kind.labels[at] ?? "";
  const sends = quantity(group.value, kind.value.unit);
  const takes = quantity(received, kind.value.unit);
  const partners = chords.filter((each) => each.source.index === at || each.target.index === at).length;
  const about = `${name}\n${kind.value.label}: ${sends}\nin the other direction: ${takes}`;
  const out = radius + RING + OUTER + 6;
  const place = `rotate(${turned.toFixed(3)}) translate(${out.toFixed(2)} 0)${flipped ? " rotate(180)" : ""}`;
  return s(
    "g",
    { class: "member", "data-member": at, tabindex: 0, role: "listitem", "aria-label": `${name}: sends ${sends}, takes ${takes}, ${partners} partners` },
    s("path", { d: shape(group) ?? "", fill: layout.colours[at] }, s("title", {}, about)),
    s(
      "text",
      { transform: place, dy: "0.35em", "font-size": fontSize.toFixed(1), "text-anchor": flipped ? "end" : "start" },
      labels[at] ?? "",
    ),
  );
}

/** Runs of members of one group share a thin arc outside. */
function groupMarks(groups: readonly ChordGroup[], layout: Layout): SVGElement[] {
  const { kind, radius } = layout;
  if (kind.groups.length !== groups.length) return [];
  const shape = arc<ChordGroup>()
    .innerRadius(radius + RING + 2)
    .outerRadius(radius + RING + 2 + OUTER - 2);
  const marks: SVGElement[] = [];
  let start = 0;
  for (let at = 1; at <= groups.length; at += 1) {
    if (at < groups.length && kind.groups[at] === kind.groups[start]) continue;
    const [first, last] = [groups[start], groups[at - 1]];
    if (first !== undefined && last !== undefined) {
      const run = { ...first, endAngle: last.endAngle };
      marks.push(s("path", { d: shape(run) ?? "", fill: layout.colours[start] }, s("title", {}, kind.groups[start] ?? "")));
    }
    start = at;
  }
  return marks;
}

function highlight(svg: SVGSVGElement): void {
  const show = (target: EventTarget | null): void => {
    const element = (target as Element | null)?.closest?.("[data-member], [data-from]") ?? null;
    for (const lit of svg.querySelectorAll(".lit")) lit.classList.remove("lit");
    svg.classList.toggle("dimmed", element !== null);
    if (element === null) return;
    element.classList.add("lit");
    const member = element.getAttribute("data-member");
    if (member !== null) {
      for (const each of svg.querySelectorAll(`[data-from="${member}"], [data-to="${member}"]`)) each.classList.add("lit");
      return;
    }
    for (const end of [element.getAttribute("data-from"), element.getAttribute("data-to")]) {
      svg.querySelector(`[data-member="${end}"]`)?.classList.add("lit");
    }
  };
  svg.addEventListener("pointerover", (event) => show(event.target));
  svg.addEventListener("pointerleave", () => show(null));
  svg.addEventListener("focusin", (event) => show(event.target));
  svg.addEventListener("focusout", () => show(null));
}
