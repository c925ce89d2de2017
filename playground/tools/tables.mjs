// Runs scenarios by the WebAssembly module in Node, to compare it with the native build.
//
//   node playground/tools/tables.mjs FOLDER < jobs.json
//
// FOLDER has what `make playground` built of the module. A job is {name, text, overrides, seed, files}, `files` a
// list of [name, path]. For each a line of JSON comes out: the SHA-256 of the bytes of all tables, the number of these
// bytes, the facts, and how long the run took.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const { initSync, Files, Scenario } = await import(pathToFileURL(join(folder, "airlane_web.js")).href);
initSync({ module: readFileSync(join(folder, "airlane_web_bg.wasm")) });

for (const { name, text, overrides, seed, files } of JSON.parse(readFileSync(0, "utf8"))) {
  const given = new Files();
  for (const [file, path] of files) given.add(file, readFileSync(path));
  try {
    const run = new Scenario(text, name, JSON.stringify(overrides), given).run(BigInt(seed), undefined, false);
    const began = performance.now();
    while (!run.advance(1));
    const wall_s = (performance.now() - began) / 1e3;
    const outcome = run.finish();
    const bytes = outcome.bytes();
    const digest = createHash("sha256").update(bytes).digest("hex");
    console.log(JSON.stringify({ name, digest, bytes: bytes.length, meta: JSON.parse(outcome.meta()), wall_s }));
    outcome.free();
  } catch (error) {
    const { message, file, line, key, value, what, help } = error;
    console.log(JSON.stringify({ name, error: { message, file, line, key, value, what, help } }));
  }
}
