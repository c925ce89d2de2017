// Tables that sort by a column and show the rows that hold some words. Without this script they are plain tables.
"use strict";
(() => {
  const FILTER_ROWS = 8;
  const text = cell => cell?.textContent.trim() ?? "";
  const number = words => {
    const found = /^[+−-]?[\d,]*\.?\d+(?:e[+-]?\d+)?/i.exec(words);
    return found ? Number(found[0].replaceAll(",", "").replace("−", "-")) : null;
  };
  // Numbers in their order before texts in theirs; what is missing stands last, whichever way.
  function compare(a, b, way) {
    const [x, y] = [number(a), number(b)], [no, none] = [a === "" || a === "–", b === "" || b === "–"];
    if (no || none) return no - none;
    if (x !== null && y !== null && x !== y) return way * (x - y);
    if ((x === null) !== (y === null)) return x === null ? 1 : -1;
    return way * a.localeCompare(b, undefined, { numeric: true });
  }

  function sort(table, column, heading) {
    const way = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, i) => ({ row, i, value: text(row.cells[column]) }));
    rows.sort((a, b) => compare(a.value, b.value, way) || a.i - b.i);
    body.append(...rows.map(one => one.row));
  }

  function filterOf(table, name) {
    const label = document.createElement("label"), input = document.createElement("input");
    const told = document.createElement("span"), body = table.tBodies[0];
    input.type = "search";
    told.setAttribute("role", "status");
    label.className = "filter";
    label.append(`Show the rows of ${name} with `, input);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of body.rows) {
        const line = [...row.cells].map(text).join(" ").toLowerCase();
        row.hidden = !words.every(word => line.includes(word));
        shown += !row.hidden;
      }
      told.textContent = words.length ? ` ${shown} of ${body.rows.length} rows` : "";
    });
    const line = document.createElement("p");
    line.className = "filter-line";
    line.append(label, told);
    return line;
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const table of document.querySelectorAll("table.sortable")) {
      const headings = [...table.tHead.rows[0].cells];
      headings.forEach((heading, column) => {
        const button = document.createElement("button");
        button.type = "button";
        button.append(...heading.childNodes);
        heading.append(button);
        button.addEventListener("click", () => sort(table, column, heading));
      });
      if (table.tBodies[0].rows.length >= FILTER_ROWS) {
        const name = text(table.caption).toLowerCase();
        (table.closest(".scroll") ?? table).before(filterOf(table, name));
      }
    }
  });
})();
