// Draws the charts of a page: uPlot has axes, zoom by dragging and the cursor; the items in the plot are drawn here
// from the data of airlane/pages/chart_data.py. Without this script the pictures stay.
"use strict";
(() => {
const { css, ink, learnPaper, painters } = airlanePaint;
const WHOLE_STEPS = [...Array(10).keys()].flatMap(power => [1, 2, 5].map(digit => digit * 10 ** power));
const NEAR_PX = 40, LISTED_MAX = 8, ZOOM = 0.6, SHIFT = 0.25;
const root = document.documentElement;
const make = (tag, attributes = {}, ...inside) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...inside);
  return node;
};
const format = v => {
  if (v === null || v === undefined) return "–";
  const size = Math.abs(v);
  return size !== 0 && (size >= 1e6 || size < 1e-3) ? v.toExponential(2) : String(+v.toPrecision(4));
};

// ---------------------------------------------------------------- one panel: an uPlot with our items in it

class Panel {
  constructor(chart, data, index) {
    Object.assign(this, { chart, data, index, plot: null, view: { x: null, y: null }, at: null });
    for (const scale of [data.x, data.y]) {
      scale.down = scale.limits[0] > scale.limits[1];
      scale.limits.sort((a, b) => a - b);
    }
    this.lines = data.items.filter(item => item.t === "line" && item.x.length);
    this.sorted = this.lines.length > 0 && this.lines.every(line => ascending(line.x)) && !data.equal &&
      !data.items.some(item => item.t === "bars");
    this.both = data.equal || !this.sorted;
    this.build();
  }

  build() {
    const { data, chart } = this;
    const name = data.title || chart.title;
    this.name = [name, data.ylabel].filter(Boolean).join(", ");
    const heading = make("p", { class: "panel-title" }, make("b", {}, data.title || ""), ` ${data.ylabel || ""}`);
    this.readout = make("p", { class: "readout" });
    this.box = make("div", {
      class: "plot", tabindex: "0", role: "application", "aria-roledescription": "chart",
      "aria-label": `${this.name}${data.xlabel ? ` over ${data.xlabel}` : ""}. ` +
        "Left and right: read points. Up and down: next series. Plus, minus: zoom. Shift and arrows: move. 0: all of it.",
    });
    this.root = make("div", { class: `panel${data.equal ? " equal" : ""}` }, heading, this.readout, this.box);
    this.box.addEventListener("keydown", event => this.key(event));
    this.box.addEventListener("blur", () => { this.at = null; });
  }

  height() {
    const { data, chart } = this;
    const rows = data.y.ticks?.length ?? 0;
    const width = this.box.clientWidth;
    if (data.equal) {
      const [across, up] = [data.x, data.y].map(({ limits: [low, high] }) => high - low);
      return (width - chart.margin(data.column, 16) - 14) * up / across + 10 + 30 + 22;
    }
    if (rows) return 42 + 26 * rows + (this.labelled() ? 22 : 0);
    const many = this.chart.panels.length > 5; // above each other: lower, so that they are seen together
    const least = this.stacked ? (many ? 100 : 150) : 190, most = this.stacked ? (many ? 120 : 190) : chart.narrow() ? 240 : 300;
    return Math.max(least, Math.min(most, width * 0.62)) + (this.labelled() ? 22 : 0);
  }

  // Of panels above each other on one axis, only the last says what it is.
  labelled() {
    const below = this.chart.panels.some(other => other.index > this.index && other.data.group === this.data.group &&
      other.data.column === this.data.column);
    return Boolean(this.data.xlabel) && !below;
  }

  draw() {
    if (this.plot) this.plot.destroy();
    const { data } = this;
    const home = data.x.limits;
    this.plot = new uPlot({
      width: this.box.clientWidth, height: this.height(), legend: { show: false }, padding: [10, 14, 0, 0],
      scales: {
        x: { time: false, distr: data.x.log ? 3 : 1, dir: data.x.down ? -1 : 1, range: () => this.view.x ?? home },
        y: { distr: data.y.log ? 3 : 1, dir: data.y.down ? -1 : 1, auto: true, range: () => this.yRange() },
      },
      axes: [this.axis("x"), this.axis("y")],
      series: [{}, { paths: () => null, points: { show: false } }],
      cursor: {
        drag: { x: true, y: this.both, setScale: false, dist: 6, uni: this.both ? 24 : null },
        points: { show: false }, focus: { prox: -1 },
        sync: { key: `${this.chart.id}-${data.group}`, scales: ["x", null], setSeries: false,
                filters: { pub: type => ["mousemove", "mouseleave"].includes(type) } },
      },
      hooks: {
        draw: [u => this.paint(u)],
        setCursor: [() => this.hover()],
        setSelect: [u => this.selected(u)],
      },
    }, [[home[0], home[1]], [data.y.limits[0], data.y.limits[1]]], this.box);
    this.plot.over.addEventListener("dblclick", () => this.chart.zoom(this, null, null));
  }

  axis(which) {
    const scale = this.data[which], upright = which === "y";
    const soft = () => css("--soft"), line = () => css("--line");
    const most = this.chart.narrow() ? 16 : 44;
    const axis = {
      scale: which, stroke: soft, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
      grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 }, gap: 4,
      size: upright ? this.chart.margin(this.data.column, most) : 30,
      values: (u, splits) => splits.map(v => v === null ? null : format(v)),
    };
    if (!upright) Object.assign(axis, { label: this.labelled() ? this.data.xlabel : undefined, labelSize: 22, space: 46 });
    if (scale.whole) axis.incrs = WHOLE_STEPS;
    if (scale.log && !scale.ticks) {
      axis.splits = (u, i, low, high) => logTicks(low, high, (upright ? u.bbox.height : u.bbox.width) / devicePixelRatio / (upright ? 26 : 44));
      axis.filter = (u, splits) => splits;
    }
    if (scale.ticks) {
      const shorten = word => word.length > most ? `${word.slice(0, most - 1)}…` : word;
      axis.splits = (u, i, low, high) => scale.ticks.map(([v]) => v).filter(v => v >= Math.min(low, high) && v <= Math.max(low, high));
      axis.values = (u, splits) => splits.map(v => shorten(scale.ticks.find(([at]) => at === v)?.[1] ?? "").replace(/\n/g, " "));
      axis.filter = (u, splits) => splits;
    }
    return axis;
  }

  // Whole at first; later fitted to what is seen, from 0 where it was from 0.
  yRange() {
    const home = this.data.y.limits;
    if (this.view.y) return this.view.y;
    if (!this.view.x || this.data.y.ticks || !this.sorted) return home;
    const [from, to] = this.view.x;
    let low = Infinity, high = -Infinity;
    for (const line of this.visible()) {
      for (let i = 0; i < line.x.length; i++) {
        if (line.y[i] === null || line.x[i] < from || line.x[i] > to) continue;
        low = Math.min(low, line.ylow?.[i] ?? line.y[i]);
        high = Math.max(high, line.yhigh?.[i] ?? line.y[i]);
      }
    }
    if (low > high) return home;
    if (this.data.y.log) return [low / 1.2, high * 1.2];
    const margin = 0.06 * (high - low || Math.abs(high) || 1);
    return [home[0] === 0 ? 0 : low - margin, high + margin];
  }

  visible() { return this.lines.filter(item => this.chart.shown(item)); }

  // ------------------------------------------------------------ painting

  paint(u) {
    const { ctx, bbox } = u, ratio = devicePixelRatio;
    const X = v => u.valToPos(v, "x", true), Y = v => u.valToPos(v, "y", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const item of this.data.items) {
      if (!this.chart.shown(item)) continue;
      ctx.globalAlpha = item.a ?? 1;
      ctx.strokeStyle = ctx.fillStyle = ink(item.c ?? "#333333");
      ctx.lineWidth = (item.w ?? 1) * ratio;
      ctx.setLineDash((item.d ?? []).map(v => v * ratio));
      painters[item.t](ctx, item, X, Y, bbox, ratio);
    }
    this.paintPoint(ctx, X, Y, ratio);
    ctx.restore();
  }

  paintPoint(ctx, X, Y, ratio) {
    if (!this.at) return;
    ctx.globalAlpha = 1;
    ctx.setLineDash([]);
    ctx.strokeStyle = css("--ink");
    ctx.lineWidth = 2 * ratio;
    ctx.beginPath();
    ctx.arc(X(this.at.x), Y(this.at.y), 6 * ratio, 0, 7);
    ctx.stroke();
  }

  // ------------------------------------------------------------ reading values

  hover() {
    const u = this.plot, { left, top } = u.cursor;
    if (left === undefined || left < 0) { if (!this.at) this.readout.replaceChildren(); return; }
    const events = this.eventsNear(u, left);
    const found = this.sorted ? this.atX(u, left, top) : this.nearest(u, left, top);
    this.tell([...found, ...events]);
  }

  // Every series at the x of the cursor, those closest to it first.
  atX(u, left, top) {
    const x = u.posToVal(left, "x"), reach = Math.abs(u.posToVal(left + NEAR_PX, "x") - x);
    const found = [];
    for (const item of this.visible()) {
      const i = closest(item.x, x);
      if (i < 0 || item.y[i] === null || Math.abs(item.x[i] - x) > Math.max(reach, spacing(item.x, i))) continue;
      const away = top >= 0 ? Math.abs(u.valToPos(item.y[i], "y") - top) : 0;
      found.push({ item, i, x: item.x[i], y: item.y[i], away });
    }
    return found.sort((a, b) => a.away - b.away).slice(0, LISTED_MAX).sort((a, b) => a.item.k - b.item.k);
  }

  nearest(u, left, top) {
    let best = null;
    for (const point of this.points()) {
      const away = Math.hypot(u.valToPos(point.x, "x") - left, point.tall ? 0 : u.valToPos(point.y, "y") - top);
      if (away <= NEAR_PX && (!best || away < best.away)) best = { ...point, away };
    }
    return best ? [best] : [];
  }

  *points() {
    for (const item of this.data.items) {
      if (!this.chart.shown(item)) continue;
      if (item.t === "line") {
        for (let i = 0; i < item.x.length; i++) if (item.x[i] !== null && item.y[i] !== null) yield { item, i, x: item.x[i], y: item.y[i] };
      } else if (item.t === "bars") {
        for (let i = 0; i < item.r.length; i++) {
          const [x, y, w, h] = item.r[i];
          yield { item, i, x: x + w / 2, y: y + h, tall: true };
        }
      }
    }
  }

  eventsNear(u, left) {
    return this.data.items
      .filter(item => item.t === "v" && this.chart.shown(item) && (item.name || item.k >= 0) && Math.abs(u.valToPos(item.at, "x") - left) <= 4)
      .slice(0, 3).map(item => ({ item, x: item.at, event: true }));
  }

  words(point) {
    const { item, i } = point;
    const name = item.k >= 0 ? this.chart.data.series[item.k].label : "";
    if (point.event) return { name, value: [item.name, `at ${format(item.at)}`].filter(Boolean).join(", ") };
    const word = item.words?.[i];
    const row = this.data.y.ticks?.find(([at]) => at === point.y)?.[1];
    if (row !== undefined) {
      const interval = item.xlow && item.xlow[i] !== item.xhigh[i] ? ` (${format(item.xlow[i])} to ${format(item.xhigh[i])})` : "";
      return { name, value: word && this.sorted ? word : `${row}: ${format(point.x)}${interval}${word ? `; ${word}` : ""}` };
    }
    const interval = item.ylow && item.ylow[i] !== null && item.ylow[i] !== item.yhigh[i] ? ` (${format(item.ylow[i])} to ${format(item.yhigh[i])})` : "";
    return { name, value: `${format(point.y)}${interval}${word ? ` ${word}` : ""}` };
  }

  where(point) {
    const { ticks = [], categorical } = this.data.x;
    const away = ([at]) => Math.abs(at - point.x);
    const tick = ticks.reduce((best, one) => away(one) < away(best) ? one : best, ticks[0]);
    return tick && (categorical || away(tick) === 0) ? tick[1] : format(point.x);
  }

  tell(found) {
    const shown = [];
    if (found.length) {
      const byRow = this.data.y.ticks && !this.sorted;
      if (!byRow) shown.push(make("span", { class: "x" }, `${this.data.xlabel ? `${this.data.xlabel} ` : ""}${this.where(found[0])}`));
      for (const point of found) {
        const { name, value } = this.words(point);
        const chip = make("span", { class: "swatch", "aria-hidden": "true" });
        chip.style.background = ink(point.item.c);
        shown.push(make("span", {}, chip, `${name ? `${name} ` : ""}`, make("b", {}, value)));
      }
    }
    this.readout.replaceChildren(...shown);
  }

  // ------------------------------------------------------------ zoom and keys

  selected(u) {
    const { left, top, width, height } = u.select;
    if (width < 6 && height < 6) return;
    const x = width >= 6 ? [u.posToVal(left, "x"), u.posToVal(left + width, "x")] : null;
    const y = this.both && height >= 6 && height < u.over.clientHeight - 1 ? [u.posToVal(top + height, "y"), u.posToVal(top, "y")] : null;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.chart.zoom(this, x ?? this.view.x, y ?? this.view.y);
  }

  current(which) {
    const { min, max } = this.plot.scales[which];
    return [min, max];
  }

  scaled(which, factor, shift) {
    const log = this.data[which].log;
    const [low, high] = this.current(which).map(v => log ? Math.log(v) : v);
    const middle = (low + high) / 2 + shift * (high - low), half = factor * (high - low) / 2;
    return [middle - half, middle + half].map(v => log ? Math.exp(v) : v);
  }

  step(factor, shiftX = 0, shiftY = 0) {
    const reach = this.both && !this.data.y.ticks;
    this.chart.zoom(this, this.scaled("x", factor, shiftX), reach ? this.scaled("y", factor, shiftY) : this.view.y);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowLeft: [-SHIFT, 0], ArrowRight: [SHIFT, 0], ArrowUp: [0, SHIFT], ArrowDown: [0, -SHIFT] };
    const act = {
      "+": () => this.step(ZOOM), "=": () => this.step(ZOOM), "-": () => this.step(1 / ZOOM),
      0: () => this.chart.zoom(this, null, null), Escape: () => this.chart.zoom(this, null, null),
      ArrowLeft: () => this.read(-1), ArrowRight: () => this.read(1), Home: () => this.read(-Infinity), End: () => this.read(Infinity),
      ArrowUp: () => this.other(-1), ArrowDown: () => this.other(1),
    };
    const found = event.shiftKey && moves[event.key] ? () => this.step(1, ...moves[event.key]) : act[event.key];
    if (!found) return;
    event.preventDefault();
    found();
  }

  // The points that keys walk along: those of one item, in its order.
  walk() {
    const lists = [];
    for (const item of this.data.items) {
      if (!["line", "bars"].includes(item.t) || !this.chart.shown(item)) continue;
      const points = [...this.points()].filter(point => point.item === item);
      if (points.length) lists.push(points);
    }
    return lists;
  }

  read(step) {
    const lists = this.walk();
    if (!lists.length) return;
    const here = lists.find(points => this.at && points[0].item === this.at.item) ?? lists[0];
    let to = this.at && here[0].item === this.at.item ? here.findIndex(point => point.i === this.at.i) + step : (step > 0 ? 0 : here.length - 1);
    to = Math.max(0, Math.min(here.length - 1, to));
    this.stand(here[to]);
  }

  other(step) {
    const lists = this.walk();
    if (!lists.length) return;
    const now = this.at ? lists.findIndex(points => points[0].item === this.at.item) : -1;
    const points = lists[(now + step + lists.length) % lists.length];
    const x = this.at?.x ?? points[0].x;
    this.stand(points.reduce((best, point) => Math.abs(point.x - x) < Math.abs(best.x - x) ? point : best));
  }

  stand(point) {
    this.at = point;
    const [low, high] = this.current("x");
    if (point.x < low || point.x > high) {
      const half = (high - low) / 2;
      this.chart.zoom(this, [point.x - half, point.x + half], this.view.y);
    }
    const u = this.plot;
    u.setCursor({ left: u.valToPos(point.x, "x"), top: u.valToPos(point.y, "y") }, false, true);
    u.redraw(false);
    this.tell([point]);
    say(this.readout.textContent);
  }
}

// 1, 2, 5 in each decade; all digits of one or two decades if there is room, powers alone if there is not.
function logTicks(low, high, room) {
  const decades = Math.log10(high / low);
  const digits = decades * 9 <= room ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : decades * 3 <= room ? [1, 2, 5] : [1];
  const ticks = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) {
    for (const digit of digits) {
      const v = +(digit * 10 ** e).toPrecision(12);
      if (v >= low && v <= high) ticks.push(v);
    }
  }
  return ticks.length >= 2 ? ticks : [low, Math.sqrt(low * high), high].map(v => +v.toPrecision(3));
}

const ascending = x => {
  for (let i = 1; i < x.length; i++) if (x[i] === null || x[i] < x[i - 1]) return false;
  return x[0] !== null;
};
const spacing = (x, i) => Math.max(Math.abs((x[i + 1] ?? x[i]) - x[i]), Math.abs(x[i] - (x[i - 1] ?? x[i])));
function closest(x, value) {
  let low = 0, high = x.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (x[middle] < value) low = middle; else high = middle;
  }
  return Math.abs(x[low] - value) <= Math.abs(x[high] - value) ? low : high;
}

// ---------------------------------------------------------------- one figure: its panels, legend and buttons

class Chart {
  constructor(figure, index, data) {
    this.figure = figure;
    this.id = figure.id || `figure-${index}`;
    this.title = figure.querySelector("figcaption b")?.textContent ?? "";
    this.load(data);
    this.build();
  }

  load(data) {
    this.data = data;
    this.hidden = new Set();
    this.panels = this.data.panels.map((data, i) => new Panel(this, data, i));
    const columns = new Set(this.data.panels.map(panel => panel.column));
    for (const panel of this.panels) {
      panel.stacked = columns.size === 1 && this.panels.length > 2;
      panel.root.classList.toggle("stacked", panel.stacked);
    }
  }

  // Other values in the place of these. What is hidden stays hidden, and what part is seen stays seen.
  update(data) {
    const hidden = new Set([...this.hidden].map(k => this.data.series[k].label));
    const views = new Map(this.panels.map(panel => [panel.data.title, panel.view]));
    const [before] = this.panels;
    for (const panel of this.panels) panel.plot?.destroy();
    this.load(data);
    const same = before && this.panels.length && before.data.x.limits.every((v, i) => v === this.panels[0].data.x.limits[i]);
    for (const panel of this.panels) if (same) panel.view.x = views.get(panel.data.title)?.x ?? null;
    this.focused = undefined;
    this.fill();
    this.data.series.forEach(({ label }, k) => { if (hidden.has(label)) this.hidden.add(k); });
    this.width = undefined;
    this.size();
    if (this.hidden.size) this.refresh();
  }

  // Width for the words at the y axes of a column, so that its panels begin at one place.
  margin(column, most) {
    const words = this.data.panels.filter(panel => this.narrow() || panel.column === column)
      .flatMap(panel => (panel.y.ticks ?? []).map(([, word]) => word.length));
    return words.length ? Math.max(52, 18 + 6.4 * Math.min(Math.max(...words), most)) : 52;
  }

  // As `as_csv` of airlane/pages/chart_data.py writes it.
  csv() {
    const rows = [["panel", "series", "x_axis", "x", "y_axis", "y", "low", "high"]];
    const named = (axis, at) => axis.categorical && typeof at === "number" ? nearest(axis.ticks, at) : at;
    for (const { title, xlabel, ylabel, x: across, y: upright, items } of this.data.panels) {
      for (const item of items) {
        const name = item.k >= 0 ? this.data.series[item.k].label : item.name || title || ylabel;
        for (const [x, y, low, high] of rowsOf(item)) {
          rows.push([title, name, xlabel, named(across, x), ylabel, named(upright, y), low, high]);
        }
      }
    }
    const quoted = v => /[",\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v;
    return rows.map(row => `${row.map(v => quoted(String(v ?? ""))).join(",")}\n`).join("");
  }

  narrow() { return this.figure.clientWidth < 620; }
  shown(item) { return item.k < 0 || !this.hidden.has(item.k); }

  fill() {
    const live = this.figure.querySelector(".live");
    const columns = 1 + Math.max(...this.data.panels.map(panel => panel.column));
    this.grid = make("div", { class: "panels" }, ...this.panels.map(panel => panel.root));
    this.grid.style.setProperty("--columns", columns);
    this.more = make("p", { class: "note more", hidden: "" }, "There are more names: scroll them.");
    live.replaceChildren(make("div", { class: "tools" }, this.names = this.legend(), this.buttons()), this.more, this.grid);
    live.hidden = false;
  }

  build() {
    this.fill();
    const picture = this.figure.querySelector(".static");
    if (picture) picture.hidden = true;
    const made = this.figure.querySelector("a.made");
    if (made) {
      made.hidden = false;
      made.addEventListener("click", () => { made.href = URL.createObjectURL(new Blob([this.csv()], { type: "text/csv" })); });
    }
    this.size();
    new ResizeObserver(() => this.size()).observe(this.figure);
  }

  size() {
    const width = this.figure.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    this.more.hidden = this.names.scrollHeight <= this.names.clientHeight + 4;
    for (const panel of this.panels) panel.draw();
  }

  legend() {
    const group = make("div", { class: "legend", role: "group", "aria-label": "Series, press to hide or show" });
    this.keys = this.data.series.map((series, k) => {
      const swatch = make("span", { class: `swatch ${series.shape}`, "aria-hidden": "true" });
      const button = make("button", { type: "button", "aria-pressed": "true" }, swatch, series.label);
      button.addEventListener("click", () => this.toggle(k));
      group.append(button);
      return { button, swatch, series };
    });
    if (this.keys.length > 8) {
      const all = make("button", { type: "button", class: "plain" }, "all or none");
      all.addEventListener("click", () => {
        const none = this.hidden.size === 0;
        this.hidden = new Set(none ? this.keys.keys() : []);
        this.refresh();
      });
      group.prepend(all);
    }
    this.colour();
    return group;
  }

  toggle(k) {
    if (this.hidden.has(k)) this.hidden.delete(k); else this.hidden.add(k);
    this.refresh();
    say(`${this.data.series[k].label} ${this.hidden.has(k) ? "hidden" : "shown"}`);
  }

  refresh() {
    this.keys.forEach(({ button }, k) => button.setAttribute("aria-pressed", String(!this.hidden.has(k))));
    for (const panel of this.panels) {
      panel.at = panel.at && this.shown(panel.at.item) ? panel.at : null;
      panel.plot.setScale("x", span(panel.view.x ?? panel.data.x.limits));
      panel.plot.redraw(false);
    }
  }

  colour() {
    for (const { swatch, series } of this.keys) {
      swatch.style.setProperty("--c", ink(series.c));
      swatch.classList.toggle("dashed", (series.d ?? []).length > 0);
      swatch.classList.toggle("dots", series.shape === "line" && !series.w);
    }
  }

  buttons() {
    const group = make("div", { class: "zoom", role: "group", "aria-label": "Zoom" });
    const first = () => this.panels[this.focused ?? 0];
    for (const [word, text, act] of [
      ["Zoom in", "+", () => first().step(ZOOM)], ["Zoom out", "−", () => first().step(1 / ZOOM)],
      ["To the left", "←", () => first().step(1, -SHIFT)], ["To the right", "→", () => first().step(1, SHIFT)],
      ["All of it", "⤢", () => this.panels.forEach(panel => this.zoom(panel, null, null))],
    ]) {
      const button = make("button", { type: "button", "aria-label": word, title: word }, text);
      button.addEventListener("click", () => {
        act();
        // Panels that do not share an axis follow one that was not chosen.
        if (this.focused === undefined && word !== "All of it") this.others(act, first());
      });
      group.append(button);
    }
    this.panels.forEach((panel, i) => panel.box.addEventListener("pointerdown", () => { this.focused = i; }));
    this.panels.forEach((panel, i) => panel.box.addEventListener("focus", () => { this.focused = i; }));
    return group;
  }

  others(act, first) {
    const groups = new Set([first.data.group]);
    this.panels.forEach((panel, i) => {
      if (groups.has(panel.data.group)) return;
      groups.add(panel.data.group);
      this.focused = i;
      act();
    });
    this.focused = undefined;
  }

  // Panels on one axis show the same of it.
  zoom(panel, x, y) {
    for (const other of this.panels.filter(one => one.data.group === panel.data.group)) {
      other.view.x = x;
      if (other === panel || x === null) other.view.y = x === null && y === null ? null : y;
      other.plot.setScale("x", span(x ?? other.data.x.limits));
    }
    const [low, high] = x ?? panel.data.x.limits;
    say(x || y ? `from ${format(low)} to ${format(high)}` : "all of it");
  }
}
function rowsOf(item) {
  if (item.t === "line") {
    const across = item.xlow && !item.ylow;
    const [low, high] = across ? [item.xlow, item.xhigh] : [item.ylow ?? [], item.yhigh ?? []];
    return item.x.map((x, i) => [x, item.y[i], low[i], high[i]]).filter(([x, y]) => x !== null && y !== null);
  }
  if (item.t === "bars") return item.r.map(([x, y, w, h], i) => [x + w / 2, y + h, item.ylow?.[i], item.yhigh?.[i]]);
  if (item.t === "v") return [[item.at]];
  if (item.t === "h") return [[null, item.at]];
  return item.ends ? [[null, null, ...item.ends]] : [];
}
const span = ([min, max]) => ({ min, max });
const nearest = (ticks, at) => ticks.reduce((best, tick) => Math.abs(tick[0] - at) < Math.abs(best[0] - at) ? tick : best)[1];

let voice = null;
function say(words) {
  if (!voice) {
    voice = make("p", { role: "status", "aria-live": "polite", class: "unseen" });
    (document.querySelector("main") ?? document.body).append(voice);
  }
  voice.textContent = words;
}

// ---------------------------------------------------------------- the page: charts are made when they come near

const charts = new Map();
function draw(figure, data) {
  const chart = new Chart(figure, charts.size, data);
  charts.set(figure, chart);
  return chart;
}
function begin() {
  learnPaper();
  const figures = [...document.querySelectorAll("figure.chart:not([data-live])")]; // others wait for their data
  const start = figure => { if (!charts.has(figure)) draw(figure, JSON.parse(figure.querySelector("script[type='application/json']").textContent)); };
  const watch = new IntersectionObserver(seen => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      watch.unobserve(target);
      start(target);
    }
  }, { rootMargin: "600px" });
  figures.forEach(figure => watch.observe(figure));
}
document.addEventListener("airlane-theme", () => {
  learnPaper();
  for (const chart of charts.values()) {
    chart.colour();
    for (const panel of chart.panels) panel.plot.redraw(false);
  }
});
document.addEventListener("DOMContentLoaded", begin);
window.airlaneCharts = charts;
window.airlaneDraw = draw;
})();
