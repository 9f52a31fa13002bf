// What one run has sent so far, as columns, and the figures that are made of them.

const BYTES = 8;

// The index of the first entry that is not before `at`.
export function first(times, at) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < at) low = middle + 1; else high = middle;
  }
  return low;
}

const RATES = { bit: 1, kbit: 1e3, Mbit: 1e6, Gbit: 1e9, Tbit: 1e12 };
const SPANS = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 };
const read = (text, units, after) => {
  const found = new RegExp(`^\\s*([0-9]*\\.?[0-9]+)\\s*(${Object.keys(units).join("|")})${after}\\s*$`).exec(text ?? "");
  return found ? Number(found[1]) * units[found[2]] : null;
};
// A rate such as `10Mbit` in bit/s, a span such as `10ms` in seconds; null for anything else. Only for display: the program reads both.
export const bits = (rate) => read(rate, RATES, "(?:/s)?");
export const seconds = (span) => read(span, SPANS, "");

const QUEUE = ["t", "packets", "bytes", "dropped", "marked", "sent_bytes", "capacity"];
const FLOW = ["received", "delivered", "cwnd", "srtt_s"];

// Puts `value` at `row` of a column that may have begun later.
function put(column, row, value) {
  while (column.length < row) column.push(null);
  column[row] = value;
}

export class Store {
  constructor() {
    this.now = 0;
    this.queues = [0, 1].map(() => ({ ...Object.fromEntries(QUEUE.map((name) => [name, []])), vars: {} })); // left to right, and back
    this.flows = { t: [], ...Object.fromEntries(FLOW.map((name) => [name, []])), vars: {} }; // all but `t`: one column for each flow
    this.pings = { t: [], rtt: [] };
    this.state = { queues: [[], []], flows: {} }; // inner values now: name, unit, value
    this.marks = []; // what was changed, and when
  }

  get queue() { return this.queues[0]; }

  add(sample) {
    this.now = sample.now;
    sample.queues.forEach((fresh, i) => this.addQueue(this.queues[i], fresh));
    this.addFlows(sample.flows);
    for (const at of sample.pings.t) this.pings.t.push(at);
    for (const rtt of sample.pings.rtt_s) this.pings.rtt.push(rtt * 1e3);
    if (sample.queues[0].t.length) this.state.queues = sample.state.queues;
    Object.assign(this.state.flows, sample.state.flows);
  }

  addQueue(mine, fresh) {
    const row = mine.t.length;
    for (const name of QUEUE) for (const value of fresh[name]) mine[name].push(value);
    for (const [name, column] of Object.entries(fresh.vars)) column.forEach((value, i) => put(mine.vars[name] ??= [], row + i, value));
  }

  addFlows(fresh) {
    const mine = this.flows;
    fresh.t.forEach((at, i) => {
      if (mine.t.at(-1) !== at) mine.t.push(at);
      const row = mine.t.length - 1, flow = fresh.flow[i];
      for (const name of FLOW) put(mine[name][flow] ??= [], row, fresh[name][i]);
      for (const [name, column] of Object.entries(fresh.vars)) {
        if (column[i] != null) put((mine.vars[name] ??= [])[flow] ??= [], row, column[i]);
      }
    });
  }

  // Mbit/s of a flow from sample `from` on, each over the half second before it. Of what was acknowledged, in order or not: data that
  // waits for a retransmission counts when it arrives. Of an application: what its receiver has read.
  throughput(flow, from, app) {
    const { t } = this.flows, column = this.flows[app ? "received" : "delivered"][flow] ?? [], out = [];
    for (let i = from; i < t.length; i++) {
      const before = first(t, t[i] - 0.5001);
      const start = before < i && column[before] != null ? [t[before], column[before]] : [0, 0];
      const span = t[i] - (before < i ? t[before] : 0);
      out.push(column[i] == null || span <= 0 ? 0 : (column[i] - start[1]) * BYTES / span / 1e6);
    }
    return out;
  }

  // What the bottleneck could carry at each of those times, in Mbit/s; null if packets take no time.
  capacity(times, direction) {
    const { t, capacity } = this.queues[direction];
    return times.map((at) => {
      const bits = capacity[Math.min(first(t, at), t.length - 1)];
      return bits == null ? null : bits / 1e6;
    });
  }

  // The figures of the last two seconds. `flows`: the indices of those that are TCP and have not left.
  summary(flows) {
    const span = 2, q = this.queue, from = first(q.t, this.now - span), last = q.t.length - 1;
    if (last < 1) return null;
    const start = Math.min(from, last - 1), time = q.t[last] - q.t[start];
    const mean = (column) => column.slice(start).reduce((sum, value) => sum + value, 0) / Math.max(1, column.length - start);
    const able = mean(q.capacity), f = this.flows, a = Math.max(0, first(f.t, this.now - span));
    const got = f.t.length - a < 2 ? [] : flows.map((flow) => {
      const column = f.delivered[flow] ?? [];
      return (column[f.t.length - 1] ?? 0) - (column[a] ?? 0);
    });
    const [sum, squares] = got.reduce(([s, ss], x) => [s + x, ss + x * x], [0, 0]);
    const rtts = this.pings.rtt.slice(first(this.pings.t, this.now - span)).sort((x, y) => x - y);
    return {
      used: able ? (q.sent_bytes[last] - q.sent_bytes[start]) * BYTES / time / able : null,
      delay: able ? mean(q.bytes) * BYTES / able * 1e3 : null,
      dropped: q.dropped[last],
      marked: q.marked[last],
      fair: got.length > 1 && squares > 0 ? sum * sum / (got.length * squares) : null,
      rtt: rtts.length ? rtts[rtts.length >> 1] : null,
    };
  }
}
