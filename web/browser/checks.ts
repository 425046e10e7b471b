// What can be wrong with a page as a browser lays it out. Each function runs in the page, so each stands alone.

/** Elements that make the page wider than the window; boxes that scroll inside themselves do not. */
export function overflows(): string[] {
  const room = document.documentElement.clientWidth;
  const inside = (element: Element): boolean => {
    for (let each = element.parentElement; each !== null && each !== document.body; each = each.parentElement) {
      if (getComputedStyle(each).overflowX !== "visible" && each.tagName !== "svg") return true;
    }
    return false;
  };
  const beyond = (element: Element): boolean => element.getBoundingClientRect().right > room + 1;
  // Drawings are looked at as a whole: what is in them may be clipped.
  const wide = [...document.querySelectorAll("body *:not(svg *)")].filter((element) => beyond(element) && !inside(element));
  const name = (element: Element): string =>
    `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} ends at ${Math.round(element.getBoundingClientRect().right)} of ${room}`;
  return wide.slice(0, 4).map(name);
}

/** Labels of figures that lie on each other, or that leave the box of their figure. */
export function badLabels(): string[] {
  type Corner = { x: number; y: number };
  const inset = 0.22;
  const cornersOf = (text: SVGGraphicsElement): Corner[] => {
    const box = text.getBBox();
    const matrix = text.getScreenCTM();
    if (matrix === null) return [];
    const [top, bottom] = [box.y + inset * box.height, box.y + (1 - inset) * box.height];
    const at = (x: number, y: number): Corner => new DOMPoint(x, y).matrixTransform(matrix);
    return [at(box.x, top), at(box.x + box.width, top), at(box.x + box.width, bottom), at(box.x, bottom)];
  };
  // Two convex shapes are apart exactly if an edge of one of them parts them.
  const apart = (one: Corner[], other: Corner[]): boolean =>
    [one, other].some((shape) =>
      shape.some((from, index) => {
        const to = shape[(index + 1) % shape.length] ?? from;
        const along = (each: Corner): number => (to.y - from.y) * each.x - (to.x - from.x) * each.y;
        const [a, b] = [one.map(along), other.map(along)];
        return Math.max(...a) <= Math.min(...b) + 1e-6 || Math.max(...b) <= Math.min(...a) + 1e-6;
      }),
    );
  const found: string[] = [];
  for (const figure of document.querySelectorAll("figure")) {
    const all = [...figure.querySelectorAll<SVGGraphicsElement>(".stage svg text, .legend svg text")]
      .filter((text) => text.closest("[aria-label=tip]") === null && (text.textContent ?? "").trim() !== "")
      .filter((text) => text.getBoundingClientRect().width > 0 && getComputedStyle(text).visibility !== "hidden")
      .map((text) => ({ said: text.textContent ?? "", corners: cornersOf(text), box: text.getBoundingClientRect() }));
    const frame = figure.getBoundingClientRect();
    for (const [index, one] of all.entries()) {
      if (one.box.left < frame.left - 1 || one.box.right > frame.right + 1) found.push(`${figure.id}: "${one.said}" is cut`);
      for (const other of all.slice(index + 1)) {
        if (!apart(one.corners, other.corners)) found.push(`${figure.id}: "${one.said}" lies on "${other.said}"`);
      }
    }
  }
  return found;
}

/** Figures with a list to choose from whose drawing, or whose list, does not say what is chosen. */
export function notAsChosen(): string[] {
  return [...document.querySelectorAll("figure")].flatMap((figure) => {
    const list = figure.querySelector("select");
    if (list === null) return [];
    const name = list.selectedOptions[0]?.textContent ?? "";
    const said = figure.querySelector(".stage > svg")?.getAttribute("aria-label") ?? "";
    const faults = said.includes(`: ${name}.`) ? [] : [`${figure.id}: "${name}" is chosen, but "${said}" is drawn`];
    const box = list.getBoundingClientRect();
    return box.width > 0 && box.height > 0 ? faults : [...faults, `${figure.id}: the list is not in sight`];
  });
}

/** Words that are parted inside: a word of letters and digits that stands in two lines. Hashes are too long for a line. */
export function partedWords(): string[] {
  const longest = 24;
  const found: string[] = [];
  const walker = document.createTreeWalker(document.querySelector("#page") ?? document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (parent === null || parent.closest("svg, script, option") !== null || parent.getClientRects().length === 0) continue;
    for (const word of (node.textContent ?? "").matchAll(/[\p{L}\p{N}]{2,}/gu)) {
      if (word[0].length > longest) continue;
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
      if (new Set(boxes.map((box) => Math.round(box.top))).size > 1) {
        found.push(`"${word[0]}" in ${parent.tagName.toLowerCase()}.${parent.getAttribute("class") ?? ""}`);
      }
    }
  }
  return [...new Set(found)].slice(0, 8);
}

/** What a figure of a report has, as far as it is looked at here. */
interface OverTime {
  kind: { type: string; series?: { name: string; points?: { x: number | null }[] }[] };
  bands?: { name: string; from: number; to: number }[];
}

/** What is wrong with a figure that shows a course: it starts at zero, and its phases follow each other to its end. */
export function offCourse({ kind, bands = [] }: OverTime): string[] {
  const faults: string[] = [];
  if (kind.type !== "line") return [`it is a ${kind.type}`];
  const xs = (kind.series ?? []).map((series) => (series.points ?? []).map((point) => point.x ?? Number.NaN));
  for (const each of xs) if (each[0] !== 0) faults.push(`a line starts at ${each[0]}`);
  if (bands.length === 0) return [...faults, "it has no phases"];
  const end = Math.max(...xs.flat());
  bands.forEach((band, at) => {
    const before = bands[at - 1]?.to ?? 0;
    if (band.from !== before) faults.push(`${band.name} starts at ${band.from}, not at ${before}`);
  });
  const last = bands.at(-1)?.to ?? 0;
  if (Math.abs(last / end - 1) > 1e-6) faults.push(`the phases end at ${last}, and the lines at ${end}`);
  return faults;
}

/** Where things lie, in pixels from the top of the page; null for what is not there. */
export interface Places {
  figureTop: number | null;
  figureBottom: number | null;
  heroBottom: number | null;
  statusBottom: number | null;
}

export function places(): Places {
  const box = (selector: string): DOMRect | null => document.querySelector(selector)?.getBoundingClientRect() ?? null;
  const down = (value: number | undefined): number | null => (value === undefined ? null : Math.round(value + scrollY));
  const figure = box("figure .stage > svg");
  return {
    figureTop: down(figure?.top),
    figureBottom: down(figure?.bottom),
    heroBottom: down(box(".hero")?.bottom),
    statusBottom: down(box(".status")?.bottom),
  };
}

/** What is not in sight without scrolling: the main number and the status always, the figure where `figure` says so. */
export function belowTheFold(found: Places, height: number, figure: boolean): string[] {
  const late: string[] = [];
  if (found.heroBottom === null || found.heroBottom > height) late.push(`the main number ends at ${found.heroBottom}`);
  if (found.statusBottom !== null && found.statusBottom > height) late.push(`the status ends at ${found.statusBottom}`);
  if (figure && (found.figureTop === null || found.figureTop >= height)) late.push(`the first figure begins at ${found.figureTop}`);
  return late;
}
