// A chord diagram in the manner of Circos: arcs for members, and a ribbon for each flow, coloured by the member that
// sends, with an arrow at the one that takes. A member's arc is in full colour for what it sends and pale for what it
// takes. Pointing at an arc or a ribbon (or reaching an arc by the tab key) dims the rest.

import { type Chord, type ChordGroup, chordDirected, ribbonArrow } from "d3-chord";
import { arc } from "d3-shape";
import { s } from "../dom";
import { quantity } from "../human";
import { nameOf } from "../linked";
import type { Kind } from "../report";
import { cut } from "./axis";
import type { Drawing, LegendEntry } from "./drawing";
import { seriesColour, wheelColour } from "./palette";

type ChordKind = Extract<Kind, { type: "chord" }>;

/** Thickness of the ring of members and of the ring of groups outside it. */
const RING = 12;
const OUTER = 5;
/** Opacity of the part of an arc that takes. */
const PALE = 0.35;

interface Layout {
  kind: ChordKind;
  size: number;
  radius: number;
  colours: string[];
  /** Names as they fit round the circle. */
  labels: string[];
  /** How far the drawing reaches above and below the middle: names at the sides need no room there. */
  above: number;
  below: number;
  /** What was cut from the front of all of them. */
  prefix: string;
  fontSize: number;
  /** Members whose names are written: where arcs are small, those of the smallest would touch others. */
  named: ReadonlySet<number>;
}

export function drawChord(kind: ChordKind, width: number): Drawing {
  const count = kind.labels.length;
  const matrix = kind.matrix.map((row) => row.map((value) => Math.max(0, value ?? 0)));
  if (matrix.length !== count || matrix.some((row) => row.length !== count)) {
    throw new Error(`the matrix must have ${count} rows and columns, one per label`);
  }
  // What a member takes counts below zero here, so that all it sends comes first on its arc.
  const chords = chordDirected()
    .padAngle(Math.min(0.04, 1.2 / Math.max(1, count)))
    .sortSubgroups((a, b) => b - a)(matrix);
  const layout = layOut(kind, width, chords.groups);
  // Large flows lie on top and are stronger, so that the eye finds them among thousands of small ones.
  const bySize = [...chords].sort((a, b) => a.source.value - b.source.value);
  const largest = bySize.at(-1)?.source.value ?? 1;
  const strength = (each: Chord): number => 0.12 + 0.62 * Math.sqrt(each.source.value / largest);
  const ribbons = s("g", { class: "chord-ribbons" }, ...bySize.map((each) => ribbonMark(each, layout, strength(each))));
  const members = s("g", { class: "chord-members" }, ...chords.groups.map((group) => memberMark(group, layout, chords)));
  const half = layout.size / 2;
  const height = layout.above + layout.below;
  const svg = s(
    "svg",
    // Thousands of ribbons cannot fade smoothly; they switch.
    { class: chords.length > 400 ? "chord many" : "chord", width: layout.size, height, viewBox: `${-half} ${-layout.above} ${layout.size} ${height}` },
    ribbons,
    members,
    s("g", { class: "chord-groups" }, ...groupMarks(chords.groups, layout)),
    layout.prefix !== "" && s("text", { x: 4 - half, y: layout.below - 6, fill: "var(--muted)", "font-size": 12 }, `${layout.prefix}…`),
  );
  highlight(svg, layout);
  return {
    svg,
    legend: groupLegend(kind),
    description: `${kind.value.label} between ${count} members, as ribbons inside a circle, from sender to receiver`,
  };
}

function layOut(kind: ChordKind, width: number, groups: readonly ChordGroup[]): Layout {
  const count = kind.labels.length;
  const size = Math.min(width, count > 20 ? 760 : 500);
  let labels = kind.labels;
  // Names like server-07 waste the circle: what all share is said once, in the corner.
  let prefix = "";
  const shared = sharedPrefix(labels);
  const longest = Math.max(1, ...labels.map((label) => label.length));
  const roomy = size >= 520 && count <= 40;
  if (shared.length >= 3 && !roomy && labels.every((label) => label.length > shared.length)) {
    labels = labels.map((label) => label.slice(shared.length));
    prefix = shared;
  }
  const characters = Math.min(longest, Math.max(4, Math.floor((size * 0.16) / 6)));
  labels = labels.map((label) => cut(label, characters));
  const shown = Math.max(1, ...labels.map((label) => label.length));
  const guess = size / 2 - shown * 6 - RING - OUTER - 14;
  const spacing = (2 * Math.PI * guess) / Math.max(1, count);
  const fontSize = Math.max(7, Math.min(12, spacing * 0.95));
  const radius = Math.max(40, size / 2 - shown * fontSize * 0.62 - RING - OUTER - 10);
  // The ring itself, and the names that lean out of it at the top and at the bottom.
  const ring = radius + RING + OUTER + 8;
  const reach = groups.map((group) => {
    const long = ring + (labels[group.index] ?? "").length * fontSize * 0.62;
    return -Math.cos((group.startAngle + group.endAngle) / 2) * long;
  });
  const above = Math.ceil(Math.min(size / 2, Math.max(ring, ...reach.map((y) => -y)) + fontSize));
  const corner = prefix === "" ? 0 : 18;
  const below = Math.ceil(Math.min(size / 2, Math.max(ring, ...reach) + fontSize + corner));
  const groupNames = [...new Set(kind.groups)];
  const grouped = kind.groups.length === count;
  const colours = labels.map((_, at) =>
    grouped ? seriesColour(groupNames.indexOf(kind.groups[at] ?? "")) : wheelColour(at, count),
  );
  const named = namedMembers(groups, (0.9 * fontSize) / ring);
  return { kind, size, radius, above, below, colours, labels, prefix, fontSize, named };
}

/** The members whose names are at least an angle apart from each other; larger arcs come first. */
function namedMembers(groups: readonly ChordGroup[], apart: number): ReadonlySet<number> {
  const placed: { at: number; index: number }[] = [];
  const bySize = [...groups].sort((a, b) => b.endAngle - b.startAngle - (a.endAngle - a.startAngle));
  for (const group of bySize) {
    const at = (group.startAngle + group.endAngle) / 2;
    const near = placed.some((other) => {
      const between = Math.abs(other.at - at);
      return Math.min(between, 2 * Math.PI - between) < apart;
    });
    if (!near) placed.push({ at, index: group.index });
  }
  return new Set(placed.map((each) => each.index));
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

function ribbonMark(each: Chord, layout: Layout, strength: number): SVGElement {
  const { kind } = layout;
  const shape = ribbonArrow().headRadius(10);
  const path = shape.radius(layout.radius - 2)(each as never) as unknown as string;
  const [from, to] = [each.source.index, each.target.index];
  const say = (a: number, b: number): string => {
    const value = kind.matrix[a]?.[b] ?? null;
    return `${kind.labels[a] ?? ""} → ${kind.labels[b] ?? ""}: ${value === null ? "–" : quantity(value, kind.value.unit)}`;
  };
  return s(
    "path",
    {
      d: path,
      fill: layout.colours[from],
      "fill-opacity": strength.toFixed(3),
      "data-from": from,
      "data-to": to,
      class: "ribbon",
      "data-tip": say(from, to),
    },
  );
}

function memberMark(group: ChordGroup, layout: Layout, chords: readonly Chord[]): SVGElement {
  const { kind, radius, labels, fontSize } = layout;
  const shape = arc<Pick<ChordGroup, "startAngle" | "endAngle">>().innerRadius(radius).outerRadius(radius + RING);
  const middle = (group.startAngle + group.endAngle) / 2;
  const turned = (middle * 180) / Math.PI - 90;
  const flipped = middle > Math.PI;
  const at = group.index;
  const received = kind.matrix.reduce((sum, row) => sum + Math.max(0, row[at] ?? 0), 0);
  const name = kind.labels[at] ?? "";
  const sent = (kind.matrix[at] ?? []).reduce((sum: number, value) => sum + Math.max(0, value ?? 0), 0);
  const passed = sent + received;
  const turn = passed > 0 ? group.startAngle + ((group.endAngle - group.startAngle) * sent) / passed : group.endAngle;
  const sends = quantity(sent, kind.value.unit);
  const takes = quantity(received, kind.value.unit);
  const partners = chords.filter((each) => each.source.index === at || each.target.index === at).length;
  const groupName = kind.groups.length === labels.length ? ` (${kind.groups[at] ?? ""})` : "";
  const about = `${name}${groupName}\n${kind.value.label}: ${sends}\nthe other way: ${takes}`;
  const out = radius + RING + OUTER + 6;
  const place = `rotate(${turned.toFixed(3)}) translate(${out.toFixed(2)} 0)${flipped ? " rotate(180)" : ""}`;
  return s(
    "g",
    {
      class: "member",
      "data-member": at,
      "data-name": nameOf("server", name),
      "data-tip": about,
      tabindex: 0,
      role: "listitem",
      "aria-label": `${name}: sends ${sends}, takes ${takes}, ${partners} partners`,
    },
    s("path", { d: shape({ ...group, endAngle: turn }) ?? "", fill: layout.colours[at] }),
    s("path", { d: shape({ ...group, startAngle: turn }) ?? "", fill: layout.colours[at], "fill-opacity": PALE }),
    s(
      "text",
      { transform: place, dy: "0.35em", fill: "var(--muted)", "font-size": fontSize.toFixed(1), "text-anchor": flipped ? "end" : "start" },
      layout.named.has(at) ? (labels[at] ?? "") : "",
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

type Tip = (text: string | null, at: { x: number; y: number }) => void;

/** A box of text inside the drawing, kept within its edges. */
function tipFor(svg: SVGSVGElement, layout: Layout): Tip {
  const box = s("rect", { rx: 3, fill: "var(--surface)", stroke: "var(--axis)" });
  const words = s("text", { "font-size": 12, fill: "var(--ink)" });
  const tip = s("g", { class: "chord-tip", visibility: "hidden", "pointer-events": "none" }, box, words);
  svg.append(tip);
  return (text, at) => {
    tip.setAttribute("visibility", text === null ? "hidden" : "visible");
    if (text === null) return;
    const lines = text.split("\n");
    words.replaceChildren(...lines.map((line, index) => s("tspan", { x: 9, y: 19 + index * 16 }, line)));
    const guess = Math.max(...lines.map((line) => line.length)) * 6.4;
    const width = Math.max(...[...words.children].map((each) => lengthOf(each) ?? guess)) + 18;
    const height = lines.length * 16 + 12;
    box.setAttribute("width", String(width));
    box.setAttribute("height", String(height));
    const edge = layout.size / 2;
    const x = Math.max(-edge + 1, Math.min(at.x + 12, edge - width - 1));
    const below = at.y + 16 + height < layout.below;
    tip.setAttribute("transform", `translate(${x.toFixed(1)} ${(below ? at.y + 16 : at.y - height - 8).toFixed(1)})`);
  };
}

function lengthOf(text: Element): number | null {
  const measured = text as Partial<SVGTSpanElement>;
  return measured.getComputedTextLength?.call(text) ?? null;
}

/** Where an event stands in the drawing's own units; the middle of its target when it has no pointer. */
function placeOf(event: Event, svg: SVGSVGElement, layout: Layout): { x: number; y: number } {
  const frame = svg.getBoundingClientRect();
  const scale = frame.width > 0 ? layout.size / frame.width : 1;
  const target = (event.target as Element).getBoundingClientRect();
  const pointer = event as Partial<PointerEvent>;
  const [x, y] = [pointer.clientX ?? target.x + target.width / 2, pointer.clientY ?? target.y + target.height / 2];
  return { x: (x - frame.x) * scale - layout.size / 2, y: (y - frame.y) * scale - layout.above };
}

function highlight(svg: SVGSVGElement, layout: Layout): void {
  const tip = tipFor(svg, layout);
  const show = (event: Event): void => {
    const element = (event.target as Element | null)?.closest?.("[data-tip]") ?? null;
    light(svg, element);
    tip(element?.getAttribute("data-tip") ?? null, placeOf(event, svg, layout));
  };
  const clear = (): void => {
    light(svg, null);
    tip(null, { x: 0, y: 0 });
  };
  svg.addEventListener("pointerover", show);
  svg.addEventListener("pointermove", show);
  svg.addEventListener("pointerleave", clear);
  svg.addEventListener("focusin", show);
  svg.addEventListener("focusout", clear);
}

/** Brings out a member with all its ribbons, or a ribbon with both its members. */
function light(svg: SVGSVGElement, element: Element | null): void {
  if (element?.classList.contains("lit") === true && svg.querySelector(".first") === element) return;
  for (const lit of svg.querySelectorAll(".lit")) lit.classList.remove("lit", "first");
  svg.classList.toggle("dimmed", element !== null);
  if (element === null) return;
  element.classList.add("lit", "first");
  const member = element.getAttribute("data-member");
  const ends = [element.getAttribute("data-from"), element.getAttribute("data-to")];
  const beside =
    member === null
      ? ends.map((end) => `[data-member="${end}"]`).join(", ")
      : `[data-from="${member}"], [data-to="${member}"]`;
  for (const each of svg.querySelectorAll(beside)) each.classList.add("lit");
}
