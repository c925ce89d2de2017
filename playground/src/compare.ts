// A run beside a pinned one: paired differences over seeds, in the words of `airlane compare`.
import { counted, el, make, table } from "./dom.js";
import { differences } from "./resolved.js";
import { Place } from "./results.js";
import { notes, rowsOf, type Side } from "./rows.js";
import { distributions, overlaid } from "./series.js";

/** Settings in which scenarios differ that are listed; the others are counted. */
const DIFFERENCES_MAX = 12;
const LOOK: Record<string, string> = { better: "good", worse: "bad", open: "open" };

export class Compare {
  private readonly time = new Place(el("compare-series"));
  private readonly shares = new Place(el("compare-shares"));

  show(base: Side | null, other: Side | null) {
    el("compare").hidden = !base;
    if (!base || !other) return;
    const differ = differences(base.resolved, other.resolved);
    const told = differ.length
      ? [`${base.name} | ${other.name}: ${counted(differ.length, "setting")} of the scenario ${differ.length === 1 ? "differs" : "differ"}`]
      : [`${base.name} and ${other.name}: the same scenario`];
    const lines = differ.slice(0, DIFFERENCES_MAX).map(line => make("li", {}, make("code", {}, line)));
    if (differ.length > DIFFERENCES_MAX) lines.push(make("li", {}, `and ${differ.length - DIFFERENCES_MAX} more`));
    el("compare-told").replaceChildren(make("p", {}, told[0]), make("ul", { class: "differences" }, ...lines));
    const sides = [base, other];
    const columns = ["figure", "run", "value", `difference to ${base.name}`, "ratio", "verdict"];
    const body = rowsOf(sides).map((row, i) => [
      i % sides.length === 0 ? row.figure : "", row.run, row.value, row.difference, row.ratio,
      row.verdict ? make("span", { class: LOOK[row.verdict] ?? "" }, row.verdict) : "",
    ]);
    el("compare-table").replaceChildren(
      table("Differences with their 95 % intervals", columns, body, new Set(["figure", "run", "verdict"]), "compared"),
      ...notes(sides).map(note => make("p", { class: "note warning" }, note)));
    this.time.show(overlaid(sides));
    this.shares.show(distributions(sides));
  }
}
