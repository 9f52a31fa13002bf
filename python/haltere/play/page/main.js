// The page: what is pressed goes to the program over a WebSocket, what comes back is drawn.

import { Charts, scales } from "./charts.js";
import { choose, toggles } from "./choose.js";
import * as courses from "./courses.js";
import { Store } from "./data.js";
import { colour, FIGURES, lines, named, whatOf } from "./figures.js";
import { element, prose, use } from "./form.js";
import { History } from "./history.js";
import { Links } from "./links.js";
import * as presets from "./presets.js";
import { download } from "./save.js";
import { Setup } from "./setup.js";
import { Span } from "./span.js";
import { connect, say } from "./talk.js";
import { theme } from "./theme.js";
import { drawTiles } from "./tiles.js";

const $ = (id) => document.getElementById(id);
const state = { setups: [], shown: 0, comparing: false, running: false, paused: false, speed: 1, wrong: [false, false] };
const past = new History(), chosen = [{}, {}]; // the variables that are drawn, for each set-up
const span = new Span($("span"), $("from"), $("to"), () => refresh());
const view = { x: [0, 20], y: {}, shown: new Set(FIGURES.map(({ id }) => id)), zoom: (from, to) => span.zoom(from, to), reset: () => span.reset() };
const links = new Links({ setups: () => current().map((one) => one.written), ask: (setups) => say({ do: "open", setups }), refuse: (text) => notice(text, true) });
let columns = [], dirty = false, pace = [];

// --- talk -----------------------------------------------------------------------------------------------------------------

const hear = {
  hello(told) {
    use(told.schema);
    courses.use(told.courses);
    document.querySelector("h1").title = `Haltere ${told.version}`;
    presets.fill($("preset"), told.presets, (preset) => { load(presets.setups(preset)); about(preset); });
    load(presets.setups(told.presets[0]), false);
    $("run").disabled = $("export").disabled = false;
    links.open(location.hash);
  },
  checked({ setup }) { forgive(setup); keep(); },
  opened({ setups }) {
    links.opened();
    load(setups);
    about(null);
    notice("The link's set-up is loaded.");
  },
  started({ setups }) {
    setups.forEach(({ flows, end }, i) => {
      const column = columns[i];
      Object.assign(column, { store: new Store(), end });
      draws(column, i, flows);
      forgive(i);
    });
    [view.y, pace] = [{}, []];
    setRunning(true);
    edited();
    keep();
    if (Array.isArray(span.value)) span.reset();
    part("figures");
    notice("");
  },
  samples({ setups }) {
    setups.forEach((sample, i) => columns[i]?.store?.add(sample));
    pace.push([performance.now(), setups[0].now]);
    while (pace.length > 2 && pace.at(-1)[0] - pace[0][0] > 2000) pace.shift();
    refresh();
  },
  changed({ setup, at, what, flows }) {
    forgive(setup);
    keep();
    draws(columns[setup], setup, flows);
    if (what.length) mark(setup, at, what.map(short).filter(Boolean).join(", "));
  },
  joined(told) {
    const { column } = adopt(told, (live, old) => live.joined.add(old.traffic.length));
    mark(told.setup, told.at, `+ ${column.run.flows.at(-1).control}`);
  },
  left(told) {
    const gone = [];
    adopt(told, (live, old) => told.experiment.traffic.forEach((entry, i) => {
      if (entry.stop !== old.traffic[i].stop) { live.left.add(i); gone.push(whatOf(entry)); }
    }));
    mark(told.setup, told.at, `− ${gone.join(", ")}`);
  },
  outage(told) {
    adopt(told, () => {});
    const [from, to] = told.experiment.topology.dumbbell.bottleneck.schedule.slice(-2).map((step) => parseFloat(step.at));
    mark(told.setup, told.at, `outage ${+(to - from).toFixed(3)} s`);
  },
  refused({ setup, at, text }) {
    if (links.opening) return links.refused(text);
    const index = setup ?? state.shown, one = state.setups[index];
    state.wrong[index] = true;
    tabs();
    if (!one?.complain(at, text)) notice(text, true, "refused");
  },
  ended({ why, text }) {
    setRunning(false);
    if (why === "failed") notice(text, true);
    if (why === "done") notice("The run has ended.");
  },
  exported({ setup, text }) {
    download(state.comparing ? `play-${"ab"[setup]}.toml` : "play.toml", new Blob([text], { type: "text/plain" }));
  },
};

function gone({ message } = {}) {
  setRunning(false);
  $("run").disabled = $("export").disabled = true;
  notice(message ? `The simulator could not be loaded: ${message}` : "haltere play has stopped. Start `haltere play` again and open the address that it prints.", true);
}

// The program changed the experiment: it is that of the page from now on. `note` tells the set-up what was done.
function adopt({ setup, experiment, flows }, note) {
  const one = state.setups[setup], column = columns[setup];
  note(one.live, one.written);
  one.adopt(experiment);
  draws(column, setup, flows);
  edited();
  keep();
  return { one, column };
}

// A change in few words, for the line in the figure: the last key and its value.
function short(text) {
  const [, key, value] = /([^.=]+) = (.*)$/.exec(text) ?? [];
  if (/\.schedule/.test(text)) return /schedule_repeat/.test(text) ? "rate over time" : "";
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
  const send = () => check(index), act = {
    join: (traffic) => say({ do: "join", setup: index, traffic, delay: null }),
    leave: (entry) => say({ do: "leave", setup: index, entry }),
    outage: (seconds) => say({ do: "outage", setup: index, seconds }),
  };
  return new Setup(written, (how) => {
    clearTimeout(waiting);
    // While a field is being written it is only looked at, and not at every letter; a run takes it when it is finished.
    if (how !== "typing") { send(); edited(); }
    else if (!state.running) waiting = setTimeout(send, 350);
  }, act);
}

const current = () => state.setups.slice(0, state.comparing ? 2 : 1);
function check(index) {
  say({ do: state.running ? "change" : "check", setup: index, experiment: state.setups[index].written });
}

// Begins anew with one set-up or two.
function load(setups, asEdit = true) {
  if (state.running) { say({ do: "stop" }); setRunning(false); }
  put(setups);
  if (!asEdit) past.clear(snapshot());
  edited();
  current().forEach((_, i) => check(i));
}

function put(setups, comparing = setups.length > 1) {
  state.setups = setups.map((written, i) => makeSetup(i, written));
  state.wrong = [false, false];
  compare(comparing, Math.min(state.shown, comparing ? 1 : 0));
}

function compare(comparing, shown) {
  Object.assign(state, { comparing, shown });
  $("compare").setAttribute("aria-pressed", String(comparing));
  layout();
}

// An edit is finished: it can be undone.
const snapshot = () => structuredClone({ comparing: state.comparing, setups: state.setups.map((one) => one.written) });
function edited() {
  past.push(snapshot());
  steps();
  stale();
  for (const column of columns) column.name.textContent = name(column.index);
}

// The program has accepted the set-ups: the address has them.
const keep = () => { if (!state.wrong.some(Boolean)) links.keep(); };

function steps() {
  $("undo").disabled = !past.canUndo;
  $("redo").disabled = !past.canRedo;
}

function step(by) {
  const next = past.look(by);
  if (!next) return;
  if (state.running) {
    const same = (a, b) => JSON.stringify([a.traffic, a.topology.dumbbell.pairs]) === JSON.stringify([b.traffic, b.topology.dumbbell.pairs]);
    if (next.comparing !== state.comparing || !next.setups.every((one, i) => same(one, state.setups[i].written))) {
      return notice(`${by < 0 ? "Undo" : "Redo"}: stop the run first, because that changes its flows.`, true);
    }
    next.setups.forEach((written, i) => { if (JSON.stringify(written) !== JSON.stringify(state.setups[i].written)) { state.setups[i].adopt(written); check(i); } });
  } else {
    put(next.setups, next.comparing);
    current().forEach((_, i) => check(i));
  }
  past.go(by);
  edited();
}

function forgive(index) {
  state.setups[index]?.forgive();
  state.wrong[index] = false;
  if (!state.wrong.some(Boolean) && $("notice").dataset.kind === "refused") notice("");
  tabs();
}

function tabs() {
  $("tabs").hidden = !state.comparing;
  showTab(state.shown);
  for (const tab of $("tabs").children) tab.classList.toggle("wrong", state.wrong[Number(tab.dataset.setup)]);
}

const name = (index) => state.comparing ? `${"AB"[index]}: ${state.setups[index]?.title ?? ""}` : "";

function layout() {
  const count = state.comparing ? 2 : 1, before = columns;
  for (const column of columns) column.charts.destroy();
  $("columns").className = count === 2 ? "two" : "";
  columns = Array.from({ length: count }, (_, index) => {
    const tiles = element("div", { class: "tiles" }), charts = element("div", { class: "charts" }), title = element("h2", { class: "which" });
    const root = element("div", { class: "column", "data-setup": index }, title, tiles, charts), { store, run, end } = before[index] ?? {};
    return { index, root, tiles, name: title, store: store ?? null, run: run ?? null, end, charts: new Charts(charts, view, count > 1 ? "AB"[index] : "") };
  });
  $("columns").replaceChildren(...columns.map((column) => column.root));
  for (const column of columns) { column.charts.show(column.run); column.name.textContent = name(column.index); }
  show(Math.min(state.shown, count - 1));
  refresh();
}

// The figures of that column are of these flows from now on.
function draws(column, index, flows) {
  const { written, queue } = state.setups[index];
  column.run = { store: column.store, flows: named(flows, written), discipline: queue.kind, chosen: chosen[index] };
  column.charts.show(column.run);
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
  view.x = span.at(now);
  scales(view, columns.map((column) => column.charts.read()));
  columns.forEach((column) => {
    column.charts.draw();
    const here = column.run?.flows.filter(({ stop, app }) => !app && (stop == null || stop > column.store.now)).map((flow) => flow.index);
    drawTiles(column.tiles, column.store?.summary(here));
  });
  clock(now);
}

function clock(now) {
  const [from, to] = [pace[0], pace.at(-1)];
  const speed = pace.length > 5 && to[0] > from[0] ? (to[1] - from[1]) / (to[0] - from[0]) * 1e3 : null;
  const slow = speed != null && state.speed !== "max" && speed < state.speed * 0.85;
  const pacing = state.running && !state.paused && speed != null ? element("i", { title: slow ? "This machine cannot run this set-up faster" : "Simulated seconds per second" },
    ` at ${speed.toFixed(speed < 10 ? 1 : 0)}×${slow ? " (all it can)" : ""}`) : null;
  $("clock").replaceChildren(...(columns.some((column) => column.store) ? [element("b", {}, `${now.toFixed(1)} s`), ...(pacing ? [pacing] : [])] : []));
}

// `kind`: "refused" goes when what was refused has been put right; others go with the next.
function notice(text, bad = false, kind = "") {
  Object.assign($("notice"), { hidden: !text, className: bad ? "bad" : "" });
  $("notice").replaceChildren(...prose(text));
  $("notice").dataset.kind = kind;
}

function about(preset) {
  $("about").hidden = !preset;
  $("about").replaceChildren(...(preset ? [element("b", {}, `${preset.title}. `), ...prose(preset.about), element("i")] : []));
  state.preset = preset && JSON.stringify(snapshot());
  if (!preset) $("preset").value = "";
}

// What a preset says is of its own set-ups.
function stale() {
  const note = $("about").querySelector("i");
  if (note) note.textContent = JSON.stringify(snapshot()) === state.preset ? "" : " You have changed the set-up since.";
}

// On a narrow page: the set-up, or the figures.
function part(name) {
  document.body.dataset.view = name;
  showPart(name);
  refresh();
}

// --- what is pressed ------------------------------------------------------------------------------------------------------

const CANNOT_COMPARE = "Compare: stop the run first, because both set-ups start together.";

function setRunning(running) {
  state.running = running;
  state.paused = false;
  $("run").textContent = running ? "Restart" : "Run";
  $("pause").textContent = "Pause";
  $("pause").disabled = $("stop").disabled = !running;
  $("compare").setAttribute("aria-disabled", String(running));
  $("compare").title = running ? CANNOT_COMPARE : "Two set-ups side by side, in step";
  for (const one of state.setups) one.setRunning(running);
  refresh();
}

$("run").onclick = () => {
  document.activeElement?.blur();
  say({ do: "start", setups: current().map((one) => one.fresh()), speed: state.speed, seed: 1 });
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
  if (state.running) return notice(CANNOT_COMPARE);
  const comparing = !state.comparing;
  if (comparing && !state.setups[1]) {
    const other = structuredClone(state.setups[0].written), { bottleneck } = other.topology.dumbbell;
    if (bottleneck.queue.kind !== "fq_codel") bottleneck.queue = { kind: "fq_codel" }; // something to compare with
    state.setups[1] = makeSetup(1, other);
  }
  compare(comparing, comparing ? 1 : 0);
  edited();
  keep();
};
$("export").onclick = () => current().forEach(({ written }, i) => say({ do: "export", setup: i, experiment: written }));
$("undo").onclick = () => step(-1);
$("redo").onclick = () => step(1);
document.addEventListener("keydown", (event) => {
  const key = event.key.toLowerCase(), writing = event.target.matches?.("input[type=text]");
  if (!(event.ctrlKey || event.metaKey) || writing || (key !== "z" && key !== "y")) return;
  event.preventDefault();
  step(key === "y" || event.shiftKey ? 1 : -1);
});

const showTab = choose($("tabs"), "setup", (index) => show(Number(index)));
const showPart = choose($("view"), "view", part);
choose($("speed"), "speed", (value) => {
  state.speed = value === "max" ? value : Number(value);
  pace = [];
  if (state.running) say({ do: "speed", speed: state.speed });
  refresh();
});
toggles($("shown"), FIGURES, view.shown, () => refresh());

theme($("theme"), () => {
  for (const column of columns) column.charts.show(column.run);
  for (const one of state.setups) one.draw();
  refresh();
});
connect(hear, gone);

// For tests: what the page holds.
window.playground = { state, span, columns: () => columns, stores: () => columns.map((column) => column.store), lines, colour };
