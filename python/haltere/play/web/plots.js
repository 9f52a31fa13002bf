// Figures that are no time series: delays as a distribution, and a metric over an axis of the sweep. uPlot draws, in the cards of the playground.

import { css, number } from "../page/figures.js";
import { element } from "../page/form.js";
import { saveCsv, savePng, saveSvg } from "../page/save.js";

export class Plot {
  // `make` gives { t, x, unit, lines, log, names } or { empty }; a line may have `low` and `high`, its interval.
  constructor(root, { id, title, make, tools = [] }) {
    Object.assign(this, { id, make, title, plot: null });
    this.place = element("div", { class: "plot", tabindex: "0", role: "img", "aria-label": title, onkeydown: (event) => this.key(event), onblur: () => this.plot?.setCursor({ left: -10, top: -10 }) });
    this.read = element("div", { class: "read" });
    this.unit = element("small", {});
    this.at = element("span", { class: "at" });
    const button = (text, how) => element("button", { class: "tool", type: "button", "aria-label": `Save ${title} as ${text}`, title: `Save ${title} as ${text}`, onclick: () => this.save(how) }, text);
    this.box = element("article", { class: "chart", "data-chart": id, "aria-label": title },
      element("h3", {}, title, ...tools, this.unit, this.at, element("span", { class: "tools" }, button("CSV", saveCsv), button("PNG", savePng), button("SVG", saveSvg))), this.read, this.place);
    root.append(this.box);
    this.watcher = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.watcher.observe(this.place);
  }

  size() {
    const { width, height } = this.place.getBoundingClientRect();
    return { width: Math.max(120, Math.floor(width)), height: Math.max(60, Math.floor(height)) };
  }

  draw() {
    const figure = this.figure = this.make(), { lines = [], t = [], names } = figure;
    this.plot?.destroy();
    this.place.dataset.empty = figure.empty ?? "";
    this.unit.textContent = figure.unit ?? "";
    const axis = { stroke: css("--faint"), font: "11px system-ui, sans-serif", grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false } };
    const least = figure.zero === false ? Math.min(...lines.flatMap((line) => line.low ?? line.values).filter(Number.isFinite)) : 0;
    const most = Math.max(...lines.flatMap((line) => line.high ?? line.values).filter(Number.isFinite), least + 1e-9);
    const series = lines.map(({ name, colour, points }) => ({ label: name, stroke: colour, width: 1.6, spanGaps: true, points: { show: Boolean(points), size: 6, fill: colour } }));
    this.plot = new uPlot({
      ...this.size(), series: [{}, ...series], legend: { show: false }, padding: [10, 14, 0, 0],
      cursor: { y: false, drag: { x: false, y: false, setScale: false } },
      scales: { x: { time: false, distr: figure.log ? 3 : 1, range: (_, low, high) => names ? [-0.5, names.length - 0.5] : low === high ? [low * 0.9, high * 1.1 || 1] : [low, high] }, y: { range: () => [figure.zero === false ? least : 0, figure.top ?? most * 1.06] } },
      axes: [
        { ...axis, size: 26, gap: 5, splits: names ? () => names.map((_, i) => i) : undefined, values: (_, ticks) => ticks.map((x) => x == null ? null : names ? names[x] ?? "" : `${+x.toPrecision(6)}${figure.suffix ?? ""}`) },
        { ...axis, size: 50, gap: 4, values: (_, ticks) => ticks.map((y) => number(y)) },
      ],
      hooks: { draw: [(plot) => this.whiskers(plot)], setCursor: [() => this.tell()] },
    }, [t, ...lines.map((line) => line.values)], this.place);
    this.read.replaceChildren(...lines.map((line) => {
      const entry = element("span", { class: "key" }, `${line.name} `, element("b", {}));
      entry.style.setProperty("--c", line.colour);
      return entry;
    }));
    this.tell();
  }

  // The intervals.
  whiskers({ ctx, bbox, valToPos }) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left - 8, bbox.top, bbox.width + 16, bbox.height);
    ctx.clip();
    ctx.lineWidth = 1.4 * devicePixelRatio;
    for (const { low, high, colour } of this.figure.lines ?? []) {
      if (!low) continue;
      ctx.strokeStyle = colour;
      ctx.beginPath();
      this.figure.t.forEach((at, i) => {
        if (low[i] == null) return;
        const x = valToPos(at, "x", true), [a, b] = [valToPos(low[i], "y", true), valToPos(high[i], "y", true)], half = 3.5 * devicePixelRatio;
        for (const [x1, y1, x2, y2] of [[x, a, x, b], [x - half, a, x + half, a], [x - half, b, x + half, b]]) { ctx.moveTo(x1, y1); ctx.lineTo(x2, y2); }
      });
      ctx.stroke();
    }
    ctx.restore();
  }

  tell() {
    const { figure, plot } = this;
    if (!plot || figure.empty != null) return this.place.setAttribute("aria-label", `${this.title}: ${figure.empty}`);
    const index = plot.cursor.idx, at = figure.t[index], keys = this.read.querySelectorAll("b");
    this.at.textContent = at == null ? "" : `at ${figure.names?.[at] ?? `${+at.toPrecision(4)}${figure.suffix ?? ""}`}`;
    const said = figure.lines.map((line, i) => {
      const value = line.values[index], half = line.high?.[index] == null ? null : line.high[index] - value;
      keys[i].textContent = at == null || value == null ? "" : `${number(value)}${half ? ` ± ${number(half)}` : ""}`;
      return `${line.name} ${keys[i].textContent}`;
    });
    this.place.setAttribute("aria-label", `${this.title}${figure.unit ? `, ${figure.unit}` : ""}${at == null ? `: ${figure.lines.map(({ name }) => name).join(", ")}` : ` ${this.at.textContent}: ${said.join(", ")}`}`);
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], { t } = this.figure ?? {};
    if (!step || !t?.length) return;
    event.preventDefault();
    const by = Math.max(1, Math.round(t.length / 100)) * step, index = Math.min(Math.max((this.plot.cursor.idx ?? (step > 0 ? -1 : t.length)) + by, 0), t.length - 1);
    this.plot.setCursor({ left: this.plot.valToPos(t[index], "x"), top: 1 });
  }

  save(how) {
    if (this.figure?.lines) how(`haltere-${this.id}`, { title: this.title, figure: this.figure, canvas: this.plot.ctx.canvas, span: [-Infinity, Infinity] });
  }
}
