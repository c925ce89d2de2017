// A tour of three minutes: each step names a part of the page, and does what it describes if asked to.
import { button, el, make, say } from "./dom.js";

export interface Step {
  /** The id of the part of the page that the step is about. */
  at: string;
  text: string;
  /** What "Do it" does; without it there is only something to read. */
  act?: () => void;
}

export class Tour {
  private readonly box = make("section", { id: "tour", "aria-label": "Tour" });

  constructor(private readonly steps: Step[]) {
    this.box.hidden = true;
    el("results").prepend(this.box);
    el("tour-start").addEventListener("click", () => this.show(0));
  }

  private show(place: number) {
    document.querySelector(".toured")?.classList.remove("toured");
    const step = this.steps[place];
    this.box.hidden = step === undefined;
    if (!step) return el("tour-start").focus();
    const part = el(step.at);
    part.classList.add("toured");
    const last = place === this.steps.length - 1;
    const next = button(last ? "End" : "Next", () => this.show(place + 1));
    const acts = make("p", { class: "acts" });
    if (step.act) acts.append(button("Do it for me", step.act));
    if (place > 0) acts.append(button("Back", () => this.show(place - 1)));
    acts.append(next);
    if (!last) acts.append(button("End the tour", () => this.show(-1)));
    this.box.replaceChildren(make("h2", {}, `Tour, step ${place + 1} of ${this.steps.length}`), make("p", {}, step.text), acts);
    // The step stays in view with its part, also on a phone.
    part.before(this.box);
    this.box.scrollIntoView({ block: "nearest" });
    next.focus({ preventScroll: true });
    say(step.text);
  }
}
