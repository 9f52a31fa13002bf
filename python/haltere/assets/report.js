// What a report does by itself: figures that can be zoomed and read off, tables that can be sorted, and downloads. No network.
// A figure's data is the JSON beside it, as haltere.report.charts wrote it. ECharts draws it, on a canvas for the page and as SVG for export.
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

// -- a drawing as a page of vectors (ISO 32000-1) ---------------------------------------------------------------------------------------

const NUMBER = /[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?/gi;
const round = (v) => String(+v.toFixed(3));
// The outline of a shape in operators of PDF: moves, lines, curves; arcs as curves of at most a quarter.
function outline(node) {
  const n = (name) => node[name].baseVal.value, out = [], put = (op, ...at) => out.push(`${at.map(round).join(" ")} ${op}`);
  const kind = node.tagName, points = () => (node.getAttribute("points").match(NUMBER) || []).map(Number);
  let d = node.getAttribute("d") || "";
  if (kind === "rect") d = `M${n("x")} ${n("y")}h${n("width")}v${n("height")}h${-n("width")}Z`;
  if (kind === "circle") d = `M${n("cx") - n("r")} ${n("cy")}a${n("r")} ${n("r")} 0 1 1 ${2 * n("r")} 0a${n("r")} ${n("r")} 0 1 1 ${-2 * n("r")} 0Z`;
  if (kind === "line") d = `M${n("x1")} ${n("y1")}L${n("x2")} ${n("y2")}`;
  if (kind === "polyline" || kind === "polygon") d = `M${points().join(" ")}${kind === "polygon" ? "Z" : ""}`;
  let [x, y, sx, sy, cx, cy] = [0, 0, 0, 0, 0, 0];
  for (const [, letter, rest] of d.matchAll(/([a-z])([^a-df-z]*)/gi)) {
    const low = letter.toLowerCase(), take = { m: 2, l: 2, h: 1, v: 1, c: 6, s: 4, q: 4, a: 7, z: 0 }[low], all = (rest.match(NUMBER) || []).map(Number);
    for (let i = 0; i === 0 || i < all.length; i += take || 1) {
      const at = all.slice(i, i + take), rel = letter === low;
      if (take && at.length < take) break;
      if (rel && low !== "h" && low !== "v" && low !== "a") at.forEach((v, j) => (at[j] = v + (j % 2 ? y : x)));
      const end = low === "h" ? [at[0] + (rel ? x : 0), y] : low === "v" ? [x, at[0] + (rel ? y : 0)] : low === "a" ? [at[5] + (rel ? x : 0), at[6] + (rel ? y : 0)] : at.slice(-2);
      if (low === "z") { out.push("h"); [x, y] = [sx, sy]; break; }
      if (low === "m" && i === 0) { put("m", ...end); [sx, sy] = end; }
      else if (low === "c" || low === "s") {
        const [x1, y1, x2, y2] = low === "c" ? at : [2 * x - cx, 2 * y - cy, ...at];
        put("c", x1, y1, x2, y2, ...end);
        [cx, cy] = [x2, y2];
      } else if (low === "q") put("c", x + (2 / 3) * (at[0] - x), y + (2 / 3) * (at[1] - y), end[0] + (2 / 3) * (at[0] - end[0]), end[1] + (2 / 3) * (at[1] - end[1]), ...end);
      else if (low === "a") for (const curve of arcs(x, y, at, end)) put("c", ...curve);
      else put("l", ...end);
      [x, y] = end;
      if (low !== "c" && low !== "s") [cx, cy] = end;
    }
  }
  return out.join("\n");
}
// An arc by its ends (SVG 1.1, F.6.5) as cubic curves.
function arcs(x1, y1, [rx, ry, turn, large, sweep], [x2, y2]) {
  const phi = (turn * Math.PI) / 180, [c, s] = [Math.cos(phi), Math.sin(phi)], [dx, dy] = [(x1 - x2) / 2, (y1 - y2) / 2], [p, q] = [c * dx + s * dy, c * dy - s * dx];
  if (!rx || !ry || (!dx && !dy)) return [[x1, y1, x2, y2, x2, y2]];
  const over = Math.sqrt(Math.max(1, (p / rx) ** 2 + (q / ry) ** 2)), [a, b] = [Math.abs(rx) * over, Math.abs(ry) * over];
  const root = Math.sqrt(Math.max(0, (a * a * b * b - a * a * q * q - b * b * p * p) / (a * a * q * q + b * b * p * p))) * (!!large === !!sweep ? -1 : 1);
  const [u, v] = [(root * a * q) / b, (-root * b * p) / a], [mx, my] = [c * u - s * v + (x1 + x2) / 2, s * u + c * v + (y1 + y2) / 2];
  const from = Math.atan2((q - v) / b, (p - u) / a);
  let way = Math.atan2((-q - v) / b, (-p - u) / a) - from;
  if (sweep && way < 0) way += 2 * Math.PI;
  if (!sweep && way > 0) way -= 2 * Math.PI;
  const many = Math.max(1, Math.ceil(Math.abs(way) / (Math.PI / 2) - 1e-9)), step = way / many, k = (4 / 3) * Math.tan(step / 4);
  const place = (e, f) => [c * a * e - s * b * f + mx, s * a * e + c * b * f + my];
  return Array.from({ length: many }, (_, i) => {
    const [t, w] = [from + i * step, from + (i + 1) * step], [e, f, g, h] = [Math.cos(t), Math.sin(t), Math.cos(w), Math.sin(w)];
    return [...place(e - k * f, f + k * e), ...place(g + k * h, h - k * g), ...place(g, h)];
  });
}

// Helvetica's letters (Windows' code page 1252), and arrows of Symbol; other letters are a question mark.
const LETTERS = { "–": 150, "—": 151, "…": 133, "‘": 145, "’": 146, "“": 147, "”": 148, "•": 149, "€": 128, "−": 150 }, ARROWS = { "→": 174, "←": 172, "↔": 171, "⇄": 171, "≤": 163, "≥": 179 };
const code = (letter) => { const at = ARROWS[letter] || LETTERS[letter] || letter.charCodeAt(0); return (at < 256 ? at : 63).toString(16).padStart(2, "0"); };
const ruler = $("canvas").getContext("2d");

// The SVG `text` as the parts of a PDF. The page draws it unseen, so that styles and places are the browser's own.
function pdf(text) {
  const host = $("div", { style: "position:absolute;left:-99999px;top:0" });
  // The page forbids style attributes, but not what a script sets.
  host.innerHTML = text.replace(/ style="/g, ' data-css="').replace(/<style[^>]*>\s*<!\[CDATA\[[^]*?<\/style>/g, "");
  for (const node of host.querySelectorAll("[data-css]")) node.style.cssText = node.dataset.css;
  document.body.append(host);
  const svg = host.querySelector("svg"), [ox, oy, w, h] = (svg.getAttribute("viewBox") || `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`).split(/[ ,]+/).map(Number);
  svg.setAttribute("viewBox", `${ox} ${oy} ${w} ${h}`);
  svg.setAttribute("width", w);
  svg.setAttribute("height", h);
  const states = new Map(), out = [`0.75 0 0 -0.75 ${round(-ox * 0.75)} ${round((h + oy) * 0.75)} cm`], frame = svg.getScreenCTM().inverse();
  const cm = (m) => `${[m.a, m.b, m.c, m.d, m.e, m.f].map((v) => +v.toFixed(6)).join(" ")} cm`, move = (node) => cm(frame.multiply(node.getScreenCTM()));
  const ink = (value) => { const at = (value.match(NUMBER) || []).map(Number); return /^rgb/.test(value) && at[3] !== 0 ? { at: at.slice(0, 3).map((v) => round(v / 255)).join(" "), alpha: at[3] ?? 1 } : null; };
  const opacity = (node) => { let all = 1; for (let one = node; one && one !== host; one = one.parentElement) all *= Number(getComputedStyle(one).opacity); return all; };
  const state = (fill, stroke) => { const key = `/ca ${round(fill)} /CA ${round(stroke)}`; if (!states.has(key)) states.set(key, `G${states.size}`); return `/${states.get(key)} gs`; };
  const cut = (node) => {
    for (let one = node; one && one !== svg; one = one.parentElement) {
      const id = /#([^")]+)/.exec(one.getAttribute("clip-path") || "")?.[1], shape = id && svg.querySelector(`#${CSS.escape(id)}`)?.firstElementChild;
      if (!shape) continue;
      const own = shape.transform.baseVal.consolidate()?.matrix, m = own ? frame.multiply(one.getScreenCTM()).multiply(own) : frame.multiply(one.getScreenCTM());
      out.push(cm(m), `${outline(shape)} W n`, cm(m.inverse()));
    }
  };
  const write = (node) => {
    const style = getComputedStyle(node), fill = ink(style.fill), line = parseFloat(style.strokeWidth) ? ink(style.stroke) : null, see = opacity(node);
    if (style.display === "none" || style.visibility === "hidden" || !see) return;
    if (node.tagName === "text") {
      const words = node.textContent, size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 600;
      if (!fill || !words.trim()) return;
      ruler.font = `${bold ? "bold " : ""}${size}px Arial, "Liberation Sans", Helvetica, sans-serif`;
      const at = node.getExtentOfChar(0), spare = (node.getComputedTextLength() - ruler.measureText(words).width) * ({ middle: 0.5, end: 1 }[style.textAnchor] || 0);
      out.push("q", move(node), state(fill.alpha * see * Number(style.fillOpacity), 1), `${fill.at} rg BT 1 0 0 -1 ${round(at.x + spare)} ${round(at.y + 0.8 * at.height)} Tm`);
      for (const run of words.match(/[→←↔⇄≤≥]+|[^→←↔⇄≤≥]+/g)) out.push(`/${ARROWS[run[0]] ? "S" : bold ? "B" : "H"} ${round(size)} Tf <${[...run].map(code).join("")}> Tj`);
      out.push("ET Q");
      return;
    }
    const path = outline(node), does = fill && line ? "B" : fill ? "f" : line ? "S" : "";
    if (!path || !does) return;
    out.push("q");
    cut(node);
    out.push(move(node), state((fill?.alpha ?? 1) * see * Number(style.fillOpacity), (line?.alpha ?? 1) * see * Number(style.strokeOpacity)));
    if (fill) out.push(`${fill.at} rg`);
    if (line) out.push(`${line.at} RG ${round(parseFloat(style.strokeWidth))} w [${(style.strokeDasharray.match(NUMBER) || []).join(" ")}] 0 d`);
    out.push(path, does === "f" && style.fillRule === "evenodd" ? "f*" : does, "Q");
  };
  for (const node of svg.querySelectorAll("path, rect, circle, line, polyline, polygon, text")) if (!node.closest("defs, clipPath")) write(node);
  host.remove();
  return packed(out.join("\n"), round(w * 0.75), round(h * 0.75), states);
}
function packed(draw, w, h, states) {
  const font = (name, coded) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name}${coded ? " /Encoding /WinAnsiEncoding" : ""} >>`;
  const looks = [...states].map(([key, name]) => `/${name} << ${key} >>`).join(" "), fonts = `/H ${font("Helvetica", true)} /B ${font("Helvetica-Bold", true)} /S ${font("Symbol")}`;
  const objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${w} ${h}] /Contents 4 0 R /Resources << /ExtGState << ${looks} >> /Font << ${fonts} >> >> >>`, `<< /Length ${draw.length} >>\nstream\n${draw}\nendstream`];
  let text = "%PDF-1.4\n";
  const places = objects.map((one, i) => { const at = text.length; text += `${i + 1} 0 obj\n${one}\nendobj\n`; return at; });
  return `${text}xref\n0 5\n0000000000 65535 f \n${places.map((p) => String(p).padStart(10, "0") + " 00000 n \n").join("")}trailer << /Size 5 /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
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

// -- from the data of a figure to ECharts ------------------------------------------------------------------------------------------

const PAPER = { ink: "#1d2127", soft: "#5b6470", line: "#e3e6ea", page: "#ffffff", dark: false };
const screenTheme = () => ({ ink: css("--ink"), soft: css("--soft"), line: css("--line"), page: css("--page"), dark: dark.matches });

// Dark inks are lightened on a dark page: they were chosen for paper.
function tone(colour, isDark) {
  if (!isDark) return colour;
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)), light = (0.3 * r + 0.59 * g + 0.11 * b) / 255;
  const mix = light < 0.2 ? 0.8 : light < 0.45 ? 0.35 : 0;
  return `rgb(${[r, g, b].map((c) => Math.round(c + (255 - c) * mix)).join(" ")})`;
}

// Places of the marks of an axis: round numbers, about one every so many pixels.
function ticks(low, high, isLog, room) {
  if (!(high > low)) return [low];
  if (isLog) {
    const out = [];
    for (const marks of [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]) {
      out.length = 0;
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) for (const m of marks) { const v = +(m * 10 ** e).toPrecision(12); if (v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9)) out.push(v); }
      if (out.length >= 3) break;
    }
    const most = Math.max(2, Math.floor(room)), skip = Math.ceil(out.length / most);
    return out.length < 2 ? ticks(low, high, false, room) : out.filter((_, i) => i % skip === 0);
  }
  const raw = (high - low) / Math.max(1, room), power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 2.5, 5, 10].find((m) => m * power >= raw * (1 - 1e-9)) * power, out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(+(i * step).toPrecision(12));
  return out;
}

const lows = (s) => s.lo || (s.kind === "bars" ? s.y.map((y, i) => Math.min(y, s.base[i])) : s.y);
const highs = (s) => s.hi || s.y;

// The range of y over what is shown of x; the print's own if all is shown.
function rangeY(panel, hidden, [from, to]) {
  const whole = from <= panel.x.min && to >= panel.x.max, off = panel.series.some((s) => hidden.has(s.name));
  if (whole && !off) return [panel.y.min, panel.y.max];
  let [low, high] = [Infinity, -Infinity];
  for (const s of panel.series) {
    if (hidden.has(s.name)) continue;
    const [lo, hi] = [lows(s), highs(s)];
    s.x.forEach((x, i) => { if (x >= from && x <= to && lo[i] != null && !(panel.y.log && lo[i] <= 0)) { low = Math.min(low, lo[i]); high = Math.max(high, hi[i]); } });
  }
  if (!(low <= high)) return [panel.y.min, panel.y.max];
  const rim = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return panel.y.log ? [low / 1.2, high * 1.2] : [low >= 0 && low - rim < 0 ? 0 : low - rim, high + rim];
}

const SIGNS = { s: "rect", D: "diamond", "^": "triangle", o: "circle", ".": "circle", x: "path://M0,0L10,10M10,0L0,10", "+": "path://M5,0L5,10M0,5L10,5" };
const ELLIPSIS = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

// One series of the figure as one of ECharts.
function drawn(s, i, panel, theme) {
  const colour = tone(s.colour, theme.dark), one = { name: s.name, xAxisIndex: i, yAxisIndex: i, animation: false, silent: true, clip: true, emphasis: { disabled: true } };
  const stroke = { color: colour, width: s.width && s.kind !== "bars" ? Math.max(s.width, 1) : 1.2, type: s.dash ? [5, 4] : "solid" };
  const shape = (data, renderItem, z = 2) => ({ ...one, type: "custom", data, renderItem, encode: { x: 0, y: data.length ? data[0].map((_, j) => j).slice(1) : 1 }, z });
  if (s.kind === "bars") return shape(s.x.map((x, j) => [x, s.y[j], s.base[j]]), (params, api) => {
    if (!isFinite(api.value(1))) return null;
    const [x, y, base] = [api.value(0), api.value(1), api.value(2)], [left, top] = api.coord([x - s.width / 2, y]), right = api.coord([x + s.width / 2, y])[0];
    const area = params.coordSys, bottom = panel.y.log && base <= 0 ? area.y + area.height : api.coord([x, base])[1];
    return { type: "rect", shape: { x: Math.min(left, right), y: Math.min(top, bottom), width: Math.abs(right - left), height: Math.abs(bottom - top) }, style: { fill: colour, opacity: 0.85 } };
  });
  if (s.kind === "area") {
    const kept = s.x.map((_, j) => j).filter((j) => s.lo[j] != null);
    return shape(kept.map((j) => [s.x[j], s.lo[j], s.hi[j]]), (params, api) => {
      if (params.dataIndex) return null;
      const up = kept.map((j) => api.coord([s.x[j], s.hi[j]])), down = kept.map((j) => api.coord([s.x[j], s.lo[j]])).reverse();
      return { type: "polygon", shape: { points: [...up, ...down] }, style: { fill: colour, opacity: s.alpha || 0.2 } };
    }, 1);
  }
  if (s.kind === "whiskers") return shape(s.x.map((x, j) => [x, s.lo[j], s.hi[j]]), (_, api) => {
    const [x, lo] = api.coord([api.value(0), api.value(1)]), hi = api.coord([api.value(0), api.value(2)])[1], line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colour, lineWidth: 1.2 } });
    return { type: "group", children: [line(x, lo, x, hi), line(x - 3, lo, x + 3, lo), line(x - 3, hi, x + 3, hi)] };
  }, 4);
  if (s.fill) return shape(s.x.map((x, j) => [x, s.y[j]]), (params, api) => (params.dataIndex ? null : {
    type: "polygon", shape: { points: s.x.map((x, j) => api.coord([x, s.y[j]])) }, style: { fill: colour, opacity: 0.12, ...(s.width ? { stroke: colour, lineWidth: s.width, strokeOpacity: 1 } : {}) },
  }), 1);
  const hollow = s.hollow ? { color: theme.page, borderColor: colour, borderWidth: 1.2 } : { color: colour, ...("x+".includes(s.sign || "?") ? { borderColor: colour, borderWidth: 1.2 } : {}) };
  const isPoints = s.kind === "points";
  return {
    ...one, type: "line", data: s.x.map((x, j) => [x, s.y[j]]), step: s.kind === "step" ? "end" : false, z: isPoints ? 5 : 3, connectNulls: false,
    lineStyle: isPoints || s.width === 0 ? { width: 0, opacity: 0 } : stroke, showSymbol: isPoints || !!s.sign, symbol: SIGNS[s.sign] || "circle", symbolSize: 6.5, itemStyle: hollow, color: colour,
  };
}

// Lines across a panel, texts in it, and the cells of a heat map.
function extras(panel, i, theme) {
  const one = { xAxisIndex: i, yAxisIndex: i, type: "custom", silent: true, animation: false, clip: true, emphasis: { disabled: true } };
  const out = panel.rules.map((rule) => ({ ...one, name: rule.name, z: 4, data: [rule.axis === "x" ? [rule.at, panel.y.min] : [panel.x.min, rule.at]], renderItem: (params, api) => {
    const area = params.coordSys, [x, y] = api.coord(rule.axis === "x" ? [rule.at, panel.y.min] : [panel.x.min, rule.at]);
    const shape = rule.axis === "x" ? { x1: x, x2: x, y1: area.y, y2: area.y + area.height } : { x1: area.x, x2: area.x + area.width, y1: y, y2: y };
    return { type: "line", shape, style: { stroke: tone(rule.colour, theme.dark), lineWidth: 1, lineDash: [4, 3] } };
  } }));
  const texts = panel.texts.map(([x, y, text]) => [x, y, text]);
  if (texts.length) out.push({ ...one, z: 6, data: texts.map(([x, y]) => [x, y]), renderItem: (params, api) => { const [x, y] = api.coord(texts[params.dataIndex]); return { type: "text", style: { x, y, text: texts[params.dataIndex][2], fill: theme.ink, font: "11px system-ui, sans-serif", verticalAlign: "bottom" } }; } });
  if (panel.heat) {
    const { rows, columns, texts: words, colours, inks } = panel.heat, cells = rows.flatMap((_, a) => columns.map((_, b) => [b, a]));
    out.push({ ...one, data: cells, renderItem: (params, api) => {
      const [b, a] = cells[params.dataIndex], [x, y] = api.coord([b - 0.5, a - 0.5]), [x2, y2] = api.coord([b + 0.5, a + 0.5]), w = Math.abs(x2 - x) - 2, h = Math.abs(y2 - y) - 2;
      const children = [{ type: "rect", shape: { x: Math.min(x, x2) + 1, y: Math.min(y, y2) + 1, width: w, height: h, r: 3 }, style: { fill: colours[a][b] || "transparent" } }];
      if (words[a][b]) children.push({ type: "text", style: { x: (x + x2) / 2, y: (y + y2) / 2, text: words[a][b], fill: inks[a][b] || theme.ink, font: "12px system-ui, sans-serif", align: "center", verticalAlign: "middle" } });
      return { type: "group", children };
    } });
  }
  return out;
}

const HEAD = 27, GAP = 16;
const LETTER = 6.3;

// How the names along an axis fit: in one line, broken at their spaces, or aslant; and the height that they take.
function fit(names, room) {
  const wide = room / Math.max(1, names.length) / LETTER, longest = Math.max(0, ...names.map((text) => text.length)), words = names.map((text) => text.split(" "));
  if (longest <= wide) return { text: (name) => name, rotate: 0, labels: 20 };
  if (words.flat().every((word) => word.length <= wide)) return { text: (name) => name.replaceAll(" ", "\n"), rotate: 0, labels: 6 + 14 * Math.max(...words.map((one) => one.length)) };
  const steep = longest > 14;
  return { text: (name) => ELLIPSIS(name, 34), rotate: steep ? 60 : 32, labels: 14 + Math.min(longest, 34) * (steep ? 5.2 : 3.4) };
}

function axis(which, of, range, i, room, theme, base) {
  const marks = of.ticks ? of.ticks.map(([v]) => v) : ticks(range[0], range[1], of.log, room / (which === "x" ? 78 : 38));
  const names = new Map((of.ticks || []).map(([at, text]) => [+at, text])), { text, rotate } = which === "x" ? fit([...names.values()], room) : { text: (name) => ELLIPSIS(name, 60), rotate: 0 };
  return {
    gridIndex: i, type: of.log ? "log" : "value", min: range[0], max: range[1], inverse: of.reversed, scale: true, animation: false,
    name: base.named ? of.label : "", nameLocation: "middle", nameGap: base.gap, nameTextStyle: { color: theme.soft, fontSize: 12 },
    axisLine: { show: true, onZero: false, lineStyle: { color: theme.line } },
    axisTick: { show: !of.ticks, customValues: marks, lineStyle: { color: theme.line } },
    axisLabel: { show: base.labelled, customValues: marks, color: theme.soft, fontSize: 11, lineHeight: 14, rotate, hideOverlap: !of.ticks, formatter: (v) => (of.ticks ? text(String(names.get(+(+v).toPrecision(12)) ?? names.get(+v) ?? "")) : show(v)) },
    splitLine: { show: !of.ticks, lineStyle: { color: theme.line } },
    axisPointer: { show: which === "x", snap: false, label: { show: false }, lineStyle: { color: theme.soft, type: [3, 3] } },
  };
}

// Where the panels stand, in pixels.
function placed(spec, width) {
  const columns = width < 620 ? 1 : spec.columns, rows = Math.ceil(spec.panels.length / columns), places = [];
  const tall = (panel) => (panel.heat ? Math.max(60, 30 * panel.heat.rows.length) : spec.height || (spec.panels.length > 1 ? 190 : 270));
  let top = 0;
  for (let r = 0; r < rows; r++) {
    const row = spec.panels.slice(r * columns, (r + 1) * columns), each = width / columns, last = r === rows - 1;
    const heads = row.some((p) => p.title) ? HEAD : 8, tallest = Math.max(...row.map(tall));
    let foot = 0;
    row.forEach((panel, c) => {
      const side = panel.y.ticks ? Math.min(150, 14 + Math.max(...panel.y.ticks.map(([, text]) => text.length)) * LETTER) + (panel.y.label ? 18 : 0) : panel.y.label ? 62 : 46;
      const w = Math.max(60, each - side - (c === columns - 1 ? 14 : GAP + 8)), { labels } = fit((panel.x.ticks || []).map(([, text]) => text), w), below = labels + (panel.x.label ? 20 : 0) + 4;
      foot = Math.max(foot, below);
      places.push({ left: c * each + side, top: top + heads, width: w, height: tallest, side, labels });
    });
    top += heads + tallest + foot + (last ? 0 : GAP - 6);
  }
  return { places, height: top };
}

// The whole figure as ECharts takes it.
function option(figure, theme, width, headroom = 0) {
  const { spec, hidden, ranges } = figure, { places, height } = placed(spec, width), series = [], x = [], y = [], titles = [];
  spec.panels.forEach((panel, i) => {
    const place = places[i], [rx, ry] = ranges[i];
    x.push(axis("x", panel.x, rx, i, place.width, theme, { named: true, labelled: true, gap: place.labels + 4 }));
    y.push(axis("y", panel.y, ry, i, place.height, theme, { named: true, labelled: true, gap: place.side - 18 }));
    if (panel.title) titles.push({ text: panel.title, left: place.left, top: place.top - HEAD + 6 + headroom, padding: 0, textStyle: { color: theme.ink, fontSize: 13, fontWeight: 600, width: place.width, overflow: "truncate" } });
    for (const s of panel.series) if (!hidden.has(s.name)) series.push(drawn(s, i, panel, theme));
    for (const s of extras(panel, i, theme)) if (!hidden.has(s.name) || !s.name) series.push(s);
  });
  const grid = places.map(({ left, top, width: w, height: h }) => ({ left, top: top + headroom, width: w, height: h, containLabel: false, outerBoundsMode: "none" }));
  return { height: height + headroom, option: { animation: false, textStyle: { fontFamily: "system-ui, sans-serif" }, backgroundColor: "transparent", grid, xAxis: x, yAxis: y, title: titles, series } };
}

// -- reading off --------------------------------------------------------------------------------------------------------------------

const nearest = (values, v, known = () => true) => {
  let best = -1;
  values.forEach((one, i) => { if (known(i) && (best < 0 || Math.abs(one - v) < Math.abs(values[best] - v))) best = i; });
  return best;
};

// What a band has at this x: its own value there, or the one between its neighbours.
function bandAt(s, x, near) {
  const i = nearest(s.x, x, (j) => s.lo[j] != null);
  if (i < 0) return null;
  if (Math.abs(s.x[i] - x) <= near) return [s.lo[i], s.hi[i]];
  if (s.kind === "whiskers") return null;
  const j = s.x[i] < x ? i + 1 : i - 1;
  if (j < 0 || j >= s.x.length || s.lo[j] == null) return null;
  const part = (x - s.x[i]) / (s.x[j] - s.x[i]);
  return [s.lo[i] + part * (s.lo[j] - s.lo[i]), s.hi[i] + part * (s.hi[j] - s.hi[i])];
}

// What a panel shows at x: a row a name, with its value there and the interval of that same place. Axes with names give all of one name.
// The place is that of the nearest point within reach; other names are read only if they have a point as good as there.
function read(panel, hidden, x, reach, beside) {
  const rows = new Map(), shown = panel.series.filter((s) => !hidden.has(s.name)), near = Math.abs(panel.x.max - panel.x.min) * 1e-6;
  const tick = panel.x.ticks && panel.x.ticks[nearest(panel.x.ticks.map(([v]) => v), x)];
  const belongs = (at) => !tick || nearest(panel.x.ticks.map(([v]) => v), at) === panel.x.ticks.indexOf(tick);
  let anchor = tick ? tick[0] : x;
  if (!tick) {
    const all = shown.filter((s) => !["area", "whiskers", "step"].includes(s.kind)).map((s) => s.x[nearest(s.x, x, (i) => s.y[i] != null)]).filter((v) => v != null);
    if (all.length) anchor = all[nearest(all, x)];
    if (all.length && Math.abs(anchor - x) > reach) return { head: "", rows: [] };
  }
  for (const s of shown) {
    if (s.kind === "area" || s.kind === "whiskers" || s.fill) continue;
    let i = nearest(s.x, tick ? tick[0] : anchor, (j) => s.y[j] != null && belongs(s.x[j]));
    if (s.kind === "step" && !tick) { i = -1; s.x.forEach((v, j) => { if (v <= x && s.y[j] != null) i = j; }); }
    if (i < 0 || (!tick && s.kind !== "step" && Math.abs(s.x[i] - anchor) > beside)) continue;
    const band = shown.filter((o) => (o.kind === "area" || o.kind === "whiskers") && o.name === s.name).map((o) => bandAt(o, s.x[i], near)).find(Boolean);
    const other = !tick && s.kind !== "step" && Math.abs(s.x[i] - anchor) > near ? s.x[i] : null;
    rows.set(s.name, { name: s.name, colour: s.colour, y: s.y[i], lo: band?.[0], hi: band?.[1], x: other });
  }
  for (const s of shown) {
    if ((s.kind !== "area" && s.kind !== "whiskers") || shown.some((o) => o.y && o.name === s.name)) continue;
    const i = nearest(s.x, anchor, (j) => belongs(s.x[j])), band = i < 0 ? null : bandAt(s, tick ? s.x[i] : anchor, near);
    if (band) rows.set(s.name, { name: s.name, colour: s.colour, y: null, lo: band[0], hi: band[1], x: null });
  }
  const label = panel.x.label || "x", known = shown.some((s) => s.kind !== "step");
  const head = tick ? String(tick[1]) : `${label.replace(/\s*\([^()]*\)\s*$/, "")} ${show(known ? anchor : x)} ${/\)\s*$/.test(label) ? unit(label) : ""}`.trim();
  return { head, rows: [...rows.values()].sort((a, b) => (b.y ?? b.hi) - (a.y ?? a.hi)) };
}

function readHeat(panel, x, y) {
  const { rows, columns, texts, values } = panel.heat, [a, b] = [Math.round(y), Math.round(x)];
  if (values[a]?.[b] === undefined) return null;
  return { head: `${panel.y.label || ""} ${rows[a]}, ${panel.x.label || ""} ${columns[b]}`.trim(), rows: [{ name: panel.title || "value", colour: panel.heat.colours[a][b] || "#888888", y: values[a][b], text: texts[a][b] }] };
}

// The box beside the mouse: the rows of the panel under it, and of panels that share its axis.
function tip(found, isDark) {
  const line = (r, label) => {
    const band = r.lo == null ? "" : ` [${show(r.lo)}, ${show(r.hi)}]`;
    return $("tr", {}, $("td", {}, $("i", { style: `background:${tone(r.colour, isDark)}` }), r.name || label), $("td", {}, `${r.y == null ? "" : show(r.y)}${band}${r.x == null ? "" : ` at ${show(r.x)}`}`));
  };
  const most = 14, box = $("div", { className: "tip" });
  for (const { head, rows, label } of found) {
    const more = rows.length > most ? [$("tr", {}, $("td", {}, `and ${rows.length - most} more`))] : [];
    box.append($("b", {}, head, unit(label) ? ` · ${unit(label)}` : ""), $("table", {}, ...rows.slice(0, most).map((r) => line(r, label)), ...more));
  }
  return box;
}

// -- figures ------------------------------------------------------------------------------------------------------------------------

class Figure {
  constructor(node, spec) {
    Object.assign(this, { node, spec, hidden: new Set(), key: node.dataset.name, at: [0, 0] });
    // ECharts' own axes of a heat map: a cell a whole number, the first row on top.
    for (const panel of spec.panels) if (panel.heat) {
      const { rows, columns } = panel.heat;
      Object.assign(panel, { x: { ...panel.x, min: -0.5, max: columns.length - 0.5, ticks: columns.map((t, i) => [i, t]) }, y: { ...panel.y, min: -0.5, max: rows.length - 0.5, reversed: true, ticks: rows.map((t, i) => [i, t]) } });
    }
    this.whole();
    const host = node.querySelector(".panels");
    host.replaceChildren();
    this.host = $("div", { className: "canvas" });
    host.append(this.host);
    const wide = Math.max(0, ...spec.panels.map((p) => (p.heat ? 120 + 46 * p.heat.columns.length : 0)));
    this.least = Math.max(240, wide);
    this.chart = echarts.init(this.host, null, { renderer: "canvas", width: this.width(), height: 100 });
    this.listen();
    this.draw();
    this.legend();
  }
  width() { return Math.max(this.node.querySelector(".panels").clientWidth, this.least); }
  whole() { this.ranges = this.spec.panels.map((p) => [[p.x.min, p.x.max], [p.y.min, p.y.max]]); }
  isWhole() { return this.spec.panels.every((p, i) => this.ranges[i][0][0] <= p.x.min && this.ranges[i][0][1] >= p.x.max && this.ranges[i][1][0] <= p.y.min && this.ranges[i][1][1] >= p.y.max) || (this.hidden.size > 0 && this.spec.panels.every((p, i) => this.ranges[i][0][0] <= p.x.min && this.ranges[i][0][1] >= p.x.max)); }
  draw() {
    const width = this.width(), { height, option: made } = option(this, screenTheme(), width);
    this.host.style.width = `${width}px`;
    this.host.style.height = `${height}px`;
    this.chart.resize({ width, height });
    const shared = this.spec.shared ? { link: [{ xAxisIndex: "all" }] } : {};
    const tooltip = { trigger: "axis", renderMode: "html", confine: true, transitionDuration: 0, padding: 0, borderWidth: 0, backgroundColor: "transparent", extraCssText: "box-shadow:none", formatter: () => this.tip(), axisPointer: { type: "line", animation: false } };
    this.chart.clear();
    this.chart.setOption({ ...made, tooltip, axisPointer: shared });
    this.tools?.();
  }
  // The panel at this place of the canvas, and the values there.
  under([left, top]) {
    const i = this.spec.panels.findIndex((_, j) => this.chart.containPixel({ gridIndex: j }, [left, top]));
    return i < 0 ? null : { i, at: this.chart.convertFromPixel({ gridIndex: i }, [left, top]) };
  }
  read(i, x, y) {
    const panel = this.spec.panels[i];
    if (panel.heat) return readHeat(panel, x, y);
    // In units of x at this place: 8 and 40 pixels, or half the way to the next point of a curve of few.
    const one = Math.abs(this.chart.convertFromPixel({ gridIndex: i }, [this.chart.convertToPixel({ gridIndex: i }, [x, this.ranges[i][1][1]])[0] + 1, 0])[0] - x);
    const few = panel.series.filter((s) => s.x.length > 1 && s.x.length < 60).flatMap((s) => { const j = nearest(s.x, x); return [s.x[j - 1], s.x[j + 1]].filter((v) => v != null).map((v) => Math.abs(v - s.x[j])); });
    return { ...read(panel, this.hidden, x, Math.max(40 * one, ...few.map((v) => 0.6 * v)), 8 * one), label: panel.y.label };
  }
  tip() {
    const here = this.under(this.at);
    if (!here) return "";
    const all = this.spec.shared && this.spec.panels.length <= 6 && this.spec.columns === 1 ? this.spec.panels.map((_, i) => i) : [here.i];
    const found = all.map((i) => ({ ...this.read(i, here.at[0], here.at[1]), title: this.spec.panels[i].title })).filter((one) => one.rows?.length);
    if (!found.length) return "";
    if (all.length > 1) { const head = found.map((one) => one.head).find(Boolean) || ""; found.forEach((one, i) => (one.head = `${i ? "" : `${this.named(here.at[0]) || head} · `}${one.title || ""}`)); }
    return tip(found, dark.matches);
  }
  named(x) {
    const label = this.spec.panels.map((p) => p.x.label).find(Boolean) || "x";
    return this.spec.panels[0].x.ticks ? "" : `${label.replace(/\s*\([^()]*\)\s*$/, "")} ${show(x)} ${/\)\s*$/.test(label) ? unit(label) : ""}`.trim();
  }
  listen() {
    const zr = this.chart.getZr(), box = $("div", { className: "drag", hidden: true });
    let from = null;
    this.host.append(box);
    const rect = (to) => {
      const area = this.chart.convertToPixel({ gridIndex: from.i }, [this.ranges[from.i][0][0], this.ranges[from.i][1][0]]), end = this.chart.convertToPixel({ gridIndex: from.i }, [this.ranges[from.i][0][1], this.ranges[from.i][1][1]]);
      const clamp = (v, a, b) => Math.min(Math.max(v, Math.min(a, b)), Math.max(a, b)), flat = this.spec.shared || Math.abs(to[1] - from.at[1]) < 30;
      const [x1, x2] = [from.at[0], clamp(to[0], area[0], end[0])].sort((a, b) => a - b), [y1, y2] = (flat ? [area[1], end[1]] : [from.at[1], clamp(to[1], area[1], end[1])]).sort((a, b) => a - b);
      return { x1, x2, y1, y2, flat };
    };
    zr.on("mousedown", (e) => { const here = this.under([e.offsetX, e.offsetY]); if (here && !this.spec.panels[here.i].heat && !e.event.zrByTouch) from = { i: here.i, at: [e.offsetX, e.offsetY] }; });
    zr.on("mousemove", (e) => {
      this.at = [e.offsetX, e.offsetY];
      if (!from) return;
      const { x1, x2, y1, y2 } = rect(this.at);
      box.hidden = x2 - x1 < 4;
      Object.assign(box.style, { left: `${x1}px`, width: `${x2 - x1}px`, top: `${y1}px`, height: `${y2 - y1}px` });
    });
    zr.on("mouseup", (e) => {
      if (!from) return;
      const r = rect([e.offsetX, e.offsetY]), i = from.i;
      box.hidden = true;
      from = null;
      if (r.x2 - r.x1 >= 6) this.zoom(i, r);
    });
    zr.on("globalout", () => { from = null; box.hidden = true; });
    zr.on("dblclick", () => this.reset());
  }
  zoom(i, { x1, x2, y1, y2, flat }) {
    const a = this.chart.convertFromPixel({ gridIndex: i }, [x1, y2]), b = this.chart.convertFromPixel({ gridIndex: i }, [x2, y1]), span = [Math.min(a[0], b[0]), Math.max(a[0], b[0])];
    this.spec.panels.forEach((panel, j) => { if (j === i || (this.spec.shared && !panel.heat)) this.ranges[j] = [span, j === i && !flat ? [Math.min(a[1], b[1]), Math.max(a[1], b[1])] : rangeY(panel, this.hidden, span)]; });
    this.draw();
  }
  reset() { this.whole(); this.refit(); }
  refit() { this.spec.panels.forEach((panel, i) => { if (!panel.heat) this.ranges[i][1] = rangeY(panel, this.hidden, this.ranges[i][0]); }); this.draw(); }
  span(i = 0) { return this.ranges[i][0][1] - this.ranges[i][0][0]; }
  legend() {
    const names = new Map();
    for (const panel of this.spec.panels) {
      for (const s of [...panel.series].sort((a, b) => (a.kind === "area") - (b.kind === "area"))) if (s.name && (!names.has(s.name) || s.kind === "bars")) names.set(s.name, s.colour);
      for (const r of panel.rules) if (r.name) names.set(r.name, r.colour);
    }
    const box = this.node.querySelector(".legend"), buttons = new Map();
    const refresh = () => { for (const [name, b] of buttons) b.setAttribute("aria-pressed", String(!this.hidden.has(name))); this.refit(); };
    for (const [name, colour] of names) {
      const b = $("button", { type: "button", title: "click: hide or show; double click: this one alone, or all", "aria-pressed": "true" }, $("i", { style: `background:${tone(colour, dark.matches)}` }), name);
      b.onclick = () => { this.hidden.has(name) ? this.hidden.delete(name) : this.hidden.add(name); refresh(); };
      b.ondblclick = () => { const alone = this.hidden.size === names.size - 1 && !this.hidden.has(name); this.hidden.clear(); if (!alone) for (const n of names.keys()) if (n !== name) this.hidden.add(n); refresh(); };
      buttons.set(name, b);
    }
    this.names = names;
    box.replaceChildren(...(names.size > 1 ? buttons.values() : []));
  }
  resize() { if (this.width() !== this.chart.getWidth()) this.draw(); }
  destroy() { this.chart.dispose(); }
  rows() {
    const out = [["panel", "series", "kind", "x", "y", "low", "high", "x axis", "y axis"]];
    this.spec.panels.forEach((panel, i) => {
      const name = panel.title || String(i + 1), ends = [panel.x.label, panel.y.label];
      if (panel.heat) panel.heat.rows.forEach((r, a) => panel.heat.columns.forEach((c, b) => out.push([name, r, "cell", c, panel.heat.values[a][b], "", "", ...ends])));
      for (const s of panel.series) s.x.forEach((x, j) => { const tick = panel.x.ticks?.find(([v]) => Math.abs(v - x) < 0.5); out.push([name, s.name, s.kind, tick ? tick[1] : x, s.y ? s.y[j] : "", s.lo ? s.lo[j] : "", s.hi ? s.hi[j] : "", ...ends]); });
    });
    return out;
  }
  // What is shown, for paper: title, names with their colours, and the panels.
  paper(title, renderer) {
    const width = Math.max(560, this.width()), entries = [...this.names].filter(([name]) => this.names.size > 1 && !this.hidden.has(name)), head = title ? 24 : 4, legend = [];
    let [x, y] = [6, head];
    for (const [name, colour] of entries) {
      const w = 24 + name.length * 6.4;
      if (x + w > width) { x = 6; y += 18; }
      legend.push({ text: `{a|}  ${name}`, left: x, top: y, padding: 0, textStyle: { color: PAPER.ink, fontSize: 11, fontWeight: 400, rich: { a: { backgroundColor: colour, width: 11, height: 8, borderRadius: 2 } } } });
      x += w;
    }
    const { height, option: made } = option(this, PAPER, width, y + (entries.length ? 24 : 4));
    const named = title ? [{ text: title, left: 6, top: 2, padding: 0, textStyle: { color: PAPER.ink, fontSize: 13, fontWeight: 600 } }] : [];
    const chart = renderer === "svg" ? echarts.init(null, null, { renderer: "svg", ssr: true, width, height }) : echarts.init($("div"), null, { renderer: "canvas", width, height, devicePixelRatio: 2 });
    chart.setOption({ ...made, backgroundColor: PAPER.page, title: [...named, ...legend, ...made.title] });
    return chart;
  }
  svg(title) { const chart = this.paper(title, "svg"), text = chart.renderToSVGString(); chart.dispose(); return text; }
  view(title) { const chart = this.paper(title, "canvas"), canvas = chart.renderToCanvas({ pixelRatio: 2, backgroundColor: PAPER.page }); chart.dispose(); return canvas; }
}

function tools(node, figure, title = () => "") {
  const bar = node.querySelector(".tools"), name = node.dataset.name, button = (text, about, does) => { const b = $("button", { type: "button", title: about }, text); b.onclick = does; return b; };
  const reset = button("reset zoom", "or double click in the figure", () => figure().reset());
  reset.hidden = true;
  const link = bar.querySelector(".pdf"), image = node.querySelector("img"), all = [reset];
  if (figure) {
    all.push(button("CSV", "what is drawn here, as numbers", () => save(name + ".csv", "text/csv", csv(figure().rows()))));
    all.push(button("SVG", "what is shown, as vectors", () => save(name + ".svg", "image/svg+xml", figure().svg(title()))));
    all.push(button("PNG", "what is shown, as a picture", () => png(figure().view(title()), name + ".png")));
    if (!link) all.push(button("PDF", "what is shown, as vectors on a page", () => save(name + ".pdf", "application/pdf", pdf(figure().svg(title())))));
  } else if (image) all.push($("a", { href: image.src, download: name + ".png", title: "the figure as for print" }, "PNG"));
  bar.prepend(...all);
  if (link) bar.append(link);
  return () => { const at = figure && figure(); reset.hidden = !at || at.isWhole(); };
}

const live = [];
function chart(node) {
  const spec = JSON.parse(node.querySelector("script.spec").textContent);
  let figure = null;
  const refresh = tools(node, () => figure);
  const make = () => { figure?.destroy(); node.classList.add("live"); figure = new Figure(node, spec); figure.tools = refresh; refresh(); };
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
  const refresh = tools(node, () => figure, title);
  const make = () => { if (!spec) return; figure?.destroy(); figure = new Figure(node, spec); figure.tools = refresh; refresh(); };
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
  button("PDF", () => save(name + ".pdf", "application/pdf", pdf(text())));
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
