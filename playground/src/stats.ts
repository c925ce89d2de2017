// Means with 95 % intervals and paired comparisons, by the definitions of airlane/stats.py and `versus` of
// airlane/runs/figures.py. tests/test_playground_figures.py compares both on the same numbers.

export type Scale = "plain" | "quantile" | "ratio" | "bounded" | "rare";
export type Outcome = "more" | "less" | "same" | "open";

/** A mean of independent repetitions; `halfWidth` is null where there are too few for an interval. */
export interface Estimate {
  mean: number;
  halfWidth: number | null;
  n: number;
  ends: [number, number] | null;
}
export interface Versus { difference: Estimate; ratio: number; outcome: Outcome }

const NEAR_BOUND = 1e-6, BUCKET = 1 / 256;
const CONFIDENCE = 0.95;

export const leastRuns = (scale: Scale) => scale === "plain" ? 2 : 3;

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
const average = (values: number[]) => sum(values) / values.length;

/** Probability that Student's t of so many degrees of freedom lies within ±t (Abramowitz and Stegun 26.7.3, 26.7.4). */
function within(t: number, freedom: number): number {
  const theta = Math.atan(t / Math.sqrt(freedom)), cos2 = Math.cos(theta) ** 2;
  const odd = freedom % 2 === 1;
  let term = odd ? Math.cos(theta) : 1, series = freedom === 1 ? 0 : term;
  for (let k = odd ? 3 : 2; k < freedom; k += 2) {
    term *= cos2 * (k - 1) / k;
    series += term;
  }
  return odd ? 2 / Math.PI * (theta + Math.sin(theta) * series) : Math.sin(theta) * series;
}

const quantiles = new Map<number, number>();
/** How many standard errors to either side the interval reaches. */
export function tQuantile(freedom: number): number {
  let found = quantiles.get(freedom);
  if (found === undefined) {
    let low = 0, high = 20; // 12.7 with one degree of freedom is the greatest
    for (let i = 0; i < 80; i++) {
      const middle = (low + high) / 2;
      if (within(middle, freedom) < CONFIDENCE) low = middle; else high = middle;
    }
    found = (low + high) / 2;
    quantiles.set(freedom, found);
  }
  return found;
}

/** Mean and interval; NaN marks a repetition in which the figure is not defined. */
export function estimate(values: number[], scale: Scale = "plain"): Estimate {
  const data = values.filter(v => !Number.isNaN(v));
  const n = data.length;
  if (n === 0) return { mean: NaN, halfWidth: null, n: 0, ends: null };
  if (!data.every(Number.isFinite)) return { mean: average(data), halfWidth: NaN, n, ends: null };
  if (scale === "ratio" || scale === "bounded") return transformed(data, scale);
  const mean = average(data);
  if (n < leastRuns(scale) || (scale === "rare" && data.every(v => v === 0))) return { mean, halfWidth: null, n, ends: null };
  const deviation = Math.sqrt(sum(data.map(v => (v - mean) ** 2)) / (n - 1));
  let halfWidth = tQuantile(n - 1) * deviation / Math.sqrt(n);
  if (scale === "quantile") halfWidth = Math.max(halfWidth, BUCKET * Math.abs(mean));
  return { mean, halfWidth, n, ends: null };
}

function transformed(data: number[], scale: Scale): Estimate {
  const n = data.length;
  if (data.every(v => v === data[0])) return { mean: data[0], halfWidth: n < leastRuns(scale) ? null : 0, n, ends: null };
  const inner = estimate(data.map(v => toScale(v, scale)));
  const mean = fromScale(inner.mean, scale);
  if (n < leastRuns(scale)) return { mean, halfWidth: null, n, ends: null };
  const ends: [number, number] = [fromScale(low(inner), scale), fromScale(high(inner), scale)];
  return { mean, halfWidth: (ends[1] - ends[0]) / 2, n, ends };
}

function toScale(value: number, scale: Scale): number {
  if (scale === "ratio") return Math.log(value);
  const inside = Math.min(Math.max(value, NEAR_BOUND), 1 - NEAR_BOUND);
  return Math.log(inside) - Math.log1p(-inside);
}
const fromScale = (value: number, scale: Scale) =>
  scale === "ratio" ? Math.exp(Math.min(value, 700)) : 1 / (1 + Math.exp(Math.min(-value, 700)));

export const low = (e: Estimate) => e.ends ? e.ends[0] : e.halfWidth === null ? -Infinity : e.mean - e.halfWidth;
export const high = (e: Estimate) => e.ends ? e.ends[1] : e.halfWidth === null ? Infinity : e.mean + e.halfWidth;

/** Compares run by run, with the runs in which both are defined. `least` and `leastAbsolute` make the margin. */
export function versus(one: number[], other: number[], scale: Scale, least: number, leastAbsolute: number): Versus {
  const both = one.map((_, i) => i).filter(i => Number.isFinite(one[i]) && Number.isFinite(other[i]));
  let a = both.map(i => one[i]), b = both.map(i => other[i]), margin: number;
  if (scale === "ratio") {
    a = a.map(Math.log);
    b = b.map(Math.log);
    margin = Math.log1p(least);
  } else {
    margin = b.length ? least * Math.abs(average(b)) + leastAbsolute : 0;
  }
  const difference = estimate(a.map((v, i) => v - b[i]));
  if (a.length === 0) return { difference, ratio: NaN, outcome: "open" };
  const ratio = scale === "ratio" ? Math.exp(difference.mean) : average(b) ? average(a) / average(b) : NaN;
  if (a.length < leastRuns(scale)) return { difference: { ...difference, halfWidth: null }, ratio, outcome: "open" };
  let outcome: Outcome = "open";
  if (low(difference) > margin) outcome = "more";
  else if (high(difference) < -margin) outcome = "less";
  else if (-margin <= low(difference) && high(difference) <= margin) outcome = "same";
  return { difference, ratio, outcome };
}

/** Jain's fairness index; a share that is NaN is left out. */
export function jain(shares: number[]): number {
  const x = shares.filter(v => !Number.isNaN(v));
  if (!x.length) return NaN;
  const squares = sum(x.map(v => v * v));
  return squares > 0 ? sum(x) ** 2 / (x.length * squares) : 1;
}

/** Like `.4g` of Python. */
export function general(value: number, digits: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const exponent = Number(value.toExponential(digits - 1).split("e")[1]);
  if (exponent < -4 || exponent >= digits) {
    const [mantissa, power] = value.toExponential(digits - 1).split("e");
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    const size = Math.abs(Number(power));
    return `${short}e${Number(power) < 0 ? "-" : "+"}${String(size).padStart(2, "0")}`;
  }
  const fixed = value.toFixed(Math.max(0, digits - 1 - exponent));
  return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
}

/** Mean ± half-width with the digits that the interval supports, as `interval` of airlane/commands/terminal.py writes it. */
export function written(e: Estimate): string {
  if (e.n === 0) return "–";
  if (e.halfWidth === null || !Number.isFinite(e.halfWidth)) return general(e.mean, 4);
  if (e.ends) return `${general(e.mean, 4)} (${general(low(e), 3)} to ${general(high(e), 3)})`;
  const scale = e.halfWidth > 0 ? e.halfWidth : Math.abs(e.mean) / 100;
  const digits = Math.min(3, scale > 0 ? Math.max(0, 1 - Math.floor(Math.log10(scale))) : 0);
  return `${e.mean.toFixed(digits)} ± ${e.halfWidth.toFixed(digits)}`;
}
