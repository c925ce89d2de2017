// Runs scenarios apart from the page, one at a time. Between two parts of a run it listens whether to go on.
import { initSync, Files, Scenario } from "../../out/playground/module/airlane_web.js";
import { withApplications } from "./applications.js";
import { controllerOf, ControllerMistake } from "./own.js";
import type { FromWorker, Job, Mistake, ToWorker } from "./protocol.js";
import { numbers, type Labels, type Outcome, type Tables } from "./tables.js";

/** A part of a run takes about so long; the page hears of its progress as often. */
const PART_MS = 40;

const scope = self as unknown as { postMessage(message: FromWorker, transfer?: Transferable[]): void; onmessage: unknown };
const say = (message: FromWorker, transfer: Transferable[] = []) => scope.postMessage(message, transfer);

let cancelled = new Set<number>();
let last: Promise<void> = Promise.resolve();

scope.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "module") {
    initSync({ module: data.module });
    say({ kind: "ready" });
  } else if (data.kind === "cancel") {
    cancelled.add(data.id);
  } else {
    last = last.then(() => run(data.id, data.job));
  }
};

/** Lets messages in: they come between tasks, and a message of one's own is the quickest task. */
const turn = () => new Promise<void>(resolve => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(); };
  port2.postMessage(null);
});

async function run(id: number, job: Job) {
  await turn();
  if (cancelled.delete(id)) return say({ kind: "cancelled", id });
  try {
    const outcome = await through(id, job);
    if (!outcome) return say({ kind: "cancelled", id });
    say({ kind: "done", id, outcome }, buffers(outcome));
  } catch (error) {
    say({ kind: "failed", id, mistake: mistakeOf(error) });
  }
}

async function through(id: number, job: Job): Promise<Outcome | null> {
  const files = new Files();
  for (const [name, bytes] of job.files) files.add(name, bytes);
  const scenario = new Scenario(job.text, job.name, JSON.stringify(job.overrides), files);
  files.free();
  const own = job.own === null ? undefined : await controllerOf(job.own);
  const run = scenario.run(BigInt(job.seed), own?.connections, own?.calls, job.capture);
  scenario.free();
  const end = run.end_s();
  let step = 0.1, spent = 0;
  for (;;) {
    const began = performance.now();
    const over = run.advance(step);
    const took = performance.now() - began;
    spent += took;
    if (own?.failure.first) { run.free(); throw own.failure.first; }
    if (over) break;
    say({ kind: "progress", id, share: run.now_s() / end });
    // A part may have been quick by chance: it grows by no more than half.
    step *= Math.min(1.5, Math.max(0.2, PART_MS / Math.max(took, 1)));
    await turn();
    if (cancelled.delete(id)) { run.free(); return null; }
  }
  const left = run.finish();
  const outcome: Outcome = {
    seed: job.seed, tables: withMcs(left.tables() as Tables, "output.ran_log" in job.overrides), meta: JSON.parse(left.meta()), wall_s: spent / 1e3,
    captures: (left.captures() as [string, Uint8Array][]).map(([name, bytes]) => ({ name, bytes })),
  };
  left.free();
  outcome.tables.flows = withApplications(outcome.tables, outcome.meta.sim_s);
  return outcome;
}

/** Adds the mean MCS of each UE by bin of the series; the log of transport blocks goes if only this wanted it. */
function withMcs(tables: Tables, drop: boolean): Tables {
  const { ran_log, ue_series } = tables;
  if (!ran_log || !ue_series) return tables;
  const at = numbers(ue_series.t_s), bins = [...new Set(at)].sort((a, b) => a - b), width = (bins[1] ?? 1) - bins[0];
  const ue = ran_log.ue as Labels, direction = ran_log.direction as Labels, down = direction.labels.indexOf("downlink");
  const t = numbers(ran_log.t_s), mcs = numbers(ran_log.mcs), transmission = numbers(ran_log.transmission);
  const sums = new Map<number, [number, number]>();
  for (let i = 0; i < t.length; i++) {
    if (direction.of[i] !== down || transmission[i] !== 1) continue;
    const key = Math.floor(t[i] / width + 1e-6) * ue.labels.length + ue.of[i], sum = sums.get(key);
    if (sum) { sum[0] += mcs[i]; sum[1]++; } else sums.set(key, [mcs[i], 1]);
  }
  const keys = [...sums.keys()];
  const ue_mcs = {
    t_s: Float64Array.from(keys, key => bins[Math.floor(key / ue.labels.length)] ?? NaN),
    ue: { labels: ue.labels, of: Uint32Array.from(keys, key => key % ue.labels.length) },
    mcs: Float64Array.from(keys, key => sums.get(key)![0] / sums.get(key)![1]),
  };
  const { ran_log: _, ...rest } = tables;
  return drop ? { ...rest, ue_mcs } : { ...tables, ue_mcs };
}

function buffers(outcome: Outcome): ArrayBuffer[] {
  const found: ArrayBuffer[] = outcome.captures.map(({ bytes }) => bytes.buffer as ArrayBuffer);
  for (const table of Object.values(outcome.tables)) {
    for (const column of Object.values(table)) {
      if (ArrayBuffer.isView(column)) found.push(column.buffer as ArrayBuffer);
      else if (!Array.isArray(column)) found.push(column.of.buffer as ArrayBuffer);
    }
  }
  return found;
}

function mistakeOf(error: unknown): Mistake {
  if (error instanceof ControllerMistake) return { message: error.message, line: error.line, where: "controller" };
  if (error instanceof Error && error.name === "ScenarioError") {
    const { message, file, line, key, value, what, help } = error as Error & Mistake;
    return { message, file, line, key, value, what, help, where: "scenario" };
  }
  return { message: error instanceof Error ? error.message : String(error), where: "program" };
}
