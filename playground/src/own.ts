// Congestion controllers in JavaScript, with the interface of `airlane.Controller` in Python (airlane/control.py).
import { CallController, OwnCallControllers, type CallControllerClass } from "./own_calls.js";
import type { Own } from "../../out/playground/module/airlane_web.js";

export interface Ack {
  now_s: number; delivered: number; may_grow: boolean; window_limited: boolean; outstanding: number;
  rtt_ms: number | null; srtt_ms: number;
}
export interface Loss { now_s: number; in_flight: number; random: boolean }
export interface Timeout { now_s: number; restart: number; new_episode: boolean }

/** What a controller of one's own derives from. */
export class Controller {
  static every: string = "ack";
  segment_size: number;
  cwnd: number;
  pacing_mbps: number | null = null;

  constructor(segment_size: number, cwnd: number) {
    this.segment_size = segment_size;
    this.cwnd = cwnd;
  }

  on_ack(_: Ack): void {
    throw new TypeError(`${this.constructor.name} must define on_ack, which handles acknowledgments`);
  }
  on_loss(_: Loss): void { this.cwnd = Math.max(2, this.cwnd / 2); } // RFC 5681 section 3.1
  on_timeout(timeout: Timeout): void { this.cwnd = timeout.restart; }
  on_undo(cwnd: number): void { this.cwnd = cwnd; }
}

/** A controller that could not be used, and the line of its source if that is known. */
export class ControllerMistake extends Error {
  constructor(message: string, readonly line: number | null) { super(message); }
}

type ControllerClass = new (segment_size: number, cwnd: number) => Controller;

const FILE = "controller.js";

/** The line in the source at which an exception was thrown: every engine writes file, line and column. */
function lineOf(error: unknown, before: number): number | null {
  const found = error instanceof Error && new RegExp(`${FILE}:(\\d+)`).exec(error.stack ?? "");
  return found ? Number(found[1]) - before : null;
}

/** How many lines an engine puts before the body of a function that is made from a text. */
function linesBefore(): number {
  try {
    new Function(`throw new Error()\n//# sourceURL=${FILE}`)();
  } catch (error) {
    return (lineOf(error, 0) ?? 1) - 1;
  }
  return 0;
}

const told = (error: unknown) => error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;

/** The first failure of the controllers of a run, after which none is called. */
export class Failure {
  first: ControllerMistake | null = null;

  /** `before` is the number of lines that an engine puts before the source. */
  constructor(private readonly before: number) {}

  keep(error: unknown) {
    this.first ??= new ControllerMistake(error instanceof ControllerMistake ? error.message : told(error), lineOf(error, this.before));
  }
}

/** What makes and calls the controllers of the connections of one run. */
export class OwnControllers implements Own {
  private objects: Controller[] = [];

  constructor(private readonly of: ControllerClass, private readonly every: string, private readonly failure: Failure) {}

  per_round() { return this.every === "round"; }

  make(segment_size: number, cwnd: number) {
    try {
      this.objects.push(new this.of(segment_size, cwnd));
    } catch (error) {
      this.failure.keep(error);
      this.objects.push(new Controller(segment_size, cwnd));
    }
    return this.objects.length - 1;
  }

  copy(controller: number) {
    const from = this.objects[controller];
    try {
      const parts = structuredClone({ ...from });
      this.objects.push(Object.assign(Object.create(Object.getPrototypeOf(from)), parts));
    } catch (error) {
      this.failure.keep(error);
      this.objects.push(from);
    }
    return this.objects.length - 1;
  }

  resize(c: number, segment_size: number, cwnd: number) {
    Object.assign(this.objects[c], { segment_size, cwnd });
  }

  on_ack(c: number, behind: number, now_s: number, delivered: number, may_grow: boolean, window_limited: boolean,
         outstanding: number, rtt: number, srtt_ms: number) {
    const rtt_ms = Number.isNaN(rtt) ? null : rtt;
    return this.call(c, behind, "on_ack", { now_s, delivered, may_grow, window_limited, outstanding, rtt_ms, srtt_ms });
  }
  on_loss(c: number, behind: number, now_s: number, in_flight: number, random: boolean) {
    return this.call(c, behind, "on_loss", { now_s, in_flight, random });
  }
  on_timeout(c: number, behind: number, now_s: number, restart: number, new_episode: boolean) {
    return this.call(c, behind, "on_timeout", { now_s, restart, new_episode });
  }
  on_undo(c: number, behind: number, before: number) { return this.call(c, behind, "on_undo", before); }

  pacing_mbps(c: number) { return this.failure.first ? NaN : this.objects[c].pacing_mbps ?? NaN; }

  private call(c: number, behind: number, method: "on_ack" | "on_loss" | "on_timeout" | "on_undo", argument: unknown) {
    if (this.failure.first) return NaN;
    const object = this.objects[c];
    try {
      if (!Number.isNaN(behind)) object.cwnd = behind;
      (object[method] as (argument: unknown) => void)(argument);
      checked(method, "pacing_mbps", object.pacing_mbps ?? 0);
      return checked(method, "cwnd", object.cwnd);
    } catch (error) {
      this.failure.keep(error);
      return NaN;
    }
  }
}

export function checked(method: string, name: string, value: unknown): number {
  if (typeof value !== "number") {
    const shown = value === undefined ? "undefined" : JSON.stringify(value) ?? String(value);
    throw new ControllerMistake(`after ${method}, ${name} is ${shown}; it must be a number`, null);
  }
  if (!Number.isFinite(value) || value < 0) {
    throw new ControllerMistake(`after ${method}, ${name} is ${value}; it must be finite and not negative`, null);
  }
  return value;
}

/** The controllers of one's own in a source: of connections, of calls, or both. */
export interface OwnSource { connections?: OwnControllers; calls?: OwnCallControllers; failure: Failure }

/** The name of the last class in a source that derives from this base. */
export const derived = (source: string, base: string) =>
  [...source.matchAll(new RegExp(`^[ \\t]*(?:export\\s+(?:default\\s+)?)?class\\s+(\\w+)\\s+extends\\s+${base}\\b`, "gm"))].at(-1)?.[1];

/** Reads the source of a module that has a class derived from Controller, from CallController, or one of each. */
export function controllerOf(source: string): OwnSource {
  const [connection, call] = ["Controller", "CallController"].map(base => derived(source, base));
  if (!connection && !call) {
    throw new ControllerMistake("no class derived from Controller or CallController: write class NAME extends Controller { ... }", null);
  }
  const body = source.replace(/^([ \t]*)export\s+(?:default\s+)?class\b/gm, "$1class");
  const before = linesBefore();
  let found: { connection?: ControllerClass; call?: CallControllerClass };
  try {
    const names = `{ connection: ${connection ?? "undefined"}, call: ${call ?? "undefined"} }`;
    found = new Function("Controller", "CallController", `"use strict";${body}\n;return ${names};\n//# sourceURL=${FILE}`)(Controller, CallController);
  } catch (error) {
    throw new ControllerMistake(told(error), lineOf(error, before));
  }
  const failure = new Failure(before);
  return {
    failure,
    connections: found.connection && ofConnections(found.connection, failure),
    calls: found.call && OwnCallControllers.of(found.call, failure),
  };
}

function ofConnections(of: ControllerClass, failure: Failure): OwnControllers {
  const every = (of as unknown as { every: unknown }).every;
  if (every !== "ack" && every !== "round") {
    throw new ControllerMistake(`${of.name}.every is ${JSON.stringify(every)}; it must be "ack" or "round"`, null);
  }
  return new OwnControllers(of, every, failure);
}

/** The first controller of connections in the editor: RFC 5681 with a quarter given at a loss. */
export const EXAMPLE = `// A congestion controller of your own, with the interface of airlane.Controller
// in Python. cwnd is the window in segments; pacing_mbps is a rate, or null.
class Gentle extends Controller {
  // static every = "round"; // on_ack once per round trip, not per acknowledgment

  on_ack(ack) {
    // ack: now_s, delivered, may_grow, window_limited, outstanding, rtt_ms, srtt_ms
    if (ack.may_grow) this.cwnd += ack.delivered / this.cwnd;
  }

  on_loss(loss) {
    // loss: now_s, in_flight, random
    this.cwnd = Math.max(2, this.cwnd * 0.75);
  }

  // on_timeout(timeout): now_s, restart, new_episode
  // on_undo(cwnd): the last loss or timeout was none
}
`;
