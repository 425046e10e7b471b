// Colours of series. The eight are Okabe and Ito's (jfly.uni-koeln.de/color), which people with the common kinds of
// colour blindness tell apart, with their yellow and black exchanged for what reads on both themes. The values live
// in style.css, so that a change of theme needs no new drawing.

const COUNT = 8;

/** The colour of the series at `index`. */
export function seriesColour(index: number): string {
  return `var(--series-${(index % COUNT) + 1})`;
}

/** Further rounds of colours come with their own dashes. */
export function seriesDash(index: number): string | undefined {
  return [undefined, "6 3", "2 3", "8 3 2 3"][Math.floor(index / COUNT) % 4];
}

/** Colours for many things in a circle: neighbours differ, and all have like lightness. */
export function wheelColour(index: number, count: number): string {
  if (count <= COUNT) return seriesColour(index);
  return `hsl(${Math.round((360 * index) / count)} 62% var(--wheel-lightness))`;
}

/** Symbols, so that series of dots differ without colour too. All have an area: on lines, their outline is that of the page. */
export const SYMBOLS = ["circle", "square", "triangle", "diamond", "cross", "star", "wye", "hexagon"] as const;
