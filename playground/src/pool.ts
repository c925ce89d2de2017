// Workers that run scenarios: as many as the machine has cores, made when they are first needed.
import type { FromWorker, Job, Mistake, ToWorker } from "./protocol.js";
import type { Outcome } from "./tables.js";

/** A worker that says nothing for so long is held up by a controller of the user's own, and is ended. */
const SILENCE_MS = 4000;
const WORKERS_MAX = 8;

interface Task {
  id: number;
  job: Job;
  progress: (share: number) => void;
  done: (outcome: Outcome) => void;
  failed: (mistake: Mistake | null) => void;
}

/** Several runs that belong together, and are cancelled together. */
export interface Batch { outcomes: Promise<Outcome[]>; cancel: () => void }

/** A batch was cancelled. */
export class Cancelled extends Error {}
/** A run of a batch could not be made. */
export class Failed extends Error {
  constructor(readonly mistake: Mistake) { super(mistake.message); }
}

export class Pool {
  private readonly url: string;
  private hands: Hand[] = [];
  private waiting: Task[] = [];
  private next = 0;

  constructor(source: string, readonly module: WebAssembly.Module, readonly size = Math.min(WORKERS_MAX, navigator.hardwareConcurrency || 2)) {
    this.url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.hands.push(new Hand(this)); // one is ready when the first run comes
  }

  /** Runs jobs; `progress` hears the share of all that is done. */
  run(jobs: Job[], progress: (share: number) => void = () => {}): Batch {
    const shares = jobs.map(() => 0);
    const ids: number[] = [];
    const runs = jobs.map((job, i) => new Promise<Outcome>((resolve, reject) => {
      const id = this.next++;
      ids.push(id);
      const tell = (share: number) => {
        shares[i] = share;
        progress(shares.reduce((a, b) => a + b, 0) / shares.length);
      };
      this.waiting.push({
        id, job, progress: tell, done: outcome => { tell(1); resolve(outcome); },
        failed: mistake => reject(mistake ? new Failed(mistake) : new Cancelled()),
      });
    }));
    this.give();
    return {
      outcomes: Promise.all(runs).catch(error => { this.drop(ids); throw error; }),
      cancel: () => this.drop(ids),
    };
  }

  private drop(ids: number[]) {
    for (const task of this.waiting.filter(task => ids.includes(task.id))) task.failed(null);
    this.waiting = this.waiting.filter(task => !ids.includes(task.id));
    for (const hand of this.hands) hand.cancel(ids);
  }

  give() {
    while (this.waiting.length) {
      let hand = this.hands.find(hand => !hand.task);
      if (!hand && this.hands.length < this.size) this.hands.push(hand = new Hand(this));
      if (!hand) return;
      hand.begin(this.waiting.shift()!);
    }
  }

  worker(): Worker { return new Worker(this.url, { name: "airlane" }); }

  remove(hand: Hand) {
    this.hands = this.hands.filter(one => one !== hand);
    if (!this.hands.length) this.hands.push(new Hand(this));
    this.give();
  }
}

/** One worker and what it is doing. */
class Hand {
  task: Task | null = null;
  private readonly worker: Worker;
  private watch = 0;

  constructor(private readonly pool: Pool) {
    this.worker = pool.worker();
    this.worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.hear(data);
    this.worker.onerror = event => this.broken(event.message || "the worker ended");
    this.send({ kind: "module", module: pool.module });
  }

  private send(message: ToWorker) { this.worker.postMessage(message); }

  begin(task: Task) {
    this.task = task;
    this.send({ kind: "run", id: task.id, job: task.job });
    this.heard();
  }

  cancel(ids: number[]) {
    if (!this.task || !ids.includes(this.task.id)) return;
    this.send({ kind: "cancel", id: this.task.id });
  }

  private heard() {
    clearTimeout(this.watch);
    if (this.task?.job.own == null) return;
    this.watch = window.setTimeout(() => this.broken(`the controller did not return within ${SILENCE_MS / 1000} s`), SILENCE_MS);
  }

  private broken(message: string) {
    clearTimeout(this.watch);
    this.worker.terminate();
    const where = this.task?.job.own == null ? "program" : "controller";
    this.task?.failed({ message, line: null, where });
    this.task = null;
    this.pool.remove(this);
  }

  private hear(message: FromWorker) {
    if (message.kind === "ready" || message.id !== this.task?.id) return;
    const task = this.task;
    if (message.kind === "progress") {
      task.progress(message.share);
      this.heard();
      return;
    }
    clearTimeout(this.watch);
    this.task = null;
    if (message.kind === "done") task.done(message.outcome);
    else task.failed(message.kind === "failed" ? message.mistake : null);
    this.pool.give();
  }
}
