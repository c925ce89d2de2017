// A run over time: events, goodput, delays, congestion window, queues and MCS, as `draw_run` of airlane/plot.py.
import { survival } from "./applications.js";
import { COLOURS, line, lookOf, overTime, thinned, type ChartData, type Item, type PanelData, type Series } from "./chart.js";
import { groups, numbers, rows, words, type Outcome, type Table } from "./tables.js";

/** Of more flows, percentiles over them are drawn in the place of a line for each. */
const LINES_MAX = 10;
/** Of more cells, their mean. */
const CELLS_MAX = 8;
/** Events of a kind that are drawn one by one; of more, one for each of so many parts of the run. */
const MARKS_SHOWN = 400;
/** Handovers that are also drawn through every panel, if they are not more. */
const MARKS_MAX = 24;

const PANELS: [string, string, string, number][] = [
  ["goodput", "Mbit/s", "goodput_mbps", 1],
  ["one-way delay (mean of bin)", "ms", "owd_ms", 1],
  ["round-trip time (smoothed, at the sender)", "ms", "srtt_ms", 1],
  ["congestion window (dotted: timeouts)", "kB", "cwnd_bytes", 1e-3],
  ["RLC transmit queue", "kB", "rlc_queue_bytes", 1e-3],
  ["uplink transmit queue of the UE", "kB", "uplink_queue_bytes", 1e-3],
];
const KINDS = { loss: "#E69F00", timeout: "#b00020", handover: "#555555", "no usable link": "#7A3E9D" };
/** States of RRC, with the colours of airlane/pages/state_band.py, and the most UEs whose states are drawn. */
const STATES = { idle: "#7F7F7F", inactive: "#56B4E9", connecting: "#E69F00", connected: "#009E73" };
const STATES_MAX = 24;
type Kind = keyof typeof KINDS;
type Event = [number, string];

/** The chart of one run; null where nothing was recorded over time. */
export function ofRun(outcome: Outcome): ChartData | null {
  const { flow_series, timeouts } = outcome.tables;
  if (!rows(flow_series)) return null;
  const end = outcome.meta.sim_s;
  const of = groups(flow_series.flow), flows = [...of.keys()];
  const many = flows.length > LINES_MAX;
  const series: Series[] = many
    ? [{ label: `median of ${flows.length} flows`, c: COLOURS[0], shape: "line", w: 1.3 },
       { label: "10th and 90th percentile", c: COLOURS[5], shape: "line", w: 0.7 }]
    : flows.map((label, i) => ({ label, c: COLOURS[i % COLOURS.length], shape: "line", w: 1.3 }));
  const events = eventsOf(outcome, of);
  const panels: PanelData[] = [];
  if (events.size) panels.push(eventPanel(events, end, series));
  const t = numbers(flow_series.t_s);
  for (const [title, unit, column, factor] of PANELS) {
    const y = numbers(flow_series[column]);
    if (!y.some(Number.isFinite)) continue;
    const items = many ? percentiles(t, y, factor) : flows.flatMap((flow, i) => {
      const at = of.get(flow)!;
      return line(i, at.map(j => t[j]), at.map(j => y[j] * factor), { c: COLOURS[i % COLOURS.length] });
    });
    if (column === "cwnd_bytes" && !many) items.push(...timeoutMarks(timeouts, flows, series));
    panels.push(overTime(panels.length, title, unit, end, items));
  }
  const pings = pingPanel(outcome.tables.pings, panels.length, end, flows);
  if (pings) panels.push(pings);
  const mcs = mcsPanel(outcome.tables.cell_series, panels.length, end, series, Math.max(2, flows.length));
  if (mcs) panels.push(mcs);
  const states = statePanel(outcome.tables.ue_series, panels.length, end, series);
  if (states) panels.push(states);
  const handovers = events.get("handover") ?? [];
  if (handovers.length <= MARKS_MAX) {
    const k = series.findIndex(one => one.label === "handover");
    const marks = handovers.map(([at, name]): Item => ({ t: "v", k, at, name, c: KINDS.handover, w: 0.9, d: [6, 4] }));
    for (const panel of panels.slice(events.size ? 1 : 0)) panel.items.push(...marks);
  }
  return panels.length ? { panels, series } : null;
}

/** Median over the flows that have a value in a bin, and the middle 80 % of them. */
function percentiles(t: Float64Array, y: Float64Array, factor: number): Item[] {
  const bins = new Map<number, number[]>();
  for (let i = 0; i < t.length; i++) {
    if (!Number.isFinite(y[i])) continue;
    const at = Math.round(t[i] * 1e6) / 1e6, there = bins.get(at);
    if (there) there.push(y[i] * factor); else bins.set(at, [y[i] * factor]);
  }
  const times = [...bins.keys()].sort((a, b) => a - b);
  const sorted = times.map(at => bins.get(at)!.sort((a, b) => a - b));
  const [low, middle, high] = [0.1, 0.5, 0.9].map(share => sorted.map(values => quantile(values, share)));
  return [
    ...line(1, times, low, { c: COLOURS[5], w: 0.7 }), ...line(1, times, high, { c: COLOURS[5], w: 0.7 }),
    ...line(0, times, middle, { c: COLOURS[0] }),
  ];
}

/** Of sorted values, between the two nearest, as NumPy does. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const at = share * (sorted.length - 1), below = Math.floor(at), above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

function timeoutMarks(table: Table | undefined, flows: string[], series: Series[]): Item[] {
  const names = words(table?.flow), at = numbers(table?.t_s);
  const k = series.findIndex(one => one.label === "timeout");
  return names.flatMap((name, i): Item[] => flows.includes(name) ? [{ t: "v", k, at: at[i], c: KINDS.timeout, w: 0.7, d: [1.5, 3] }] : []);
}

/** When what happened to whom, by kind of event; kinds that did not occur are left out. */
export function eventsOf(outcome: Outcome, of: Map<string, number[]>): Map<Kind, Event[]> {
  const { flow_series, timeouts, handovers, outages } = outcome.tables;
  const found: Record<Kind, Event[]> = { loss: [], timeout: [], handover: [], "no usable link": [] };
  const t = numbers(flow_series.t_s), lost = numbers(flow_series.lost_segments);
  for (const [flow, at] of of) for (const i of at) if (lost[i] > 0) found.loss.push([t[i], `${flow}: ${lost[i].toFixed(0)} lost`]);
  const rto = numbers(timeouts?.rto_ms), when = numbers(timeouts?.t_s);
  words(timeouts?.flow).forEach((flow, i) => found.timeout.push([when[i], `${flow}: after ${rto[i].toFixed(0)} ms`]));
  const { pings } = outcome.tables;
  if (pings) {
    const lostPings = numbers(pings.lost), sent = numbers(pings.t_s), sequence = numbers(pings.sequence);
    words(pings.flow).forEach((flow, i) => { if (lostPings[i]) found.loss.push([sent[i], `${flow}: ping ${sequence[i]} lost`]); });
  }
  if (handovers) {
    const [ue, from, to, outcomes] = ["ue", "from", "to", "outcome"].map(name => words(handovers[name]));
    const times = ["start_s", "decision_s", "report_s"].map(name => numbers(handovers[name]));
    ue.forEach((name, i) => {
      const at = times.map(one => one[i]).find(Number.isFinite);
      if (at !== undefined) found.handover.push([at, `${name}: ${from[i]} to ${to[i]}, ${outcomes[i]}`]);
    });
  }
  if (outages) {
    const from = numbers(outages.from_s), until = numbers(outages.until_s), over = numbers(outages.over);
    const [ue, direction] = ["ue", "direction"].map(name => words(outages[name]));
    ue.forEach((name, i) => found["no usable link"].push(
      [from[i], `${name}: ${direction[i]}, ${over[i] ? `to ${until[i].toFixed(2)} s` : "from then on"}`]));
  }
  const kinds = (Object.keys(found) as Kind[]).filter(kind => found[kind].length);
  return new Map(kinds.map(kind => [kind, summedUp(kind, found[kind].sort((a, b) => a[0] - b[0]))]));
}

/** More events than can be told apart: how many there are in each part of the run. */
function summedUp(kind: Kind, many: Event[]): Event[] {
  if (many.length <= MARKS_SHOWN) return many;
  const first = many[0][0], width = (many.at(-1)![0] - first) / MARKS_SHOWN || 1;
  const parts = new Map<number, number>();
  for (const [t] of many) {
    const part = Math.trunc((t - first) / width);
    parts.set(part, (parts.get(part) ?? 0) + 1);
  }
  return [...parts].map(([part, count]) => [first + (part + 0.5) * width, `${count} times ${kind} within ${Number(width.toPrecision(3))} s`]);
}

function eventPanel(events: Map<Kind, Event[]>, end: number, series: Series[]): PanelData {
  const kinds = [...events.keys()];
  const items = kinds.map((kind, row): Item => {
    const many = events.get(kind)!;
    series.push({ label: kind, c: KINDS[kind], shape: "line", w: 0 });
    return {
      t: "line", k: series.length - 1, c: KINDS[kind], w: 0, m: "|", ms: 8,
      x: many.map(([t]) => t), y: many.map(() => row), words: many.map(([, word]) => word),
    };
  });
  return {
    ...overTime(0, "events", "", end, items),
    y: { limits: [kinds.length - 0.5, -0.5], ticks: kinds.map((kind, row) => [row, kind]) },
  };
}

/** Round-trip times of pings by when they were sent. */
function pingPanel(table: Table | undefined, row: number, end: number, flows: string[]): PanelData | null {
  if (!rows(table)) return null;
  const t = numbers(table!.t_s), rtt = numbers(table!.rtt_ms), of = groups(table!.flow);
  const items = of.size > LINES_MAX ? percentiles(t, rtt, 1) : [...of].flatMap(([flow, at]) => {
    const k = flows.length > LINES_MAX ? -1 : flows.indexOf(flow);
    return line(k, at.map(i => t[i]), at.map(i => rtt[i]), { c: COLOURS[Math.max(0, flows.indexOf(flow)) % COLOURS.length] });
  });
  return overTime(row, "round-trip time of pings, by the time at which they were sent", "ms", end, items);
}

/** Mean MCS over time of each cell and direction, or of all cells together where they are many. */
function mcsPanel(table: Table | undefined, row: number, end: number, series: Series[], first: number): PanelData | null {
  if (!rows(table)) return null;
  const of = groups(table!.cell), t = numbers(table!.t_s), blocks = numbers(table!.tb_sent);
  const free = COLOURS.filter(colour => !Object.values<string>(KINDS).includes(colour));
  const items: Item[] = [];
  const add = (label: string, at: ArrayLike<number>, y: ArrayLike<number>) => {
    const c = free[(first + items.filter(item => item.t === "line").length) % free.length];
    series.push({ label, c, shape: "line", w: 1.3 });
    items.push(...line(series.length - 1, at, y, { c }));
  };
  for (const [direction, column] of [["downlink", "mcs_mean"], ["uplink", "mcs_mean_uplink"]]) {
    const mcs = numbers(table![column]);
    if (!mcs.some(Number.isFinite)) continue;
    if (of.size <= CELLS_MAX) {
      for (const [cell, at] of of) add(`cell ${cell}, ${direction}`, at.map(i => t[i]), at.map(i => mcs[i]));
      continue;
    }
    const sums = new Map<number, [number, number]>();
    for (let i = 0; i < t.length; i++) {
      const sum = sums.get(t[i]) ?? [0, 0], weight = direction === "downlink" ? blocks[i] : 1;
      if (Number.isFinite(mcs[i])) { sum[0] += mcs[i] * weight; sum[1] += weight; }
      sums.set(t[i], sum);
    }
    const times = [...sums.keys()].sort((a, b) => a - b);
    add(`${of.size} cells, ${direction}`, times, times.map(at => sums.get(at)![0] / sums.get(at)![1]));
  }
  if (!items.length) return null;
  return { ...overTime(row, "MCS of first transmissions (mean of bin)", "MCS", end, items), y: { limits: [0, 29] } };
}

/** The state of RRC of each UE, as `state_panel` of airlane/pages/state_band.py: a row in its colour, filled as far as it listens. */
function statePanel(table: Table | undefined, row: number, end: number, series: Series[]): PanelData | null {
  if (!table?.rrc) return null;
  const of = [...groups(table.ue)].filter(([, at]) => at.length > 1);
  if (!of.length || of.length > STATES_MAX) return null;
  const t = numbers(table.t_s), rrc = words(table.rrc), listening = numbers(table.listening);
  const bands = of.map(([, at]) => bandOf(at.map(i => t[i]), at.map(i => rrc[i]), at.map(i => listening[i])));
  const items: Item[] = [];
  for (const [state, c] of Object.entries(STATES)) {
    const here: Item[] = bands.flatMap((band, place): Item[] => {
      const [spans, shares] = [band.spans, band.shares].map(parts => parts.filter(part => part.state === state));
      const box = ({ from, to }: Part, height: number): [number[], number[]] =>
        [[from, to, to, from], [place + 0.4, place + 0.4, place + 0.4 - height, place + 0.4 - height]];
      return [
        { t: "area", k: series.length, c, a: 0.35, p: spans.map(part => box(part, 0.8)) },
        { t: "area", k: series.length, c, a: 0.9, p: shares.map(part => box(part, 0.8 * part.share)) },
      ];
    }).filter(item => item.p!.length);
    if (!here.length) continue;
    items.push(...here);
    series.push({ label: state, c, shape: "box" });
  }
  const title = "state of RRC (filled: share of time in which the UE listens to PDCCH)";
  return { ...overTime(row, title, "", end, items), y: { limits: [of.length - 0.5, -0.5], ticks: of.map(([name], i) => [i, name]) } };
}

/** A part of the time of a UE: its state of RRC, and the share of the part in which it listens. */
interface Part { state: string; from: number; to: number; share: number }

/** When a UE is in each state, and the share of listening in each of its bins; of many bins, one for several. */
function bandOf(t: number[], rrc: string[], listening: number[]): { spans: Part[]; shares: Part[] } {
  const spans: Part[] = [];
  for (let i = 0; i + 1 < t.length; i++) {
    const last = spans.at(-1);
    if (last?.state === rrc[i]) last.to = t[i + 1]; else spans.push({ state: rrc[i], from: t[i], to: t[i + 1], share: 1 });
  }
  const { t: from, mean } = thinned(t.slice(0, -1), listening.slice(1));
  const shares = from.map((at, i): Part => ({ state: rrc[t.indexOf(at)], from: at, to: from[i + 1] ?? t.at(-1)!, share: mean[i] }))
    .filter(({ share }) => share > 0);
  return { spans, shares };
}

// ---------------------------------------------------------------- several over each other

const OVERLAID: [string, string, string, number, "sum" | "mean"][] = [
  ["goodput, all flows", "Mbit/s", "goodput_mbps", 1, "sum"],
  ["one-way delay, mean over the flows", "ms", "owd_ms", 1, "mean"],
  ["round-trip time, mean over the flows", "ms", "srtt_ms", 1, "mean"],
  ["congestion window, mean over the flows", "kB", "cwnd_bytes", 1e-3, "mean"],
  ["RLC transmit queues, all flows", "kB", "rlc_queue_bytes", 1e-3, "sum"],
];

/** Series of several scenarios over each other, each the mean over its runs, as `draw_over_time` of overlay.py. */
export function overlaid(sides: { name: string; outcomes: Outcome[] }[]): ChartData | null {
  const series: Series[] = sides.map(({ name }, i) => ({ label: name, shape: "line", w: 1.3, ...lookOf(i) }));
  const end = Math.max(...sides.flatMap(side => side.outcomes.map(one => one.meta.sim_s)));
  const panels: PanelData[] = [];
  for (const [title, unit, column, factor, how] of OVERLAID) {
    const items = sides.flatMap(({ outcomes }, i) => {
      const [t, y] = overFlows(outcomes, column, how);
      return t.length ? line(i, t, y.map(v => v * factor), lookOf(i)) : [];
    });
    if (items.length) panels.push(overTime(panels.length, title, unit, end, items));
  }
  return panels.length ? { panels, series } : null;
}

/** Sum or mean over all flows and, of several runs, the mean over the runs; by time bin. */
function overFlows(outcomes: Outcome[], column: string, how: "sum" | "mean"): [number[], number[]] {
  const bins = new Map<number, number[]>();
  for (const { tables: { flow_series } } of outcomes) {
    if (!flow_series) continue;
    const t = numbers(flow_series.t_s), y = numbers(flow_series[column]);
    const own = new Map<number, [number, number]>();
    for (let i = 0; i < y.length; i++) {
      if (!Number.isFinite(y[i])) continue;
      const at = Math.round(t[i] * 1e6) / 1e6, sum = own.get(at) ?? [0, 0];
      own.set(at, [sum[0] + y[i], sum[1] + 1]);
    }
    for (const [at, [sum, count]] of own) {
      const value = how === "sum" ? sum : sum / count, there = bins.get(at);
      if (there) there.push(value); else bins.set(at, [value]);
    }
  }
  const times = [...bins.keys()].sort((a, b) => a - b);
  return [times, times.map(at => bins.get(at)!.reduce((a, b) => a + b, 0) / bins.get(at)!.length)];
}

// ---------------------------------------------------------------- distributions

type Curve = [number[], number[]];
const DISTRIBUTIONS: [string, string, (outcomes: Outcome[]) => Curve][] = [
  ["goodput of a flow", "Mbit/s", all => shares(all.flatMap(one => [...numbers(one.tables.flows?.goodput_mbps)]))],
  ["one-way delay, time bins of all flows", "ms", all => shares(all.flatMap(one => [...numbers(one.tables.flow_series?.owd_ms)]))],
  ["page load time", "s", all => ended(all, "pages", "onload_s")],
  ["time to first byte of completed pages", "s", all => shares(all.flatMap(one => [...numbers(one.tables.pages?.ttfb_s)]))],
  ["round-trip time of answered pings", "ms", all => shares(all.flatMap(one => [...numbers(one.tables.pings?.rtt_ms)]))],
  ["start-up delay of videos", "s", all => ended(all, "views", "startup_s")],
  ["time stalled per view, start-up left out", "s", all => shares(all.flatMap(one => [...numbers(one.tables.views?.stalled_s)]))],
  ["bitrate of the media", "kbit/s", all => shares(all.flatMap(one => [...numbers(one.tables.views?.bitrate_kbps)]))],
];

/** Distribution functions of what flows, pages and views had, each scenario a line. */
export function distributions(sides: { name: string; outcomes: Outcome[] }[]): ChartData | null {
  const series: Series[] = sides.map(({ name }, i) => ({ label: name, shape: "line", w: 1.3, ...lookOf(i) }));
  const drawn = DISTRIBUTIONS.map(([title, unit, of]) => ({ title, unit, curves: sides.map(side => of(side.outcomes)) }))
    .filter(({ curves }) => new Set(curves.flatMap(([x]) => x)).size > 1); // one value is no distribution
  const across = drawn.length > 4 || drawn.length === 3 ? 3 : 2;
  const panels = drawn.map(({ title, unit, curves }, i): PanelData => {
    const items = curves.map(([x, y], k): Item => ({ t: "line", k, w: 1.3, m: "", ...lookOf(k), x, y, step: "post" }));
    const top = Math.max(...curves.flatMap(([x]) => x));
    return {
      title, xlabel: unit, ylabel: "share", row: Math.floor(i / across), column: i % across, group: i, equal: false, items,
      x: { limits: [0, top * 1.05 || 1] }, y: { limits: [0, 1.02] },
    };
  });
  return panels.length ? { panels, series } : null;
}

const BINS = 400;
function shares(values: number[]): Curve {
  const sorted = Float64Array.from(values.filter(Number.isFinite)).sort();
  if (!sorted.length) return [[], []];
  if (sorted.length > BINS) {
    const at = Array.from({ length: BINS }, (_, i) => i / (BINS - 1));
    return [at.map(share => quantile(sorted, share)), at];
  }
  return [[sorted[0], ...sorted], [0, ...Array.from(sorted, (_, i) => (i + 1) / sorted.length)]];
}

/** The same of times of which some did not end: the Kaplan-Meier curve, which then stays below 1. */
function ended(outcomes: Outcome[], name: string, column: string): Curve {
  const all = outcomes.flatMap(({ tables, meta }) => {
    const taken = numbers(tables[name]?.[column]), start = numbers(tables[name]?.start_s);
    return Array.from(taken, (time, i) => ({ time, watched: meta.sim_s - start[i] }));
  });
  if (!all.some(one => Number.isFinite(one.time))) return [[], []];
  if (all.every(one => !Number.isNaN(one.time))) return shares(all.map(one => one.time));
  const [at, curve] = survival(all.map(one => one.time), all.map(one => one.watched));
  return [[at[0], ...at], [0, ...curve]];
}

