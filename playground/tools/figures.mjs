// What the page's figures and comparisons give for tables, for tests that hold them against airlane/runs/figures.py.
//
//   node playground/tools/figures.mjs < question.json
//
// A question is {kind: "figures"}, {kind: "estimate", values, scale}, {kind: "versus", one, other, scale, least,
// leastAbsolute}, {kind: "applications", tables, end}, {kind: "rows", sides: [{name, runs: [{seed, flows}]}]} or {kind: "differences", one, other}. A list of
// questions is read, and a list of answers written. NaN is null.
import { build } from "esbuild";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const entry = `
export * as stats from "./stats.js";
export * as figures from "./figures.js";
export { withApplications } from "./applications.js";
export { rowsOf } from "./rows.js";
export { differences } from "./resolved.js";
export { set, remove } from "./toml.js";
`;
const { outputFiles: [{ text }] } = await build({
  stdin: { contents: entry, resolveDir: join(import.meta.dirname, "../src"), loader: "ts" }, bundle: true, write: false, format: "esm",
});
const { stats, figures, withApplications, rowsOf, differences, set, remove } = await import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);

const none = value => value === null ? NaN : value;
const table = flows => Object.fromEntries(Object.entries(flows).map(([name, values]) =>
  [name, typeof values.find(v => v !== null) === "string" ? values : Float64Array.from(values, none)]));
const answers = {
  figures: () => figures.FIGURES.map(({ ofFlows, ...one }) => one),
  values: ({ flows }) => Object.fromEntries(figures.FIGURES.filter(one => figures.has(one, table(flows))).map(one => [one.name, figures.valueOf(one, table(flows))])),
  estimate: ({ values, scale }) => { const e = stats.estimate(values.map(none), scale); return { ...e, low: stats.low(e), high: stats.high(e), written: stats.written(e) }; },
  versus: ({ one, other, scale, least, leastAbsolute }) => stats.versus(one.map(none), other.map(none), scale, least, leastAbsolute),
  rows: ({ sides }) => rowsOf(sides.map(({ name, runs }) => ({ name, outcomes: runs.map(({ seed, flows }) => ({ seed, tables: { flows: table(flows) } })) }))),
  applications: ({ tables, end }) => Object.fromEntries(Object.entries(withApplications(Object.fromEntries(
    Object.entries(tables).map(([name, one]) => [name, table(one)])), end)).map(([name, column]) => [name, Array.from(column)])),
  differences: ({ one, other }) => differences(one, other),
  set: ({ text, path, value }) => set(text, path, value),
  remove: ({ text, path }) => remove(text, path),
};
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(question => answers[question.kind](question))));
