// The runs of an experiment: what each gave, the table of means with intervals, and a metric over an axis of the sweep.

import { element } from "../page/form.js";
import { asCsv } from "../page/save.js";
import { METRICS } from "./metrics.js";
import { interval, spoken } from "./statistics.js";

export const label = (value) => typeof value === "string" ? value : value?.kind ?? JSON.stringify(value);
// The last steps of a dotted key, as many as tell it from the others.
export function brief(keys) {
  const end = (key, count) => key.split(".").slice(-count).join(".");
  return keys.map((key) => [1, 2, 3, 9].map((count) => end(key, count)).find((short, i) => i === 3 || keys.filter((other) => end(other, [1, 2, 3, 9][i]) === short).length === 1));
}

export class Sweep {
  // `points`: what each sets; `seeds`: how often each is run.
  constructor(points = [{}], seeds = 1) {
    Object.assign(this, { points, seeds, runs: new Map() });
    this.keys = [...new Set(points.flatMap(Object.keys))];
    this.names = brief(this.keys);
  }

  add(point, seed, told) { this.runs.set(`${point} ${seed}`, { point, seed, ...told }); }
  get(point, seed) { return this.runs.get(`${point} ${seed}`); }
  get total() { return this.points.length * this.seeds; }

  title(point) { return this.keys.map((key, i) => `${this.names[i]} ${label(this.points[point][key])}`).join(", ") || "all runs"; }

  // The metrics that any run has: those of the list, each followed by its parts, as [name, meaning, unit, decimals].
  metrics() {
    const found = new Set([...this.runs.values()].flatMap(({ values }) => Object.keys(values)));
    return METRICS.flatMap(([name, about, unit, digits]) => [
      ...(found.has(name) ? [[name, about, unit, digits]] : []),
      ...[...found].filter((one) => one.startsWith(`${name}.`)).map((one) => [one, `${about.replace(" of all flows", "")}: ${one.slice(name.length + 1)}`, unit, digits]),
    ]);
  }

  values(point, metric) {
    const out = [];
    for (let seed = 1; seed <= this.seeds; seed++) { const value = this.get(point, seed)?.values[metric]; if (value != null) out.push(value); }
    return out;
  }

  mean(point, metric) {
    const values = this.values(point, metric);
    return values.length ? interval(values) : null;
  }

  // The points of which there are runs.
  get done() { return [...new Set([...this.runs.values()].map(({ point }) => point))].sort((a, b) => a - b); }

  // One point: a row a metric. More: a row a point. `pick` is called with the point of a row that is chosen.
  table(shown, pick) {
    const metrics = this.metrics(), { done } = this, cell = (point, [name, , , digits]) => { const found = this.mean(point, name); return found ? spoken(found, digits) : "–"; };
    const head = ([, about, unit]) => element("th", { scope: "col" }, about, unit ? element("small", {}, ` ${unit}`) : null);
    if (done.length < 2) {
      return element("table", {}, element("caption", {}, this.about()), element("tbody", {}, ...metrics.map((metric) => element("tr", {}, element("th", { scope: "row" }, metric[1], metric[2] ? element("small", {}, ` ${metric[2]}`) : null), element("td", {}, cell(done[0], metric))))));
    }
    return element("table", { class: "points" }, element("caption", {}, this.about()),
      element("thead", {}, element("tr", {}, ...this.names.map((name) => element("th", { scope: "col" }, name)), ...metrics.map(head))),
      element("tbody", {}, ...done.map((point) => [point, this.points[point]]).map(([point, settings]) => element("tr", { "aria-current": point === shown ? "true" : null, onclick: () => pick(point) },
        ...this.keys.map((key, i) => element("th", { scope: "row" }, i ? label(settings[key]) : element("button", { type: "button", title: "Show this point's first run in the figures" }, label(settings[key])))),
        ...metrics.map((metric) => element("td", {}, cell(point, metric)))))));
  }

  about() {
    const done = this.runs.size, each = Math.min(this.seeds, Math.floor(done / this.points.length));
    if (done === 1) return `One run${this.keys.length ? `, ${this.title(this.done[0])}` : ""}, seed 1.`;
    return done < this.total ? `${done} of ${this.total} runs.` : `Means of ${each} run${each > 1 ? "s, one per seed, with 95 % confidence intervals" : ""}.`;
  }

  // What a figure may show: the metrics, and first all parts of one that has several.
  offered(metrics) {
    const parts = metrics.filter(([name]) => name.includes(".")), whole = [...new Set(parts.map(([name]) => name.split(".")[0]))];
    const several = whole.filter((name) => parts.filter(([part]) => part.startsWith(`${name}.`)).length > 1);
    return [...several.map((name) => [`${name}.*`, `${METRICS.find(([one]) => one === name)[1].replace(" of all flows", "")} of each class`]), ...metrics];
  }

  // A metric over one key of the sweep: a line for each setting of the others and each part, a point with its interval for each value.
  figure(metric, key, colour) {
    const all = this.metrics(), mine = all.filter(([name]) => metric.endsWith(".*") ? name.startsWith(metric.slice(0, -1)) : name === metric), [found] = mine;
    if (!found || !key) return { empty: "" };
    const names = [...new Set(this.points.map((settings) => label(settings[key])))], others = this.keys.filter((one) => one !== key);
    const lines = new Map(), title = mine.length > 1 ? this.offered(all).find(([name]) => name === metric)[1] : found[1];
    for (const [part, about] of mine) this.points.forEach((settings, point) => {
      const own = mine.length > 1 ? [about.split(": ")[1]] : [], rest = others.map((one) => label(settings[one]));
      const name = [...own, ...rest].join(", ") || about, at = names.indexOf(label(settings[key])), mean = this.mean(point, part);
      const fresh = () => ({ name, points: true, ...Object.fromEntries(["values", "low", "high"].map((one) => [one, new Array(names.length).fill(null)])) });
      if (!lines.has(name)) lines.set(name, fresh());
      if (!mean) return;
      const line = lines.get(name);
      [line.values[at], line.low[at], line.high[at]] = [mean.mean, mean.mean - (mean.half ?? 0), mean.mean + (mean.half ?? 0)];
    });
    const every = [...lines.values()], own = every.map(({ name }, i) => colour(name, i, every.length)), apart = new Set(own).size === own.length;
    const drawn = every.map((line, i) => ({ ...line, colour: apart ? own[i] : colour("", i, every.length) }));
    return { t: names.map((_, i) => i), x: this.names[this.keys.indexOf(key)], names, unit: `${title}${found[2] && `, ${found[2]}`}`, lines: drawn };
  }

  // One row a run.
  csv() {
    const metrics = this.metrics(), runs = [...this.runs.values()].sort((a, b) => a.point - b.point || a.seed - b.seed);
    return asCsv([[...this.keys, "seed", "digest", "events", ...metrics.map(([name, , unit]) => name + (unit && ` (${unit})`))],
      ...runs.map(({ point, seed, digest, events, values }) => [...this.keys.map((key) => label(this.points[point][key])), seed, digest, events, ...metrics.map(([name]) => values[name])])]);
  }
}
