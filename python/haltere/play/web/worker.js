// What a worker does: whole runs, of which it tells what was measured, and one run that is watched.

import { measure, TABLES } from "./metrics.js";
import { Refused, Simulator } from "./simulator.js";

let simulator = null, kinds = null;
const TICK = 100; // milliseconds between two tellings of a run that is watched

const does = {
  open({ module }) {
    simulator = new Simulator(module instanceof WebAssembly.Module ? module : new WebAssembly.Module(module));
    ({ kinds } = simulator.ask({ do: "about" }));
    return null;
  },
  ask: ({ request }) => simulator.ask(request),
  // A whole run, of which only the numbers are kept.
  run({ text, point, seed }) {
    const begun = performance.now(), told = simulator.ask({ do: "run", text, point, seed, tables: TABLES });
    return { digest: told.digest, events: told.events, took: performance.now() - begun, values: measure(told, kinds) };
  },
  // A run that is watched: `links` are the names of the queues that are shown. Tells `started`, then `samples`.
  watch({ text, point, seed, links }, tell) {
    const started = simulator.ask({ do: "start", text, point, seed, fixed: true }), place = (name) => started.links.findIndex((link) => link.name === name);
    const watched = links?.length ? links : pair(started.links), places = watched.map(place).filter((at) => at >= 0);
    const shown = started.flows.flatMap((flow, i) => flow.control ? [i] : []).slice(0, 16);
    tell({ tell: "started", ...started, shown: watched });
    const begun = performance.now();
    let step = Math.min(0.2, started.end), told = { now: 0 };
    while (told.now < started.end - 1e-9) {
      const before = performance.now();
      told = simulator.ask({ do: "advance", seconds: step, links: places, flows: shown });
      if (told.queues.length < 2) told.queues.push({ t: [], packets: [], bytes: [], dropped: [], marked: [], sent_bytes: [], capacity: [], vars: {} });
      tell({ tell: "samples", ...told });
      step = Math.min(Math.max(step * Math.min(Math.max(TICK / Math.max(performance.now() - before, 0.1), 0.25), 2), 1e-3), 60);
    }
    const done = simulator.ask({ do: "finish", tables: TABLES });
    return { digest: done.digest, events: done.events, took: performance.now() - begun, values: measure(done, kinds), delays: distribution(done) };
  },
};

// The watched queue and that of the way back.
function pair(links) {
  const first = links.find((link) => link.watched) ?? links[0];
  const back = first && links.find((link) => link.watched && link.name === first.name.split(">").reverse().join(">"));
  return [first, back].filter(Boolean).map((link) => link.name);
}

// Delays of a run, each a sorted list of values in ms: pings, and what packets wait in the first watched queue.
function distribution({ tables: { pings, queue_series: series, links }, window }) {
  const out = [], after = (table, value) => Array.from({ length: table?.rows ?? 0 }, (_, i) => i).filter((i) => table.columns.at_ns[i] >= window.from).map(value);
  const watched = (links?.columns.watched ?? []).indexOf(true);
  const rtt = after(pings, (i) => pings.columns.rtt_ns[i] * 1e-6);
  if (rtt.length) out.push({ name: "ping", values: rtt });
  if (watched >= 0 && links.columns.rate_bps[watched]) {
    const { link, bytes } = series.columns, name = links.columns.link[watched], rate = links.columns.rate_bps[watched];
    const waits = after(series, (i) => link[i] === name ? bytes[i] * 8e3 / rate : null).filter((value) => value != null);
    if (waits.length) out.push({ name: "wait in the queue", values: waits });
  }
  for (const one of out) one.values = Array.from(Float64Array.from(one.values).sort());
  return out;
}

self.onmessage = async ({ data: { id, do: name, ...given } }) => {
  try {
    self.postMessage({ id, done: await does[name](given, (message) => self.postMessage({ id, message })) });
  } catch (error) {
    const { message: text, at = "", line = null } = error;
    self.postMessage({ id, refused: { text: error instanceof Refused ? text : `a bug of the page, please report it: ${error}`, at, line } });
  }
};
