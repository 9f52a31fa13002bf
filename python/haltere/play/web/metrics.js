// What is read off one run: a part of the metrics of haltere.analysis.metrics, under the same names and of the same tables; a test
// compares the values. A metric without a value is left out.

import { jain, mean, percentile } from "./statistics.js";

// Name, meaning, unit, decimals; `percent`: a part of 1 that is read in per cent.
export const METRICS = [
  ["goodput", "Goodput of all flows", "Mbit/s", 2],
  ["jain", "Jain's index", "", 4],
  ["ping_p50", "Ping: median", "ms", 1],
  ["ping_p95", "Ping: 95th percentile", "ms", 1],
  ["ping_p99", "Ping: 99th percentile", "ms", 1],
  ["utilisation", "Utilisation", "%", 1],
  ["queue", "Mean queue", "packets", 1],
  ["wait", "Mean wait in the queue", "ms", 1],
  ["drops", "Dropped by the queue", "packets", 0],
  ["marks", "Marked by the queue", "packets", 0],
  ["fct_p50", "Flow completion: median", "ms", 3],
  ["fct_p99", "Flow completion: 99th percentile", "ms", 3],
  ["slowdown_p50", "Slowdown: median", "", 2],
  ["slowdown_p99", "Slowdown: 99th percentile", "", 2],
  ["pages", "Pages loaded", "", 0],
  ["page_load_p50", "Page load: median", "s", 3],
  ["page_load_p95", "Page load: 95th percentile", "s", 3],
  ["rpc_p50", "Call: median", "ms", 3],
  ["rpc_p99", "Call: 99th percentile", "ms", 3],
  ["video_bitrate", "Bitrate of the video", "Mbit/s", 2],
  ["mos", "Mean opinion score", "", 2],
  ["sojourn_p50", "Sojourn: median", "ms", 3],
  ["sojourn_p95", "Sojourn: 95th percentile", "ms", 3],
  ["sojourn_p99", "Sojourn: 99th percentile", "ms", 3],
  ["rtt_p50", "TCP's round trips: median", "ms", 3],
  ["rtt_p95", "TCP's round trips: 95th percentile", "ms", 3],
];
// Tables that they are read off.
export const TABLES = ["flows", "links", "queue_series", "pings", "completions", "pages", "segments", "voices", "delay_bins"];

const rowsOf = (table) => !table ? [] : Array.from({ length: table.rows }, (_, i) => new Proxy(table.columns, { get: (columns, name) => columns[name]?.[i] }));

// `tables` of a run, the `window` that statistics take, and what each traffic kind is.
export function measure({ tables, window }, kinds) {
  const out = {}, set = (name, value) => { if (value != null && Number.isFinite(value)) out[name] = value; };
  const measured = (ns) => ns >= window.from && (!window.early || ns < window.until);
  const flows = rowsOf(tables.flows), data = flows.filter((flow) => kinds[flow.kind]?.goodput);
  goodputs(set, data, kinds, rowsOf(tables.links));
  const pings = rowsOf(tables.pings).filter((ping) => measured(ping.at_ns)).map((ping) => ping.rtt_ns * 1e-6);
  for (const q of [50, 95, 99]) set(`ping_p${q}`, percentile(pings, q));
  const watched = rowsOf(tables.links).find((link) => link.watched);
  if (watched) ofLink(set, watched, rowsOf(tables.queue_series), measured);
  const arrived = rowsOf(tables.completions).filter((row) => measured(row.start_ns));
  completions(set, arrived, flows);
  const only = (table, kind) => {
    const groups = new Set(flows.filter((flow) => flow.kind === kind).map((flow) => flow.group));
    return groups.size === 1 ? rowsOf(tables[table]) : [];
  };
  const loads = only("pages", "web").filter((page) => measured(page.start_ns) && page.load_ns != null).map((page) => page.load_ns * 1e-9);
  if (tables.pages?.rows) set("pages", loads.length);
  for (const q of [50, 95]) set(`page_load_p${q}`, percentile(loads, q));
  const rates = only("segments", "video").filter((one) => measured(one.start_ns) && one.fetch_ns != null).map((one) => one.bitrate_bps * 1e-6);
  if (rates.length) set("video_bitrate", mean(rates));
  const scores = only("voices", "voip").filter((call) => call.packets > 0 && call.mos != null).map((call) => call.mos);
  if (scores.length) set("mos", mean(scores));
  delays(set, rowsOf(tables.delay_bins), watched, new Set(flows.map((flow) => flow.flow)));
  return out;
}

// Of all flows, and of each class: the traffic entry, and the control if an entry assigns several.
function goodputs(set, data, kinds, links) {
  const rate = (flow) => (flow.goodput_bps ?? 0) * 1e-6, rates = data.map(rate);
  if (!rates.length) return;
  set("goodput", rates.reduce((a, b) => a + b, 0));
  const known = new Set(data.map((flow) => flow.kind)), [kind] = known;
  const alike = known.size === 1 && !kinds[kind].arrivals && !kinds[kind].request_response && sameLinks(data, links);
  if (alike && rates.length > 1) set("jain", jain(rates));
  const all = classes(data);
  if (all.size > 1) for (const [name, flows] of all) set(`goodput.${name}`, flows.map(rate).reduce((a, b) => a + b, 0));
}

export function classes(data) {
  const controls = new Map(), out = new Map();
  for (const flow of data) controls.set(flow.group, (controls.get(flow.group) ?? new Set()).add(flow.congestion));
  for (const flow of data) {
    const several = controls.get(flow.group).size > 1;
    const name = !several ? flow.group : controls.size === 1 ? flow.congestion : `${flow.group} ${flow.congestion}`;
    out.set(name, [...(out.get(name) ?? []), flow]);
  }
  return out;
}

// Whether all flows cross the same watched links, on a path of the fewest links.
function sameLinks(data, links) {
  const next = new Map(), from = new Map();
  for (const link of links) next.set(link.from, [...(next.get(link.from) ?? []), link]);
  const spread = (start) => {
    const reached = new Map([[start, ""]]);
    for (let edge = [start]; edge.length;) {
      const further = [];
      for (const node of edge) for (const link of next.get(node) ?? []) {
        if (reached.has(link.to)) continue;
        reached.set(link.to, reached.get(node) + (link.watched ? `${link.link} ` : ""));
        further.push(link.to);
      }
      edge = further;
    }
    return reached;
  };
  const found = data.map((flow) => {
    if (!from.has(flow.from)) from.set(flow.from, spread(flow.from));
    return from.get(flow.from).get(flow.to) ?? "";
  });
  return new Set(found).size <= 1;
}

function ofLink(set, link, series, measured) {
  set("utilisation", link.utilisation == null ? null : link.utilisation * 100);
  set("drops", link.dropped_overlimit_after_warmup + link.dropped_congestion_after_warmup);
  set("marks", link.marked_after_warmup);
  const mine = series.filter((row) => row.link === link.link && measured(row.at_ns));
  if (!mine.length) return;
  set("queue", mean(mine.map((row) => row.packets + row.ring_packets)));
  if (link.rate_bps) set("wait", mean(mine.map((row) => row.bytes)) * 8e3 / link.rate_bps);
}

function completions(set, rows, flows) {
  const done = rows.filter((row) => row.fct_ns != null);
  for (const q of [50, 99]) {
    set(`fct_p${q}`, percentile(done.map((row) => row.fct_ns * 1e-6), q));
    set(`slowdown_p${q}`, percentile(done.filter((row) => row.slowdown != null).map((row) => row.slowdown), q));
  }
  const calls = flows.filter((flow) => flow.kind === "rpc"), names = new Set(calls.map((flow) => flow.flow));
  if (new Set(calls.map((flow) => flow.group)).size !== 1) return;
  const took = done.filter((row) => names.has(row.flow)).map((row) => row.fct_ns * 1e-6);
  for (const q of [50, 99]) set(`rpc_p${q}`, percentile(took, q));
}

// Of samples that were counted in bins: the middle of the bin of the nearest rank.
function delays(set, bins, watched, flows) {
  const quantile = (rows, q) => {
    const sorted = [...rows].sort((a, b) => a.low_ns - b.low_ns), all = sorted.reduce((sum, bin) => sum + bin.samples, 0);
    let rank = Math.max(1, Math.ceil(q / 100 * all));
    for (const bin of sorted) if ((rank -= bin.samples) <= 0) return (bin.low_ns + Math.floor((bin.high_ns - bin.low_ns) / 2)) * 1e-6;
    return null;
  };
  const sojourn = bins.filter((bin) => bin.measure === "sojourn" && bin.name === watched?.link);
  const rtt = bins.filter((bin) => bin.measure === "rtt" && flows.has(bin.name));
  for (const q of [50, 95, 99]) set(`sojourn_p${q}`, quantile(sojourn, q));
  for (const q of [50, 95]) set(`rtt_p${q}`, quantile(rtt, q));
}
