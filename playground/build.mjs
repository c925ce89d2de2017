// Makes the page: one file that needs no other, out/playground/playground.html. `make playground` calls it.
import { build } from "esbuild";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";

const root = join(import.meta.dirname, ".."), out = join(root, "out/playground"), assets = join(root, "python/airlane/assets");
const read = (...parts) => readFileSync(join(...parts), "utf8");
const packed = bytes => gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION });

async function program(name) {
  const { outputFiles: [{ text }] } = await build({
    entryPoints: [join(root, "playground/src", name)], bundle: true, minify: true, write: false, format: "esm",
    target: ["chrome103", "firefox113", "safari16.4"], legalComments: "none",
  });
  return text;
}

/** The first sentence of a scenario's comment, as `airlane list` shows it. */
function about(toml) {
  const comment = toml.split("\n").filter((line, i, all) => all.slice(0, i + 1).every(one => one.startsWith("#")));
  const text = comment.map(line => line.replace(/^#\s?/, "")).join(" ");
  return (/^.*?[.](?=\s|$)/.exec(text)?.[0] ?? text).trim();
}

function bundled() {
  const folder = join(root, "scenarios");
  const names = readdirSync(folder).filter(name => name.endsWith(".toml")).sort();
  const scenarios = Object.fromEntries(names.map(name => {
    const toml = read(folder, name);
    return [name.replace(/\.toml$/, ""), { toml, about: about(toml) }];
  }));
  const others = ["maps", "traces"].flatMap(place => readdirSync(join(folder, place)).map(name => `${place}/${name}`));
  const named = others.filter(name => !name.endsWith(".md"));
  const files = Object.fromEntries(named.map(name => [name, read(folder, name)]));
  // JSON within a page: no end of a script in it.
  return JSON.stringify({ scenarios, files }).replaceAll("<", "\\u003c");
}

const version = /^version = "(.*)"$/m.exec(read(root, "Cargo.toml"))[1];
const dark = read(assets, "dark.css");
const style = read(assets, "page.css").replace("/*DARK*/",
  `@media (prefers-color-scheme:dark) { :root:not([data-theme=light]) { ${dark} } }\n:root[data-theme=dark] { ${dark} }`);
const module = readFileSync(join(out, "module/airlane_web_bg.wasm"));
const [main, worker] = await Promise.all([program("main.ts"), program("worker.ts")]);
const charts = ["uplot.min.js", "paint.js", "chart.js"].map(name => read(assets, name)).join("\n");
const parts = {
  STYLE: [read(assets, "uplot.min.css"), style, read(root, "playground/src/playground.css")].join("\n"),
  PAGE: read(assets, "page.js"), CHARTS: charts, MAIN: main.replaceAll("</script", "<\\/script"), BUNDLED: bundled(), VERSION: version,
  WORKER: packed(Buffer.from(worker)).toString("base64"), MODULE: packed(module).toString("base64"),
};
const html = read(root, "playground/src/page.html").replace(/\/\*([A-Z]+)\*\//g, (_, name) => parts[name]);
mkdirSync(out, { recursive: true });
writeFileSync(join(out, "playground.html"), html);

const size = (name, bytes) => console.log(`${name.padEnd(22)} ${String(bytes.length).padStart(9)} bytes ${String(packed(bytes).length).padStart(9)} compressed`);
size("simulator (wasm)", module);
size("worker", Buffer.from(worker));
size("page (main)", Buffer.from(main));
size("charts", Buffer.from(charts));
size("styles", Buffer.from(parts.STYLE));
size("scenarios", Buffer.from(parts.BUNDLED));
size("playground.html", Buffer.from(html));
