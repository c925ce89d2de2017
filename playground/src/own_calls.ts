// Rate controllers of calls in JavaScript, with the interface of `airlane.CallController` in Python (airlane/control.py).
import { checked, ControllerMistake, type Failure } from "./own.js";
import type { OwnCalls } from "../../out/playground/module/airlane_web.js";

export interface PacketReport { sequence: number; size: number; sent_s: number; arrived_s: number | null; marked: boolean }
export interface Feedback { now_s: number; packets: PacketReport[]; in_flight: number; rtt_ms: number | null }

/** What a rate controller of one's own derives from. */
export class CallController {
  static timer_ms: number | null = null;
  min_mbps: number;
  max_mbps: number;
  target_mbps: number;
  pacing_mbps: number | null = null;

  constructor(min_mbps: number, start_mbps: number, max_mbps: number) {
    this.min_mbps = min_mbps;
    this.max_mbps = max_mbps;
    this.target_mbps = start_mbps;
  }

  on_feedback(_: Feedback): void {
    throw new TypeError(`${this.constructor.name} must define on_feedback, which handles reports`);
  }
  on_timer(_: number): void {}
}

export type CallControllerClass = new (min_mbps: number, start_mbps: number, max_mbps: number) => CallController;

/** Bounds of the interval of a timer in ms, those of Python. */
const TIMER_MS = [1, 60_000];
/** Numbers of a packet. */
const NUMBERS = 5;

const orNull = (value: number) => Number.isNaN(value) ? null : value;

/** What makes and calls the rate controllers of the calls of one run. */
export class OwnCallControllers implements OwnCalls {
  private objects: CallController[] = [];

  private constructor(private readonly made: CallControllerClass, private readonly timer: number | null, private readonly failure: Failure) {}

  static of(made: CallControllerClass, failure: Failure): OwnCallControllers {
    const timer = (made as unknown as { timer_ms: unknown }).timer_ms;
    if (timer !== null && !(typeof timer === "number" && timer >= TIMER_MS[0] && timer <= TIMER_MS[1])) {
      throw new ControllerMistake(`${made.name}.timer_ms is ${JSON.stringify(timer)}; it must be null, or from 1 to 60000`, null);
    }
    return new OwnCallControllers(made, timer, failure);
  }

  timer_ms() { return this.timer ?? NaN; }

  make(min_mbps: number, start_mbps: number, max_mbps: number) {
    try {
      this.objects.push(new this.made(min_mbps, start_mbps, max_mbps));
    } catch (error) {
      this.failure.keep(error);
      this.objects.push(new CallController(min_mbps, start_mbps, max_mbps));
    }
    return this.objects.length - 1;
  }

  on_feedback(c: number, bounded: number, now_s: number, numbers: Float64Array, in_flight: number, rtt: number) {
    const packets: PacketReport[] = [];
    for (let i = 0; i < numbers.length; i += NUMBERS) {
      const [sequence, size, sent_s, arrived, mark] = numbers.subarray(i, i + NUMBERS);
      packets.push({ sequence, size, sent_s, arrived_s: orNull(arrived), marked: mark === 1 });
    }
    return this.call(c, bounded, "on_feedback", { now_s, packets, in_flight, rtt_ms: orNull(rtt) });
  }

  on_timer(c: number, bounded: number, now_s: number) { return this.call(c, bounded, "on_timer", now_s); }

  pacing_mbps(c: number) { return this.failure.first ? NaN : this.objects[c].pacing_mbps ?? NaN; }

  private call(c: number, bounded: number, method: "on_feedback" | "on_timer", argument: unknown) {
    if (this.failure.first) return NaN;
    const object = this.objects[c];
    try {
      if (!Number.isNaN(bounded)) object.target_mbps = bounded;
      (object[method] as (argument: unknown) => void)(argument);
      checked(method, "pacing_mbps", object.pacing_mbps ?? 0);
      return checked(method, "target_mbps", object.target_mbps);
    } catch (error) {
      this.failure.keep(error);
      return NaN;
    }
  }
}

/** The first rate controller in the editor: the loss-based law of draft-ietf-rmcat-gcc-02 section 6. */
export const CALL_EXAMPLE = `// A rate controller of your own for calls, with the interface of airlane.CallController
// in Python. target_mbps is the rate of all media, from min_mbps to max_mbps; pacing_mbps is a rate, or null.
class LossBased extends CallController {
  // static timer_ms = 50; // on_timer(now_s) at this interval

  on_feedback(feedback) {
    // feedback: now_s, packets, in_flight, rtt_ms; a packet: sequence, size, sent_s, arrived_s, marked
    const lost = feedback.packets.filter(packet => packet.arrived_s === null).length / (feedback.packets.length || 1);
    if (lost > 0.1) this.target_mbps *= 1 - 0.5 * lost;
    else if (lost < 0.02) this.target_mbps *= 1.01;
  }
}
`;
