// The arena's heat map: a figure is chosen, contenders and situations are filtered, a heading sorts, arrow keys go from
// cell to cell.
"use strict";
(() => {
const figures = JSON.parse(document.getElementById("data").textContent);
const select = document.getElementById("figure"), table = document.getElementById("heat"), told = document.getElementById("told");
const [contenders, situations, intervals] = ["contenders", "situations", "intervals"].map(id => document.getElementById(id));
const NAMES = -1, NONE = null;
let column = NONE, up = true, focus = [0, 0];
document.getElementById("choice").hidden = false;
figures.forEach((figure, i) => select.add(new Option(figure.title, i)));

function make(tag, attributes, text) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// Words separated by commas; one of them is enough.
function matches(filter, text) {
  const words = filter.value.toLowerCase().split(",").map(word => word.trim()).filter(word => word);
  return !words.length || words.some(word => text.toLowerCase().includes(word));
}

function colour(cell) {
  const strength = Math.abs(cell.shade) * (cell.sure ? 0.62 : 0.16);
  return `color-mix(in srgb, ${cell.shade > 0 ? "#0072B2" : "#E07B39"} ${Math.round(strength * 100)}%, var(--paper))`;
}

// What has no value stands last, whichever way.
function sorted(rows) {
  if (column === NONE) return rows;
  if (column === NAMES) return [...rows].sort((a, b) => (up ? 1 : -1) * a.name.localeCompare(b.name, "en"));
  return [...rows].sort((a, b) => {
    const [x, y] = [a.cells[column].value, b.cells[column].value];
    if (x === null || y === null) return (x === null) - (y === null);
    return up ? x - y : y - x;
  });
}

function heading(title, i, upFirst) {
  const th = make("th", { scope: "col", "aria-sort": i === column ? (up ? "ascending" : "descending") : "none" });
  const button = make("button", { type: "button", "data-column": i }, title);
  button.addEventListener("click", () => {
    up = i === column ? !up : upFirst;
    column = i;
    draw();
    table.querySelector(`button[data-column="${i}"]`).focus();
    told.textContent = `sorted by ${title}, ${up ? "least" : "greatest"} first`;
  });
  th.append(button);
  return th;
}

function cellOf(row, cell, i, figure) {
  const td = make("td", {});
  const words = `${row.name}, ${figure.situations[i]}: ${cell.more}`;
  const shown = intervals.checked && cell.value !== null ? cell.interval : cell.text;
  const box = make("div", { tabindex: "-1", title: cell.more, role: "group", "aria-label": words }, shown);
  box.style.background = cell.value === null ? "none" : colour(cell);
  for (const event of ["mouseenter", "focus", "click"]) box.addEventListener(event, () => { told.textContent = words; });
  td.append(box);
  return td;
}

function draw() {
  const figure = figures[select.value];
  const columns = figure.situations.map((_, i) => i).filter(i => matches(situations, figure.situations[i]));
  const rows = sorted(figure.rows).filter(row => matches(contenders, `${row.name} ${row.title}`));
  document.getElementById("caption").textContent = figure.title + (figure.lessIsBetter ? " (less is better)" : "");
  const head = make("tr", {});
  head.append(heading("contender", NAMES, true));
  columns.forEach(i => head.append(heading(figure.situations[i], i, figure.lessIsBetter)));
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(...rows.map(row => {
    const tr = make("tr", {});
    tr.append(make("th", { scope: "row", title: row.title }, row.name), ...columns.map(i => cellOf(row, row.cells[i], i, figure)));
    return tr;
  }));
  if (rows.length && columns.length) stand(0, 0, false);
  dispatchEvent(new Event("resize")); // whether the table is wider than its place
}

// One cell takes part in the order of Tab; arrows go on from it.
function stand(row, place, take) {
  const rows = table.tBodies[0].rows;
  const to = [Math.max(0, Math.min(rows.length - 1, row)), Math.max(0, Math.min(rows[0].cells.length - 2, place))];
  const box = at => rows[at[0]]?.cells[at[1] + 1]?.firstChild;
  box(focus)?.setAttribute("tabindex", "-1");
  focus = to;
  box(focus).setAttribute("tabindex", "0");
  if (take) box(focus).focus();
}
table.addEventListener("keydown", event => {
  if (!event.target.matches("td > div") || event.ctrlKey || event.altKey || event.metaKey) return;
  const td = event.target.parentNode;
  const [row, place] = [td.parentNode.sectionRowIndex, td.cellIndex - 1];
  const to = {
    ArrowUp: [row - 1, place], ArrowDown: [row + 1, place], ArrowLeft: [row, place - 1], ArrowRight: [row, place + 1],
    Home: [row, 0], End: [row, Infinity],
  }[event.key];
  if (!to) return;
  event.preventDefault();
  stand(...to, true);
});
select.addEventListener("change", () => { column = NONE; draw(); });
intervals.addEventListener("change", draw);
for (const filter of [contenders, situations]) {
  filter.addEventListener("input", () => {
    draw();
    const [rows, cells] = [table.tBodies[0].rows.length, table.tHead.rows[0].cells.length - 1];
    told.textContent = `${rows} contenders, ${cells} situations`;
  });
}
draw();
})();
