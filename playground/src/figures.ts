// The figures by which runs are told and compared: those of airlane/runs/figures.py, in its words.
// tests/test_playground_figures.py compares both lists, and the values that they give for the same runs.
import { estimate, jain, versus, type Estimate, type Scale, type Versus } from "./stats.js";
import { numbers, rows, words, type Table } from "./tables.js";

export type Better = "more" | "less" | "neither";
export type Columns = Record<string, ArrayLike<number>>;

export interface Figure {
  name: string;
  title: string;
  unit: string;
  better: Better;
  scale: Scale;
  least: number;
  leastAbsolute: number;
  columns: string[];
  ofFlows: (columns: Columns) => number;
}

const present = (values: ArrayLike<number>) => Array.from(values).filter(v => !Number.isNaN(v));
const total = (values: ArrayLike<number>) => present(values).reduce((a, b) => a + b, 0);
const sumOf = (column: string) => (columns: Columns) => total(columns[column]);
const meanOf = (column: string) => (columns: Columns) => {
  const there = present(columns[column]);
  return there.length ? total(there) / there.length : NaN;
};
const weighted = (column: string, weight: string) => (columns: Columns) => {
  let above = 0, below = 0;
  for (let i = 0; i < columns[column].length; i++) {
    const value = columns[column][i], by = columns[weight][i];
    if (Number.isNaN(value) || !(by > 0)) continue;
    above += value * by;
    below += by;
  }
  return below > 0 ? above / below : NaN;
};
const lost = (columns: Columns) => {
  const sent = total(columns.packets_sent);
  return sent > 0 ? 100 * total(columns.packets_lost) / sent : NaN;
};

type Rest = Partial<Figure>;
const figure = (name: string, title: string, unit: string, better: Better, rest: Rest): Figure => ({
  name, title, unit, better, scale: "plain", least: 0.05, leastAbsolute: 0, columns: [name], ofFlows: meanOf(name), ...rest,
});
const counted = (name: string, title: string, better: Better = "less") => figure(name, title, "", better, { ofFlows: sumOf(name) });
const delay = (name: string, title: string, scale: Scale) => figure(name, title, "ms", "less", { scale });
const experienced = (name: string, title: string, weight: string, unit = "s", better: Better = "less") =>
  figure(name, title, unit, better, { columns: [name, weight], ofFlows: weighted(name, weight) });

export const FIGURES: Figure[] = [
  figure("goodput_mbps", "goodput", "Mbit/s", "more", { least: 0.02, ofFlows: sumOf("goodput_mbps") }),
  delay("owd_ms", "one-way delay", "plain"),
  delay("owd_p50_ms", "median of one-way delay", "quantile"),
  delay("owd_p95_ms", "95th percentile of one-way delay", "quantile"),
  delay("owd_p99_ms", "99th percentile of one-way delay", "quantile"),
  delay("byte_delay_ms", "delay of bytes", "plain"),
  delay("byte_delay_p95_ms", "95th percentile of the delay of bytes", "quantile"),
  delay("rtt_ms", "round-trip time", "plain"),
  counted("retransmissions", "retransmissions"),
  counted("timeouts", "expired retransmission timers"),
  counted("packets_lost", "packets lost"),
  figure("lost_percent", "packets lost of those sent", "%", "less", {
    scale: "rare", leastAbsolute: 0.1, columns: ["packets_lost", "packets_sent"], ofFlows: lost,
  }),
  figure("mcs_mean", "MCS of the first transmissions", "", "neither", {}),
  counted("harq_retx", "HARQ retransmissions", "neither"),
  experienced("page_s", "page load time", "pages_begun"),
  experienced("ttfb_s", "time to first byte", "pages_completed"),
  counted("pages_begun", "pages begun", "neither"),
  counted("pages_completed", "pages completed", "more"),
  experienced("startup_s", "start-up delay", "views_begun"),
  counted("stalls", "stalls of the picture"),
  figure("rebuffering_s", "time stalled per flow, start-up left out", "s", "less", {}),
  experienced("bitrate_kbps", "bitrate of the media", "views_begun", "kbit/s", "more"),
  counted("views_begun", "views begun", "neither"),
  counted("views_finished", "views finished", "more"),
  counted("pings_sent", "pings sent", "neither"),
  counted("pings_answered", "pings answered", "more"),
  counted("pings_lost", "pings lost"),
  delay("rtt_p50_ms", "median of round-trip time", "quantile"),
  delay("rtt_p95_ms", "95th percentile of round-trip time", "quantile"),
  delay("rtt_max_ms", "maximum of round-trip time", "quantile"),
  counted("frames_sent", "frames sent", "neither"),
  counted("frames_shown", "frames shown", "more"),
  counted("frames_skipped", "frames that the encoder left out"),
  counted("frames_late", "frames that arrived too late to be shown"),
  counted("frames_lost", "frames that could not be decoded"),
  delay("frame_p50_ms", "median of the delay of frames", "plain"),
  delay("frame_p95_ms", "95th percentile of the delay of frames", "quantile"),
  delay("frame_p99_ms", "99th percentile of the delay of frames", "quantile"),
  delay("buffer_ms", "time of frames in the jitter buffer", "plain"),
  counted("freezes", "freezes of the picture"),
  figure("freeze_s", "time of freezes per call", "s", "less", {}),
  figure("video_kbps", "rate of the shown video", "kbit/s", "more", {}),
  figure("target_kbps", "target of the rate controller", "kbit/s", "neither", {}),
  figure("video_percent", "rate of the shown video over the encoder's", "%", "more", {}),
  figure("media_loss_percent", "packets of video lost after repair", "%", "less", {}),
  figure("vmaf", "quality of the shown video (VMAF)", "points", "more", {}),
  counted("xr_frames", "frames of video to the UE", "neither"),
  counted("xr_in_time", "frames within their budget", "more"),
  counted("xr_late", "frames that arrived after their budget"),
  counted("xr_lost", "frames of which a packet was lost"),
  figure("xr_in_time_percent", "share of frames within their budget", "%", "more", {}),
  delay("xr_p50_ms", "median of the delay of frames", "plain"),
  delay("xr_p95_ms", "95th percentile of the delay of frames", "quantile"),
  delay("xr_p99_ms", "99th percentile of the delay of frames", "quantile"),
  figure("pose_in_time_percent", "poses within their budget", "%", "more", {}),
  figure("uplink_video_in_time_percent", "frames from the UE within their budget", "%", "more", {}),
  figure("satisfied_percent", "users with more than 99 % of each stream in time", "%", "more", {}),
  figure("satisfied_95_percent", "users with more than 95 % of each stream in time", "%", "more", {}),
  figure("jain", "fairness (Jain's index of goodput after the warm-up)", "", "more", {
    scale: "bounded", least: 0, leastAbsolute: 0.01, columns: ["goodput_mbps"],
    ofFlows: columns => jain(Array.from(columns.goodput_mbps)),
  }),
];
export const BY_NAME = new Map(FIGURES.map(one => [one.name, one]));

export const full = (one: Figure) => one.unit ? `${one.title}, ${one.unit}` : one.title;

/** Rows of flows with the same application and the same direction, at least two of each: they compete. Without these
 * columns, all flows. */
function competing(flows: Table): number[][] {
  const apps = words(flows.app), directions = words(flows.direction), found = new Map<string, number[]>();
  for (let row = 0; row < rows(flows); row++) {
    const kind = `${apps[row]}, ${directions[row]}`;
    found.set(kind, [...(found.get(kind) ?? []), row]);
  }
  return [...found.values()].filter(of => of.length > 1);
}

/** The table `flows` of one run, which must have the figure's columns. */
export function valueOf(one: Figure, flows: Table): number {
  const of = one.name === "jain" ? competing(flows)[0] : undefined;
  const column = (name: string) => of ? of.map(row => numbers(flows[name])[row]) : numbers(flows[name]);
  return one.ofFlows(Object.fromEntries(one.columns.map(name => [name, column(name)])));
}
/** Whether a figure can be made of the flows; fairness takes one kind of competing flows. */
export const has = (one: Figure, flows: Table) =>
  one.columns.every(name => name in flows) && (one.name !== "jain" || competing(flows).length === 1);
export const estimateOf = (one: Figure, values: number[]): Estimate => estimate(values, one.scale);
export const versusOf = (one: Figure, ours: number[], theirs: number[]): Versus =>
  versus(ours, theirs, one.scale, one.least, one.leastAbsolute);

/** Better, worse, more, less, same or open. */
export function verdict(found: Versus, one: Figure): string {
  if (found.outcome === "same" || found.outcome === "open" || one.better === "neither") return found.outcome;
  return (found.outcome === "more") === (one.better === "more") ? "better" : "worse";
}
