// Charts as data for the script of all pages (python/airlane/assets/chart.js), which airlane/pages/chart.py describes.

export interface Scale { limits: [number, number]; log?: boolean; ticks?: [number, string][] }
export interface Item {
  t: "line" | "area" | "v" | "h" | "text" | "vspan";
  k: number;
  c: string;
  w?: number;
  d?: number[];
  a?: number;
  m?: string;
  ms?: number;
  step?: string;
  x?: (number | null)[];
  y?: (number | null)[];
  ylow?: (number | null)[];
  yhigh?: (number | null)[];
  p?: [number[], number[]][];
  at?: number;
  name?: string;
  words?: string[];
}
export interface PanelData {
  title: string; xlabel: string; ylabel: string; x: Scale; y: Scale; group: number; column: number; row: number;
  equal: boolean; items: Item[];
}
export interface Series { label: string; c: string; shape: "line" | "box"; w?: number; d?: number[] }
export interface ChartData { panels: PanelData[]; series: Series[] }

/** A chart of the pages' script. */
export interface Drawn { update(data: ChartData): void; data: ChartData; panels: { plot: { redraw(rebuild: boolean): void } | null }[] }
declare global {
  interface Window { airlaneDraw: (figure: HTMLElement, data: ChartData) => Drawn }
}

/** Okabe and Ito's colours, as `COLOURS` of airlane/plot.py. */
export const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F"];
const STYLES: number[][] = [[], [6, 4], [1.5, 3], [8, 3, 2, 3]];
export const lookOf = (i: number) =>
  ({ c: COLOURS[i % COLOURS.length], d: STYLES[Math.floor(i / COLOURS.length) % STYLES.length] });

/** Points of a line: a panel is at most some 1,000 pixels wide, and a point needs two of them. */
export const BINS_MAX = 400;

/** A series in at most so many bins: their times, and of each mean, least and greatest value. NaN for none. */
export function thinned(t: ArrayLike<number>, y: ArrayLike<number>, bins = BINS_MAX) {
  if (t.length <= bins) return { t: Array.from(t), mean: Array.from(y), low: null, high: null };
  const width = Math.ceil(t.length / bins);
  const found = { t: [] as number[], mean: [] as number[], low: [] as number[], high: [] as number[] };
  for (let from = 0; from < t.length; from += width) {
    let total = 0, count = 0, low = Infinity, high = -Infinity;
    for (let i = from; i < Math.min(from + width, y.length); i++) {
      if (!Number.isFinite(y[i])) continue;
      total += y[i];
      count++;
      low = Math.min(low, y[i]);
      high = Math.max(high, y[i]);
    }
    found.t.push(t[from]);
    found.mean.push(count ? total / count : NaN);
    found.low.push(count ? low : NaN);
    found.high.push(count ? high : NaN);
  }
  return found;
}

const none = (values: number[]) => values.map(v => Number.isFinite(v) ? v : null);

/** A line through values over time, with the band from the least to the greatest value of a bin if it is long. */
export function line(k: number, t: ArrayLike<number>, y: ArrayLike<number>, look: { c: string; d?: number[]; w?: number; a?: number }): Item[] {
  const { t: at, mean, low, high } = thinned(t, y);
  const items: Item[] = [];
  if (low && high) {
    const there = at.map((_, i) => i).filter(i => Number.isFinite(low[i]));
    const x = there.map(i => at[i]);
    items.push({ t: "area", k, c: look.c, a: 0.2, p: [[[...x, ...x.toReversed()], [...there.map(i => low[i]), ...there.map(i => high[i]).reverse()]]] });
  }
  items.push({ t: "line", k, w: 1.3, m: "", ...look, x: at, y: none(mean) });
  return items;
}

/** The greatest value that an item shows. */
export const topOf = (items: Item[]) => {
  let top = 0;
  for (const item of items) {
    for (const v of item.y ?? []) if (v !== null) top = Math.max(top, v);
    for (const [, y] of item.p ?? []) for (const v of y) top = Math.max(top, v);
  }
  return top;
};

/** A panel over time, above each other with others, from 0 on. */
export const overTime = (row: number, title: string, ylabel: string, end: number, items: Item[]): PanelData => ({
  title, ylabel, xlabel: "simulated time in s", row, column: 0, group: 0, equal: false, items,
  x: { limits: [0, end] }, y: { limits: [0, topOf(items) * 1.05 || 1] },
});
