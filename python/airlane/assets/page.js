// What every page does: light or dark, as the reader last chose, else as the system says; tables that scroll.
"use strict";
(() => {
  const KEY = "airlane-theme";
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const keep = theme => { try { localStorage.setItem(KEY, theme); } catch { /* a page from disk may have no store */ } };
  const current = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();

  function tell() {
    const button = document.getElementById("theme");
    if (button) {
      const other = current() === "dark" ? "light" : "dark";
      button.textContent = other === "dark" ? "☾ dark" : "☀ light";
      button.setAttribute("aria-label", `Show this page in ${other} colours`);
    }
    document.dispatchEvent(new CustomEvent("airlane-theme"));
  }
  // A table that is wider than its place says so.
  const told = new WeakMap(); // a page may replace its tables
  function more(box) {
    const wider = box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1;
    if (wider === told.has(box)) return;
    if (!wider) { told.get(box).remove(); told.delete(box); return; }
    const line = document.createElement("p");
    line.className = "note more-columns";
    line.textContent = "There are more columns to the right: scroll sideways.";
    box.before(line);
    told.set(box, line);
  }
  // What scrolls inside itself can be scrolled by keyboard, and says what it is.
  function reach() {
    for (const box of document.querySelectorAll(".scroll")) {
      more(box);
      if (box.scrollWidth <= box.clientWidth) { box.removeAttribute("tabindex"); box.removeAttribute("role"); box.removeAttribute("aria-label"); continue; }
      const heading = box.querySelector("caption")?.textContent || box.closest("section")?.querySelector("h2")?.textContent || "table";
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", `${heading.trim().replace(/\s+/g, " ")}, scrolls`);
    }
  }
  // A link to an experiment opens its results; so does a link to something inside them.
  function open() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const results = target && (target.closest("details.experiment") || target.querySelector("details.experiment"));
    if (!results || results.open) return;
    results.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", open);
  addEventListener("beforeprint", () => { for (const one of document.querySelectorAll(".experiment,.fold")) one.open = true; });
  document.addEventListener("DOMContentLoaded", () => {
    open();
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = current() === "dark" ? "light" : "dark";
      keep(root.dataset.theme);
      tell();
    });
    tell();
    reach();
    addEventListener("resize", reach);
    document.addEventListener("toggle", reach, true);
  });
  dark.addEventListener("change", tell);
})();
