// What one run has told so far, as columns; and the figures that are made of them.

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

const UNITS = { bit: 1, kbit: 1e3, Mbit: 1e6, Gbit: 1e9, Tbit: 1e12 };

// A rate such as `10Mbit` in bit/s; null where it is none. Only for display: the program reads it itself.
export function bits(rate) {
  const found = /^\s*([0-9]*\.?[0-9]+)\s*([kMGT]?bit)(\/s)?\s*$/.exec(rate ?? "");
  return found ? Number(found[1]) * UNITS[found[2]] : null;
}

export class Store {
  constructor() {
    this.now = 0;
    this.queue = { t: [], packets: [], bytes: [], dropped: [], marked: [], sent_bytes: [] };
    this.flows = { t: [], received: [], cwnd: [] }; // the last two: one column for each flow
    this.pings = { t: [], rtt: [] };
    this.vars = null;
    this.marks = []; // what was changed, and when
  }

  add(sample) {
    this.now = sample.now;
    for (const [name, column] of Object.entries(this.queue)) {
      for (const value of sample.queue[name]) column.push(value);
    }
    this.vars = sample.queue.vars ?? this.vars;
    this.addFlows(sample.flows);
    for (const at of sample.pings.t) this.pings.t.push(at);
    for (const rtt of sample.pings.rtt_s) this.pings.rtt.push(rtt * 1e3);
  }

  addFlows({ t, flow, received, cwnd }) {
    const mine = this.flows;
    t.forEach((at, i) => {
      if (mine.t.at(-1) !== at) mine.t.push(at);
      const row = mine.t.length - 1;
      for (const [column, value] of [[mine.received, received[i]], [mine.cwnd, cwnd[i]]]) {
        column[flow[i]] ??= [];
        while (column[flow[i]].length < row) column[flow[i]].push(null); // it joined later
        column[flow[i]][row] = value;
      }
    });
  }

  // Mbit/s of a flow from sample `from` on, each over the half second before it.
  throughput(flow, from) {
    const { t, received } = this.flows, column = received[flow] ?? [], out = [];
    for (let i = from; i < t.length; i++) {
      const before = first(t, t[i] - 0.5001);
      const start = before < i && column[before] != null ? [t[before], column[before]] : [0, 0];
      const span = t[i] - (before < i ? t[before] : 0);
      out.push(column[i] == null || span <= 0 ? 0 : (column[i] - start[1]) * BYTES / span / 1e6);
    }
    return out;
  }

  // The figures of the last two seconds. `rate` in bit/s; `flows`: which are TCP.
  summary(rate, flows) {
    const span = 2, q = this.queue, from = first(q.t, this.now - span), last = q.t.length - 1;
    if (last < 1) return null;
    const start = Math.min(from, last - 1), seconds = q.t[last] - q.t[start];
    const mean = (column, a) => column.slice(a).reduce((sum, value) => sum + value, 0) / Math.max(1, column.length - a);
    const f = this.flows, a = Math.max(0, first(f.t, this.now - span));
    const got = f.t.length - a < 2 ? [] : flows.map((flow) => {
      const column = f.received[flow] ?? [];
      return (column[f.t.length - 1] ?? 0) - (column[a] ?? 0);
    });
    const [sum, squares] = got.reduce(([s, ss], x) => [s + x, ss + x * x], [0, 0]);
    const rtts = this.pings.rtt.slice(first(this.pings.t, this.now - span)).sort((x, y) => x - y);
    return {
      used: rate ? (q.sent_bytes[last] - q.sent_bytes[start]) * BYTES / seconds / rate : null,
      delay: rate ? mean(q.bytes, start) * BYTES / rate * 1e3 : null,
      dropped: q.dropped[last],
      marked: q.marked[last],
      fair: got.length > 1 && squares > 0 ? sum * sum / (got.length * squares) : null,
      rtt: rtts.length ? rtts[rtts.length >> 1] : null,
    };
  }
}
