// The JSON Schema of the scenario format: which keys a section has, and which values a key takes.

export interface Node {
  $ref?: string; description?: string; type?: string | string[]; properties?: Record<string, Node>; items?: Node;
  anyOf?: Node[]; oneOf?: Node[]; enum?: unknown[]; const?: unknown; pattern?: string; examples?: string[];
  minimum?: number; maximum?: number;
}
export interface Schema extends Node { $defs: Record<string, Node> }

function resolved(schema: Schema, node: Node): Node {
  return node.$ref ? resolved(schema, schema.$defs[node.$ref.split("/").at(-1)!]) : node;
}

/** A node and what it may be instead. */
function* alternatives(schema: Schema, node: Node): Generator<Node> {
  const one = resolved(schema, node);
  yield one;
  for (const other of [...one.anyOf ?? [], ...one.oneOf ?? []]) yield* alternatives(schema, other);
}

/** What the schema has at a path; all alternatives of it. Indices of lists may be left out. */
export function at(schema: Schema, path: (string | number)[]): Node[] {
  let nodes: Node[] = [schema];
  for (const part of path) {
    nodes = nodes.flatMap(node => [...alternatives(schema, node)]).flatMap(node => {
      if (typeof part === "number") return node.items ? [node.items] : [];
      const own = node.properties?.[part];
      if (own) return [own];
      const item = node.items && [...alternatives(schema, node.items)].map(one => one.properties?.[part]).filter(one => one !== undefined);
      return item ?? [];
    });
  }
  return nodes.flatMap(node => [...alternatives(schema, node)]);
}

/** The description of a key, which is beside the reference to its type, else that of the type. */
export function describe(schema: Schema, path: (string | number)[]): string {
  let nodes: Node[] = [schema], found = "";
  for (const part of path) {
    nodes = nodes.flatMap(node => [...alternatives(schema, node)]).flatMap(node => {
      const items = node.items ? [...alternatives(schema, node.items)] : [];
      if (typeof part === "number") return node.items ? [node.items] : [];
      const own = node.properties?.[part] ?? items.find(one => one.properties?.[part])?.properties?.[part];
      return own ? [own] : [];
    });
    found = nodes[0]?.description ?? found;
  }
  return found.replace(/\s+/g, " ");
}

interface Option { word: string; info: string }
const unique = (found: Option[]) => [...new Map(found.map(one => [one.word, one])).values()];
const plain = (text: string | undefined) => (text ?? "").replace(/\s+/g, " ");

/** The keys of the table at a path. */
export function keys(schema: Schema, path: (string | number)[]): Option[] {
  const nodes = at(schema, path).flatMap(node => node.items ? [...alternatives(schema, node.items)] : [node]);
  const found = nodes.flatMap(node => Object.entries(node.properties ?? {}));
  return unique(found.map(([word, node]) => ({ word, info: plain(node.description ?? resolved(schema, node).description) })));
}

/** The values that a key takes: names of a closed set, yes and no, else an example. */
export function choices(schema: Schema, path: (string | number)[]): Option[] {
  const nodes = at(schema, path);
  const named = nodes.flatMap(node => [
    ...(node.enum ?? []).map(value => ({ word: String(value), info: "" })),
    ...(node.const === undefined ? [] : [{ word: String(node.const), info: plain(node.description) }]),
    ...(node.type === "boolean" ? ["true", "false"].map(word => ({ word, info: "" })) : []),
  ]);
  // A set of tables has its names in the description of each table.
  const kinds = new Map<string, string>();
  for (const node of nodes) {
    for (const key of ["kind", "mode", "model"]) {
      const name = node.properties?.[key] && resolved(schema, node.properties[key]).const;
      if (name !== undefined) kinds.set(String(name), plain(node.description));
    }
  }
  const found = named.map(one => ({ ...one, info: one.info || (kinds.get(one.word) ?? "") }));
  return unique(found.length ? found : nodes.flatMap(node => (node.examples ?? []).map(word => ({ word, info: plain(node.description) }))));
}

/** The units that a quantity takes, shortest spelling of each first; empty for what is no quantity. */
export function units(schema: Schema, path: (string | number)[]): string[] {
  for (const node of at(schema, path)) {
    const found = /\\s\*\(([^()]*)\)\\s\*\$$/.exec(node.pattern ?? "");
    if (found) return found[1].replaceAll("\\/", "/").split("|").filter(unit => !/ps$/.test(unit) && unit !== "us" || unit === "us");
  }
  return [];
}
