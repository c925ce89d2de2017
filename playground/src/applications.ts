// Figures of applications per flow, from the tables `pages`, `views`, `pings`, `frames` and `xr_frames`, as airlane/runs/flow_results.py makes them.
import { groups, numbers, words, type Table, type Tables } from "./tables.js";

/** The table `flows` with the columns of its applications that have any. */
export function withApplications(tables: Tables, end: number): Table {
  let flows = tables.flows;
  for (const [name, summed] of [["pages", pages], ["views", views], ["pings", pings], ["frames", frames], ["xr_frames", xr]] as const) {
    if (tables[name]) flows = added(flows, tables[name], (rows, texts) => summed(rows, end, texts));
  }
  return flows;
}

type Rows = (column: string) => number[];
type Texts = (column: string) => string[];
type Values = Record<string, number>;

function added(flows: Table, table: Table, summed: (rows: Rows, texts: Texts) => Values): Table {
  const found = new Map<string, Values>();
  for (const [flow, at] of groups(table.flow)) found.set(flow, summed(
    column => { const all = numbers(table[column]); return at.map(i => all[i]); },
    column => { const all = words(table[column]); return at.map(i => all[i]); },
  ));
  const names = words(flows.flow), columns = Object.keys(found.values().next().value ?? {});
  const more = columns.map(column => [column, Float64Array.from(names, name => found.get(name)?.[column] ?? NaN)]);
  return { ...flows, ...Object.fromEntries(more) };
}

const there = (values: number[]) => values.filter(Number.isFinite);
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
const mean = (values: number[]) => there(values).length ? sum(there(values)) / there(values).length : NaN;

function pages(of: Rows, end: number): Values {
  const times = of("onload_s");
  return {
    pages_begun: times.length, pages_completed: there(times).length, page_s: restricted(times, of("start_s"), end), ttfb_s: mean(of("ttfb_s")),
  };
}

function views(of: Rows, end: number): Values {
  const finished = of("finished");
  return {
    views_begun: finished.length, views_finished: sum(finished), startup_s: restricted(of("startup_s"), of("start_s"), end),
    stalls: sum(of("stalls")), rebuffering_s: sum(of("stalled_s")), bitrate_kbps: mean(of("bitrate_kbps")),
  };
}

function pings(of: Rows): Values {
  const measured = of("measured"), within = (values: number[]) => values.filter((_, i) => measured[i] > 0);
  const rtt = within(of("rtt_ms")), answered = there(rtt).sort((a, b) => a - b);
  return {
    pings_sent: rtt.length, pings_answered: answered.length, pings_lost: sum(within(of("lost"))),
    rtt_p50_ms: percentile(answered, 50), rtt_p95_ms: percentile(answered, 95), rtt_max_ms: percentile(answered, 100),
  };
}

/** The nearest-rank percentile of values in order, as those of delays are. */
const percentile = (sorted: number[], percent: number) =>
  sorted.length ? sorted[Math.max(0, Math.ceil(percent / 100 * sorted.length) - 1)] : NaN;

function frames(of: Rows, _end: number, texts: Texts): Values {
  const measured = of("measured"), within = <T>(values: T[]) => values.filter((_, i) => measured[i] > 0);
  const fates = within(texts("fate")), t = within(of("t_s")), n = t.length;
  const where = (column: string, wanted: (fate: string) => boolean) => within(of(column)).filter((_, i) => wanted(fates[i]));
  const shown = (fate: string) => fate === "shown", ended = (fate: string) => fate !== "open";
  const delays = where("delay_ms", shown).sort((a, b) => a - b), freezes = there(within(of("freeze_ms")));
  const span = n > 1 ? (t[n - 1] - t[0]) * n / (n - 1) : NaN, video = sum(where("size_bytes", shown)) * 8e-3 / span;
  const packets = sum(where("packets", ended)), count = (fate: string) => fates.filter(one => one === fate).length;
  return {
    frames_sent: n, frames_shown: count("shown"), frames_skipped: sum(within(of("skipped"))), frames_late: count("late"), frames_lost: count("lost"),
    frame_p50_ms: percentile(delays, 50), frame_p95_ms: percentile(delays, 95), frame_p99_ms: percentile(delays, 99), buffer_ms: mean(within(of("buffer_ms"))),
    freezes: freezes.length, freeze_s: sum(freezes) * 1e-3, video_kbps: video, target_kbps: mean(within(of("target_kbps"))),
    video_percent: 100 * video / mean(within(of("encoder_kbps"))),
    media_loss_percent: packets ? 100 * (1 - sum(where("received", ended)) / packets) : NaN, vmaf: mean(where("vmaf", shown)),
  };
}

function xr(of: Rows, _end: number, texts: Texts): Values {
  const measured = of("measured"), within = <T>(values: T[]) => values.filter((_, i) => measured[i] > 0);
  const fates = within(texts("fate")), streams = within(texts("stream"));
  const fatesOf = (stream: string) => fates.filter((_, i) => streams[i] === stream);
  const inTime = (stream: string) => 100 * mean(fatesOf(stream).map(fate => Number(fate === "in-time")));
  const delays = there(within(of("delay_ms")).filter((_, i) => streams[i] === "video")).sort((a, b) => a - b);
  const shares = ["video", "pose", "uplink-video"].map(inTime), least = Math.min(...there(shares));
  const satisfied = (percent: number) => there(shares).length ? 100 * Number(least > percent) : NaN;
  const count = (fate: string) => fatesOf("video").filter(one => one === fate).length;
  return {
    xr_frames: fatesOf("video").length, xr_in_time: count("in-time"), xr_late: count("late"), xr_lost: count("lost"), xr_in_time_percent: shares[0],
    xr_p50_ms: percentile(delays, 50), xr_p95_ms: percentile(delays, 95), xr_p99_ms: percentile(delays, 99),
    pose_in_time_percent: shares[1], uplink_video_in_time_percent: shares[2], satisfied_percent: satisfied(99), satisfied_95_percent: satisfied(95),
  };
}

/** Kaplan-Meier mean of durations (NaN: not ended) up to the time for which the first was observed. */
function restricted(durations: number[], starts: number[], end: number): number {
  const watched = starts.map(start => end - start), horizon = Math.max(...watched);
  if (!(horizon > 0)) return NaN;
  if (durations.every(time => !Number.isNaN(time))) return mean(durations.map(time => Math.min(time, horizon)));
  const [at, ended] = survival(durations, watched);
  const times = [0, ...at.map(time => Math.min(time, horizon)), horizon], left = [1, ...ended.map(share => 1 - share)];
  return sum(left.map((share, i) => share * (times[i + 1] - times[i])));
}

/** The times at which something ended, in order, and the share that has ended by then (Kaplan and Meier 1958). */
export function survival(durations: number[], watched: number[]): [number[], number[]] {
  const seen = durations.map((time, i) => Number.isNaN(time) ? watched[i] : time);
  const at = [...new Set(there(durations))].sort((a, b) => a - b);
  let left = 1;
  return [at, at.map(time => {
    left *= 1 - durations.filter(one => one === time).length / seen.filter(one => one >= time).length;
    return 1 - left;
  })];
}
