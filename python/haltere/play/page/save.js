// Files that the page gives to its user.

import { css } from "./figures.js";
import { element } from "./form.js";

export function download(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A cell of CSV: quoted where it must be, and never a formula of a spreadsheet.
function cell(value) {
  if (value == null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(figure, [from, to]) {
  const unit = figure.unit ? ` (${figure.unit})` : "";
  const rows = [[figure.x ?? "time (s)", ...figure.lines.flatMap((line) => line.low ? [line.name + unit, `${line.name} low`, `${line.name} high`] : [line.name + unit])]];
  figure.t.forEach((at, i) => {
    if (!(at >= from && at <= to)) return;
    const of = ({ values, low, high }) => low ? [values[i], low[i], high[i]] : [figure.states ? figure.states[values[i]] ?? null : values[i]];
    rows.push([figure.names?.[at] ?? at, ...figure.lines.flatMap(of)]);
  });
  return asCsv(rows);
}

export const asCsv = (rows) => rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");

// The time that is shown, with the values of each line, stacked or not.
export const saveCsv = (name, { figure, span }) => download(`${name}.csv`, new Blob([csv(figure, span)], { type: "text/csv" }));

// What is drawn, under its title and the names of its lines.
export function savePng(name, { title, figure, canvas }) {
  const scale = devicePixelRatio, out = document.createElement("canvas"), ctx = out.getContext("2d");
  const size = (px) => px * scale, font = "system-ui, sans-serif", names = [];
  ctx.font = `${size(11)}px ${font}`;
  let [x, row] = [0, 0];
  for (const line of figure.lines) {
    const width = ctx.measureText(line.name).width + size(26);
    if (x > 0 && x + width > canvas.width - size(20)) [x, row] = [0, row + 1];
    names.push({ line, x, row });
    x += width;
  }
  const head = size(30 + 16 * (row + 1));
  Object.assign(out, { width: canvas.width, height: canvas.height + head });
  ctx.fillStyle = css("--card");
  ctx.fillRect(0, 0, out.width, out.height);
  ctx.fillStyle = css("--text");
  ctx.font = `600 ${size(13)}px ${font}`;
  ctx.fillText(`${title}${figure.unit ? ` (${figure.unit})` : ""}`, size(10), size(20));
  ctx.font = `${size(11)}px ${font}`;
  for (const { line, x, row } of names) {
    const top = size(30 + 16 * row);
    ctx.fillStyle = line.colour;
    ctx.fillRect(size(10) + x, top + size(3), size(9), size(line.dash ? 2 : 9));
    ctx.fillStyle = css("--text");
    ctx.fillText(line.name, size(23) + x, top + size(11));
  }
  ctx.drawImage(canvas, 0, head);
  out.toBlob((blob) => download(`${name}.png`, blob), "image/png");
}

const escaped = (text) => String(text).replace(/[<>&"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

// The same as lines that a drawing program can change: axes, names, and what is drawn in the time that is shown.
export function svg({ title, figure, span: [from, to] }, [wide, high] = [720, 380]) {
  const [left, top, right, bottom] = [56, 58, wide - 14, high - 34], inside = figure.t.map((at) => at >= from && at <= to), log = figure.log ? Math.log10 : (x) => x;
  const times = figure.t.filter((_, i) => inside[i]).map(log), values = figure.lines.flatMap((line) => [...(line.drawn ?? line.values), ...(line.low ?? []), ...(line.high ?? [])].filter(Number.isFinite));
  const [x0, x1] = [Math.min(...times), Math.max(...times)], [y0, y1] = [values.reduce((a, b) => Math.min(a, b), 0), values.reduce((a, b) => Math.max(a, b), 1e-9)];
  const x = (at) => left + (right - left) * (log(at) - x0) / (x1 - x0 || 1), y = (value) => bottom - (bottom - top) * (value - y0) / (y1 - y0 || 1);
  const text = (at, height, words, more = "") => `<text x="${at.toFixed(1)}" y="${height.toFixed(1)}" ${more}>${escaped(words)}</text>`;
  const ticks = [0, 0.25, 0.5, 0.75, 1], word = (value) => +value.toPrecision(4), out = [];
  for (const part of ticks) {
    const value = y0 + (y1 - y0) * part;
    out.push(`<path d="M${left} ${y(value).toFixed(1)}H${right}" stroke="#dde2e8"/>`, text(left - 6, y(value) + 4, word(value), 'text-anchor="end"'));
    const at = x0 + (x1 - x0) * part;
    if (!figure.names) out.push(text(left + (right - left) * part, bottom + 18, word(figure.log ? 10 ** at : at), 'text-anchor="middle"'));
  }
  for (const [i, name] of (figure.names ?? []).entries()) out.push(text(x(i), bottom + 18, name, 'text-anchor="middle"'));
  let at = left;
  for (const { name, colour: shown, ...line } of figure.lines) {
    const colour = plain(shown), points = [];
    let gap = true;
    (line.drawn ?? line.values).forEach((value, i) => {
      if (value === undefined || !inside[i]) return;
      if (Number.isFinite(value)) points.push(`${gap ? "M" : "L"}${x(figure.t[i]).toFixed(1)} ${y(value).toFixed(1)}`);
      gap = value === null;
      if (line.low?.[i] != null) out.push(`<path d="M${x(figure.t[i]).toFixed(1)} ${y(line.low[i]).toFixed(1)}V${y(line.high[i]).toFixed(1)}" stroke="${colour}" stroke-width="1.4"/>`);
    });
    out.push(`<path d="${points.join("")}" fill="none" stroke="${colour}" stroke-width="1.5"${line.dash ? ' stroke-dasharray="5 4"' : ""}/>`);
    out.push(`<path d="M${at} 40h14" stroke="${colour}" stroke-width="3"/>`, text(at + 18, 44, name));
    at += 30 + 7 * name.length;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${wide} ${high}" font-family="system-ui, sans-serif" font-size="12"><rect width="${wide}" height="${high}" fill="#fff"/>`
    + `${text(left, 22, title + (figure.unit ? ` (${figure.unit})` : ""), 'font-weight="600" font-size="14"')}${out.join("")}${text(right, high - 4, figure.x ?? "time (s)", 'text-anchor="end"')}</svg>`;
}

// A colour as numbers: a drawing program knows no mixtures.
function plain(colour) {
  const ctx = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  ctx.fillStyle = colour;
  ctx.fillRect(0, 0, 1, 1);
  const [r, g, b] = ctx.getImageData(0, 0, 1, 1).data;
  return `rgb(${r},${g},${b})`;
}

export const saveSvg = (name, what) => download(`${name}.svg`, new Blob([svg(what)], { type: "image/svg+xml" }));
