// Zooming along the horizontal axis: drag over a stretch, or use the keys while the drawing has the focus.

import { s } from "../dom";

/** A stretch of the horizontal axis, in the report's unit. */
export type Stretch = readonly [number, number];

/** How the pixels of a drawing and its horizontal axis belong together. */
export interface Across {
  /** The ends of the frame, in the drawing's own pixels. */
  left: number;
  right: number;
  top: number;
  bottom: number;
  /** The value at a pixel, also beyond the ends. */
  at: (pixel: number) => number;
}

/** Drags shorter than this are clicks, in pixels. */
const LEAST = 8;

/** The pixels of a stretch that is moved by a share of its length, and so many times as long. */
function changed({ left, right }: Across, by: { move?: number; times?: number }): [number, number] {
  const middle = (left + right) / 2 + (by.move ?? 0) * (right - left);
  const half = ((right - left) / 2) * (by.times ?? 1);
  return [middle - half, middle + half];
}

const KEYS: Record<string, { move?: number; times?: number }> = {
  "+": { times: 0.5 },
  "=": { times: 0.5 },
  "-": { times: 2 },
  ArrowLeft: { move: -0.25 },
  ArrowRight: { move: 0.25 },
};

/** A stretch inside the whole axis: moved where it would leave it, null where it would be all of it. */
export function inside([from, to]: Stretch, [low, high]: Stretch): Stretch | null {
  if (to - from >= high - low) return null;
  if (from < low) return [low, low + to - from];
  if (to > high) return [high - (to - from), high];
  return [from, to];
}

interface Zooming {
  /** The drawing as it is now; null where its axis cannot be zoomed. */
  now: () => { svg: SVGSVGElement; across: Across } | null;
  /** Draws a stretch; null is everything. */
  show: (stretch: Stretch | null) => void;
}

/** Listens on the element that holds the drawing. */
export function zoomable(stage: HTMLElement, { now, show }: Zooming): void {
  let start: { x: number; brush: SVGRectElement } | null = null;
  const place = (event: PointerEvent, svg: SVGSVGElement): number => {
    const box = svg.getBoundingClientRect();
    return ((event.clientX - box.left) / box.width) * Number(svg.getAttribute("width"));
  };
  const within = (x: number, { left, right }: Across): number => Math.min(right, Math.max(left, x));
  stage.addEventListener("pointerdown", (event) => {
    const current = now();
    if (current === null || event.button !== 0) return;
    const x = place(event, current.svg);
    const { left, right, top, bottom } = current.across;
    if (x < left || x > right) return;
    const brush = s("rect", { class: "brush", x, y: top, width: 0, height: bottom - top });
    start = { x, brush };
  });
  stage.addEventListener("pointermove", (event) => {
    const current = now();
    if (start === null || current === null) return;
    const x = within(place(event, current.svg), current.across);
    if (Math.abs(x - start.x) >= LEAST && start.brush.parentNode === null) {
      current.svg.append(start.brush);
      stage.setPointerCapture(event.pointerId);
    }
    start.brush.setAttribute("x", String(Math.min(x, start.x)));
    start.brush.setAttribute("width", String(Math.abs(x - start.x)));
  });
  const end = (event: PointerEvent, is: boolean): void => {
    const [current, from] = [now(), start];
    start = null;
    from?.brush.remove();
    if (current === null || from === null || !is) return;
    const x = within(place(event, current.svg), current.across);
    if (Math.abs(x - from.x) >= LEAST) show([current.across.at(Math.min(x, from.x)), current.across.at(Math.max(x, from.x))]);
  };
  stage.addEventListener("pointerup", (event) => end(event, true));
  stage.addEventListener("pointercancel", (event) => end(event, false));
  stage.addEventListener("dblclick", () => now() !== null && show(null));
  stage.addEventListener("keydown", (event) => {
    const current = now();
    if (current === null || event.target !== stage || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = KEYS[event.key];
    if (by === undefined && event.key !== "0" && event.key !== "Escape") return;
    event.preventDefault();
    if (by === undefined) show(null);
    else {
      const [from, to] = changed(current.across, by);
      show([current.across.at(from), current.across.at(to)]);
    }
  });
}
