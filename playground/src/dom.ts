// Elements of the page.

export const el = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, string> = {}, ...inside: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...inside);
  return node;
}

export function button(text: string, act: () => void, attributes: Record<string, string> = {}) {
  const node = make("button", { type: "button", ...attributes }, text);
  node.addEventListener("click", act);
  return node;
}

/** A table; columns in `plain` hold words, the others numbers. */
export function table(caption: string, columns: string[], body: (string | Node)[][], plain: Set<string>, classes = ""): HTMLElement {
  const kind = (column: string) => plain.has(column) ? "word" : "num";
  const head = make("tr", {}, ...columns.map(column => make("th", { scope: "col", class: kind(column) }, column)));
  const lines = body.map(cells => make("tr", {}, ...cells.map((cell, i) => make("td", { class: kind(columns[i]) }, cell))));
  const one = make("table", { class: classes }, make("caption", { class: "unseen" }, caption), make("thead", {}, head), make("tbody", {}, ...lines));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, one);
}

/** Offers bytes or a text as a file. */
export function save(name: string, what: BlobPart, type: string) {
  const url = URL.createObjectURL(new Blob([what], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export const counted = (n: number, what: string) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

/** What a screen reader says. */
export function say(text: string) { el("status").textContent = text; }
