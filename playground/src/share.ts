// The state of the page as the fragment of its address, which no server hears of.

export interface State {
  toml: string;
  name: string;
  own: string | null;
  seeds: number;
  /** What was pinned to compare with. */
  base?: { toml: string; own: string | null; name: string };
}

const FORM = 1;

async function through(bytes: Uint8Array, by: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(by);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
export function unbase64(text: string): Uint8Array {
  const found = atob(text.replaceAll("-", "+").replaceAll("_", "/")), bytes = new Uint8Array(found.length);
  for (let i = 0; i < found.length; i++) bytes[i] = found.charCodeAt(i);
  return bytes;
}

/** The fragment for a state. */
export async function written(state: State): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify({ form: FORM, ...state }));
  return `state=${base64(await through(bytes, new CompressionStream("deflate-raw")))}`;
}

/** The state of a fragment; null where it has none. Throws where it cannot be read. */
export async function read(fragment: string): Promise<State | null> {
  const found = /(?:^|&)state=([\w-]+)/.exec(fragment);
  if (!found) return null;
  const bytes = await through(unbase64(found[1]), new DecompressionStream("deflate-raw"));
  const state = JSON.parse(new TextDecoder().decode(bytes));
  if (state.form !== FORM || typeof state.toml !== "string") throw new Error("of another form");
  const own = typeof state.own === "string" ? state.own : null;
  const base = typeof state.base?.toml === "string" ? state.base : undefined;
  return { toml: state.toml, name: String(state.name ?? "shared.toml"), own, seeds: Math.max(1, Number(state.seeds) || 1), base };
}

/** The name of the bundled scenario that a fragment asks for. */
export const scenarioOf = (fragment: string) => /(?:^|&)scenario=([\w.-]+)/.exec(fragment)?.[1] ?? null;
