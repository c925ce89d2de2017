// The page: one scenario, seen as map, controls and text; its runs; and what is compared with them.
import init, { Files, Scenario, schema as schemaText } from "../../out/playground/module/airlane_web.js";
import { Arena } from "./arena.js";
import { bundled, embedded, files } from "./bundled.js";
import { Compare } from "./compare.js";
import { Controls, withCongestion, withOwnRate } from "./controls.js";
import { button, el, make, say } from "./dom.js";
import { download } from "./download.js";
import { controllerEditor, scenarioEditor, type Editor } from "./editor.js";
import { colourOf, MapView, type Spot } from "./map.js";
import { derived, EXAMPLE } from "./own.js";
import { CALL_EXAMPLE } from "./own_calls.js";
import { Cancelled, Failed, Pool, type Batch } from "./pool.js";
import type { Job, Mistake } from "./protocol.js";
import { metres, seconds, usesOwn, type Resolved } from "./resolved.js";
import { Results } from "./results.js";
import type { Side } from "./rows.js";
import type { Schema } from "./schema.js";
import { coloured, listed, Track } from "./scrub.js";
import * as share from "./share.js";
import type { Outcome } from "./tables.js";
import { Tour, type Step } from "./tour.js";
import { remove, set } from "./toml.js";

const FIRST = "lte-download";
/** Between the last key in the editor and the run of what was written. */
const PAUSE_MS = 300;
/** Transport blocks of which the MCS of each UE is taken; a scenario with more shows none. */
const BLOCKS_MAX = 400_000;

class Page {
  private name = `${FIRST}.toml`;
  private text = "";
  private own: string | null = null;
  private seeds = 1;
  private resolved: Resolved | null = null;
  private json = "";
  private readonly files = new Map(files);
  private batch: Batch | null = null;
  private pause = 0;
  private again = false;
  private dragging = false;
  /** Hears of the end of the next run, whichever way it ends. */
  private settled: (() => void) | null = null;
  private outcomes: Outcome[] = [];
  private ran: Side | null = null;
  private base: (Side & { text: string; own: string | null }) | null = null;
  private track: Track | null = null;

  private readonly schema = JSON.parse(schemaText()) as Schema;
  private readonly results = new Results();
  private readonly compare = new Compare();
  private readonly arena: Arena;
  private readonly controls: Controls;
  private readonly map: MapView;
  private readonly editor: Editor;
  private controller: Editor | null = null;

  constructor(private readonly pool: Pool) {
    this.arena = new Arena(pool, this.schema);
    this.controls = new Controls(el("controls"), this.schema, edit => this.edit(edit));
    this.map = new MapView(el("map"), (spot, x, y, done) => this.moved(spot, x, y, done), spot => this.chosen(spot));
    this.editor = scenarioEditor(el("toml"), this.schema, "", text => this.change(text, PAUSE_MS));
    for (const [name, { about }] of bundled) el("scenario").append(make("option", { value: name, title: about }, `${name}: ${short(about)}`));
    if (narrow()) el<HTMLDetailsElement>("text").open = false; // the results come sooner
    this.listen();
    new Tour(this.steps());
  }

  /** The steps of the tour, from one phone at a cell to five runs of a comparison. */
  private steps(): Step[] {
    const runs = (count: number) => {
      el<HTMLInputElement>("seeds").value = String(count);
      el("seeds").dispatchEvent(new Event("change"));
    };
    return [
      { at: "choice", text: "A scenario is a text: cells, phones, flows. Choose a bundled one here, or begin with one phone that downloads over a 20 MHz cell.", act: () => { runs(1); this.load(FIRST); } },
      { at: "now", text: "The page has run it. The tiles show what the phone got: its goodput, and how long packets took. Most of that time they wait in the queue of the cell." },
      { at: "map-section", text: "Drag the phone away from the cell, or move it by the arrow keys. The goodput falls, because the cell must send more robustly.", act: () => this.edit(text => set(text, ["ue", 0, "position"], ["700 m", "0 m"])) },
      { at: "over-time", text: "Look at the queue of the cell: the congestion window grows until the buffer is full and packets are lost. While the queue is longer, so is the delay." },
      { at: "now", text: "Pin this run, and let CoDel manage the queue. What changes is compared with the pinned run: the delay falls.", act: () => { this.pin(); this.edit(text => set(text, ["cell", 0, "rlc", "aqm"], "codel")); } },
      { at: "choice", text: "One run may be chance. Five runs, each with a seed of its own, give 95 % intervals of the differences, and a verdict for each figure.", act: () => runs(5) },
      { at: "arena", text: "Run all congestion controls on this scenario. The table compares them over the same seeds.", act: () => el("arena-run").click() },
    ];
  }

  // ---------------------------------------------------------------- one truth: the text

  /** Begins with what the address says, else with the first scenario. */
  async open() {
    const fragment = location.hash.slice(1);
    let state: share.State | null = null;
    try {
      state = await share.read(fragment);
    } catch {
      this.trouble({ message: "The link does not hold a scenario that can be read: it may have been cut short. The page shows the first one.", where: "program" });
    }
    if (!state) return this.load(share.scenarioOf(fragment) ?? FIRST);
    this.seeds = state.seeds;
    el<HTMLInputElement>("seeds").value = String(state.seeds);
    if (state.base) {
      this.setOwn(state.base.own);
      this.begin(state.base.toml, state.base.name);
      await new Promise<void>(resolve => { this.settled = resolve; });
      this.pin();
    }
    this.setOwn(state.own);
    this.begin(state.toml, state.name);
  }

  load(name: string) {
    const found = bundled.get(name);
    if (!found) {
      this.trouble({ message: `There is no bundled scenario ${name}.`, where: "program" });
      return this.begin(bundled.get(FIRST)!.toml, `${FIRST}.toml`);
    }
    return this.begin(found.toml, `${name}.toml`);
  }

  private begin(text: string, name: string) {
    this.name = name;
    const select = el<HTMLSelectElement>("scenario"), bare = name.replace(/\.toml$/, "");
    select.value = bundled.has(bare) && bundled.get(bare)!.toml === text ? bare : "";
    this.editor.replace(text);
    this.change(text, 0);
  }

  /** Changes the text as a control or the map wants it. */
  private edit(by: (text: string) => string) {
    let next: string;
    try {
      next = by(this.text);
    } catch (error) {
      return this.trouble({ message: `The text is not TOML, so that it cannot be changed from here: ${(error as Error).message}`, where: "program" });
    }
    this.editor.replace(next);
    this.change(next, 0);
  }

  private change(text: string, wait: number) {
    this.text = text;
    if (el<HTMLSelectElement>("scenario").value && bundled.get(el<HTMLSelectElement>("scenario").value)?.toml !== text) el<HTMLSelectElement>("scenario").value = "";
    if (!this.check()) return;
    clearTimeout(this.pause);
    this.pause = window.setTimeout(() => this.run(), wait);
  }

  /** Reads the text; map and controls follow it. False if it has a mistake. */
  private check(): boolean {
    try {
      const given = new Files();
      for (const [name, bytes] of this.files) given.add(name, bytes);
      const scenario = new Scenario(this.text, this.name, "{}", given);
      this.json = scenario.json();
      scenario.free();
      given.free();
    } catch (error) {
      clearTimeout(this.pause);
      this.batch?.cancel();
      const { message, file, line, key, value, what, help } = error as Error & Mistake;
      this.trouble({ message, file, line, key, value, what, help, where: "scenario" });
      return false;
    }
    this.resolved = JSON.parse(this.json) as Resolved;
    this.trouble(null);
    this.controls.show(this.resolved, this.text);
    this.draw();
    return true;
  }

  /** Shows a mistake, marked at its line; without one, takes the marks away. */
  private trouble(mistake: Mistake | null) {
    const box = el("trouble");
    box.hidden = !mistake;
    document.body.classList.toggle("stale", Boolean(mistake));
    this.controller?.mark([]);
    this.editor.mark([]);
    if (!mistake) return box.replaceChildren();
    this.settle();
    const parts: (Node | string)[] = [make("pre", {}, mistake.message)];
    if (mistake.where === "scenario") {
      const line = mistake.line ?? 1;
      // A file that the scenario names has lines of its own.
      if (!mistake.file || mistake.file === this.name) {
        this.editor.mark([{ line, message: [mistake.what, mistake.help].filter(Boolean).join("\n") }]);
        if (mistake.line) parts.push(button(`Go to line ${line}`, () => { el<HTMLDetailsElement>("text").open = true; this.editor.show(line); }));
      }
    } else if (mistake.where === "controller") {
      const line = mistake.line ?? this.controller?.firstBadLine() ?? null;
      el<HTMLDetailsElement>("own").open = true;
      if (line) {
        this.controller?.mark([{ line, message: mistake.message }]);
        parts[0] = make("pre", {}, `controller.js, line ${line}: ${mistake.message}`);
        parts.push(button(`Go to line ${line}`, () => this.controller?.show(line)));
      }
    }
    box.replaceChildren(...parts);
  }

  // ---------------------------------------------------------------- runs

  private job(seed: number, overrides: Record<string, unknown> = {}, own = this.own !== null, capture = false): Job {
    return { text: this.text, name: this.name, overrides, files: [...this.files], seed, own: own ? this.own ?? this.example() : null, capture };
  }

  /** What is recorded for the page beside what the scenario asks for: where UEs are, and their MCS. */
  private extra(): Record<string, unknown> {
    const { resolved } = this;
    if (!resolved?.cell.length) return {};
    const ues = resolved.ue.reduce((n, one) => n + one.count, 0);
    const blocks = seconds(resolved.run.duration) * 2000 * Math.min(ues, 25 * resolved.cell.length);
    return { "run.ue_series": true, ...blocks <= BLOCKS_MAX ? { "output.ran_log": true } : {} };
  }

  private async run() {
    if (this.dragging && this.batch) { this.again = true; return; }
    this.batch?.cancel();
    const { resolved, text, own, name } = this;
    if (!resolved) return;
    const first = resolved.run.seed, extra = this.extra();
    const json = this.json;
    const wantsOwn = resolved.flow.some(usesOwn);
    if (wantsOwn && this.own === null) this.setOwn(this.example());
    const seeds = Array.from({ length: this.seeds }, (_, i) => first + i);
    // The first run alone has the series; the others are for the interval.
    const jobs = seeds.map((seed, i) => this.job(seed, i === 0 ? extra : {}, wantsOwn));
    const batch = this.batch = this.pool.run(jobs, share => this.progress(share));
    this.progress(0);
    try {
      const outcomes = await batch.outcomes;
      if (this.batch !== batch) return;
      this.batch = null;
      this.show(outcomes, { name: labelled(name, own, wantsOwn), resolved: JSON.parse(json), outcomes }, text);
    } catch (error) {
      if (this.batch !== batch) return;
      this.batch = null;
      if (error instanceof Failed) this.trouble(error.mistake);
      else if (!(error instanceof Cancelled)) throw error;
      else say("cancelled");
    } finally {
      if (!this.batch) {
        this.progress(null);
        this.settle();
      }
      if (this.again && !this.batch) { this.again = false; void this.run(); }
    }
  }

  private settle() {
    this.settled?.();
    this.settled = null;
  }

  private progress(share: number | null) {
    const bar = el<HTMLProgressElement>("progress");
    bar.hidden = share === null;
    el("cancel").hidden = share === null;
    if (share !== null) bar.value = share;
  }

  private show(outcomes: Outcome[], side: Side, text: string) {
    document.body.classList.remove("stale");
    this.outcomes = outcomes;
    this.ran = side;
    this.results.show(outcomes, this.name);
    this.track = new Track(outcomes[0]);
    const time = el<HTMLInputElement>("time");
    time.max = String(this.track.end);
    el("scrub").hidden = this.track.empty;
    this.draw(); // UEs that are placed at random are known now
    this.look(Math.min(Number(time.value), this.track.end));
    this.contrast();
    document.documentElement.dataset.runs = String(Number(document.documentElement.dataset.runs ?? 0) + 1);
    if (text === this.text) say(`new results: ${el("tiles").firstElementChild?.textContent ?? ""}`);
  }

  /** Shows the time of the run. */
  private look(time: number) {
    el("time-now").textContent = `${time.toFixed(1)} s`;
    this.results.time.mark(time > 0 ? time : null);
    if (!this.track || this.track.empty) return;
    const here = this.track.at(time);
    listed(here);
    if (this.resolved) this.map.place(coloured(here, this.resolved.cell.map(one => one.name)));
  }

  // ---------------------------------------------------------------- compare

  private pin() {
    if (!this.ran) return;
    this.base = { ...this.ran, name: "pinned", text: this.text, own: this.own };
    el("unpin").hidden = false;
    el("pin").textContent = "Pin this one instead";
    this.contrast();
    say("pinned: change something, and the differences are shown");
  }

  private contrast() {
    const ours = this.ran && { ...this.ran, name: "now" };
    this.compare.show(this.base, ours);
    el("compare-hint").hidden = Boolean(this.base);
  }

  // ---------------------------------------------------------------- map

  private draw() {
    const { resolved } = this;
    const cellular = Boolean(resolved?.cell.length);
    el("map-section").hidden = !cellular;
    if (!resolved || !cellular) return;
    const sections = [...this.text.matchAll(/^\s*\[\[\s*(cell|ue)\s*\]\]/gm)].map(one => one[1]);
    const own = sections.filter(one => one === "cell").length === resolved.cell.length;
    const cells = resolved.cell.map((cell, index): Spot => ({
      kind: "cell", index, name: cell.name, x: metres(cell.position[0]), y: metres(cell.position[1]), movable: own, colour: colourOf(index),
      note: own ? "" : "placed by the layout",
    }));
    const here = this.track?.at(Number(el<HTMLInputElement>("time").value)) ?? new Map();
    const ues = resolved.ue.flatMap((ue, index): Spot[] => {
      const towards = ue.mobility.kind === "line" && ue.mobility.towards ? ue.mobility.towards.map(metres) as [number, number] : undefined;
      if (ue.position) {
        const [x, y] = ue.position.map(metres);
        const many = ue.count > 1 ? `${ue.count} UEs` : "";
        return [{ kind: "ue", index, name: ue.count > 1 ? `${ue.name}-1` : ue.name, x, y, movable: true, towards, note: many }];
      }
      return Array.from({ length: ue.count }, (_, i): Spot[] => {
        const name = ue.count > 1 ? `${ue.name}-${i + 1}` : ue.name, at = here.get(name);
        return at ? [{ kind: "ue", index, name, x: at.x, y: at.y, movable: false, note: "placed at random, or by a file" }] : [];
      }).flat();
    });
    this.map.show([...cells, ...ues]);
  }

  private moved(spot: Spot, x: number, y: number, done: boolean) {
    this.dragging = !done;
    const where = [`${x} m`, `${y} m`];
    this.edit(text => set(text, [spot.kind, spot.index, "position"], where));
    if (done) el("map-told").textContent = `${spot.name} is at ${x} m, ${y} m`;
  }

  private chosen(spot: Spot | null) {
    const drop = el("remove-spot");
    drop.hidden = !spot;
    drop.textContent = spot ? `Remove ${spot.kind === "cell" ? "cell" : "UE"} ${spot.name}` : "";
    drop.onclick = () => {
      drop.hidden = true;
      if (spot) this.edit(text => without(text, this.resolved!, spot));
    };
  }

  private add(kind: "cell" | "ue") {
    const { resolved } = this;
    if (!resolved) return;
    const names = new Set([...resolved.cell, ...resolved.ue].map(one => one.name));
    let n = 1;
    while (names.has(`${kind}-${n}`)) n++;
    const first = resolved.cell[0].position.map(metres), name = `${kind}-${n}`;
    const at = kind === "ue" ? [first[0] + 150, first[1] + 80] : [first[0] + 600, first[1]];
    const position = `["${Math.round(at[0])} m", "${Math.round(at[1])} m"]`;
    const like = resolved.flow.find(flow => flow.transport.congestion);
    const flow = kind === "ue" ? `\n[[flow]]\nto = "${name}"\napp = { kind = "bulk" }\ntransport = { kind = "tcp", congestion = "${like?.transport.kind === "tcp" && like.transport.congestion !== "own" ? like.transport.congestion : "cubic"}" }\n` : "";
    this.edit(text => `${text.replace(/\n*$/, "\n")}\n[[${kind}]]\nname = "${name}"\nposition = ${position}\n${kind === "cell" ? cellLike(resolved) : ""}${flow}`);
  }

  // ---------------------------------------------------------------- a controller of one's own

  private setOwn(source: string | null) {
    this.own = source;
    if (source === null) return;
    if (this.controller) this.controller.replace(source);
    else {
      this.controller = controllerEditor(el("own-editor"), source, text => {
        this.own = text;
        clearTimeout(this.pause);
        this.trouble(null);
        if (this.resolved?.flow.some(usesOwn)) this.pause = window.setTimeout(() => this.run(), 2 * PAUSE_MS);
      });
    }
  }

  /** The controller for the flows of the scenario in whose place there is none yet. */
  private example() {
    const has = (kind: string) => this.resolved?.flow.some(flow => flow.transport.kind === kind && (kind === "tcp" || flow.app.kind === "rtc"));
    return has("udp") ? (has("tcp") ? `${EXAMPLE}\n` : "") + CALL_EXAMPLE : EXAMPLE;
  }

  private useOwn() {
    const source = this.own ?? this.example();
    this.setOwn(source);
    const flows = this.resolved?.flow ?? [];
    const tcp = derived(source, "Controller") ? flows.flatMap((flow, i) => flow.transport.kind === "tcp" ? [i] : []) : [];
    const calls = derived(source, "CallController") ? flows.flatMap((flow, i) => flow.app.kind === "rtc" ? [i] : []) : [];
    if (!tcp.length && !calls.length) {
      return this.trouble({ message: "A Controller needs a flow over TCP, a CallController a call; the scenario has none for the class in the editor.", where: "program" });
    }
    this.edit(text => calls.reduce((t, i) => withOwnRate(t, i), tcp.reduce((t, i) => withCongestion(t, i, "own"), text)));
  }

  // ---------------------------------------------------------------- what the reader does

  private listen() {
    el("scenario").addEventListener("change", () => { const { value } = el<HTMLSelectElement>("scenario"); if (value) this.load(value); });
    el("seeds").addEventListener("change", () => {
      const input = el<HTMLInputElement>("seeds");
      this.seeds = Math.max(1, Math.min(100, Math.round(Number(input.value)) || 1));
      input.value = String(this.seeds);
      void this.run();
    });
    el("cancel").addEventListener("click", () => this.batch?.cancel());
    el("pin").addEventListener("click", () => this.pin());
    el("unpin").addEventListener("click", () => {
      this.base = null;
      el("unpin").hidden = true;
      el("pin").textContent = "Pin this run";
      this.contrast();
    });
    el("add-ue").addEventListener("click", () => this.add("ue"));
    el("add-cell").addEventListener("click", () => this.add("cell"));
    el("own").addEventListener("toggle", () => { if (el<HTMLDetailsElement>("own").open && this.own === null) this.setOwn(this.example()); });
    el("use-own").addEventListener("click", () => this.useOwn());
    el("arena-run").addEventListener("click", () => {
      const seeds = Array.from({ length: Math.max(this.seeds, 1) }, (_, i) => this.resolved!.run.seed + i);
      if (this.resolved) void this.arena.run(this.resolved, (overrides, own) => seeds.map(seed => this.job(seed, overrides, own)), this.own !== null);
    });
    el("arena-cancel").addEventListener("click", () => this.arena.cancel());
    el("time").addEventListener("input", () => this.look(Number(el<HTMLInputElement>("time").value)));
    el("share").addEventListener("click", () => void this.share());
    download({
      name: () => this.name.replace(/\.toml$/, ""), text: () => this.text, outcomes: () => this.outcomes, map: () => el("map").querySelector("svg"),
      capture: async () => (await this.pool.run([{ ...this.job(this.resolved!.run.seed, this.captured(), this.resolved!.flow.some(usesOwn)), capture: true }], share => this.progress(share)).outcomes.finally(() => this.progress(null)))[0].captures,
    });
    for (const type of ["dragover", "drop"]) document.addEventListener(type, event => event.preventDefault());
    document.addEventListener("drop", event => void this.dropped((event as DragEvent).dataTransfer?.files));
    el("files").addEventListener("change", () => void this.dropped(el<HTMLInputElement>("files").files));
    addEventListener("hashchange", () => { if (/state=|scenario=/.test(location.hash)) void this.open(); });
  }

  private captured() {
    return this.resolved!.output.pcap.length ? {} : { "output.pcap": this.resolved!.cell.length ? ["server", "ue", "s1-u"] : ["server", "ue"] };
  }

  private async share() {
    const state: share.State = { toml: this.text, name: this.name, own: this.own, seeds: this.seeds, base: this.base ? { toml: this.base.text, own: this.base.own, name: this.name } : undefined };
    history.replaceState(null, "", `#${await share.written(state)}`);
    const told = await navigator.clipboard?.writeText(location.href).then(() => "The link is copied.", () => null) ?? null;
    el("shared").textContent = told ?? "The address of the page is now the link.";
  }

  /** Files by drag and drop: a scenario, or files that the scenario names. */
  private async dropped(files: FileList | null | undefined) {
    for (const file of files ?? []) {
      const bytes = new Uint8Array(await file.arrayBuffer());
      if (file.name.endsWith(".toml")) this.begin(new TextDecoder().decode(bytes), file.name);
      else this.files.set(file.name, bytes);
    }
    if (files?.length) this.change(this.text, 0);
  }
}

/** One column: as the style sheet has it. */
const narrow = () => matchMedia("(max-width: 900px)").matches;
const short = (about: string) => about.length > 90 ? `${about.slice(0, 89)}…` : about;
const labelled = (name: string, own: string | null, wanted: boolean) => `${name.replace(/\.toml$/, "")}${wanted && own !== null ? " with own controller" : ""}`;

/** What a new cell has in common with the first: without it, it would differ in more than its place. */
function cellLike(resolved: Resolved): string {
  const [first] = resolved.cell;
  const rlc = first.rlc as { mode: string; buffer?: string };
  return `resource_blocks = ${first.resource_blocks}\ntx_power = "${first.tx_power}"\nscheduler = "${(first.scheduler as { kind: string }).kind}"\nrlc = { mode = "${rlc.mode}", buffer = "${rlc.buffer}" }\n`;
}

/** The text without a cell, or without a UE and its flows. */
function without(text: string, resolved: Resolved, spot: Spot): string {
  let next = text;
  if (spot.kind === "ue") {
    const name = resolved.ue[spot.index].name;
    for (let i = resolved.flow.length - 1; i >= 0; i--) if (resolved.flow[i].to === name) next = remove(next, ["flow", i]);
  }
  return remove(next, [spot.kind, spot.index]);
}

async function start() {
  const { module, worker } = await embedded();
  await init({ module_or_path: module });
  const page = new Page(new Pool(worker, module));
  await page.open();
  document.documentElement.dataset.ready = "true";
}

void start().catch(error => {
  const box = el("trouble");
  box.hidden = false;
  box.replaceChildren(make("pre", {}, `The page could not begin: ${error instanceof Error ? error.message : error}\nIt needs a browser with WebAssembly and DecompressionStream: Chrome 103, Firefox 113, Safari 16.4 or newer.`));
});
