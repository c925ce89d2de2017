// What the page and its workers tell each other.
import type { Outcome } from "./tables.js";

/** A mistake in a scenario, in the words of the reader, or a failure of a controller of one's own. */
export interface Mistake {
  message: string;
  file?: string;
  line?: number | null;
  key?: string;
  value?: string;
  what?: string;
  help?: string;
  /** Where it is: in the scenario, in the controller, or in the program itself. */
  where: "scenario" | "controller" | "program";
}

export interface Job {
  text: string;
  name: string;
  overrides: Record<string, unknown>;
  files: [string, Uint8Array][];
  seed: number;
  /** A controller of one's own: the source of a module with a class. */
  own: string | null;
  /** Whether packets are captured. */
  capture: boolean;
}

export type ToWorker =
  | { kind: "module"; module: WebAssembly.Module }
  | { kind: "run"; id: number; job: Job }
  | { kind: "cancel"; id: number };

export type FromWorker =
  | { kind: "ready" }
  | { kind: "progress"; id: number; share: number }
  | { kind: "done"; id: number; outcome: Outcome }
  | { kind: "cancelled"; id: number }
  | { kind: "failed"; id: number; mistake: Mistake };
