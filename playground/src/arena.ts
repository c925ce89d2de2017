// All controllers on one scenario: each takes the place of the congestion control of every TCP and QUIC flow.
import { el, make, table } from "./dom.js";
import { BY_NAME, estimateOf, has, valueOf, verdict, versusOf } from "./figures.js";
import { Cancelled, Failed, type Batch, type Pool } from "./pool.js";
import type { Job, Mistake } from "./protocol.js";
import type { Resolved } from "./resolved.js";
import { choices, type Schema } from "./schema.js";
import { written } from "./stats.js";
import type { Outcome } from "./tables.js";

const FIGURES = ["goodput_mbps", "owd_p95_ms", "rtt_ms", "retransmissions", "jain", "page_s", "startup_s", "rebuffering_s"];

/** The controllers that run on any path: not one that needs a PEP, and the user's own only if it is written. */
export const contenders = (schema: Schema, own: boolean) =>
  choices(schema, ["flow", 0, "transport", "congestion"]).map(one => one.word).filter(word => word !== "mdcc" && (word !== "own" || own));

/** The settings that give all flows of a scenario this controller. */
export function overridesFor(resolved: Resolved, controller: string): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  resolved.flow.forEach(({ transport }, i) => {
    if (transport.kind === "tcp" || (transport.kind === "quic" && controller !== "own")) found[`flow.${i}.transport.congestion`] = controller;
    if (controller === "pbe") found.rnis = {}; // its radio information
    if (transport.kind === "tcp" && controller === "own") found[`flow.${i}.transport.controller`] = "own";
  });
  return found;
}

export class Arena {
  private batches: Batch[] = [];

  constructor(private readonly pool: Pool, private readonly schema: Schema) {}

  cancel() { for (const batch of this.batches) batch.cancel(); }

  /** Runs them all; the table grows as they end. */
  async run(resolved: Resolved, jobs: (overrides: Record<string, unknown>, own: boolean) => Job[], own: boolean) {
    this.cancel();
    const names = contenders(this.schema, own);
    const found = new Map<string, Outcome[] | Mistake>();
    const shares = names.map(() => 0);
    const bar = el<HTMLProgressElement>("arena-progress");
    bar.hidden = false;
    const tell = () => { bar.value = shares.reduce((a, b) => a + b, 0) / names.length; };
    tell();
    this.batches = names.map((name, i) => this.pool.run(jobs(overridesFor(resolved, name), name === "own"), share => { shares[i] = share; tell(); }));
    await Promise.all(this.batches.map(async ({ outcomes }, i) => {
      try {
        found.set(names[i], await outcomes);
      } catch (error) {
        if (error instanceof Failed) found.set(names[i], error.mistake);
        else if (!(error instanceof Cancelled)) throw error;
      }
      this.show(names, found, resolved);
    }));
    bar.hidden = true;
  }

  private show(names: string[], found: Map<string, Outcome[] | Mistake>, resolved: Resolved) {
    const ran = names.filter(name => Array.isArray(found.get(name))), of = (name: string) => found.get(name) as Outcome[];
    const base = resolved.flow.map(flow => flow.transport.congestion).find(name => name !== undefined && ran.includes(name)) ?? ran[0];
    const figures = FIGURES.map(name => BY_NAME.get(name)!).filter(one => ran.some(name => of(name).every(run => has(one, run.tables.flows))));
    const value = (name: string, i: number) => of(name).map(run => valueOf(figures[i], run.tables.flows));
    const better = (i: number) => figures[i].better === "less" ? 1 : -1;
    const mean = (name: string) => estimateOf(figures[0], value(name, 0)).mean;
    const order = ran.toSorted((a, b) => better(0) * (mean(a) - mean(b)));
    const body = order.map(name => [name, ...figures.map((figure, i) => {
      const shown = written(estimateOf(figure, value(name, i)));
      if (name === base || !of(base)) return shown;
      const word = verdict(versusOf(figure, value(name, i), value(base, i)), figure);
      const look = word === "better" ? "good" : word === "worse" ? "bad" : "";
      return make("span", {}, shown, make("small", { class: look }, word));
    })]);
    const columns = ["controller", ...figures.map(one => one.unit ? `${one.title}, ${one.unit}` : one.title)];
    const failed = names.flatMap(name => {
      const mistake = found.get(name);
      return mistake && !Array.isArray(mistake) ? [make("p", { class: "note warning" }, `${name}: ${mistake.message}`)] : [];
    });
    el("arena-table").replaceChildren(
      table("All controllers on this scenario", columns, body, new Set(["controller"]), "compared"),
      make("p", { class: "note" }, `Each controller in the place of that of every TCP and QUIC flow. The words compare with ${base} over the same seeds.`),
      ...failed);
  }
}
