// Changes a value of a TOML text and leaves the rest of it as its author wrote it, comments and order included.
import { parseTOML, type AST } from "toml-eslint-parser";

export type Path = (string | number)[];
type Node = AST.TOMLContentNode;

/** A value as TOML: numbers and yes and no bare, texts in quotes, arrays and tables inline. */
export function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "object" && value !== null) {
    const pairs = Object.entries(value).map(([key, one]) => `${bare(key)} = ${literal(one)}`);
    return pairs.length ? `{ ${pairs.join(", ")} }` : "{}";
  }
  return String(value);
}
const bare = (key: string) => /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);

/** Where a value of a text is. */
interface Place { path: Path; node: Node; pair: AST.TOMLKeyValue | null }

const keyOf = (pair: AST.TOMLKeyValue) => pair.key.keys.map(key => key.type === "TOMLBare" ? key.name : key.value);
const same = (a: Path, b: Path) => a.length === b.length && a.every((part, i) => part === b[i]);
const begins = (path: Path, with_: Path) => with_.length <= path.length && with_.every((part, i) => part === path[i]);

function* below(pair: AST.TOMLKeyValue, at: Path): Generator<Place> {
  const path = [...at, ...keyOf(pair)];
  yield* inside(pair.value, path, pair);
}
function* inside(node: Node, path: Path, pair: AST.TOMLKeyValue | null): Generator<Place> {
  yield { path, node, pair };
  if (node.type === "TOMLInlineTable") for (const one of node.body) yield* below(one, path);
  if (node.type === "TOMLArray") for (const [i, one] of node.elements.entries()) yield* inside(one, [...path, i], null);
}

const tablesOf = (ast: AST.TOMLProgram) => ast.body[0].body.filter((one): one is AST.TOMLTable => one.type === "TOMLTable");

function* places(ast: AST.TOMLProgram): Generator<Place> {
  for (const one of ast.body[0].body) {
    if (one.type === "TOMLKeyValue") yield* below(one, []);
    else for (const pair of one.body) yield* below(pair, one.resolvedKey);
  }
}

const cut = (text: string, [from, to]: [number, number], by: string) => text.slice(0, from) + by + text.slice(to);

/** The text with this value at the path. Throws where the text is not TOML. */
export function set(text: string, path: Path, value: unknown): string {
  const ast = parseTOML(text);
  const all = [...places(ast)];
  const there = all.find(place => same(place.path, path));
  if (there) return cut(text, there.node.range, literal(value));

  // The inline table or the bare name that the value belongs under, if there is one.
  const around = all.filter(place => begins(path, place.path)).sort((a, b) => b.path.length - a.path.length)[0];
  if (around?.node.type === "TOMLInlineTable") return intoInline(text, around.node, path.slice(around.path.length), value);
  if (around?.node.type === "TOMLArray" && path.length === around.path.length + 1) {
    const [, end] = around.node.range, more = around.node.elements.length > 0;
    return cut(text, [end - 1, end - 1], `${more ? ", " : ""}${literal(value)}`);
  }
  if (around) return cut(text, around.node.range, literal(nested(path.slice(around.path.length), value)));

  const tables = tablesOf(ast).filter(table => begins(path, table.resolvedKey) && table.resolvedKey.length < path.length);
  const table = tables.sort((a, b) => b.resolvedKey.length - a.resolvedKey.length)[0];
  if (table) {
    const rest = path.slice(table.resolvedKey.length);
    if (rest.every(part => typeof part === "string")) return line(text, lastOf(text, table), rest as string[], value);
  }
  return append(text, ast, path, value);
}

const nested = (path: Path, value: unknown): unknown =>
  path.length ? { [String(path[0])]: nested(path.slice(1), value) } : value;

function intoInline(text: string, table: AST.TOMLInlineTable, rest: Path, value: unknown): string {
  const pair = `${rest.map(part => bare(String(part))).join(".")} = ${literal(value)}`;
  const last = table.body.at(-1);
  if (last) return cut(text, [last.range[1], last.range[1]], `, ${pair}`);
  return cut(text, table.range, `{ ${pair} }`);
}

/** Where the last line of a table ends. */
function lastOf(text: string, table: AST.TOMLTable): number {
  const last = table.body.at(-1);
  const end = text.indexOf("\n", last ? last.range[1] : table.key.range[1]);
  return end < 0 ? text.length : end;
}

const line = (text: string, at: number, keys: string[], value: unknown) =>
  cut(text, [at, at], `\n${keys.map(bare).join(".")} = ${literal(value)}`);

/** A section that is not there yet, at the end; a key of no section, before the first. */
function append(text: string, ast: AST.TOMLProgram, path: Path, value: unknown): string {
  if (path.length === 1) {
    const pairs = ast.body[0].body.filter(one => one.type === "TOMLKeyValue");
    const last = pairs.at(-1);
    const first = tablesOf(ast)[0];
    if (last) {
      const end = text.indexOf("\n", last.range[1]);
      return line(text, end < 0 ? text.length : end, [String(path[0])], value);
    }
    const at = first ? first.range[0] : text.length;
    return cut(text, [at, at], `${bare(String(path[0]))} = ${literal(value)}\n\n`);
  }
  const [section, index] = path;
  const head = typeof index === "number" ? `[[${section}]]` : `[${section}]`;
  const rest = path.slice(typeof index === "number" ? 2 : 1);
  const body = rest.length
    ? `${rest.map(part => bare(String(part))).join(".")} = ${literal(value)}`
    : Object.entries(value as object).map(([key, one]) => `${bare(key)} = ${literal(one)}`).join("\n");
  return `${text.replace(/\n*$/, "\n")}\n${head}\n${body}\n`;
}

/** The text without what is at the path: a pair, or an entry of an array of tables with all of its sections. */
export function remove(text: string, path: Path): string {
  const ast = parseTOML(text);
  const there = [...places(ast)].find(place => same(place.path, path));
  if (there) {
    const node = there.pair && keyOf(there.pair).length ? there.pair : there.node;
    return node.parent?.type === "TOMLInlineTable" || node.parent?.type === "TOMLArray" ? fromList(text, node) : wholeLines(text, node.range);
  }
  const all = tablesOf(ast);
  const gone = all.filter(table => begins(table.resolvedKey, path));
  for (const table of gone.reverse()) {
    const next = all[all.indexOf(table) + 1];
    // The comment above the next section is the next section's.
    const end = next ? beforeComments(text, next.range[0]) : text.length;
    text = cut(text, [table.range[0], end], "");
  }
  return text.replace(/\n*$/, "\n");
}

function beforeComments(text: string, at: number): number {
  for (;;) {
    const start = text.lastIndexOf("\n", at - 2) + 1;
    if (at === 0 || start >= at || !text.slice(start, at).startsWith("#")) return at;
    at = start;
  }
}

function wholeLines(text: string, [from, to]: [number, number]): string {
  const start = text.lastIndexOf("\n", from - 1) + 1, end = text.indexOf("\n", to);
  return cut(text, [start, end < 0 ? text.length : end + 1], "");
}

function fromList(text: string, { range: [from, to] }: { range: [number, number] }): string {
  const after = /^\s*,\s*/.exec(text.slice(to));
  if (after) return cut(text, [from, to + after[0].length], "");
  const before = /\s*,\s*$/.exec(text.slice(0, from));
  return cut(text, [before ? before.index : from, to], "");
}

/** The path of the value, or the section, at an offset of the text; empty where the text is not TOML. */
export function pathAt(text: string, offset: number): Path {
  try {
    const ast = parseTOML(text);
    const holds = ([from, to]: [number, number]) => from <= offset && offset <= to;
    const found = [...places(ast)].filter(({ node, pair }) => holds((pair ?? node).range)).at(-1);
    if (found) return found.path;
    const table = tablesOf(ast).filter(one => one.range[0] <= offset).at(-1);
    return table ? table.resolvedKey : [];
  } catch {
    return [];
  }
}

/** Where a line of the text has the value of a path: its first and last offset. */
export function rangeOf(text: string, path: Path): [number, number] | null {
  try {
    const ast = parseTOML(text);
    const found = [...places(ast)].find(place => same(place.path, path));
    if (found) return found.pair && same(found.path.slice(-1), keyOf(found.pair).slice(-1)) ? found.pair.range : found.node.range;
    const table = tablesOf(ast).find(one => same(one.resolvedKey, path));
    return table ? table.key.range : null;
  } catch {
    return null;
  }
}

/** The text that stands at a path, if a text does. */
export function textAt(text: string, path: Path): string | null {
  const found = [...places(parseTOML(text))].find(place => same(place.path, path));
  return found?.node.type === "TOMLValue" && typeof found.node.value === "string" ? found.node.value : null;
}
