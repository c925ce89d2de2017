// Controls for what most people change, made from the JSON Schema: each shows the resolved value and writes the TOML.
import { make } from "./dom.js";
import { get, type Resolved } from "./resolved.js";
import { choices, describe, units, type Schema } from "./schema.js";
import { literal, rangeOf, remove, set, textAt, type Path } from "./toml.js";

type Change = (edit: (text: string) => string) => void;

interface Control {
  label: string;
  /** Where the resolved scenario has the value. */
  at: Path;
  /** Where the TOML gets it, for each of these places. */
  to?: (resolved: Resolved) => Path[];
  kind: "choice" | "quantity" | "count";
  options?: { word: string; info: string }[];
}

const everyCell = (...rest: Path) => (resolved: Resolved): Path[] => resolved.cell.map((_, i) => ["cell", i, ...rest]);

const RADIO: Control[] = [
  { label: "bandwidth", at: ["cell", 0, "resource_blocks"], to: everyCell("resource_blocks"), kind: "choice", options: [
    ["6", "1.4 MHz"], ["15", "3 MHz"], ["25", "5 MHz"], ["50", "10 MHz"], ["75", "15 MHz"], ["100", "20 MHz"],
  ].map(([word, info]) => ({ word, info })) },
  { label: "scheduler", at: ["cell", 0, "scheduler", "kind"], to: everyCell("scheduler"), kind: "choice" },
  { label: "transmit power", at: ["cell", 0, "tx_power"], to: everyCell("tx_power"), kind: "quantity" },
  { label: "RLC buffer", at: ["cell", 0, "rlc", "buffer"], to: everyCell("rlc", "buffer"), kind: "quantity" },
  { label: "RLC queue discipline", at: ["cell", 0, "rlc", "aqm", "kind"], to: everyCell("rlc", "aqm"), kind: "choice" },
  { label: "fading", at: ["channel", "fading", "model"], kind: "choice" },
  { label: "speed in the fading", at: ["channel", "fading", "speed"], kind: "quantity" },
];
const PATH: Control[] = [
  { label: "rate", at: ["internet", "rate"], kind: "quantity" },
  { label: "delay", at: ["internet", "delay"], kind: "quantity" },
  { label: "random loss", at: ["internet", "loss"], kind: "quantity" },
  { label: "queue", at: ["internet", "queue"], kind: "quantity" },
  { label: "queue discipline", at: ["internet", "aqm", "kind"], to: () => [["internet", "aqm"]], kind: "choice" },
];
const RUN: Control[] = [
  { label: "preset", at: ["network"], kind: "choice" },
  { label: "duration", at: ["run", "duration"], kind: "quantity" },
  { label: "warm-up", at: ["run", "warmup"], kind: "quantity" },
  { label: "first seed", at: ["run", "seed"], kind: "count" },
];
/** Applications with what they cannot do without. */
const APPS: Record<string, unknown> = {
  bulk: { kind: "bulk" }, fixed: { kind: "fixed", size: "1 MB" }, cbr: { kind: "cbr", rate: "5 Mbit/s" },
  web: { kind: "web" }, ping: { kind: "ping" }, video: { kind: "video" }, dash: { kind: "dash" }, rtc: { kind: "rtc" },
  sprout: { kind: "sprout" },
};
const MIDDLEBOXES: [string, string, unknown][] = [
  ["none", "none", null], ["pep at the gateway", "pep", { kind: "pep", at: "gateway" }],
  ["split proxy at the gateway", "split-proxy", { kind: "split-proxy", at: "gateway" }],
  ["split proxy in the eNBs", "split-proxy-enb", { kind: "split-proxy", at: "enb" }],
];
const FLOWS_MAX = 12;

export class Controls {
  constructor(private readonly place: HTMLElement, private readonly schema: Schema, private readonly change: Change) {}

  /** Shows the values of a scenario. What has the focus keeps it. */
  show(resolved: Resolved, text: string) {
    const focused = this.place.contains(document.activeElement) ? document.activeElement?.id : undefined;
    const open = new Map([...this.place.querySelectorAll("details")].map(one => [one.dataset.name, one.open]));
    const cells = resolved.cell.length > 0;
    const groups: [string, HTMLElement[]][] = [["Run", this.group(RUN, resolved, text)]];
    if (cells) groups.push(["Radio", this.group(RADIO, resolved, text)], ["UEs", this.ues(resolved)]);
    groups.push(["Internet path", [...this.group(PATH, resolved, text), ...cells ? [this.middlebox(resolved)] : []]]);
    groups.push(["Flows", this.flows(resolved)]);
    const made = groups.map(([name, inside], i) => {
      const group = make("details", { class: "group", "data-name": name }, make("summary", {}, make("h3", {}, name)), make("div", { class: "fields" }, ...inside));
      group.open = open.get(name) ?? (i !== 0 && !matchMedia("(max-width: 900px)").matches);
      return group;
    });
    this.place.replaceChildren(...made);
    if (focused) document.getElementById(focused)?.focus();
  }

  private group(controls: Control[], resolved: Resolved, text: string): HTMLElement[] {
    return controls.flatMap(one => {
      const value = get(resolved, one.at);
      if (value === undefined || value === null) return [];
      return [this.field(one, value, this.targets(one, resolved, text))];
    });
  }

  /** Where a value goes. Cells of a layout have one section; a file may say `bandwidth` in the place of blocks. */
  private targets(one: Control, resolved: Resolved, text: string): Path[] {
    const wanted = one.to?.(resolved) ?? [one.at];
    if (one.at[0] !== "cell") return wanted;
    const sections = Math.max(1, [...text.matchAll(/^\s*\[\[\s*cell\s*\]\]/gm)].length);
    return wanted.slice(0, sections);
  }

  private field(one: Control, value: unknown, to: Path[]): HTMLElement {
    const id = `control-${one.at.join("-")}`;
    const write = (next: unknown) => this.change(text => to.reduce((t, path) => put(t, path, next), text));
    const help = describe(this.schema, one.at) || describe(this.schema, one.at.slice(0, -1));
    const label = make("label", { for: id, title: help }, one.label);
    if (one.kind === "choice") {
      const numeric = typeof value === "number";
      const options = one.options ?? choices(this.schema, to[0]);
      const input = this.select(id, options, String(value), word => write(numeric ? Number(word) : word));
      return make("div", { class: "field" }, label, input);
    }
    if (one.kind === "count") return make("div", { class: "field" }, label, this.number(id, Number(value), write));
    const [, number, unit] = /^(\S+)\s*(.*)$/.exec(String(value)) ?? [];
    return make("div", { class: "field" }, label, this.quantity(id, one.label, number, unit, units(this.schema, one.at), write));
  }

  private select(id: string, options: { word: string; info: string }[], value: string, write: (word: string) => void): HTMLSelectElement {
    const there = options.some(one => one.word === value) ? options : [...options, { word: value, info: "" }];
    const input = make("select", { id }, ...there.map(({ word, info }) => {
      const short = info && info.length <= 44 ? `${word}: ${info.replace(/\.$/, "")}` : word;
      const option = make("option", { value: word, title: info }, short);
      option.selected = word === value;
      return option;
    }));
    input.addEventListener("change", () => write(input.value));
    return input;
  }

  private number(id: string, value: number, write: (value: number) => void, attributes: Record<string, string> = {}): HTMLInputElement {
    const input = make("input", { id, type: "number", value: String(value), min: "0", step: "any", ...attributes });
    input.addEventListener("change", () => { if (input.value !== "" && Number.isFinite(Number(input.value))) write(Number(input.value)); });
    return input;
  }

  private quantity(id: string, label: string, number: string, unit: string, all: string[], write: (value: string) => void): HTMLElement {
    const known = all.includes(unit) ? all : [unit, ...all];
    const units = make("select", { id: `${id}-unit`, "aria-label": `unit of ${label}` }, ...known.map(one => {
      const option = make("option", { value: one }, one);
      option.selected = one === unit;
      return option;
    }));
    const input = this.number(id, Number(number.replaceAll("_", "")), () => tell(), { min: "" });
    const tell = () => write(`${Number(input.value)} ${units.value}`);
    units.addEventListener("change", tell);
    return make("span", { class: "quantity" }, input, units);
  }

  private ues(resolved: Resolved): HTMLElement[] {
    return resolved.ue.slice(0, FLOWS_MAX).map((ue, i) => {
      const id = `control-ue-${i}-count`, moving = ue.mobility.speed !== undefined && typeof ue.mobility.speed === "string";
      const count = this.number(id, ue.count, n => this.change(text => put(text, ["ue", i, "count"], Math.round(n))), { min: "1", step: "1" });
      const parts: HTMLElement[] = [make("label", { for: id, title: describe(this.schema, ["ue", "count"]) }, `${ue.name}: number of UEs`), count];
      if (moving) {
        const [, number, unit] = /^(\S+)\s*(.*)$/.exec(ue.mobility.speed!)!;
        const write = (speed: string) => this.change(text => put(text, ["ue", i, "mobility", "speed"], speed));
        const speedId = `control-ue-${i}-speed`;
        parts.push(make("label", { for: speedId }, "speed"), this.quantity(speedId, `speed of ${ue.name}`, number, unit, ["km/h", "m/s"], write));
      }
      return make("div", { class: "field" }, ...parts);
    });
  }

  private middlebox(resolved: Resolved): HTMLElement {
    const id = "control-middlebox";
    const [first] = resolved.middlebox;
    const now = !first ? "none" : first.kind === "pep" ? "pep" : first.at === "enb" ? "split-proxy-enb" : "split-proxy";
    const input = make("select", { id }, ...MIDDLEBOXES.map(([label, value]) => {
      const option = make("option", { value }, label);
      option.selected = value === now;
      return option;
    }));
    input.addEventListener("change", () => {
      const wanted = MIDDLEBOXES.find(([, value]) => value === input.value)![2];
      this.change(text => {
        let next = text;
        for (let i = resolved.middlebox.length - 1; i >= 0; i--) next = removeSection(next, i);
        return wanted ? `${next.replace(/\n*$/, "\n")}\n[[middlebox]]\n${Object.entries(wanted as object).map(([k, v]) => `${k} = ${literal(v)}`).join("\n")}\n` : next;
      });
    });
    return make("div", { class: "field" }, make("label", { for: id }, "function in the path"), input);
  }

  private flows(resolved: Resolved): HTMLElement[] {
    const lines = resolved.flow.slice(0, FLOWS_MAX).map((flow, i) => {
      const name = flow.name ?? (flow.to ? `to ${flow.to}` : `flow-${i}`);
      const apps = choices(this.schema, ["flow", i, "app"]).filter(one => one.word in APPS || one.word === flow.app.kind);
      const app = this.select(`control-flow-${i}-app`, apps.map(one => ({ ...one, info: "" })), flow.app.kind, word => this.change(text => {
        const next = put(text, ["flow", i, "app"], APPS[word] ?? { kind: word });
        // A ping is ICMP, and nothing else is.
        return (word === "ping") === (flow.transport.kind === "icmp") ? next : put(next, ["flow", i, "transport"], { kind: word === "ping" ? "icmp" : "tcp" });
      }));
      app.setAttribute("aria-label", `application of the flow ${name}`);
      const kinds = ["tcp", "quic", "udp", "icmp"].map(word => ({ word, info: "" }));
      const transport = this.select(`control-flow-${i}-transport`, kinds, flow.transport.kind, word => this.change(text =>
        put(text, ["flow", i, "transport"], ["udp", "icmp"].includes(word) || !flow.transport.congestion ? { kind: word } : { kind: word, congestion: flow.transport.congestion })));
      transport.setAttribute("aria-label", `transport of the flow ${name}`);
      const parts: HTMLElement[] = [make("span", { class: "flow-name" }, name), app, transport];
      if (flow.transport.congestion !== undefined) {
        const all = choices(this.schema, ["flow", i, "transport", "congestion"]);
        const congestion = this.select(`control-flow-${i}-congestion`, all.map(one => ({ ...one, info: "" })), flow.transport.congestion, word =>
          this.change(text => withCongestion(text, i, word)));
        congestion.setAttribute("aria-label", `congestion control of the flow ${name}`);
        parts.push(congestion);
      }
      return make("div", { class: "field flow" }, ...parts);
    });
    const more = resolved.flow.length - lines.length;
    return more > 0 ? [...lines, make("p", { class: "note" }, `${more} more in the text.`)] : lines;
  }
}

/** Sets the congestion control of a flow; `own` names the controller of the page's editor. */
export function withCongestion(text: string, flow: number, word: string): string {
  const next = put(text, ["flow", flow, "transport", "congestion"], word);
  return word === "own" ? put(next, ["flow", flow, "transport", "controller"], "own") : dropController(next, flow);
}

/** Sets the rate controller of a call to that of the page's editor. */
export const withOwnRate = (text: string, flow: number) => put(text, ["flow", flow, "app", "controller"], { kind: "own", name: "own" });

const dropController = (text: string, flow: number) => {
  try { return remove(text, ["flow", flow, "transport", "controller"]); } catch { return text; }
};
const removeSection = (text: string, i: number) => remove(text, ["middlebox", i]);

/** Sets a value. A bare name that stands where a table is needed becomes the table of that name. */
function put(text: string, path: Path, value: unknown): string {
  if (path.at(-1) === "resource_blocks") {
    const bandwidth = [...path.slice(0, -1), "bandwidth"];
    if (rangeOf(text, bandwidth)) return set(text, bandwidth, { 6: "1.4 MHz", 15: "3 MHz", 25: "5 MHz", 50: "10 MHz", 75: "15 MHz", 100: "20 MHz" }[value as number]);
  }
  const parent = path.slice(0, -1), name = parent.length && textAt(text, parent);
  if (name) {
    const tag = { fading: "model", rlc: "mode" }[String(parent.at(-1))] ?? "kind";
    return set(text, parent, { [tag]: name, [String(path.at(-1))]: value });
  }
  return set(text, path, value);
}
