// What a report does by itself: figures that can be zoomed and read off, tables that can be sorted, and downloads. No network.
// A figure's data is the JSON beside it, as haltere.report.charts wrote it; uPlot gives axes, zoom and cursor, and this file draws what is in them.
"use strict";
const $ = (tag, attributes = {}, ...inside) => {
  const one = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) key === "style" ? (one.style.cssText = value) : key in one ? (one[key] = value) : one.setAttribute(key, value);
  one.append(...inside);
  return one;
};
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");
const show = (v) => (v == null || !isFinite(v) ? "–" : Math.abs(v) >= 1e6 || (v && Math.abs(v) < 1e-4) ? v.toExponential(2) : String(+v.toPrecision(4)));
const unit = (label) => (/\(([^()]*)\)\s*$/.exec(label) || ["", label && label.length < 10 ? label : ""])[1];

// -- downloads ----------------------------------------------------------------------------------------------------------------------

function save(name, type, ...parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  $("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
// A spreadsheet takes text that begins with = + - @ for a formula: an apostrophe makes it text.
const inert = (cell) => (/^[=+\-@\t\r]/.test(cell) && !Number.isFinite(Number(cell)) ? `'${cell}` : cell);
const csvCell = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
const csv = (rows) => rows.map((row) => row.map((cell) => csvCell(inert(String(cell ?? "")))).join(",")).join("\n") + "\n";

// A page of the size of the picture with the picture on it: the smallest PDF there is (ISO 32000-1, DCTDecode).
function pdf(canvas, scale) {
  const jpeg = Uint8Array.from(atob(canvas.toDataURL("image/jpeg", 0.95).split(",")[1]), (c) => c.charCodeAt(0));
  const [w, h] = [(canvas.width / scale) * 0.75, (canvas.height / scale) * 0.75], parts = [], places = [];
  let length = 0;
  const put = (part) => { parts.push(part); length += part.length; };
  const object = (text, bytes) => {
    places.push(length);
    put(`${places.length} 0 obj\n${text}\n`);
    if (bytes) { put("stream\n"); put(bytes); put("\nendstream\n"); }
    put("endobj\n");
  };
  const draw = `q ${w} 0 0 ${h} 0 0 cm /I Do Q`;
  put("%PDF-1.4\n");
  object("<< /Type /Catalog /Pages 2 0 R >>");
  object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
  object(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${w} ${h}] /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>`);
  object(`<< /Length ${draw.length} >>`, draw);
  object(`<< /Type /XObject /Subtype /Image /Width ${canvas.width} /Height ${canvas.height} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode /Length ${jpeg.length} >>`, jpeg);
  const start = length;
  put(`xref\n0 6\n0000000000 65535 f \n${places.map((p) => String(p).padStart(10, "0") + " 00000 n \n").join("")}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`);
  return parts;
}
const png = (canvas, name) => canvas.toBlob((blob) => save(name, "image/png", blob));

// -- tables -------------------------------------------------------------------------------------------------------------------------

function table(one) {
  const body = one.tBodies[0], rows = [...body.rows], heads = [...one.tHead.rows[0].cells];
  const cells = (row) => [...row.cells].map((cell) => cell.textContent);
  const value = (text) => { const found = /-?\d[\d ,]*\.?\d*(?:e[+-]?\d+)?/i.exec(text.replace("−", "-")); return found ? parseFloat(found[0].replace(/[ ,]/g, "")) : NaN; };
  heads.forEach((head, i) => {
    const left = head.classList.contains("l"), button = $("button", { type: "button", title: "sort" }, ...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      const key = (row) => row.cells[i].textContent, number = !left || rows.every((row) => /^-?[\d.]/.test(key(row)));
      // What is no number comes last, either way; equal rows keep their order.
      const order = (a, b) => {
        if (!number) return way * key(a).localeCompare(key(b), "en", { numeric: true });
        const [x, y] = [value(key(a)), value(key(b))];
        return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) : way * (x - y);
      };
      body.append(...rows.slice().sort(order));
    };
  });
  const get = $("button", { type: "button", title: "download the table" }, "CSV");
  get.onclick = () => save(one.dataset.name + ".csv", "text/csv", csv([heads.map((h) => h.textContent), ...rows.map(cells)]));
  one.closest(".block").querySelector(".tools").append(get);
}

// -- panels -------------------------------------------------------------------------------------------------------------------------

// Dark inks are lightened on a dark page: they were chosen for paper.
function tone(colour) {
  if (!dark.matches) return colour;
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)), light = (0.3 * r + 0.59 * g + 0.11 * b) / 255;
  const mix = light < 0.2 ? 0.8 : light < 0.45 ? 0.35 : 0;
  return `rgb(${[r, g, b].map((c) => Math.round(c + (255 - c) * mix)).join(" ")})`;
}

const lows = (s) => s.lo || (s.kind === "bars" ? s.y.map((y, i) => Math.min(y, s.base[i])) : s.y);
const highs = (s) => s.hi || s.y;

// The range of y over what is shown of x; the print's own where all is shown.
function rangeY(panel, hidden, [from, to]) {
  const whole = from <= panel.x.min && to >= panel.x.max, off = panel.series.some((s) => hidden.has(s.name));
  if (whole && !off) return [panel.y.min, panel.y.max];
  let [low, high] = [Infinity, -Infinity];
  for (const s of panel.series) {
    if (hidden.has(s.name)) continue;
    const [lo, hi] = [lows(s), highs(s)];
    s.x.forEach((x, i) => { if (x >= from && x <= to && lo[i] != null) { low = Math.min(low, lo[i]); high = Math.max(high, hi[i]); } });
  }
  if (!(low <= high)) return [panel.y.min, panel.y.max];
  const rim = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return panel.y.log ? [low / 1.2, high * 1.2] : [low >= 0 && low - rim < 0 ? 0 : low - rim, high + rim];
}

const SIGNS = {
  s: (c, r) => c.rect(-r, -r, 2 * r, 2 * r),
  D: (c, r) => { c.moveTo(0, -r * 1.3); c.lineTo(r * 1.3, 0); c.lineTo(0, r * 1.3); c.lineTo(-r * 1.3, 0); c.closePath(); },
  "^": (c, r) => { c.moveTo(0, -r * 1.2); c.lineTo(r * 1.1, r); c.lineTo(-r * 1.1, r); c.closePath(); },
  x: (c, r) => { c.moveTo(-r, -r); c.lineTo(r, r); c.moveTo(r, -r); c.lineTo(-r, r); },
  o: (c, r) => c.arc(0, 0, r, 0, 7),
};

function drawSeries(c, u, s) {
  const px = (v) => u.valToPos(v, "x", true), py = (v) => u.valToPos(v, "y", true), k = devicePixelRatio;
  const colour = tone(s.colour), bottom = u.bbox.top + u.bbox.height;
  c.strokeStyle = c.fillStyle = colour;
  c.lineWidth = (s.width && s.kind !== "bars" ? Math.max(s.width, 1) : 1.2) * k;
  c.setLineDash(s.dash ? [5 * k, 4 * k] : []);
  c.beginPath();
  if (s.kind === "bars") {
    s.x.forEach((x, i) => {
      if (s.y[i] == null) return;
      const [a, b] = [px(x - s.width / 2), px(x + s.width / 2)], top = py(s.y[i]), base = u.scales.y.distr === 3 ? bottom : py(s.base[i]);
      c.rect(Math.min(a, b), Math.min(top, base), Math.abs(b - a), Math.abs(base - top));
    });
    c.globalAlpha = 0.85;
    c.fill();
  } else if (s.kind === "area") {
    const kept = s.x.map((_, i) => i).filter((i) => s.lo[i] != null);
    kept.forEach((i, j) => (j ? c.lineTo(px(s.x[i]), py(s.hi[i])) : c.moveTo(px(s.x[i]), py(s.hi[i]))));
    kept.reverse().forEach((i) => c.lineTo(px(s.x[i]), py(s.lo[i])));
    c.globalAlpha = s.alpha || 0.2;
    c.fill();
  } else if (s.kind === "whiskers") {
    s.x.forEach((x, i) => {
      const [at, lo, hi] = [px(x), py(s.lo[i]), py(s.hi[i])], w = 3 * k;
      c.moveTo(at, lo); c.lineTo(at, hi);
      for (const end of [lo, hi]) { c.moveTo(at - w, end); c.lineTo(at + w, end); }
    });
    c.stroke();
  } else if (s.kind !== "points") {
    let pen = false, before = 0;
    s.x.forEach((x, i) => {
      if (s.y[i] == null) { pen = false; return; }
      const [at, up] = [px(x), py(s.y[i])];
      if (!pen) c.moveTo(at, up);
      else { if (s.kind === "step") c.lineTo(at, before); c.lineTo(at, up); }
      pen = true; before = up;
    });
    if (s.width !== 0) c.stroke();
    if (s.fill) { c.globalAlpha = 0.12; c.fill(); }
  }
  c.globalAlpha = 1;
  c.setLineDash([]);
  if (s.kind === "points" || s.sign) signs(c, s, px, py, k);
}

function signs(c, s, px, py, k) {
  const sign = SIGNS[s.sign] || SIGNS.o;
  s.x.forEach((x, i) => {
    if (s.y[i] == null) return;
    c.save(); c.translate(px(x), py(s.y[i])); c.beginPath(); sign(c, 3.1 * k);
    if (s.hollow) { c.fillStyle = css("--page"); c.fill(); }
    s.hollow || s.sign === "x" ? c.stroke() : c.fill();
    c.restore();
  });
}

function draw(u, panel, hidden) {
  const c = u.ctx, { left, top, width, height } = u.bbox, k = devicePixelRatio;
  c.save(); c.beginPath(); c.rect(left, top, width, height); c.clip();
  for (const s of panel.series) if (!hidden.has(s.name)) drawSeries(c, u, s);
  for (const rule of panel.rules) {
    if (hidden.has(rule.name)) continue;
    const at = u.valToPos(rule.at, rule.axis, true);
    c.strokeStyle = tone(rule.colour); c.lineWidth = k; c.setLineDash([4 * k, 3 * k]); c.beginPath();
    if (rule.axis === "x") { c.moveTo(at, top); c.lineTo(at, top + height); } else { c.moveTo(left, at); c.lineTo(left + width, at); }
    c.stroke(); c.setLineDash([]);
  }
  c.fillStyle = css("--ink"); c.font = `${10.5 * k}px system-ui, sans-serif`;
  for (const [x, y, text] of panel.texts) c.fillText(text, u.valToPos(x, "x", true), u.valToPos(y, "y", true));
  c.restore();
}

// -- reading off --------------------------------------------------------------------------------------------------------------------

// The place in the series that is meant at this x: the last one for steps, the nearest for the rest, nothing that is far away.
function at(u, s, left, top) {
  let best = -1, least = Infinity;
  const flat = s.kind === "path" || s.kind === "points";
  s.x.forEach((x, i) => {
    if ((s.y || s.lo)[i] == null) return;
    const dx = u.valToPos(x, "x") - left;
    if (s.kind === "step" && dx > 1) return;
    const far = flat ? Math.hypot(dx, u.valToPos(s.y[i], "y") - top) : Math.abs(dx);
    if (far <= least) { least = far; best = i; }
  });
  const reach = flat ? 45 : s.kind === "bars" ? Math.max(14, Math.abs(u.valToPos(s.width, "x") - u.valToPos(0, "x"))) : s.kind === "step" ? Infinity : 60;
  return least <= reach ? best : -1;
}

function tip(u, panel, hidden, box, shared) {
  const { left, top } = u.cursor;
  box.hidden = !(left >= 0 && top != null);
  if (box.hidden) return;
  const read = new Map();
  let x = u.posToVal(left, "x");
  for (const s of panel.series) {
    if (hidden.has(s.name)) continue;
    const i = at(u, s, left, top);
    if (i < 0) continue;
    const row = read.get(s.name) || { colour: s.colour };
    if (s.lo) { row.lo = s.lo[i]; row.hi = s.hi[i]; } else { row.y = s.y[i]; row.colour = s.colour; row.x = s.x[i]; if (s.kind !== "step") x = s.x[i]; }
    read.set(s.name, row);
  }
  const ticks = panel.x.ticks && panel.x.ticks.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a));
  const label = panel.x.label || shared || "x";
  const head = ticks ? ticks[1] : `${label.replace(/\s*\([^()]*\)\s*$/, "")} ${show(x)} ${/\)\s*$/.test(label) ? unit(label) : ""}`;
  const rows = [...read].sort((a, b) => (b[1].y ?? b[1].hi) - (a[1].y ?? a[1].hi)), most = 14;
  const line = ([name, r]) => {
    const band = r.lo == null ? "" : ` [${show(r.lo)}, ${show(r.hi)}]`;
    return $("tr", {}, $("td", {}, $("i", { style: `background:${tone(r.colour)}` }), name || panel.y.label), $("td", {}, `${r.y == null ? "" : show(r.y)}${band}`));
  };
  const more = rows.length > most ? [$("tr", {}, $("td", {}, `and ${rows.length - most} more`))] : [];
  box.hidden = !rows.length;
  box.replaceChildren($("b", {}, head, unit(panel.y.label) ? ` · ${unit(panel.y.label)}` : ""), $("table", {}, ...rows.slice(0, most).map(line), ...more));
  const right = left > u.over.clientWidth / 2, edge = u.over.offsetLeft + left;
  box.style.left = right ? "auto" : `${edge + 14}px`;
  box.style.right = right ? `${box.parentNode.clientWidth - edge + 14}px` : "auto";
  box.style.top = `${u.over.offsetTop + 6 + (box.parentNode.querySelector("h4")?.offsetHeight || 0)}px`;
}

// -- figures ------------------------------------------------------------------------------------------------------------------------

function axis(which, of, width) {
  const told = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1, size: 4 }, font: "11px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", label: of.label || undefined, labelSize: of.label ? 20 : 0, gap: 4 };
  told.size = which === "x" ? 28 : 50;
  told.values = (_, splits) => splits.map((v) => (v == null ? "" : show(v)));
  if (of.log) {
    // Lines at 1 to 9 times a power of ten; numbers at 1, 2 and 5, or at all where the axis is short.
    told.splits = (_u, _i, low, high) => {
      const out = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) for (let m = 1; m < 10; m++) { const v = m * 10 ** e; if (v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9)) out.push(+v.toPrecision(12)); }
      return out.length > 1 ? out : [low, high];
    };
    const round = (v) => [1, 2, 5].some((m) => Math.abs(v / 10 ** Math.floor(Math.log10(v) + 1e-9) - m) < 1e-6);
    told.filter = (_, splits) => { const few = splits.filter(round).length < 3; return splits.map((v) => (few || round(v) ? v : null)); };
  }
  if (of.ticks) {
    const texts = of.ticks.map(([, text]) => text), longest = Math.max(...texts.map((text) => text.length));
    told.splits = () => of.ticks.map(([v]) => v);
    told.values = (_, splits) => splits.map((v) => (of.ticks.find(([x]) => x === v) || ["", ""])[1]);
    told.filter = (_, splits) => splits;
    if (which === "x") {
      told.grid.show = false;
      if (longest * 6.4 > (width - 70) / texts.length) { told.rotate = -32; told.size = Math.min(120, 22 + longest * 3.6); told.values = (u, splits) => splits.map((v) => { const t = (of.ticks.find(([x]) => x === v) || ["", ""])[1]; return t.length > 28 ? t.slice(0, 27) + "…" : t; }); }
    } else told.size = Math.min(150, 16 + longest * 6.4);
  }
  return told;
}

function heat(panel, host) {
  const { rows, columns, texts, colours, inks } = panel.heat, head = $("tr", {}, $("th"), ...columns.map((c) => $("th", {}, c)));
  const line = (name, i) => $("tr", {}, $("th", {}, name), ...columns.map((c, j) => $("td", { style: `background:${colours[i][j] || "none"};color:${inks[i][j]}`, title: `${panel.y.label || ""} ${name}, ${panel.x.label || ""} ${c}` }, texts[i][j])));
  const top = panel.x.label ? [$("tr", {}, $("th", { className: "axis" }, panel.y.label), $("th", { className: "axis", colSpan: columns.length }, panel.x.label))] : [];
  host.append($("div", { className: "wide" }, $("table", { className: "heat" }, $("thead", {}, ...top, head), $("tbody", {}, ...rows.map(line)))));
}

class Figure {
  constructor(node, spec) {
    Object.assign(this, { node, spec, hidden: new Set(), plots: [], key: node.dataset.name });
    const grid = node.querySelector(".panels"), tall = spec.height || (spec.panels.length > 1 ? 215 : 300);
    grid.style.setProperty("--columns", spec.columns);
    grid.replaceChildren();
    for (const panel of spec.panels) {
      const host = $("div", { className: "panel" });
      if (panel.title) host.append($("h4", {}, panel.title));
      grid.append(host);
      panel.heat ? heat(panel, host) : this.plots.push(this.plot(panel, host, tall));
    }
    this.legend();
  }
  plot(panel, host, tall) {
    const box = $("div", { className: "tip", hidden: true }), { hidden, spec } = this, width = Math.max(host.clientWidth, 240);
    const name = spec.shared ? spec.panels.map((one) => one.x.label).find(Boolean) : "";
    let seen = [panel.x.min, panel.x.max];
    const labels = ["x", "y"].map((which) => axis(which, panel[which], width));
    const u = new uPlot({
      width, height: tall + (labels[0].rotate ? labels[0].size - 28 : 0), legend: { show: false }, padding: [8, 12, 0, 0],
      cursor: { points: { show: false }, drag: spec.shared ? { x: true, y: false } : { x: true, y: true, uni: 40 }, sync: spec.shared ? { key: this.key, setSeries: false, scales: ["x", null] } : undefined },
      scales: {
        x: { time: false, distr: panel.x.log ? 3 : 1, dir: panel.x.reversed ? -1 : 1, range: (_, a, b) => (seen = a == null ? [panel.x.min, panel.x.max] : [a, b]) },
        y: { distr: panel.y.log ? 3 : 1, dir: panel.y.reversed ? -1 : 1, range: () => rangeY(panel, hidden, seen) },
      },
      axes: labels, series: [{}, { show: true, paths: () => null, points: { show: false } }],
      hooks: { draw: [(u) => draw(u, panel, hidden)], setCursor: [(u) => tip(u, panel, hidden, box, name)], setScale: [() => this.tools?.()] },
    }, [[panel.x.min, panel.x.max], [null, null]], host);
    host.append(box);
    u.whole = () => u.scales.x.min <= panel.x.min + 1e-12 && u.scales.x.max >= panel.x.max - 1e-12 && (hidden.size > 0 || (u.scales.y.min <= panel.y.min && u.scales.y.max >= panel.y.max));
    u.reset = () => u.setScale("x", { min: panel.x.min, max: panel.x.max });
    u.host = host;
    u.tall = u.height;
    return u;
  }
  legend() {
    const names = new Map();
    for (const panel of this.spec.panels) {
      for (const s of [...panel.series].sort((a, b) => (a.kind === "area") - (b.kind === "area"))) if (s.name && (!names.has(s.name) || s.kind === "bars")) names.set(s.name, s.colour);
      for (const r of panel.rules) if (r.name) names.set(r.name, r.colour);
    }
    const box = this.node.querySelector(".legend"), buttons = new Map();
    const refresh = () => { for (const [name, b] of buttons) b.setAttribute("aria-pressed", String(!this.hidden.has(name))); this.plots.forEach((u) => u.setScale("x", { min: u.scales.x.min, max: u.scales.x.max })); };
    for (const [name, colour] of names) {
      const b = $("button", { type: "button", title: "click: hide or show; double click: this one alone, or all", "aria-pressed": "true" }, $("i", { style: `background:${tone(colour)}` }), name);
      b.onclick = () => { this.hidden.has(name) ? this.hidden.delete(name) : this.hidden.add(name); refresh(); };
      b.ondblclick = () => { const alone = this.hidden.size === names.size - 1 && !this.hidden.has(name); this.hidden.clear(); if (!alone) for (const n of names.keys()) if (n !== name) this.hidden.add(n); refresh(); };
      buttons.set(name, b);
    }
    this.names = names;
    box.replaceChildren(...(names.size > 1 ? buttons.values() : []));
  }
  resize() { for (const u of this.plots) { const width = Math.max(u.host.clientWidth, 240); if (width !== u.width) u.setSize({ width, height: u.tall }); } }
  rows() {
    const out = [["panel", "series", "kind", "x", "y", "low", "high", "x axis", "y axis"]];
    this.spec.panels.forEach((panel, i) => {
      const name = panel.title || String(i + 1), ends = [panel.x.label, panel.y.label];
      if (panel.heat) panel.heat.rows.forEach((r, a) => panel.heat.columns.forEach((c, b) => out.push([name, r, "cell", c, panel.heat.values[a][b], "", "", ...ends])));
      for (const s of panel.series) s.x.forEach((x, j) => { const tick = panel.x.ticks?.find(([v]) => Math.abs(v - x) < 0.5); out.push([name, s.name, s.kind, tick ? tick[1] : x, s.y ? s.y[j] : "", s.lo ? s.lo[j] : "", s.hi ? s.hi[j] : "", ...ends]); });
    });
    return out;
  }
  // The view as one picture: legend, titles and canvases where they stand on the page.
  view(title) {
    const grid = this.node.querySelector(".panels"), frame = grid.getBoundingClientRect(), k = devicePixelRatio, top = 46;
    const canvas = $("canvas", { width: frame.width * k, height: (frame.height + top) * k }), c = canvas.getContext("2d");
    c.scale(k, k);
    c.fillStyle = css("--page"); c.fillRect(0, 0, frame.width, frame.height + top);
    c.fillStyle = css("--ink"); c.font = "600 13px system-ui, sans-serif"; c.fillText(title, 4, 16);
    let x = 4;
    c.font = "11px system-ui, sans-serif";
    for (const [name, colour] of this.names) {
      if (this.hidden.has(name) || x > frame.width - 60) continue;
      c.fillStyle = tone(colour); c.fillRect(x, 28, 10, 7);
      c.fillStyle = css("--ink"); c.fillText(name, x + 14, 35);
      x += 26 + c.measureText(name).width;
    }
    for (const u of this.plots) {
      const place = u.ctx.canvas.getBoundingClientRect(), head = u.host.querySelector("h4");
      c.drawImage(u.ctx.canvas, place.left - frame.left, place.top - frame.top + top, place.width, place.height);
      c.font = "600 12px system-ui, sans-serif";
      if (head) c.fillText(head.textContent, place.left - frame.left + 4, head.getBoundingClientRect().bottom - frame.top + top - 4);
    }
    return canvas;
  }
}

function tools(node, figure, view) {
  const bar = node.querySelector(".tools"), name = node.dataset.name, button = (text, title, does) => { const b = $("button", { type: "button", title }, text); b.onclick = does; return b; };
  const reset = button("reset zoom", "or double click in the figure", () => figure().plots.forEach((u) => u.reset()));
  reset.hidden = true;
  const link = bar.querySelector(".pdf"), image = node.querySelector("img"), all = [reset];
  if (figure) all.push(button("CSV", "what is drawn here, as numbers", () => save(name + ".csv", "text/csv", csv(figure().rows()))));
  if (view) all.push(button("PNG", "what is shown, as a picture", () => png(view(), name + ".png")), button("PDF", "what is shown, as a page", () => save(name + ".pdf", "application/pdf", ...pdf(view(), devicePixelRatio))));
  else if (image) all.push($("a", { href: image.src, download: name + ".png", title: "the figure as for print" }, "PNG"));
  bar.prepend(...all);
  if (link) bar.append(link);
  return () => { const at = figure && figure(); reset.hidden = !at || at.plots.every((u) => u.whole()); };
}

const live = [];
function chart(node) {
  const spec = JSON.parse(node.querySelector("script.spec").textContent);
  let figure = null;
  const refresh = tools(node, () => figure);
  const make = () => { figure?.plots.forEach((u) => u.destroy()); node.classList.add("live"); figure = new Figure(node, spec); figure.tools = refresh; refresh(); };
  make();
  live.push({ make, resize: () => figure.resize(), figure: () => figure });
}

// Runs of which one is shown at a time. Each is kept packed until it is chosen.
async function unpack(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
}
function choice(node) {
  const index = JSON.parse(node.querySelector("script.index").textContent), keys = Object.keys(index[0].labels), pick = node.querySelector(".pick"), selects = {};
  let figure = null, spec = null, shown = index[0];
  const title = () => keys.map((key) => (keys.length > 1 || key !== "run" ? `${key} ${shown.labels[key]}` : shown.labels[key])).join(", ");
  const refresh = tools(node, () => figure, () => figure.view(title()));
  const make = () => { if (!spec) return; figure?.plots.forEach((u) => u.destroy()); figure = new Figure(node, spec); figure.tools = refresh; refresh(); };
  const choose = async () => {
    const wanted = keys.map((key) => selects[key].value);
    shown = index.find((one) => keys.every((key, i) => one.labels[key] === wanted[i])) || index.find((one) => one.labels[keys[0]] === wanted[0]);
    keys.forEach((key) => (selects[key].value = shown.labels[key]));
    spec = await unpack(shown.id);
    make();
    node.dataset.shown = shown.id;
  };
  for (const key of keys) {
    const values = [...new Set(index.map((one) => one.labels[key]))];
    selects[key] = $("select", { onchange: choose, name: key, disabled: values.length < 2 }, ...values.map((v) => $("option", { value: v }, v)));
    pick.append($("label", {}, key, selects[key]));
  }
  node.classList.add("live");
  choose();
  live.push({ make, resize: () => figure?.resize(), figure: () => figure });
}

function picture(node) {
  const svg = node.querySelector("svg"), bar = node.querySelector(".tools"), name = node.dataset.name;
  const text = () => new XMLSerializer().serializeToString(svg);
  const raster = (then) => {
    const [, , w, h] = svg.getAttribute("viewBox").split(" ").map(Number), image = new Image();
    image.onload = () => { const canvas = $("canvas", { width: w * 3, height: h * 3 }), c = canvas.getContext("2d"); c.fillStyle = "#fff"; c.fillRect(0, 0, w * 3, h * 3); c.drawImage(image, 0, 0, w * 3, h * 3); then(canvas); };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text().replace("<svg ", `<svg width="${w}" height="${h}" `));
  };
  const button = (label, does) => { const b = $("button", { type: "button" }, label); b.onclick = does; bar.append(b); };
  button("SVG", () => save(name + ".svg", "image/svg+xml", text()));
  button("PNG", () => raster((canvas) => png(canvas, name + ".png")));
  button("PDF", () => raster((canvas) => save(name + ".pdf", "application/pdf", ...pdf(canvas, 3))));
}

document.querySelectorAll("figure.picture-of").forEach(picture);
// The rest one after the other, so that the page can be read and scrolled meanwhile.
const jobs = [
  ...[...document.querySelectorAll("table.data")].map((node) => () => table(node)),
  ...[...document.querySelectorAll("figure.chart, figure.still")].map((node) => () => (node.classList.contains("still") ? tools(node) : node.classList.contains("choice") ? choice(node) : chart(node))),
];
const next = () => { const job = jobs.shift(); if (job) { job(); setTimeout(next); } else document.documentElement.dataset.ready = ""; };
setTimeout(next);
let later = 0;
addEventListener("resize", () => { clearTimeout(later); later = setTimeout(() => live.forEach((one) => one.resize()), 80); });
dark.addEventListener("change", () => live.forEach((one) => one.make()));
window.haltere = { live };
