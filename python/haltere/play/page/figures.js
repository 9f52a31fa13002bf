// What each figure shows: lines of names, colours and values, made from the data of one run. Nothing here draws.

import { first, seconds } from "./data.js";

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A control's colour: the usual ones have their own, the others one that follows from the name.
export function colour(control) {
  const own = css(`--${control}`);
  if (own) return own;
  const hash = [...control].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
  return `hsl(${hash} 55% ${css("--lightness")})`;
}

export const FIGURES = [
  { id: "queue", title: "Queue", brief: "Queue", least: 10, make: queue },
  { id: "cwnd", title: "Congestion window", brief: "Window", least: 20, make: (run, from) => ofFlows(run, from, "kB", (store, flow, i) => kilo(store.flows.cwnd[flow]?.[i])) },
  { id: "share", title: "Throughput", brief: "Throughput", least: 1, make: throughput },
  { id: "ping", title: "Round-trip time", brief: "Round trips", least: 5, make: roundTrips },
  { id: "queue_state", title: "Inside the discipline", brief: "Discipline", least: 1, own: true, make: queueState },
  { id: "flow_state", title: "Inside the controls", brief: "Controls", least: 1, own: true, make: flowState },
];

const kilo = (bytes) => bytes == null ? null : bytes / 1e3;
export const number = (x) => x == null ? "–" : Math.abs(x) >= 100 ? x.toFixed(0) : Math.abs(x) >= 10 ? String(+x.toFixed(1)) : +x.toFixed(2) === 0 && x !== 0 ? x.toPrecision(2) : String(+x.toFixed(2));

// --- flows and their names --------------------------------------------------------------------------------------------------

// More flows than this are shown as one line for each control: their mean window, their sum of throughput.
const SINGLE = 16;

export const controlOf = (entry) => typeof entry.congestion === "string" ? entry.congestion : entry.congestion?.kind ?? "cubic";
// What a row of flows is called: transfers by their control, applications by their kind.
export const whatOf = (entry) => entry.kind === "bulk" ? controlOf(entry) : entry.kind;

// The round-trip time of a pair without queues, in seconds. Null if a value cannot be read.
export function baseRtt(written, pair) {
  const { access, access_delays, bottleneck } = written.topology.dumbbell;
  const near = seconds(access_delays?.[pair - 1] ?? access.delay ?? "0s"), far = seconds(bottleneck.delay ?? "0s");
  const back = bottleneck.reverse?.delay == null ? far : seconds(bottleneck.reverse.delay);
  return near == null || far == null || back == null ? null : 4 * near + far + back;
}

// The flows of a run but the ping, each with index, name, control (or kind of application) and direction. A name says what sets a flow apart
// from the others. `app`: it has no sender that is one TCP endpoint.
export function named(flows, written) {
  const mine = flows.map((flow, index) => ({ ...flow, index })).filter(({ entry }) => written.traffic[entry].kind !== "ping");
  const pairs = written.topology.dumbbell.access_delays;
  const out = mine.map((flow) => {
    const entry = written.traffic[flow.entry], control = whatOf(entry), rtt = pairs && baseRtt(written, entry.pairs[0]);
    const name = (entry.name ?? control) + (rtt ? ` ${number(rtt * 1e3)} ms` : "") + (flow.backward ? " ←" : "");
    return { ...flow, control, name, stop: seconds(entry.stop), app: entry.kind !== "bulk" };
  });
  const count = (name) => out.filter((flow) => flow.name === name).length, seen = new Map();
  const numbers = new Map([...new Set(out.map((flow) => flow.name))].map((name) => [name, count(name)]));
  return out.map((flow) => {
    if (numbers.get(flow.name) < 2) return flow;
    seen.set(flow.name, (seen.get(flow.name) ?? 0) + 1);
    return { ...flow, name: `${flow.name} ${seen.get(flow.name)}` };
  });
}

// Flows of one control get tints of its colour.
function tint(base, place, count) {
  if (count < 2) return base;
  const mix = Math.round(100 - 42 * place / (count - 1));
  return `color-mix(in oklab, ${base} ${mix}%, ${css("--card")})`;
}

// The lines: one a flow, or one a control and direction if there are many. Each: name, colour, and the flows that it stands for.
export function lines(flows, single = flows.length <= SINGLE) {
  if (single) {
    return flows.map((flow) => {
      const alike = flows.filter((other) => other.control === flow.control);
      return { name: flow.name, control: flow.control, backward: flow.backward, colour: tint(colour(flow.control), alike.indexOf(flow), alike.length), of: [flow.index] };
    });
  }
  const key = (flow) => flow.control + (flow.backward ? " ←" : "");
  return [...new Set(flows.map(key))].map((name) => {
    const mine = flows.filter((flow) => key(flow) === name);
    return { name: `${name} ×${mine.length}`, control: mine[0].control, backward: mine[0].backward, colour: colour(mine[0].control), of: mine.map((flow) => flow.index) };
  });
}

// --- the figures ------------------------------------------------------------------------------------------------------------
// Each gives { t, unit, lines } or { empty }, why there is nothing to see. A line may have `drawn`, if what is drawn is not its value,
// and `fill`, `dash`, `step`.

const bothWays = (run) => run.flows.some((flow) => flow.backward);
const WAYS = ["left → right", "right → left"];

function queue({ store, flows }, from) {
  const a = first(store.queue.t, from), t = store.queue.t.slice(a);
  const shown = bothWays({ flows }) ? [0, 1] : [0];
  return { t, unit: "packets", lines: shown.map((i) => ({
    name: shown.length > 1 ? WAYS[i] : "waiting", colour: css(i ? "--back" : "--queue"), fill: i === 0, values: store.queues[i].packets.slice(a),
  })) };
}

// A line for each TCP transfer, or the mean of those that it stands for.
function ofFlows({ store, flows: every, single }, from, unit, value) {
  const flows = every.filter((flow) => !flow.app);
  const a = first(store.flows.t, from), t = store.flows.t.slice(a), stops = new Map(flows.map((flow) => [flow.index, flow.stop ?? Infinity]));
  return { t, unit, lines: lines(flows, single).map((line) => ({ ...line, values: t.map((at, i) => {
    const values = line.of.map((flow) => at > stops.get(flow) + 0.5 ? null : value(store, flow, a + i)).filter((one) => one != null && Number.isFinite(one));
    return values.length ? values.reduce((x, y) => x + y) / values.length : null;
  }) })) };
}

// Stacked: above zero what goes from left to right, below what comes back; and what the link could carry: a line, or an area behind if that changes.
function throughput({ store, flows }, from) {
  const a = first(store.flows.t, from), t = store.flows.t.slice(a), out = [];
  const apps = new Set(flows.filter((flow) => flow.app).map((flow) => flow.index));
  for (const way of [0, 1]) {
    const mine = lines(flows).filter((line) => Boolean(line.backward) === Boolean(way)), sign = way ? -1 : 1, sums = new Array(t.length).fill(0);
    const stack = mine.map((line) => {
      const values = new Array(t.length).fill(0);
      for (const flow of line.of) store.throughput(flow, a, apps.has(flow)).forEach((value, i) => { values[i] += value; });
      values.forEach((value, i) => { sums[i] += sign * value; });
      return { ...line, values, drawn: [...sums], fill: "all" };
    });
    out.push(...stack.reverse()); // the topmost first, so that the others are drawn over it
    const able = store.capacity(t, way);
    if ((mine.length || !way) && able.some((value) => value != null)) {
      const known = able.filter((value) => value != null), varies = Math.min(...known) < 0.99 * Math.max(...known);
      const rate = { name: way ? "rate ←" : "rate", colour: css("--soft"), step: true, values: able, drawn: able.map((value) => value == null ? null : sign * value) };
      if (varies) out.unshift({ ...rate, fill: true, thin: true });
      else out.push({ ...rate, dash: true });
    }
  }
  return { t, unit: "Mbit/s", lines: out, mirrored: bothWays({ flows }) };
}

// Pings and samples of flows have other times: both on one axis, and a line spans what it has no value for.
function roundTrips({ store, flows }, from) {
  const srtt = ofFlows({ store, flows }, from, "ms", (data, flow, i) => data.flows.srtt_s[flow]?.[i] * 1e3 || null);
  const a = first(store.pings.t, from), pings = store.pings.t.slice(a), t = [...new Set([...pings, ...srtt.t])].sort((x, y) => x - y);
  const place = new Map(t.map((at, i) => [at, i]));
  const spread = (times, values) => {
    const out = new Array(t.length).fill(undefined);
    times.forEach((at, i) => { out[place.get(at)] = values[i]; });
    return out;
  };
  return { t, unit: "ms", lines: [
    ...srtt.lines.map((line) => ({ ...line, values: spread(srtt.t, line.values), thin: true })),
    { name: "ping", colour: css("--ping"), values: spread(pings, store.pings.rtt.slice(a)) },
  ] };
}

// --- inner state ------------------------------------------------------------------------------------------------------------

const UNITS = { s: [1e3, "ms"], B: [1e-3, "kB"], "bit/s": [1e-6, "Mbit/s"] };
// How a value with that unit is shown. The unit of a state is the names of its numbers: `startup|drain`.
const shownAs = (unit) => UNITS[unit] ?? [1, unit.includes("|") ? "" : unit];
export const states = (unit) => unit?.includes("|") ? unit.split("|") : null;
// A value with its unit, in words.
export function spoken([, unit, value]) {
  const [scale, shown] = shownAs(unit), names = states(unit);
  return names ? names[value] ?? String(value) : `${number(value == null ? null : value * scale)}${shown && ` ${shown}`}`;
}

// The variables that may be chosen: names and units, those that every sender has last.
const COMMON = ["cwnd", "ssthresh", "in_flight", "pacing_rate", "srtt", "rto"];
export function variables(id, { store, flows }) {
  const rows = id === "queue_state" ? store.state.queues.flat() : flows.flatMap((flow) => store.state.flows[flow.index] ?? []);
  const out = new Map();
  for (const [name, unit] of rows) if (!out.has(name)) out.set(name, unit);
  const rank = (name) => COMMON.indexOf(name);
  return new Map([...out].sort(([a], [b]) => rank(a) - rank(b)));
}

// The variable that is drawn: the one chosen if there is one of that name, else the first.
export const drawn = (id, run) => {
  const all = variables(id, run), chosen = run.chosen[id];
  return all.has(chosen) ? chosen : all.keys().next().value;
};

function queueState(run, from) {
  const { store } = run, name = drawn("queue_state", run);
  if (!name) return { empty: `${run.discipline} has no inner state.` };
  const unit = variables("queue_state", run).get(name), [scale, shown] = shownAs(unit);
  const a = first(store.queue.t, from), ways = bothWays(run) ? [0, 1] : [0];
  return { t: store.queue.t.slice(a), unit: shown, states: states(unit), lines: ways.map((i) => ({
    name: ways.length > 1 ? `${name} ${WAYS[i]}` : name, colour: css(i ? "--back" : "--queue"), step: Boolean(states(unit)),
    values: store.queue.t.slice(a).map((_, j) => { const value = store.queues[i].vars[name]?.[a + j]; return value == null ? null : value * scale; }),
  })), also: store.state.queues[0].filter(([other]) => other !== name).map(([other, unit]) => ({ name: other, unit, values: store.queue.t.slice(a).map((_, j) => store.queues[0].vars[other]?.[a + j]) })) };
}

function flowState(run, from) {
  const name = drawn("flow_state", run);
  if (!name) return { empty: "There are no flows yet." };
  const unit = variables("flow_state", run).get(name), [scale, shown] = shownAs(unit), column = run.store.flows.vars[name] ?? [];
  const mine = { ...run, flows: run.flows.filter((flow) => column[flow.index]), single: run.flows.length <= SINGLE };
  const figure = ofFlows(mine, from, shown, (_, flow, i) => column[flow]?.[i] == null ? null : column[flow][i] * scale);
  return { ...figure, states: states(unit), lines: figure.lines.map((line) => ({ ...line, step: Boolean(states(unit)) })) };
}


