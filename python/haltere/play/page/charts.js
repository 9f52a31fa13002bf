// The figures of one set-up on the page. uPlot draws; what is shared between set-ups (time, scales, what is shown) is given in.

import { css, drawn, FIGURES, number, spoken, variables } from "./figures.js";
import { element } from "./form.js";
import { saveCsv, savePng, saveSvg } from "./save.js";

function nice(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * unit >= value * 0.999999);
}

// One scale for all set-ups: a nice number beyond the largest value, kept while it fits so that the axes do not jump.
function bound(now, most, least) {
  const wanted = Math.max(least, most * 1.04);
  return now == null || wanted > now || wanted < now * 0.45 ? nice(wanted) : now;
}

export function scales(view, all) {
  for (const { id, least, own } of FIGURES) {
    if (own) continue;
    const tops = all.map((tops) => tops[id] ?? [0, 0]);
    view.y[id] = range(view.y[id], [Math.max(...tops.map(([, high]) => high)), Math.min(...tops.map(([low]) => low))], least);
  }
}
const range = (now, [high, low], least) => [low < 0 ? -bound(now && -now[0], -low, least) : 0, bound(now?.[1], high, least)];

// The least and the largest value of a figure.
function extent(figure) {
  let low = 0, high = 0;
  for (const line of figure.lines ?? []) for (const value of line.drawn ?? line.values) { if (value > high) high = value; if (value < low) low = value; }
  return [low, high];
}

// `view` is shared: { x: [from, to], y: { queue: [least, most], ... }, shown, zoom(from, to), reset() }.
export class Charts {
  constructor(root, view, title) {
    [this.view, this.title, this.run] = [view, title, null];
    this.plots = FIGURES.map((kind) => this.card(root, kind));
    this.watcher = new ResizeObserver(() => this.resize());
    for (const { place } of this.plots) this.watcher.observe(place);
  }

  card(root, kind) {
    const one = { kind, plot: null, figure: null, drawn: "", y: null, chosen: "" };
    const button = (text, about, act) => element("button", { class: "tool", type: "button", title: about, "aria-label": about, onclick: act }, text);
    one.unit = element("small", {});
    one.read = element("div", { class: "read" });
    one.at = element("span", { class: "at" });
    one.place = element("div", { class: "plot", tabindex: "0", role: "img", "aria-label": `${kind.title}: no data yet`, onkeydown: (event) => this.key(one, event), onblur: () => this.leave(one) });
    one.select = kind.own ? element("select", { class: "variable", "aria-label": `${kind.title}: variable`, hidden: "", onchange: (event) => { this.run.chosen[kind.id] = event.target.value; this.draw(); } }) : null;
    one.box = element("article", { class: "chart", "data-chart": kind.id, "aria-label": kind.title },
      element("h3", {}, kind.title, one.select, one.unit, one.at, element("span", { class: "tools" },
        button("CSV", `Save ${kind.title} as CSV`, () => this.save(one, saveCsv)), button("PNG", `Save ${kind.title} as PNG`, () => this.save(one, savePng)), button("SVG", `Save ${kind.title} as SVG`, () => this.save(one, saveSvg)))),
      one.read, one.place);
    root.append(one.box);
    return one;
  }

  // Draws that run from now on: { store, flows, discipline, chosen }. Null: nothing.
  show(run) {
    this.run = run;
    for (const one of this.plots) { this.drop(one); one.y = null; }
  }

  drop(one) {
    one.plot?.destroy();
    [one.plot, one.drawn] = [null, ""];
  }

  get visible() { return this.plots.filter((one) => this.view.shown.has(one.kind.id)); }

  // Takes the data of the time that is shown; gives the extents, for the scales.
  read() {
    const [from, to] = this.view.x, out = {};
    for (const one of this.plots) {
      one.box.hidden = !this.view.shown.has(one.kind.id);
      if (one.box.hidden) { this.drop(one); continue; }
      one.figure = this.run ? one.kind.make(this.run, from - (to - from) * 0.02) : { empty: "" };
      out[one.kind.id] = extent(one.figure);
      if (one.kind.own) {
        const { id } = one.kind, chosen = this.run && drawn(id, this.run), same = one.chosen === chosen;
        one.chosen = chosen;
        one.y = one.figure.states ? [-0.5, one.figure.states.length - 0.5] : range(same ? one.y : null, [out[id][1], out[id][0]], out[id][1] > 0 ? 1e-9 : 1);
      }
    }
    return out;
  }

  draw() {
    this.read();
    for (const one of this.visible) {
      if (one.select) this.choices(one);
      const { figure } = one;
      one.place.dataset.empty = figure.empty ?? "";
      const shape = figure.empty != null ? "" : JSON.stringify([figure.unit, figure.states, figure.lines.map(({ name, colour, fill, dash, step }) => [name, colour, fill, dash, step])]);
      if (shape !== one.drawn || !one.plot) this.build(one, shape);
      if (figure.lines) one.plot.setData([figure.t, ...figure.lines.map((line) => line.drawn ?? line.values)], true);
      this.tell(one);
    }
  }

  // The variables that this discipline, or these controls, have.
  choices(one) {
    const all = this.run ? variables(one.kind.id, this.run) : new Map(), names = [...all.keys()];
    one.select.hidden = names.length === 0;
    if (one.select.dataset.names !== names.join()) {
      one.select.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
      one.select.dataset.names = names.join();
    }
    one.select.value = one.chosen ?? "";
  }

  build(one, shape) {
    this.drop(one);
    one.drawn = shape;
    const { figure, kind } = one, lines = figure.lines ?? [];
    const series = lines.map(({ name, colour, fill, dash, step, thin }) => ({
      label: name, stroke: colour, width: fill === "all" ? 0.8 : thin ? 1 : 1.5, dash: dash ? [5, 4] : undefined, points: { show: false },
      fill: fill === "all" ? colour : fill ? `color-mix(in srgb, ${colour} 14%, transparent)` : undefined, paths: step ? uPlot.paths.stepped({ align: 1 }) : undefined,
    }));
    const axis = { stroke: css("--faint"), font: "11px system-ui, sans-serif", grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false } };
    const names = figure.states;
    one.plot = new uPlot({
      ...this.size(one), series: [{}, ...series], legend: { show: false }, padding: [8, 14, 0, 0],
      cursor: {
        sync: { key: "time", scales: ["x", null] }, y: false, drag: { x: true, y: false, setScale: false }, points: { show: kind.id !== "share" },
        bind: { dblclick: () => () => { this.view.reset(); return null; } },
      },
      scales: { x: { time: false, range: () => this.view.x }, y: { range: () => (kind.own ? one.y : this.view.y[kind.id]) ?? [0, kind.least] } },
      axes: [
        { ...axis, size: 25, gap: 5, values: (_, ticks) => ticks.map((t) => `${+t.toFixed(3)} s`) },
        { ...axis, size: names ? 66 : 44, gap: 4, splits: names ? () => names.map((_, i) => i) : undefined, values: (_, ticks) => ticks.map((v) => names ? names[v] : number(Math.abs(v) * (figure.mirrored ? 1 : Math.sign(v) || 1))) },
      ],
      hooks: {
        draw: [(plot) => this.drawMarks(plot, kind.id === "queue")], setCursor: [() => this.tell(one)],
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width > 4) this.view.zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
      },
    }, [[], ...lines.map(() => [])], one.place);
    one.read.replaceChildren(...lines.map((line) => {
      const entry = element("span", { class: line.dash ? "key dash" : "key" }, `${line.name} `, element("b", {}));
      entry.style.setProperty("--c", line.colour);
      return entry;
    }), element("span", { class: "also" }));
  }

  drawMarks(plot, named) {
    if (!this.run) return;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css("--mark");
    ctx.lineWidth = devicePixelRatio;
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    [ctx.textAlign, ctx.textBaseline] = ["left", "alphabetic"];
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    let low = 0;
    for (const mark of this.run.store.marks) {
      const x = Math.round(plot.valToPos(mark.at, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      if (named) {
        const width = ctx.measureText(mark.text).width;
        const left = x + 5 + width > bbox.left + bbox.width ? x - width - 5 : x + 5;
        ctx.fillText(mark.text, left, bbox.top + (12 + 14 * (low % 4)) * devicePixelRatio);
        low += 1;
      }
    }
    ctx.restore();
  }

  size(one) {
    const { width, height } = one.place.getBoundingClientRect();
    return { width: Math.max(120, Math.floor(width)), height: Math.max(60, Math.floor(height)) };
  }

  resize() {
    for (const one of this.visible) one.plot?.setSize(this.size(one));
  }

  // The values under the pointer, or the last ones, each with its name.
  tell(one) {
    const { figure, plot } = one;
    if (!plot || !figure) return;
    const pointed = plot.cursor.idx, index = pointed ?? (figure.t?.length ?? 0) - 1, at = figure.t?.[index];
    one.unit.textContent = figure.unit ?? "";
    one.at.textContent = pointed == null || at == null ? "" : `at ${at.toFixed(2)} s`;
    const keys = one.read.querySelectorAll(".key b");
    const said = (figure.lines ?? []).map((line, i) => {
      const value = near(line.values, index), text = at == null ? "" : figure.states ? figure.states[value] ?? "–" : number(value);
      if (keys[i]) keys[i].textContent = text;
      return `${line.name} ${text}`;
    });
    const also = one.read.querySelector(".also");
    if (also) also.textContent = (figure.also ?? []).map(({ name, unit, values }) => `${name} ${spoken([name, unit, values[index] ?? null])}`).join(" · ");
    one.place.setAttribute("aria-label", figure.empty || `${one.kind.title}${figure.unit ? `, ${figure.unit}` : ""}${at == null ? ": no data yet" : ` at ${at.toFixed(2)} s: ${said.join(", ")}`}`);
  }

  // With the arrow keys the pointer goes from sample to sample.
  key(one, event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20 }[event.key], times = one.figure?.t;
    if (!step || !one.plot || !times?.length) return;
    event.preventDefault();
    const index = Math.min(Math.max((one.plot.cursor.idx ?? times.length - 1) + step, 0), times.length - 1);
    one.plot.setCursor({ left: one.plot.valToPos(times[index], "x"), top: 1 }, true, true);
  }
  leave(one) { one.plot?.setCursor({ left: -10, top: -10 }, true, true); }

  save(one, how) {
    if (one.figure?.lines && this.run) how(`play${this.title && `-${this.title.toLowerCase()}`}-${one.kind.id}`, { title: [this.title, one.kind.title, one.chosen].filter(Boolean).join(" · "), figure: one.figure, canvas: one.plot.ctx.canvas, span: this.view.x });
  }

  destroy() {
    this.watcher.disconnect();
    for (const one of this.plots) one.plot?.destroy();
  }
}

// The value at a place, or the last one before it: lines that share an axis have gaps where the others have values.
function near(values, index) {
  for (let i = index; i >= 0 && i > index - 8; i--) if (values[i] !== undefined) return values[i];
  return null;
}
