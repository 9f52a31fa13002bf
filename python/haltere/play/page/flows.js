// The flows of a set-up: a row for each traffic entry, which has a pair of hosts of its own.

import { baseRtt, colour, controlOf, number, whatOf } from "./figures.js";
import { definition, described, element, field, parameters, variants } from "./form.js";

const WAYS = [["forward", "→", "Data from left to right"], ["backward", "←", "Data from right to left"], ["both", "⇄", "A flow in each direction"]];
// Fields of an entry that are shown with the parameters of its control. The schema has their meaning.
const MORE = ["bytes", "start", "stop"];
// What flows may be beside transfers, and the fields of an entry that are not the application's own.
const APPS = ["web", "rpc", "video", "voip"];
const SHARED = ["name", "pairs", "from", "to", "count", "direction", "start", "stagger", "jitter", "stop", "dscp", "congestion", "ecn", "tcp", "receiver"];

const controls = () => variants(definition("CongestionParams"));
const traffic = (kind) => variants(definition("Traffic")).get(kind);
const count = (entry) => (Number(entry.count ?? 1) || 0) * (entry.direction === "both" ? 2 : 1);

export function draw(setup) {
  const rows = setup.written.traffic.map((entry, i) => [entry, i]).filter(([entry]) => entry.kind !== "ping");
  const total = rows.reduce((sum, [entry]) => sum + count(entry), 0);
  const choice = element("select", { "aria-label": "Congestion control of the flows to add, or an application", onchange: (event) => { setup.more.what = event.target.value; } }, ...choices(setup.more.what));
  const button = element("button", { type: "button", onclick: () => add(setup), class: "join" }, setup.running ? "Let a flow join" : "Add flows");
  return element("section", { class: "card" }, element("h2", {}, "Flows", element("small", {}, `${total}, and a ping`)),
    element("div", { class: "flows" }, ...rows.map(([entry, i]) => row(setup, entry, i, rows.length))), element("div", { class: "add" }, choice, button));
}

// Congestion controls of transfers, and applications.
function choices(chosen) {
  const group = (label, names) => element("optgroup", { label }, ...names.map((name) => element("option", { value: name, selected: name === chosen }, name)));
  return [group("Transfers by their control", [...controls().keys()]), group("Applications", APPS)];
}

// An entry of that control or application. What all entries have stays.
const made = (what, { count = 1, pairs, direction, start, stop } = {}) => ({
  ...(APPS.includes(what) ? { kind: what } : { kind: "bulk", congestion: what }), count,
  ...Object.fromEntries(Object.entries({ pairs, direction, start, stop }).filter(([, value]) => value != null)),
});

function row(setup, entry, index, rows) {
  const what = whatOf(entry), path = `traffic[${index}]`, disabled = setup.running, isTcp = entry.kind !== "voip";
  const dot = element("span", { class: "swatch" });
  dot.style.background = colour(what);
  const chosen = (event) => { setup.written.traffic[index] = made(event.target.value, entry); setup.draw(); setup.change(); };
  const turned = (event) => { if (event.target.value === "forward") delete entry.direction; else entry.direction = event.target.value; setup.draw(); setup.change(); };
  const way = WAYS.find(([name]) => name === (entry.direction ?? "forward"));
  const line = element("div", { class: "row" }, dot,
    element("input", {
      type: "text", class: "count", "aria-label": "Number of flows", value: String(entry.count ?? 1), disabled, name: `${path}.count`, inputmode: "numeric",
      oninput: (event) => { const text = event.target.value.trim(); entry.count = text && Number.isFinite(Number(text)) ? Number(text) : event.target.value; setup.change("typing"); },
      onchange: () => { setup.draw(); setup.change(); },
    }),
    element("select", { "aria-label": "Congestion control or application", disabled, name: `${path}.congestion`, onchange: chosen }, ...choices(what)),
    element("select", { class: "way", "aria-label": "Direction", title: way[2], disabled, name: `${path}.direction`, onchange: turned },
      ...WAYS.map(([name, sign, about]) => element("option", { value: name, title: about, selected: name === way[0], "aria-label": about }, sign))),
    element("label", { title: "Both ends use ECN" }, element("input", {
      type: "checkbox", disabled: disabled || !isTcp, checked: entry.ecn === true,
      onchange: (event) => { if (event.target.checked) entry.ecn = true; else delete entry.ecn; setup.change(); },
    }), "ECN"),
    goes(setup, entry, index, rows));
  // Errors about the number stand below the row; those about the entry, too.
  const below = [`${path}.count`, path].map((one) => element("div", { "data-path": one }, element("div", { class: "error" })));
  const rtt = baseRtt(setup.written, entry.pairs[0]);
  const note = entry.stop != null && setup.running ? `${setup.live.left.has(index) ? "left" : "leave"} at ${entry.stop}` : rtt == null ? "" : `round trip ${number(rtt * 1e3)} ms without queues`;
  return element("div", { class: setup.live.left.has(index) ? "flow left" : "flow" }, line, ...below, element("p", { class: "note" }, note),
    setup.fold(`flow${index}`, `Delay, times and parameters of ${what}`, ...described((entry.kind === "bulk" ? controls().get(what) : traffic(what)).description),
      element("div", { class: "fields" }, delayField(setup, entry), ...times(setup, entry, path), ...(entry.kind === "bulk" ? inner(setup, entry, controls().get(what), path) : own(setup, entry, path))),
      isTcp ? setup.fold(`tcp${index}`, "TCP of both ends", element("div", { class: "fields" }, ...tcp(setup, entry, path))) : null));
}

// During a run flows leave; before it their row is removed.
function goes(setup, entry, index, rows) {
  const what = count(entry) > 1 ? "these flows" : "this flow", left = entry.stop != null;
  if (setup.running) {
    return element("button", { type: "button", class: "small", title: left ? `Leaves at ${entry.stop}` : `Let ${what} leave`, "aria-label": `Let ${what} leave`, disabled: left, onclick: () => setup.act.leave(index) }, "×");
  }
  const why = rows < 2 ? "A set-up has at least one row of flows" : "Remove";
  return element("button", { type: "button", class: "small", title: why, "aria-label": "Remove", disabled: rows < 2, onclick: () => remove(setup, index) }, "×");
}

// The delay of the pair's access links, which makes its round-trip time.
function delayField(setup, entry) {
  const pair = entry.pairs[0] - 1, usual = () => setup.dumbbell.access.delay ?? "0s", { $ref } = definition("Link").properties.delay;
  const about = "Propagation time of the access links of these flows. A round trip crosses them four times. If it is not given, it is that of all access links.";
  return field("delay", { $ref, description: about }, {
    path: `topology.dumbbell.access_delays[${pair}]`, label: "access delay", get: () => setup.dumbbell.access_delays?.[pair],
    set: (value, how) => {
      const { dumbbell } = setup, delays = dumbbell.access_delays ?? Array.from({ length: dumbbell.pairs }, usual);
      delays[pair] = value ?? usual();
      if (delays.every((one) => one === usual())) delete dumbbell.access_delays; else dumbbell.access_delays = delays;
      setup.change(how);
      if (how !== "typing") setup.draw();
    },
  });
}

function times(setup, entry, path) {
  const { properties } = traffic(entry.kind);
  return MORE.filter((name) => properties[name]).map((name) => setup.of(() => entry, path, properties, name, { disabled: setup.running }));
}

// The fields of an application: its own, and the control of its connections.
function own(setup, entry, path) {
  const { properties } = traffic(entry.kind), disabled = setup.running;
  // What may be a value or a table, such as a distribution of sizes, is written as in a file.
  const plain = (one) => one.type && one.type !== "array" || one.format || one.$ref && !variants(definition(one.$ref.replace("#/$defs/", ""))).size ? one : { description: one.description, default: one.default };
  const fields = Object.keys(properties).filter((name) => name !== "kind" && !SHARED.includes(name))
    .map((name) => setup.of(() => entry, path, { [name]: plain(properties[name]) }, name, { disabled }));
  if (!properties.congestion) return fields;
  const { description } = properties.congestion;
  return [...fields, field("congestion", { description, default: "cubic", enum: [...controls().keys()] }, {
    path: `${path}.congestion`, disabled, get: () => entry.congestion && controlOf(entry),
    set: (value) => { if (value === undefined) delete entry.congestion; else entry.congestion = value; setup.change(); },
  })];
}

function inner(setup, entry, table, path) {
  const kind = controlOf(entry);
  return parameters(table, {
    path: `${path}.congestion`, disabled: setup.running, get: () => typeof entry.congestion === "object" ? entry.congestion : {},
    set: (value, how) => {
      const { kind: _, ...rest } = value;
      entry.congestion = Object.keys(rest).length ? { kind, ...rest } : kind;
      setup.change(how);
    },
  });
}

// What is different from the usual TCP: the window, the buffers, ECN and so on.
function tcp(setup, entry, path) {
  return parameters(definition("TcpParamsOverrides"), {
    path: `${path}.tcp`, disabled: setup.running, get: () => entry.tcp ?? {},
    set: (value, how) => { if (Object.keys(value).length) entry.tcp = value; else delete entry.tcp; setup.change(how); },
  });
}

function add(setup) {
  const entry = made(setup.more.what);
  if (setup.running) return setup.act.join(entry);
  const { dumbbell, written } = setup;
  written.traffic.push({ ...entry, pairs: [dumbbell.pairs + 1] });
  dumbbell.pairs += 1;
  dumbbell.access_delays?.push(dumbbell.access.delay ?? "0s");
  setup.draw();
  setup.change();
}

// Each kind of flows keeps a pair of hosts of its own; the ping runs between the first.
function remove(setup, index) {
  const { dumbbell, written } = setup, [gone] = written.traffic.splice(index, 1), pair = gone.pairs[0];
  for (const entry of written.traffic) if (entry.kind !== "ping" && entry.pairs[0] > pair) entry.pairs = [entry.pairs[0] - 1];
  dumbbell.pairs -= 1;
  if (dumbbell.access_delays) {
    dumbbell.access_delays.splice(pair - 1, 1);
    if (dumbbell.access_delays.every((one) => one === (dumbbell.access.delay ?? "0s"))) delete dumbbell.access_delays;
  }
  setup.draw();
  setup.change();
}
