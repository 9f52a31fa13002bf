// The four charts of one set-up. uPlot draws; what is shared between set-ups (time, scales) is given in.

import { first } from "./data.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const colour = (control) => css(`--${control}`) || css("--other");

// More flows than this are shown as one line for each control: their mean window, their sum of throughput.
const SINGLE = 16;

// Flows of one control get tints of its colour.
function tint(base, place, count) {
  if (count < 2) return base;
  const mix = Math.round(100 - 45 * place / (count - 1));
  return `color-mix(in oklab, ${base} ${mix}%, ${css("--card")})`;
}

// The lines: one a flow, or one a control where there are many. Each: name, colour, and the flows that it stands for.
export function lines(flows) {
  const controls = [...new Set(flows.map((flow) => flow.control))];
  const out = [];
  for (const control of controls) {
    const mine = flows.filter((flow) => flow.control === control);
    if (flows.length > SINGLE) out.push({ name: `${control} ×${mine.length}`, control, colour: colour(control), of: mine.map((f) => f.index) });
    else mine.forEach((flow, i) => out.push({ name: flow.name, control, colour: tint(colour(control), i, mine.length), of: [flow.index] }));
  }
  return out;
}

export const CHARTS = [
  { id: "queue", title: "Queue", unit: "packets", least: 10 },
  { id: "cwnd", title: "Congestion window", unit: "kB", least: 20 },
  { id: "share", title: "Throughput shares", unit: "Mbit/s", least: 1 },
  { id: "ping", title: "Ping round trip", unit: "ms", least: 5 },
];

const number = (x) => x == null ? "–" : x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);

function columns(id, store, flows, from) {
  if (id === "queue") {
    const a = first(store.queue.t, from);
    return [store.queue.t.slice(a), store.queue.packets.slice(a)];
  }
  if (id === "ping") {
    const a = first(store.pings.t, from);
    return [store.pings.t.slice(a), store.pings.rtt.slice(a)];
  }
  const a = first(store.flows.t, from), t = store.flows.t.slice(a);
  if (id === "cwnd") {
    return [t, ...lines(flows).map(({ of }) => t.map((_, i) => {
      const values = of.map((flow) => store.flows.cwnd[flow]?.[a + i]).filter((value) => value != null);
      return values.length ? values.reduce((x, y) => x + y) / values.length / 1e3 : null;
    }))];
  }
  // Stacked: each line is the sum of those below it; the topmost comes first, so that the others are drawn over it.
  const sums = new Array(t.length).fill(0), out = [];
  for (const { of } of lines(flows)) {
    for (const flow of of) store.throughput(flow, a).forEach((value, i) => { sums[i] += value; });
    out.push([...sums]);
  }
  return [t, ...out.reverse()];
}

// The largest value to be shown, for the common scale of both set-ups.
const top = (data) => data.slice(1).reduce((most, column) => column.reduce((m, v) => (v > m ? v : m), most), 0);

function nice(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * unit >= value);
}

// `view` is shared: { x: [from, to], y: { queue: most, ... } }.
export class Charts {
  constructor(root, view) {
    this.view = view;
    this.plots = {};
    this.store = null;
    this.flows = [];
    for (const chart of CHARTS) {
      const box = document.createElement("div");
      box.className = "chart";
      box.dataset.chart = chart.id;
      box.innerHTML = `<h3>${chart.title} <small>${chart.unit}</small><span class="key"></span><output></output></h3><div class="plot"></div>`;
      root.append(box);
      this.plots[chart.id] = { chart, box, place: box.querySelector(".plot"), plot: null, data: null };
    }
    this.watcher = new ResizeObserver(() => this.resize());
    for (const { place } of Object.values(this.plots)) this.watcher.observe(place);
  }

  // Draws that run from now on: its store, and its flows with their controls.
  show(store, flows) {
    [this.store, this.flows] = [store, flows];
    for (const one of Object.values(this.plots)) this.build(one);
  }

  build(one) {
    one.plot?.destroy();
    const { id } = one.chart, series = [{}];
    if (id === "queue" || id === "ping") {
      const stroke = css(`--${id}`);
      series.push({ stroke, width: 1.4, fill: id === "queue" ? `color-mix(in srgb, ${stroke} 14%, transparent)` : undefined, points: { show: false } });
    } else {
      const drawn = lines(this.flows);
      if (id === "share") drawn.reverse();
      for (const line of drawn) {
        series.push({ stroke: line.colour, width: id === "share" ? 0.8 : 1.5, fill: id === "share" ? line.colour : undefined, points: { show: false } });
      }
    }
    const axis = { stroke: css("--faint"), font: "11px system-ui, sans-serif", grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false } };
    one.plot = new uPlot({
      ...this.size(one), series, legend: { show: false }, padding: [8, 14, 0, 0],
      cursor: { sync: { key: "time", scales: ["x", null] }, y: false, drag: { x: false, y: false }, points: { show: id !== "share" } },
      scales: { x: { time: false, range: () => this.view.x }, y: { range: () => [0, this.view.y[id] ?? one.chart.least] } },
      axes: [
        { ...axis, size: 22, gap: 2, values: (_, ticks) => ticks.map((t) => `${+t.toFixed(3)} s`) },
        { ...axis, size: 44, gap: 4 },
      ],
      hooks: { draw: [(plot) => this.drawMarks(plot, id === "queue")], setCursor: [(plot) => this.tell(one, plot)] },
    }, [[], ...series.slice(1).map(() => [])], one.place);
    this.drawKey(one);
    if (this.store) this.read(one);
  }

  drawKey(one) {
    const key = one.box.querySelector(".key");
    if (one.chart.id !== "cwnd" && one.chart.id !== "share") return;
    key.replaceChildren(...[...new Set(this.flows.map((flow) => flow.control))].map((control) => {
      const entry = document.createElement("i");
      entry.style.setProperty("--c", colour(control));
      entry.textContent = control;
      return entry;
    }));
  }

  drawMarks(plot, named) {
    if (!this.store) return;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css("--mark");
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    [ctx.textAlign, ctx.textBaseline] = ["left", "alphabetic"];
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    let low = 0;
    for (const mark of this.store.marks) {
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
    for (const one of Object.values(this.plots)) one.plot?.setSize(this.size(one));
  }

  // Takes the data of the time that is shown; gives the largest values, for the scales.
  read(one) {
    const [from, to] = this.view.x;
    one.data = columns(one.chart.id, this.store, this.flows, from - (to - from) * 0.02);
    return top(one.data);
  }

  most() {
    if (!this.store) return {};
    return Object.fromEntries(Object.values(this.plots).map((one) => [one.chart.id, this.read(one)]));
  }

  draw() {
    for (const one of Object.values(this.plots)) {
      if (one.data) one.plot?.setData(one.data, true);
      if (one.plot && one.plot.cursor.idx == null) this.tell(one, one.plot);
    }
  }

  // The value under the pointer, or the last one.
  tell(one, plot) {
    const { data } = plot, index = plot.cursor.idx ?? data[0].length - 1, out = one.box.querySelector("output");
    const at = data[0][index];
    if (at == null) { out.textContent = ""; return; }
    const { id, unit } = one.chart;
    const time = plot.cursor.idx == null ? "" : ` at ${at.toFixed(2)} s`;
    if (id === "queue" || id === "ping") { out.textContent = `${id === "queue" ? data[1][index] : number(data[1][index])} ${unit}${time}`; return; }
    const drawn = lines(this.flows), sums = new Map();
    const values = id === "share" ? data.slice(1).reverse().map((column, i, all) => column[index] - (i ? all[i - 1][index] : 0)) : data.slice(1).map((column) => column[index]);
    drawn.forEach((line, i) => { if (values[i] != null) sums.set(line.control, [...(sums.get(line.control) ?? []), values[i]]); });
    out.textContent = [...sums].map(([, all]) => all.slice(0, 4).map(number).join(" ") + (all.length > 4 ? " …" : "")).join(" | ") + time;
  }

  destroy() {
    this.watcher.disconnect();
    for (const one of Object.values(this.plots)) one.plot?.destroy();
  }
}

// One scale for all: a nice number above the largest value, kept while it fits so that the axes do not jump.
export function scales(view, all) {
  for (const { id, least } of CHARTS) {
    const most = Math.max(least, ...all.map((values) => values[id] ?? 0)) * 1.04, now = view.y[id] ?? 0;
    if (most > now || most < now * 0.45) view.y[id] = nice(most);
  }
}
