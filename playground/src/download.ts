// Files of the page: the scenario, tables, captures and pictures.
import { el, make, save } from "./dom.js";
import { csv, type Outcome } from "./tables.js";

export interface Source {
  name: () => string;
  text: () => string;
  outcomes: () => Outcome[];
  map: () => SVGSVGElement | null;
  capture: () => Promise<{ name: string; bytes: Uint8Array }[]>;
}

export function download(source: Source) {
  el("save-toml").addEventListener("click", () => save(`${source.name()}.toml`, source.text(), "application/toml"));
  el("save-series").addEventListener("click", () => {
    const [first] = source.outcomes();
    if (first) save(`${source.name()}-series.csv`, csv(first.tables.flow_series), "text/csv");
  });
  el("save-capture").addEventListener("click", () => void captured(source));
  el("save-picture").addEventListener("click", () => void picture(source));
}

async function captured(source: Source) {
  const told = el("downloaded");
  try {
    const captures = await source.capture();
    told.textContent = captures.length ? "" : "The scenario captures no packets.";
    for (const { name, bytes } of captures) save(`${source.name()}-${name}`, bytes as BlobPart, "application/x-pcapng");
  } catch (error) {
    told.textContent = (error as Error).message;
  }
}

/** All panels of the series below each other as one PNG, with their titles. */
async function picture(source: Source) {
  const panels = [...document.querySelectorAll<HTMLElement>("#series .panel")];
  if (!panels.length) return;
  const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const parts = panels.map(panel => ({ title: panel.querySelector(".panel-title")?.textContent?.trim() ?? "", canvas: panel.querySelector("canvas")! }));
  const ratio = devicePixelRatio, head = 22 * ratio, top = 34 * ratio;
  const width = Math.max(...parts.map(one => one.canvas.width)), height = parts.reduce((sum, one) => sum + one.canvas.height + head, top);
  const canvas = make("canvas", { width: String(width), height: String(height) }), to = canvas.getContext("2d")!;
  to.fillStyle = colour("--paper");
  to.fillRect(0, 0, width, height);
  to.fillStyle = colour("--ink");
  to.font = `bold ${15 * ratio}px system-ui, sans-serif`;
  to.fillText(`${source.name()}: ${el("told").textContent}`, 8 * ratio, 22 * ratio);
  let y = top;
  for (const { title, canvas: one } of parts) {
    to.font = `${13 * ratio}px system-ui, sans-serif`;
    to.fillText(title, 8 * ratio, y + 15 * ratio);
    to.drawImage(one, 0, y + head);
    y += one.height + head;
  }
  const blob = await new Promise<Blob | null>(resolve => canvas.toBlob(resolve));
  if (blob) save(`${source.name()}.png`, blob, "image/png");
}
