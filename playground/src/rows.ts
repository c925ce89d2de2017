// The table of `airlane compare` (airlane/study/compare.py, compare_view.py): figures, paired differences, verdicts.
import { BY_NAME, estimateOf, full, has, valueOf, verdict, versusOf, type Figure } from "./figures.js";
import { general, written, type Versus } from "./stats.js";
import type { Outcome } from "./tables.js";

/** One of the sides of a comparison: a scenario and its runs. */
export interface Side { name: string; resolved: unknown; outcomes: Outcome[] }

/** Figures that are compared, where the flows have them: `FIGURES` of airlane/study/compare.py. */
const COMPARED = [
  "goodput_mbps", "owd_ms", "owd_p95_ms", "rtt_ms", "retransmissions", "timeouts", "lost_percent", "jain",
  "page_s", "ttfb_s", "startup_s", "stalls", "rebuffering_s", "bitrate_kbps", "pings_lost", "rtt_p50_ms", "rtt_p95_ms", "rtt_max_ms",
  "frames_skipped", "frames_late", "frames_lost", "frame_p50_ms", "frame_p95_ms", "frame_p99_ms", "buffer_ms", "freezes", "freeze_s", "video_kbps",
  "target_kbps", "video_percent", "media_loss_percent", "vmaf",
  "xr_late", "xr_lost", "xr_in_time_percent", "xr_p50_ms", "xr_p95_ms", "xr_p99_ms", "pose_in_time_percent", "uplink_video_in_time_percent",
  "satisfied_percent", "satisfied_95_percent",
];

const values = (side: Side, figure: Figure) =>
  new Map(side.outcomes.map(one => [one.seed, has(figure, one.tables.flows) ? valueOf(figure, one.tables.flows) : NaN]));

export interface Row { figure: string; unit: string; better: string; run: string; value: string; difference: string; ratio: string; verdict: string }

/** The rows of the table: value of each side, and of each other than the first its difference, ratio and verdict. */
export function rowsOf(sides: Side[]): Row[] {
  const figures = COMPARED.map(name => BY_NAME.get(name)!).filter(one => sides.some(side => side.outcomes.every(run => has(one, run.tables.flows))));
  return figures.flatMap(figure => sides.map((side, i): Row => {
    const own = values(side, figure);
    const row = { figure: full(figure), unit: figure.unit, better: figure.better, run: side.name, value: written(estimateOf(figure, [...own.values()])) };
    if (i === 0) return { ...row, difference: "", ratio: "", verdict: "" };
    const base = values(sides[0], figure), seeds = [...base.keys()].filter(seed => own.has(seed));
    const found = versusOf(figure, seeds.map(seed => own.get(seed)!), seeds.map(seed => base.get(seed)!));
    return { ...row, difference: difference(found), ratio: Number.isNaN(found.ratio) ? "–" : general(found.ratio, 3), verdict: found.difference.n ? verdict(found, figure) : "–" };
  }));
}

function difference({ difference: e }: Versus): string {
  return e.n === 0 ? "–" : (e.mean > 0 ? "+" : "") + written(e);
}

/** What limits what can be said. */
export function notes(sides: Side[]): string[] {
  const [base, ...others] = sides;
  const seeds = new Set(base.outcomes.map(one => one.seed));
  const found: string[] = [];
  for (const other of others) {
    const shared = other.outcomes.filter(one => seeds.has(one.seed)).length;
    if (shared === 1) found.push("From one pair of runs a difference has no interval: how much of it is chance cannot be said. Make several runs of each.");
    if (shared === 0) found.push(`${base.name} and ${other.name} share no seed, so that no runs pair.`);
  }
  return [...new Set(found)];
}
