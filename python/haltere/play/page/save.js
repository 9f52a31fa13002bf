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
  const rows = [["time (s)", ...figure.lines.map((line) => line.name + unit)]];
  figure.t.forEach((at, i) => {
    if (at >= from && at <= to) rows.push([at, ...figure.lines.map(({ values }) => figure.states ? figure.states[values[i]] ?? null : values[i])]);
  });
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

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
