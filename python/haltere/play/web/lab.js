// The page: an experiment file is edited, checked and run, all in this browser.

import { Charts, scales } from "../page/charts.js";
import { choose, toggles } from "../page/choose.js";
import { Store } from "../page/data.js";
import { colour, css, FIGURES } from "../page/figures.js";
import { element } from "../page/form.js";
import { asCsv, download } from "../page/save.js";
import { pack, unpack } from "../page/share.js";
import { theme } from "../page/theme.js";
import { Editor } from "./editor.js";
import { Plot } from "./plots.js";
import { Pool } from "./pool.js";
import { Sweep } from "./sweep.js";

const $ = (id) => document.getElementById(id), EXAMPLES = JSON.parse($("examples").textContent);
const began = performance.now();
const state = { text: "", checked: null, wrong: null, running: false, sweep: new Sweep(), ran: "", figure: null, delays: [], schema: null, watch: 0 };
const pool = new Pool(), desk = new Pool(1, pool.module), viewer = new Pool(1, pool.module); // runs, questions, and the run that is watched
const view = { x: [0, 10], y: {}, shown: new Set(["queue", "share", "ping"]), zoom: (from, to) => { state.zoom = [Math.max(0, from), to]; refresh(); }, reset: () => { state.zoom = null; refresh(); } };
const charts = new Charts($("charts"), view, "");
const editor = new Editor($("editor"), { changed: (text) => edited(text), schema: () => state.schema });
const delays = new Plot($("charts"), { id: "delays", title: "Delays, distribution", make: cdf });
const axis = element("select", { "aria-label": "Axis of the sweep", onchange: () => over.draw() }), metric = element("select", { "aria-label": "Metric", onchange: () => { metric.dataset.chosen = "yes"; over.draw(); } });
const over = new Plot($("over"), { id: "sweep", title: "Over the sweep", tools: [metric, axis], make: () => state.sweep.figure(metric.value, axis.value, line) });
let dirty = false, waiting = null;

// --- the experiment -------------------------------------------------------------------------------------------------------

const say = (text, bad = false, line = null) => {
  $("notice").hidden = !text;
  $("notice").className = bad ? "bad" : "";
  $("notice").replaceChildren(text, ...(line ? [" ", element("button", { type: "button", onclick: () => { part("setup"); editor.go(line); } }, `Go to line ${line}`)] : []));
};

function edited(text, wait = 250) {
  state.text = text;
  $("example").value = "";
  clearTimeout(waiting);
  waiting = setTimeout(check, wait);
}

// Asks the laboratory what it says to the text. Resolves with what is in it, or null.
async function check() {
  clearTimeout(waiting);
  desk.forget(); // checks of earlier texts
  const { text } = state;
  try {
    const checked = await desk.do("ask", { request: { do: "check", text } });
    if (text !== state.text) return null;
    Object.assign(state, { checked, wrong: null });
    editor.mark(null);
    if ($("notice").className === "bad") say("");
    $("seeds").placeholder = String(checked.seeds);
    return checked;
  } catch (error) {
    if (text !== state.text || !error) return null;
    const line = error.line ?? named(text, error.text ?? "");
    Object.assign(state, { checked: null, wrong: error });
    editor.mark(line);
    say(error.text ?? String(error), true, line);
    return null;
  } finally {
    buttons();
    window.history.replaceState(null, "", `#file=${await pack(text)}`);
  }
}

// The line of a key that the words name and that has no line of its own, such as one that does not exist.
function named(text, words) {
  const key = /got `([\w.-]+)`/.exec(words)?.[1], at = key ? text.split("\n").findIndex((line) => !/^\s*#/.test(line) && line.split(/[^\w-]+/).includes(key)) : -1;
  return at < 0 ? null : at + 1;
}

function buttons() {
  const ready = state.checked && !state.running;
  $("run").disabled = !ready;
  $("stop").disabled = !state.running;
  const runs = state.checked ? state.checked.points.length * seeds() : 0;
  $("run").textContent = runs > 1 ? `Run all ${runs}` : "Run";
}

const seeds = () => {
  const asked = Number($("seeds").value);
  return Number.isInteger(asked) && asked > 0 ? Math.min(asked, 1000) : state.checked?.seeds ?? 1;
};

// Opens a text in the editor, and shows its first run.
async function open(text, why = "") {
  stop();
  editor.text = text;
  state.text = text;
  Object.assign(state, { sweep: new Sweep(), figure: null, delays: [], ran: "" });
  say(why);
  state.ran = text;
  const checked = check(); // in one worker, while another begins the run
  watch(0, 1, null, checked);
  if (await checked) return fresh(1);
  viewer.stop();
  part("setup");
}

// --- runs -----------------------------------------------------------------------------------------------------------------

// Begins anew with the experiment as it is now.
function fresh(count) {
  Object.assign(state, { ran: state.text, sweep: new Sweep(state.checked.points, count), zoom: null });
  view.y = {};
  const { keys, points, names } = state.sweep, fill = (select, entries) => select.replaceChildren(...entries.map(([value, text]) => element("option", { value }, text)));
  fill(axis, keys.filter((key) => new Set(points.map((one) => JSON.stringify(one[key]))).size > 1).map((key) => [key, `over ${names[keys.indexOf(key)]}`]));
  axis.hidden = axis.options.length < 2;
  const x = names.indexOf(/--x ([\w.]+)/.exec(state.ran)?.[1]);
  if (x >= 0) axis.value = keys[x];
  metric.replaceChildren();
  delete metric.dataset.chosen;
  fill($("point"), points.map((_, i) => [i, state.sweep.title(i)]));
  $("point").hidden = points.length < 2;
  results();
}

async function run() {
  if (!await check()) return part("setup"); // what was just written, too
  part("figures");
  fresh(seeds());
  state.running = true;
  say("");
  buttons();
  const begun = performance.now(), { sweep } = state, tasks = [];
  const one = (point, seed) => pool.do("run", { text: state.ran, point, seed }).then((told) => { sweep.add(point, seed, told); later(); });
  // Seed by seed, so that each point has a first value soon.
  for (let seed = 1; seed <= sweep.seeds; seed++) for (let point = 0; point < sweep.points.length; point++) tasks.push(one(point, seed));
  watch(0, 1);
  try {
    await Promise.all(tasks);
    if (sweep === state.sweep) say(`${sweep.total} run${sweep.total > 1 ? "s" : ""} in ${((performance.now() - begun) / 1000).toFixed(1)} s on ${pool.count} workers.`);
  } catch (error) {
    stop();
    if (error) say(error.text, true, error.line);
  }
  state.running = false;
  buttons();
  results();
}

function stop() {
  pool.stop();
  viewer.stop();
  if (state.running) say(`Stopped after ${state.sweep.runs.size} of ${state.sweep.total} runs.`);
  state.running = false;
  buttons();
}

// Shows one run in the figures as it goes on. What is in the sweep may not be known before `ready`.
async function watch(point, seed, links = null, ready = null) {
  viewer.stop();
  const mine = ++state.watch;
  $("point").value = String(point);
  state.figure = null;
  charts.show(null);
  try {
    const done = await viewer.do("watch", { text: state.ran, point, seed, links }, (message) => {
      if (mine !== state.watch) return;
      if (message.tell === "started") begin(message, point);
      else { state.figure.store.add(message); refresh(); }
    });
    await ready;
    if (mine !== state.watch || !state.checked && ready) return;
    state.delays = done.delays;
    $("digest").textContent = done.digest;
    $("digested").hidden = false;
    if (!state.sweep.get(point, seed)) state.sweep.add(point, seed, done);
    results();
    refresh();
  } catch (error) {
    await ready; // what is wrong with the file has been said
    if (error && mine === state.watch && !state.wrong) say(error.text ?? String(error), true, error.line);
  }
}

function begin({ end, links, flows, shown }, point) {
  state.delays = [];
  $("digested").hidden = true;
  const watched = links.filter((link) => link.watched), [first] = shown;
  $("link").hidden = watched.length < 3;
  $("link").replaceChildren(...watched.map(({ name }) => element("option", { value: name, selected: name === first }, name)));
  state.figure = { store: new Store(), end, flows: flowsOf(flows), discipline: links.find(({ name }) => name === first)?.queue ?? "", chosen: state.figure?.chosen ?? {}, point };
  charts.show(state.figure);
  refresh();
}

// The flows as the figures want them: index, a name that tells each from the others, control or kind, direction.
function flowsOf(flows) {
  const groups = new Map();
  for (const { group, kind, control } of flows) groups.set(group, (groups.get(group) ?? new Set()).add(control ?? kind));
  const out = flows.flatMap(({ name, group, kind, control }, index) => {
    if (kind === "ping") return [];
    const what = control ?? kind, backward = /:s\d+>/.test(name), own = groups.get(group).size > 1 || new RegExp(`^${kind}\\d+$`).test(group) ? what : group;
    return [{ index, control: what, backward, name: own + (backward ? " ←" : ""), app: !["bulk", "permutation", "on_off"].includes(kind) }];
  });
  const seen = new Map();
  return out.map((flow) => {
    if (out.filter(({ name }) => name === flow.name).length < 2) return flow;
    seen.set(flow.name, (seen.get(flow.name) ?? 0) + 1);
    return { ...flow, name: `${flow.name} ${seen.get(flow.name)}` };
  });
}

// --- what is drawn --------------------------------------------------------------------------------------------------------

function refresh() {
  if (!dirty) requestAnimationFrame(() => { dirty = false; draw(); });
  dirty = true;
}

function draw() {
  const { figure } = state;
  view.x = state.zoom ?? [0, figure?.end ?? 10];
  scales(view, [charts.read()]);
  charts.draw();
  delays.draw();
  $("clock").textContent = figure && figure.store.now < figure.end - 1e-9 ? `${figure.store.now.toFixed(1)} of ${figure.end} s` : "";
  if (figure && !window.laboratory.first && figure.store.queue.t.length) window.laboratory.first = performance.now() - began;
}

function cdf() {
  const all = state.delays;
  if (!all.length) return { empty: state.figure ? "Pings and queueing delays appear when the run ends." : "" };
  const parts = Array.from({ length: 201 }, (_, i) => i / 200), pick = (values, part) => values[Math.min(values.length - 1, Math.floor(part * values.length))];
  const t = [...new Set(all.flatMap(({ values }) => parts.map((part) => pick(values, part))))].sort((a, b) => a - b);
  const share = (values, at) => { let [low, high] = [0, values.length]; while (low < high) { const middle = (low + high) >> 1; if (values[middle] <= at) low = middle + 1; else high = middle; } return low / values.length; };
  return { t, x: "delay (ms)", suffix: " ms", unit: "CDF", top: 1.02, lines: all.map(({ name, values }, i) => ({ name, colour: css(i ? "--queue" : "--ping"), values: t.map((at) => share(values, at)) })) };
}

// A line of a control has that control's colour.
function line(name, place, count) {
  const own = name.split(/[ ,]+/).map((word) => css(`--${word}`)).find(Boolean);
  return own ?? (count < 2 ? css("--queue") : `hsl(${Math.round(360 * place / count + 212) % 360} 55% ${css("--lightness")})`);
}

let slow = null;
const later = () => { slow ??= setTimeout(() => { slow = null; results(); }, 120); };

function results() {
  const { sweep } = state, metrics = sweep.metrics(), chosen = metric.value;
  $("progress").hidden = !state.running;
  $("progress").value = sweep.runs.size / sweep.total;
  $("table").replaceChildren(...(metrics.length ? [sweep.table(state.figure?.point ?? 0, (point) => watch(point, 1))] : []));
  const offered = sweep.offered(metrics);
  if (metric.options.length !== offered.length) {
    metric.replaceChildren(...offered.map(([name, about]) => element("option", { value: name }, about)));
    // What was chosen stays; else what the comment of an example draws.
    const y = /--y ([\w.]+)/.exec(state.ran)?.[1], asked = { goodput_flow: "goodput.*", pings: "ping_p95" }[y] ?? y;
    for (const wanted of [asked, metric.dataset.chosen && chosen]) if (offered.some(([name]) => name === wanted)) metric.value = wanted;
  }
  $("over").hidden = sweep.done.length < 2;
  if (!$("over").hidden) over.draw();
}

// On a narrow page: the file, or the results.
function part(name) {
  document.body.dataset.view = name;
  showPart(name);
  refresh();
}

// --- what is pressed ------------------------------------------------------------------------------------------------------

const showPart = choose($("view"), "view", part), text = (value, type) => new Blob([value], { type });
$("run").onclick = run;
$("stop").onclick = stop;
$("seeds").oninput = () => { $("seeds").setAttribute("aria-invalid", String(!/^([1-9]\d{0,3})?$/.test($("seeds").value))); buttons(); };
$("point").onchange = () => watch(Number($("point").value), 1);
$("link").onchange = () => watch(state.figure.point, 1, [$("link").value, $("link").value.split(">").reverse().join(">")]);
$("example").append(...Object.entries(EXAMPLES).map(([subject, all]) => element("optgroup", { label: subject }, ...all.map(({ name, title }) => element("option", { value: name }, title)))));
$("example").onchange = () => { const found = example($("example").value); if (found) open(found.text, found.about); };
const example = (name) => Object.values(EXAMPLES).flat().find((one) => one.name === name);
toggles($("shown"), FIGURES, view.shown, refresh);

$("share").onclick = async () => {
  $("link-text").value = `${location.href.split("#")[0]}#file=${await pack(state.text)}`;
  $("copy").textContent = "Copy";
  $("sharing").showModal();
  $("link-text").select();
};
$("copy").onclick = async () => {
  $("link-text").select();
  try { await navigator.clipboard.writeText($("link-text").value); } catch { document.execCommand("copy"); }
  $("copy").textContent = "Copied";
};
$("export").onclick = () => $("exporting").showModal();
$("save-toml").onclick = () => download("experiment.toml", text(state.text, "text/plain"));
$("save-runs").onclick = () => download("runs.csv", text(state.sweep.csv(), "text/csv"));
$("save-table").onclick = async () => {
  const name = $("table-name").value, point = state.figure?.point ?? 0;
  try {
    const told = await desk.do("ask", { request: { do: "run", text: state.ran, point, seed: 1, tables: [name] } }), table = told.tables[name];
    if (!table) throw { text: `this run has no table ${name}; it has ${told.all.join(", ")}` };
    const names = Object.keys(table.columns), rows = Array.from({ length: table.rows }, (_, i) => names.map((column) => typeof table.columns[column][i] === "boolean" ? String(table.columns[column][i]) : table.columns[column][i]));
    download(`${name}.csv`, text(asCsv([names, ...rows]), "text/csv"));
  } catch (error) {
    if (error) { $("exporting").close(); say(error.text ?? String(error), true); }
  }
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !$("run").disabled) { event.preventDefault(); run(); }
});
theme($("theme"), () => { if (state.figure) charts.show(state.figure); results(); refresh(); });

// --- links ----------------------------------------------------------------------------------------------------------------

// What a link has: a file, the name of an example, or set-ups of the playground, which has a page of its own.
async function linked(hash) {
  if (hash.startsWith("#setup=")) return location.replace(`play.html${hash}`);
  try {
    const file = /^#file=(.+)/.exec(hash), name = /^#example=([\w-]+)/.exec(hash)?.[1];
    if (file) return await open(await unpack(file[1]).catch(() => { throw new Error("link: file must be as this page wrote it, got a damaged one; copy the whole link"); }));
    if (name && example(name)) { $("example").value = name; return await open(example(name).text, example(name).about); }
    if (name) throw new Error(`link: example must be one of those in the list, got ${name}`);
    await open(Object.values(EXAMPLES)[0][0].text, "An experiment file, and its first run. Change the file, or choose another example; Run all runs every point of the sweep with every seed.");
  } catch (error) {
    await open(Object.values(EXAMPLES)[0][0].text);
    say(error.text ?? error.message, true);
  }
}
window.addEventListener("hashchange", () => linked(location.hash)); // what the page itself writes raises no such event

for (const one of [desk, viewer]) one.open(); // both are ready when they are first asked
// For tests: what the page holds.
window.laboratory = { state, editor, pool, charts, delays, over, first: null };
desk.do("ask", { request: { do: "about" } }).then(async ({ version }) => {
  document.querySelector("h1").title = `Haltere ${version}`;
  await linked(location.hash);
  state.schema = await desk.do("ask", { request: { do: "schema" } });
}, (error) => say(`The simulator could not be loaded: ${error.text ?? error.message}`, true));
