// What the page carries: the scenarios, the module and the program of its workers.
import { unbase64 } from "./share.js";

interface Bundled { toml: string; about: string }

const data = JSON.parse(document.getElementById("bundled")!.textContent!) as { scenarios: Record<string, Bundled>; files: Record<string, string> };

/** The bundled scenarios by name; `about` is the first sentence of their comment. */
export const bundled = new Map(Object.entries(data.scenarios));
/** Files that bundled scenarios name. */
export const files = new Map(Object.entries(data.files).map(([name, text]) => [name, new TextEncoder().encode(text)]));

async function unpacked(id: string): Promise<Response> {
  const packed = unbase64(document.getElementById(id)!.textContent!.trim());
  return new Response(new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip")));
}

/** The module and the worker's program, which stand in the page compressed. */
export async function embedded(): Promise<{ module: WebAssembly.Module; worker: string }> {
  const [module, worker] = await Promise.all([
    unpacked("module").then(response => response.arrayBuffer()).then(bytes => WebAssembly.compile(bytes)),
    unpacked("worker").then(response => response.text()),
  ]);
  for (const id of ["module", "worker"]) document.getElementById(id)!.remove();
  return { module, worker };
}
