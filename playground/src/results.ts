// What a run came to: tiles, series, distributions and tables, as on a run's page (airlane/pages/run.py).
import type { ChartData, Drawn, Item } from "./chart.js";
import { button, counted, el, make, save, table } from "./dom.js";
import { BY_NAME, estimateOf, full, has, valueOf } from "./figures.js";
import { distributions, ofRun } from "./series.js";
import { general, written } from "./stats.js";
import { csv, numbers, rows, words, type Outcome, type Table } from "./tables.js";

const TILES = ["goodput_mbps", "owd_p95_ms", "rtt_p95_ms", "page_s", "ttfb_s", "startup_s", "rebuffering_s", "bitrate_kbps", "retransmissions", "timeouts", "jain"];
const TILES_MAX = 8;
const ROWS_MAX = 200;
const PLAIN = new Set(["flow", "to", "ue", "kind", "congestion", "cell"]);

/** A chart on the page, made when there is first something to draw. */
export class Place {
  drawn: Drawn | null = null;
  constructor(private readonly figure: HTMLElement) {}

  show(data: ChartData | null) {
    this.figure.hidden = data === null;
    if (!data) return;
    if (this.drawn) this.drawn.update(data); else this.drawn = window.airlaneDraw(this.figure, data);
  }

  /** Marks a time in all panels. */
  mark(at: number | null) {
    if (!this.drawn) return;
    const line: Item[] = at === null ? [] : [{ t: "v", k: -1, at, c: "#333333", w: 1.5 }];
    this.drawn.data.panels.forEach((panel, i) => {
      panel.items = [...panel.items.filter(item => !(item.t === "v" && item.k === -1)), ...line];
      this.drawn!.panels[i].plot?.redraw(false);
    });
  }
}

export class Results {
  readonly time = new Place(el("series"));
  readonly shares = new Place(el("shares"));

  show(outcomes: Outcome[], name: string) {
    const [first] = outcomes;
    el("tiles").replaceChildren(...tiles(outcomes));
    this.time.show(ofRun(first));
    this.shares.show(distributions([{ name, outcomes }]));
    el("time-title").textContent = outcomes.length > 1 ? `Over time, seed ${first.seed}` : "Over time";
    el("flows-table").replaceChildren(...tableOf("Flows", outcomes, "flows", name));
    el("cells-table").replaceChildren(...(rows(first.tables.cells) ? tableOf("Cells", outcomes, "cells", name) : []));
    el("cells-section").hidden = !rows(first.tables.cells);
    el("told").textContent = told(outcomes);
  }
}

/** How many runs, how long, with which seeds, and how fast. */
function told(outcomes: Outcome[]): string {
  const lengths = [...new Set(outcomes.map(one => one.meta.sim_s))].join(" or ");
  const seeds = outcomes.map(one => one.seed);
  const which = seeds.length === 1 ? `seed ${seeds[0]}` : `seeds ${Math.min(...seeds)} to ${Math.max(...seeds)}`;
  const wall = outcomes.reduce((sum, one) => sum + one.wall_s, 0) / outcomes.length;
  return `${counted(outcomes.length, "run")} of ${lengths} simulated s, ${which}; ${general(wall, 2)} s of computing per run`;
}

function tiles(outcomes: Outcome[]): HTMLElement[] {
  const [{ tables: { flows, cells } }] = outcomes;
  const several = rows(flows) > 1;
  const found: [string, string, string][] = [];
  for (const name of TILES) {
    const figure = BY_NAME.get(name)!;
    if (!has(figure, flows)) continue;
    const e = estimateOf(figure, outcomes.map(one => valueOf(figure, one.tables.flows)));
    if (e.n) found.push([full(figure), written(e), name === "goodput_mbps" && several ? "sum of the flows" : ""]);
  }
  const use = outcomes.flatMap(one => [...numbers(one.tables.cells?.prb_use_downlink)]);
  if (use.length) {
    const share = use.reduce((a, b) => a + b, 0) / use.length;
    found.push(["PRB use, downlink", `${(100 * share).toFixed(1)}%`, rows(cells) > 1 ? `mean of ${rows(cells)} cells` : ""]);
  }
  const handovers = outcomes.reduce((sum, one) => sum + (one.meta.handovers?.successful ?? 0), 0);
  if (handovers) found.push(["handovers", handovers.toLocaleString("en"), ""]);
  const shown = found.length <= TILES_MAX ? found : [...found.slice(0, TILES_MAX - 1), found.at(-1)!];
  return shown.map(([name, value, more]) =>
    make("div", { "data-figure": name }, make("dt", {}, name), make("dd", {}, value), ...more ? [make("dd", { class: "more" }, more)] : []));
}

/** A value as the run's page writes it. */
function cell(value: number): string {
  if (Number.isNaN(value)) return "–";
  return Math.abs(value) < 1e4 ? general(value, 4) : Math.round(value).toLocaleString("en");
}

function tableOf(caption: string, outcomes: Outcome[], name: string, scenario: string): HTMLElement[] {
  const first: Table = outcomes[0].tables[name];
  const columns = Object.keys(first), several = outcomes.length > 1;
  const body = outcomes.flatMap(({ seed, tables }) => {
    const shown = columns.map(column => {
      const values = tables[name][column];
      if (values instanceof Float64Array) return (i: number) => cell(values[i]);
      if (values instanceof Uint8Array) return (i: number) => values[i] ? "True" : "False";
      const of = words(values);
      return (i: number) => of[i];
    });
    return Array.from({ length: rows(tables[name]) }, (_, i) => [...several ? [String(seed)] : [], ...shown.map(at => at(i))]);
  });
  const all = several ? ["seed", ...columns] : columns;
  const left = body.length - ROWS_MAX;
  const download = button("CSV", () => save(`${scenario.replace(/\.toml$/, "")}-${name}.csv`,
    csv(first, several ? outcomes.map(one => ({ seed: one.seed, table: one.tables[name] })) : undefined), "text/csv"), { "aria-label": `${caption} as CSV` });
  return [
    table(caption, all, body.slice(0, ROWS_MAX), PLAIN),
    make("p", { class: "links" }, download, ...left > 0 ? [` ${left} more rows are in the CSV.`] : []),
  ];
}
