// The page: what is pressed goes to the program over a WebSocket, what comes back is drawn.

import { Charts, lines, scales } from "./charts.js";
import { bits, Store } from "./data.js";
import { element, use } from "./form.js";
import { first, Setup, tcp } from "./setup.js";

const $ = (id) => document.getElementById(id);
const state = { setups: [], shown: 0, comparing: false, running: false, paused: false, speed: 1, window: 20, wrong: [false, false] };
const view = { x: [0, 20], y: {} };
let columns = [], socket = null, dirty = false, pace = [];

// --- talk -----------------------------------------------------------------------------------------------------------------

function say(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function connect() {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  socket = new WebSocket(`ws://${location.host}/ws?token=${encodeURIComponent(token)}`);
  socket.onmessage = (event) => { const told = JSON.parse(event.data); hear[told.tell]?.(told); };
  socket.onclose = () => {
    setRunning(false);
    $("run").disabled = $("export").disabled = true;
    notice("The program has gone: start `haltere play` again and open the address that it prints.", true);
  };
}

const hear = {
  hello({ schema, version }) {
    use(schema);
    document.querySelector("h1").title = `Haltere ${version}`;
    state.setups = [makeSetup(0, first())];
    $("run").disabled = $("export").disabled = false;
    layout();
  },
  checked({ setup }) { forgive(setup); },
  started({ setups }) {
    setups.forEach(({ flows, end }, i) => {
      const column = columns[i];
      Object.assign(column, { store: new Store(), flows: tcp(flows, state.setups[i].written), end });
      column.charts.show(column.store, column.flows);
      forgive(i);
    });
    [view.y, pace] = [{}, []];
    setRunning(true);
    notice("");
  },
  samples({ setups }) {
    setups.forEach((sample, i) => columns[i]?.store?.add(sample));
    const now = performance.now();
    pace.push([now, setups[0].now]);
    while (pace.length > 2 && now - pace[0][0] > 2000) pace.shift();
    refresh();
  },
  changed({ setup, at, what }) {
    forgive(setup);
    if (what.length) mark(setup, at, what.map(short).filter(Boolean).join(", "));
  },
  joined({ setup, at, experiment, flows }) {
    const one = state.setups[setup], column = columns[setup];
    one.written = experiment;
    one.draw();
    column.flows = tcp(flows, experiment);
    column.charts.show(column.store, column.flows);
    mark(setup, at, `+ ${column.flows.at(-1).control}`);
  },
  refused({ setup, at, text }) {
    const index = setup ?? state.shown, one = state.setups[index];
    state.wrong[index] = true;
    tabs();
    if (!one?.complain(at, text)) notice(text, true);
  },
  ended({ why, text }) {
    setRunning(false);
    if (why === "failed") notice(text, true);
    if (why === "done") notice("The run has come to its end.");
  },
  exported({ setup, text }) {
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: state.comparing ? `play-${"ab"[setup]}.toml` : "play.toml" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  },
};

// A change in few words, for the line in the chart: the last key and its value.
function short(text) {
  const [, key, value] = /([^.=]+) = (.*)$/.exec(text) ?? [];
  if (!key) return text.split(".").at(-1);
  const kind = /kind = "([^"]+)"/.exec(value)?.[1];
  return kind ?? `${key} ${value.replaceAll('"', "")}`;
}

function mark(setup, at, text) {
  columns[setup].store.marks.push({ at, text });
  refresh();
}

// --- set-ups --------------------------------------------------------------------------------------------------------------

function makeSetup(index, written) {
  let waiting = null;
  const send = () => {
    const experiment = state.setups[index].written;
    say(state.running ? { do: "change", setup: index, experiment } : { do: "check", setup: index, experiment });
  };
  const edited = (how) => {
    clearTimeout(waiting);
    // While a field is being written it is only looked at, and not at every letter; a run takes it when it is finished.
    if (how !== "typing") send();
    else if (!state.running) waiting = setTimeout(send, 350);
  };
  return new Setup(written, edited, (traffic) => say({ do: "join", setup: index, traffic }));
}

function forgive(index) {
  state.setups[index]?.forgive();
  state.wrong[index] = false;
  if (!state.wrong.some(Boolean)) notice("");
  tabs();
}

function tabs() {
  $("tabs").hidden = !state.comparing;
  for (const tab of $("tabs").children) {
    const index = Number(tab.dataset.setup);
    tab.setAttribute("aria-selected", String(index === state.shown));
    tab.classList.toggle("wrong", state.wrong[index]);
  }
}

function layout() {
  const count = state.comparing ? 2 : 1;
  for (const column of columns) column.charts.destroy();
  $("columns").className = count === 2 ? "two" : "";
  columns = Array.from({ length: count }, (_, i) => {
    const before = columns[i], tiles = element("div", { class: "tiles" }), charts = element("div", { class: "charts" });
    const root = element("div", { class: "column", "data-setup": i }, tiles, charts);
    return { root, tiles, store: before?.store ?? null, flows: before?.flows ?? [], end: before?.end, charts: new Charts(charts, view) };
  });
  $("columns").replaceChildren(...columns.map((column) => column.root));
  for (const column of columns) column.charts.show(column.store, column.flows);
  show(Math.min(state.shown, count - 1));
  refresh();
}

function show(index) {
  state.shown = index;
  state.setups[index].draw();
  $("panel").replaceChildren(state.setups[index].root);
  tabs();
}

// --- what is drawn --------------------------------------------------------------------------------------------------------

function refresh() {
  if (!dirty) requestAnimationFrame(() => { dirty = false; draw(); });
  dirty = true;
}

function draw() {
  const now = Math.max(0, ...columns.map((column) => column.store?.now ?? 0));
  const span = state.window === "all" ? Math.max(10, now) : state.window;
  view.x = [Math.max(0, now - span), Math.max(span, now)];
  scales(view, columns.map((column) => column.charts.most()));
  columns.forEach((column, i) => { column.charts.draw(); tiles(column, i); });
  clock(now);
}

function clock(now) {
  const [from, to] = [pace[0], pace.at(-1)];
  const speed = pace.length > 5 && to[0] > from[0] ? (to[1] - from[1]) / (to[0] - from[0]) * 1e3 : null;
  const slow = speed != null && state.speed !== "max" && speed < state.speed * 0.85;
  $("clock").innerHTML = columns.some((column) => column.store)
    ? `<b>${now.toFixed(1)} s</b>${state.running && !state.paused && speed != null ? ` <i title="${slow ? "This machine cannot go faster with this set-up" : "Simulated seconds a second"}">at ${speed.toFixed(speed < 10 ? 1 : 0)}×${slow ? " (all it can)" : ""}</i>` : ""}` : "";
}

const figure = (value, digits, unit) => value == null ? "–" : `${value.toFixed(digits)}<small> ${unit}</small>`;
const whole = (value) => value == null ? "–" : value >= 1e5 ? `${(value / 1e3).toFixed(0)}k` : String(value);

function tiles(column, index) {
  const rate = bits(state.setups[index]?.bottleneck.rate);
  const told = column.store?.summary(rate, column.flows.map((flow) => flow.index)) ?? {};
  const cells = [
    ["Used", figure(told.used == null ? null : told.used * 100, 0, "%"), "used", "Of the bottleneck's rate, over the last two seconds"],
    ["Queueing", figure(told.delay, 1, "ms"), "delay", "What waits, at the bottleneck's rate: mean of the last two seconds"],
    ["Ping", figure(told.rtt, 1, "ms"), "rtt", "Median round trip of the last two seconds"],
    ["Fairness", told.fair == null ? "–" : told.fair.toFixed(2), "fair", "Jain's index of what the flows received in the last two seconds; 1 where all have the same"],
    ["Dropped", whole(told.dropped), "dropped", "Packets since the start, at the bottleneck"],
    ["Marked", whole(told.marked), "marked", "Packets marked CE since the start"],
  ];
  const name = state.comparing ? `<div class="tile name">${"AB"[index]}</div>` : "";
  column.tiles.innerHTML = name + cells.map(([title, value, id, about]) => `<div class="tile" data-tile="${id}" title="${about}"><span>${title}</span><b>${value}</b></div>`).join("");
}

function notice(text, bad = false) {
  Object.assign($("notice"), { textContent: text, hidden: !text, className: bad ? "bad" : "" });
}

// --- what is pressed ------------------------------------------------------------------------------------------------------

function setRunning(running) {
  state.running = running;
  state.paused = false;
  $("run").textContent = running ? "Restart" : "Run";
  $("pause").textContent = "Pause";
  $("pause").disabled = $("stop").disabled = !running;
  $("compare").disabled = running;
  for (const one of state.setups) one.setRunning(running);
  refresh();
}

function choose(group, name) {
  group.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    for (const one of group.children) one.setAttribute("aria-checked", String(one === button));
    const value = button.dataset[name];
    state[name] = value === "max" || value === "all" ? value : Number(value);
    pace = [];
    if (name === "speed" && state.running) say({ do: "speed", speed: state.speed });
    refresh();
  });
}

$("run").onclick = () => {
  document.activeElement?.blur();
  const setups = state.setups.slice(0, state.comparing ? 2 : 1).map((one) => one.fresh());
  say({ do: "start", setups, speed: state.speed, seed: 1 });
};
$("pause").onclick = () => {
  state.paused = !state.paused;
  pace = [];
  say({ do: state.paused ? "pause" : "resume" });
  $("pause").textContent = state.paused ? "Go on" : "Pause";
  refresh();
};
$("stop").onclick = () => say({ do: "stop" });
$("compare").onclick = () => {
  state.comparing = !state.comparing;
  $("compare").setAttribute("aria-pressed", String(state.comparing));
  if (state.comparing && !state.setups[1]) {
    const other = structuredClone(state.setups[0].written), { bottleneck } = other.topology.dumbbell;
    if (bottleneck.queue.kind !== "fq_codel") bottleneck.queue = { kind: "fq_codel" }; // something to compare with
    state.setups[1] = makeSetup(1, other);
  }
  state.shown = state.comparing ? 1 : 0;
  layout();
};
$("export").onclick = () => {
  for (let i = 0; i < (state.comparing ? 2 : 1); i++) say({ do: "export", setup: i, experiment: state.setups[i].written });
};
$("tabs").addEventListener("click", (event) => { if (event.target.dataset.setup) show(Number(event.target.dataset.setup)); });
$("theme").onclick = () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark", true);
choose($("speed"), "speed");
choose($("window"), "window");

const dark = matchMedia("(prefers-color-scheme: dark)");
function theme(name, keep) {
  document.documentElement.dataset.theme = name;
  if (keep) try { localStorage.setItem("haltere-theme", name); } catch { /* it is only forgotten */ }
  for (const column of columns) column.charts.show(column.store, column.flows);
  for (const one of state.setups) one.draw();
  refresh();
}
let kept = null;
try { kept = localStorage.getItem("haltere-theme"); } catch { /* as the system has it */ }
theme(kept ?? (dark.matches ? "dark" : "light"), false);
dark.addEventListener("change", () => { if (!kept) theme(dark.matches ? "dark" : "light", false); });
connect();

// For tests: what the page holds.
window.playground = { state, stores: () => columns.map((column) => column.store), lines };
