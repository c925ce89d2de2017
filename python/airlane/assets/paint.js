// How the items of a chart are drawn on a canvas, and in which colours. `X` and `Y` turn values into canvas pixels.
"use strict";
const airlanePaint = (() => {
const root = document.documentElement;
const css = name => getComputedStyle(root).getPropertyValue(name).trim();

// Colours are chosen for white paper; on dark paper what is too dark is mixed with white.
let paperIsDark = false;
const inks = new Map();
function ink(colour) {
  const key = `${colour}${paperIsDark}`;
  if (!inks.has(key)) {
    const part = i => parseInt(colour.slice(i, i + 2), 16) / 255;
    const rgb = [part(1), part(3), part(5)];
    const light = 0.2126 * rgb[0] ** 2.2 + 0.7152 * rgb[1] ** 2.2 + 0.0722 * rgb[2] ** 2.2;
    const white = !paperIsDark ? 0 : light < 0.06 ? 0.75 : light < 0.2 ? 0.35 : 0;
    const shown = rgb.map(v => Math.round(255 * (v + (1 - v) * white)));
    const grey = paperIsDark && light > 0.6; // fills and borders of pale grey
    inks.set(key, grey ? css("--line") : `rgb(${shown.join(",")})`);
  }
  return inks.get(key);
}
function learnPaper() {
  const theme = root.dataset.theme;
  paperIsDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

const painters = {
  line(ctx, item, X, Y, bbox, ratio) {
    const px = item.x.map(v => v === null ? null : X(v)), py = item.y.map(v => v === null ? null : Y(v));
    if (item.w > 0) strokeLine(ctx, px, py, item.step);
    ctx.setLineDash([]);
    if (item.w > 0 && !item.m) lonePoints(ctx, px, py, (item.w + 0.7) * ratio);
    ctx.lineWidth = 1.2 * ratio;
    intervals(ctx, item, px, py, X, Y, ratio);
    if (item.m) {
      const size = Math.max(item.ms, 3) * ratio * 1.1;
      for (let i = 0; i < px.length; i++) {
        if (px[i] === null || py[i] === null) continue;
        if (item.cs) ctx.fillStyle = ctx.strokeStyle = ink(item.cs[i]);
        mark(ctx, item.m, px[i], py[i], size, item.open);
      }
    }
  },
  bars(ctx, item, X, Y, bbox, ratio) {
    for (const [x, y, w, h] of item.r) {
      if ([x, y, w, h].includes(null)) continue;
      const base = Math.min(Math.max(Y(y), bbox.top - 9), bbox.top + bbox.height + 9);
      ctx.fillRect(X(x), Y(y + h), X(x + w) - X(x), base - Y(y + h));
    }
    ctx.strokeStyle = css("--ink");
    ctx.lineWidth = 1.2 * ratio;
    intervals(ctx, item, item.r.map(([x, , w]) => X(x + w / 2)), item.r.map(([, y, , h]) => Y(y + h)), X, Y, ratio);
  },
  area(ctx, item, X, Y) {
    ctx.beginPath();
    for (const [x, y] of item.p) {
      for (let i = 0; i < x.length; i++) {
        if (i === 0) ctx.moveTo(X(x[i]), Y(y[i])); else ctx.lineTo(X(x[i]), Y(y[i]));
      }
      ctx.closePath();
    }
    ctx.fill("evenodd"); // a shape may have holes
  },
  v(ctx, item, X, Y, bbox) { segment(ctx, X(item.at), bbox.top, X(item.at), bbox.top + bbox.height); },
  h(ctx, item, X, Y, bbox) { segment(ctx, bbox.left, Y(item.at), bbox.left + bbox.width, Y(item.at)); },
  vspan(ctx, item, X, Y, bbox) { ctx.fillRect(X(item.ends[0]), bbox.top, X(item.ends[1]) - X(item.ends[0]), bbox.height); },
  hspan(ctx, item, X, Y, bbox) { ctx.fillRect(bbox.left, Y(item.ends[1]), bbox.width, Y(item.ends[0]) - Y(item.ends[1])); },
  text(ctx, item, X, Y, bbox, ratio) {
    ctx.fillStyle = css("--soft");
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "alphabetic"; // the axes leave another
    ctx.textAlign = item.align === "center" ? "center" : item.align === "right" ? "right" : "left";
    const lines = item.s.split("\n"), width = Math.max(...lines.map(line => ctx.measureText(line).width));
    let x = X(item.x) + item.dx * ratio;
    if (item.align !== "center" && item.align !== "right" && x + width > bbox.left + bbox.width && x < bbox.left + bbox.width) {
      ctx.textAlign = "right";
      x = X(item.x) - item.dx * ratio;
    }
    lines.forEach((line, i) => ctx.fillText(line, x, Y(item.y) - (item.dy - 12 * i) * ratio));
  },
};
function segment(ctx, x0, y0, x1, y1) {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}
function strokeLine(ctx, px, py, step) {
  ctx.lineJoin = "round";
  ctx.beginPath();
  let last = -1;
  for (let i = 0; i < px.length; i++) {
    if (px[i] === null || py[i] === null) { last = -1; continue; }
    if (last < 0) ctx.moveTo(px[i], py[i]);
    else {
      if (step === "post") ctx.lineTo(px[i], py[last]);
      else if (step === "pre") ctx.lineTo(px[last], py[i]);
      else if (step === "mid") { const half = (px[last] + px[i]) / 2; ctx.lineTo(half, py[last]); ctx.lineTo(half, py[i]); }
      ctx.lineTo(px[i], py[i]);
    }
    last = i;
  }
  ctx.stroke();
}
// A line needs two points: one between two gaps is a dot.
function lonePoints(ctx, px, py, radius) {
  const gap = i => (px[i] ?? null) === null || (py[i] ?? null) === null;
  for (let i = 0; i < px.length; i++) {
    if (gap(i) || !gap(i - 1) || !gap(i + 1)) continue;
    ctx.beginPath();
    ctx.arc(px[i], py[i], radius, 0, 7);
    ctx.fill();
  }
}
function intervals(ctx, item, px, py, X, Y, ratio) {
  const cap = 3 * ratio;
  for (let i = 0; i < px.length; i++) {
    if (px[i] === null || py[i] === null) continue;
    if (item.ylow && item.ylow[i] !== null && item.ylow[i] !== item.yhigh[i]) {
      const [low, high] = [Y(item.ylow[i]), Y(item.yhigh[i])];
      segment(ctx, px[i], low, px[i], high);
      segment(ctx, px[i] - cap, low, px[i] + cap, low);
      segment(ctx, px[i] - cap, high, px[i] + cap, high);
    }
    if (item.xlow && item.xlow[i] !== null && item.xlow[i] !== item.xhigh[i]) {
      const [low, high] = [X(item.xlow[i]), X(item.xhigh[i])];
      segment(ctx, low, py[i], high, py[i]);
      segment(ctx, low, py[i] - cap, low, py[i] + cap);
      segment(ctx, high, py[i] - cap, high, py[i] + cap);
    }
  }
}
const corners = {
  s: [[-1, -1], [1, -1], [1, 1], [-1, 1]], "^": [[0, -1.1], [1, 0.9], [-1, 0.9]], v: [[0, 1.1], [1, -0.9], [-1, -0.9]],
  D: [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
};
function mark(ctx, marker, x, y, size, open) {
  const r = size / 2;
  ctx.beginPath();
  if (marker === "|") { segment(ctx, x, y - size, x, y + size); return; }
  if (["x", "X", "+", "P", "*"].includes(marker)) {
    if (marker !== "+" && marker !== "P") { segment(ctx, x - r, y - r, x + r, y + r); segment(ctx, x - r, y + r, x + r, y - r); }
    if (marker !== "x" && marker !== "X") { segment(ctx, x - r, y, x + r, y); segment(ctx, x, y - r, x, y + r); }
    return;
  }
  if (corners[marker]) { for (const [dx, dy] of corners[marker]) ctx.lineTo(x + dx * r, y + dy * r); ctx.closePath(); }
  else ctx.arc(x, y, marker === "." ? r * 0.7 : r, 0, 7);
  if (open) { ctx.save(); ctx.fillStyle = css("--paper"); ctx.fill(); ctx.restore(); ctx.stroke(); } else ctx.fill();
}

return { css, ink, learnPaper, painters };
})();
