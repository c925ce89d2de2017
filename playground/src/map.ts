// The map: cells and UEs where they stand, to drag, to move by keys, and, while a run is looked at, where they are.
import { COLOURS } from "./chart.js";

/** A cell or UE on the map. */
export interface Spot {
  kind: "cell" | "ue";
  /** Its section in the scenario, or -1 if it has none that could be changed. */
  index: number;
  name: string;
  x: number;
  y: number;
  movable: boolean;
  /** Where a moving UE goes. */
  towards?: [number, number];
  colour?: string;
  note?: string;
}

const SVG = "http://www.w3.org/2000/svg";
const svg = (tag: string, attributes: Record<string, string | number>, ...inside: Node[]) => {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...inside);
  return node;
};

/** Colours of cells, by their place in the scenario: none is the grey of what has none. */
export const colourOf = (cell: number) => COLOURS.slice(0, 6)[cell % 6];

const WIDTH = 560, HEIGHT = 380, MARGIN = 46;
const STEPS = [1, 2, 5];

export class MapView {
  private spots: Spot[] = [];
  private frame = { x: 0, y: 0, scale: 1 };
  private readonly picture: SVGSVGElement;
  private drag: { spot: Spot; node: Element } | null = null;
  private chosen: { kind: string; index: number } | null = null;

  constructor(
    place: HTMLElement,
    private readonly moved: (spot: Spot, x: number, y: number, done: boolean) => void,
    private readonly chose: (spot: Spot | null) => void,
  ) {
    this.picture = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", class: "map",
      "aria-label": "Map of cells and UEs. Arrow keys move what has the focus.",
    }) as SVGSVGElement;
    place.append(this.picture);
    this.picture.addEventListener("pointermove", event => this.follow(event));
    this.picture.addEventListener("pointerup", () => this.drop());
    this.picture.addEventListener("pointercancel", () => this.drop());
  }

  /** Shows these; the frame is fitted to them unless one is being dragged. */
  show(spots: Spot[]) {
    this.spots = spots;
    if (!this.drag) this.fit();
    this.draw();
  }

  /** Moves UEs without a change of the scenario: where they are at a time of the run. */
  place(at: Map<string, { x: number; y: number; colour: string; note: string }>) {
    for (const [name, { x, y, colour, note }] of at) {
      const node = this.picture.querySelector<SVGElement>(`[data-ue="${CSS.escape(name)}"]`);
      if (!node) continue;
      const [px, py] = this.pixel(x, y);
      node.setAttribute("transform", `translate(${px} ${py})`);
      node.style.setProperty("--c", colour);
      const title = node.querySelector("title");
      if (title) title.textContent = `${name}: ${note}`;
    }
  }

  private fit() {
    const xs = this.spots.flatMap(one => [one.x, ...one.towards ? [one.towards[0]] : []]);
    const ys = this.spots.flatMap(one => [one.y, ...one.towards ? [one.towards[1]] : []]);
    if (!xs.length) return;
    const [left, right, down, up] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    // At least 500 m, so that there is room to drag to.
    const across = Math.max(right - left, 500), high = Math.max(up - down, 300);
    const scale = Math.min((WIDTH - 2 * MARGIN) / across, (HEIGHT - 2 * MARGIN) / high);
    this.frame = { x: (left + right) / 2, y: (down + up) / 2, scale };
  }

  private pixel(x: number, y: number): [number, number] {
    return [WIDTH / 2 + (x - this.frame.x) * this.frame.scale, HEIGHT / 2 - (y - this.frame.y) * this.frame.scale];
  }

  private metres(px: number, py: number): [number, number] {
    return [this.frame.x + (px - WIDTH / 2) / this.frame.scale, this.frame.y - (py - HEIGHT / 2) / this.frame.scale];
  }

  /** About a tenth of the map, in a round number of metres. */
  private rule(): number {
    const wanted = WIDTH / 6 / this.frame.scale, power = 10 ** Math.floor(Math.log10(wanted));
    return power * (STEPS.findLast(step => step * power <= wanted) ?? 1);
  }

  private draw() {
    const focused = document.activeElement?.getAttribute("data-spot");
    const rule = this.rule(), length = rule * this.frame.scale;
    const scale = svg("g", { class: "rule", "aria-hidden": "true" },
      svg("path", { d: `M14 ${HEIGHT - 18}v6h${length}v-6` }),
      svg("text", { x: 14 + length / 2, y: HEIGHT - 20, "text-anchor": "middle" }, document.createTextNode(rule >= 1000 ? `${rule / 1000} km` : `${rule} m`)));
    const links: Element[] = [], nodes: Element[] = [];
    for (const spot of this.spots.toSorted((a, b) => Number(a.kind === "ue") - Number(b.kind === "ue"))) {
      const [x, y] = this.pixel(spot.x, spot.y);
      if (spot.towards) {
        const [tx, ty] = this.pixel(...spot.towards);
        links.push(svg("path", { d: `M${x} ${y}L${tx} ${ty}`, class: "way", "marker-end": "url(#arrow)" }));
      }
      nodes.push(this.node(spot, x, y));
    }
    const arrow = svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      svg("path", { d: "M0 0L8 4L0 8z", class: "tip" })));
    this.picture.replaceChildren(arrow, scale, ...links, ...nodes);
    if (focused) this.picture.querySelector<SVGElement>(`[data-spot="${CSS.escape(focused)}"]`)?.focus();
  }

  private node(spot: Spot, x: number, y: number): Element {
    const shape = spot.kind === "cell"
      ? svg("path", { d: "M0 -11L9 8H-9Z" })
      : svg("circle", { r: 7 });
    const labelled = this.spots.length <= 40 || spot.kind === "cell";
    const label = svg("text", { y: spot.kind === "cell" ? 21 : -11, "text-anchor": "middle" }, document.createTextNode(labelled ? spot.name : ""));
    const what = spot.kind === "cell" ? "cell" : "UE";
    const node = svg("g", {
      transform: `translate(${x} ${y})`, class: `spot ${spot.kind}${spot.movable ? " movable" : ""}`,
      "data-spot": `${spot.kind}-${spot.index}-${spot.name}`,
      ...(spot.kind === "ue" ? { "data-ue": spot.name } : { "data-cell": spot.name }),
    }, svg("title", {}, document.createTextNode(`${what} ${spot.name}${spot.note ? `: ${spot.note}` : ""}`)), svg("circle", { r: 18, class: "grip" }), shape, label);
    (node as SVGElement).style.setProperty("--c", spot.colour ?? "var(--edge)");
    if (this.chosen?.kind === spot.kind && this.chosen.index === spot.index) node.classList.add("chosen");
    if (spot.movable) {
      node.setAttribute("tabindex", "0");
      node.setAttribute("role", "button");
      node.setAttribute("aria-label", `${what} ${spot.name} at ${Math.round(spot.x)} m, ${Math.round(spot.y)} m`);
      node.addEventListener("pointerdown", event => this.grab(event as PointerEvent, spot, node));
      node.addEventListener("keydown", event => this.key(event as KeyboardEvent, spot));
      node.addEventListener("focus", () => this.choose(spot));
    }
    return node;
  }

  private choose(spot: Spot) {
    this.chosen = spot;
    for (const node of this.picture.querySelectorAll(".chosen")) node.classList.remove("chosen");
    this.picture.querySelector(`[data-spot="${CSS.escape(`${spot.kind}-${spot.index}-${spot.name}`)}"]`)?.classList.add("chosen");
    this.chose(spot);
  }

  private grab(event: PointerEvent, spot: Spot, node: Element) {
    if (event.button !== 0) return;
    event.preventDefault();
    (node as SVGElement).focus();
    this.drag = { spot, node };
    this.picture.setPointerCapture(event.pointerId);
    this.picture.classList.add("dragging");
  }

  private follow(event: PointerEvent) {
    if (!this.drag) return;
    const box = this.picture.getBoundingClientRect();
    const px = Math.min(WIDTH, Math.max(0, (event.clientX - box.left) * WIDTH / box.width));
    const py = Math.min(HEIGHT, Math.max(0, (event.clientY - box.top) * HEIGHT / box.height));
    const [x, y] = this.metres(px, py).map(Math.round);
    if (x === this.drag.spot.x && y === this.drag.spot.y) return;
    Object.assign(this.drag.spot, { x, y });
    this.moved(this.drag.spot, x, y, false);
  }

  private drop() {
    if (!this.drag) return;
    const { spot } = this.drag;
    this.drag = null;
    this.picture.classList.remove("dragging");
    this.moved(spot, spot.x, spot.y, true);
    this.fit();
    this.draw();
  }

  private key(event: KeyboardEvent, spot: Spot) {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const step = event.shiftKey ? this.rule() : Math.max(1, this.rule() / 10);
    this.moved(spot, Math.round(spot.x + by[0] * step), Math.round(spot.y + by[1] * step), true);
  }
}
