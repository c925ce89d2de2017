// The time of a run that is looked at: where each UE is then, with its serving cell, MCS and queue.
import { el, make, table } from "./dom.js";
import { colourOf } from "./map.js";
import { general } from "./stats.js";
import { numbers, words, type Outcome } from "./tables.js";

export interface Here { x: number; y: number; cell: string; mcs: number; queue: number }

/** Of each UE what it is at the bins of a run. */
export class Track {
  readonly end: number;
  private readonly times: number[] = [];
  private readonly of = new Map<number, Map<string, Here>>();

  constructor(outcome: Outcome) {
    const { ue_series, ue_mcs, flow_series, flows } = outcome.tables;
    this.end = outcome.meta.sim_s;
    const key = (t: number) => Math.round(t * 1e6);
    const t = numbers(ue_series?.t_s), [x, y] = ["x_m", "y_m"].map(name => numbers(ue_series?.[name]));
    const names = words(ue_series?.ue), cells = words(ue_series?.cell);
    names.forEach((name, i) => {
      let there = this.of.get(key(t[i]));
      if (!there) { this.of.set(key(t[i]), there = new Map()); this.times.push(t[i]); }
      there.set(name, { x: x[i], y: y[i], cell: cells[i], mcs: NaN, queue: NaN });
    });
    const mt = numbers(ue_mcs?.t_s), mcs = numbers(ue_mcs?.mcs);
    words(ue_mcs?.ue).forEach((name, i) => {
      const here = this.of.get(key(mt[i]))?.get(name);
      if (here) here.mcs = mcs[i];
    });
    // All flows of a UE share its RLC queue.
    const names_ = words(flows?.flow), ues = words(flows?.ue), ueOf = new Map(names_.map((name, i) => [name, ues[i]]));
    const ft = numbers(flow_series?.t_s), queue = numbers(flow_series?.rlc_queue_bytes);
    words(flow_series?.flow).forEach((flow, i) => {
      const here = this.of.get(key(ft[i]))?.get(ueOf.get(flow) ?? "");
      if (here && Number.isFinite(queue[i])) here.queue = queue[i];
    });
  }

  get empty() { return this.times.length === 0; }

  at(time: number): Map<string, Here> {
    const i = this.times.findLastIndex(t => t <= time + 1e-9);
    return this.of.get(Math.round((this.times[Math.max(0, i)] ?? 0) * 1e6)) ?? new Map();
  }
}

const LISTED = 60;

export const noteOf = (here: Here) => [
  `cell ${here.cell}`,
  Number.isFinite(here.mcs) ? `MCS ${general(here.mcs, 3)}` : "MCS –",
  Number.isFinite(here.queue) ? `queue ${general(here.queue / 1e3, 3)} kB` : "queue –",
].join(", ");

export const coloured = (here: Map<string, Here>, cells: string[]) =>
  new Map([...here].map(([name, one]) => [name, { x: one.x, y: one.y, colour: colourOf(Math.max(0, cells.indexOf(one.cell))), note: noteOf(one) }]));

/** The table of UEs at a time. */
export function listed(here: Map<string, Here>) {
  const body = [...here].slice(0, LISTED).map(([name, one]) => [
    name, one.cell, `${Math.round(one.x)}, ${Math.round(one.y)}`,
    Number.isFinite(one.mcs) ? general(one.mcs, 3) : "–", Number.isFinite(one.queue) ? general(one.queue / 1e3, 4) : "–",
  ]);
  const more = here.size - LISTED;
  el("ues-now").replaceChildren(
    table("UEs at this time", ["ue", "cell", "x, y in m", "MCS", "RLC queue in kB"], body, new Set(["ue", "cell"])),
    ...more > 0 ? [make("p", { class: "note" }, `${more} more UEs.`)] : []);
}
