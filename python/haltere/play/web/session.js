// The playground's session in a worker: what haltere.play.session and haltere.play.setup do for a page with a server, for a page without.
// The page is the only one who asks, and a worker can harm nobody, so what a server must refuse is not looked for: the laboratory checks.

import { Refused, Simulator } from "./simulator.js";

const TICK = 50; // milliseconds between two looks at the simulator
const DIRECTIONS = ["left>right", "right>left"];
const FLOWS = ["bulk", "web", "rpc", "video", "voip", "ping"];

const wrong = (text, at = "") => { throw new Refused({ text, at }); };
const seconds = (at) => `${at.toFixed(3)}s`;

// The words of a world, with the key that they are about.
function placed(error) {
  if (error.at) return error;
  const [, path = "", name = ""] = /^(?:([\w.[\]]+): )?([^\s:]+) must be /.exec(error.message) ?? [];
  error.at = [path, name.replaceAll("`", "")].filter(Boolean).join(name.startsWith("[") ? "" : ".");
  return error;
}

// One set-up: the experiment as it is now, its run, and what was changed when.
class Setup {
  constructor(module, written, most) { Object.assign(this, { simulator: new Simulator(module), written, most, now: 0, changes: [] }); }

  ask(request) { try { return this.simulator.ask(request); } catch (error) { throw error instanceof Refused ? placed(error) : error; } }

  start(seed) { this.take(this.ask({ do: "start", text: JSON.stringify(this.written), point: 0, seed })); }

  take({ end, links, flows }) {
    const label = (entry, i) => entry.name ?? `${entry.kind}${i + 1}`, { traffic } = this.written;
    this.end = end;
    this.links = DIRECTIONS.map((name) => links.findIndex((link) => link.name === name));
    this.flows = flows.map(({ name, group }) => {
      const entry = traffic.findIndex((one, i) => label(one, i) === group), ends = name.slice(group.length + 1);
      return { name, entry, backward: ends ? ends.startsWith("s") : traffic[entry].direction === "backward" };
    });
    this.shown = this.flows.flatMap(({ entry }, i) => traffic[entry].kind === "bulk" ? [i] : []).slice(0, this.most.state);
  }

  get done() { return this.now >= this.end - 1e-9; }

  advance(span) {
    const told = this.ask({ do: "advance", seconds: span, links: this.links, flows: this.shown });
    this.now = told.now;
    return told;
  }

  change(written) {
    const told = this.ask({ do: "change", text: JSON.stringify(written) }), what = changed(this.written, written);
    this.written = written;
    this.take(told);
    this.changes.push(...what.map((one) => [this.now, one]));
    return what;
  }

  // The time reached in whole milliseconds, rounded up, so that it is not past.
  get soon() { return seconds(Math.ceil(this.now * 1000 - 1e-6) / 1000); }

  withFlows(traffic, delay) {
    const { dumbbell } = this.written.topology, pairs = dumbbell.pairs + 1, usual = dumbbell.access.delay ?? "0s", delays = dumbbell.access_delays ?? [];
    const more = delays.length || delay != null ? { access_delays: [...(delays.length ? delays : new Array(pairs - 1).fill(usual)), delay ?? usual] } : {};
    return { ...this.written, topology: { dumbbell: { ...dumbbell, pairs, ...more } }, traffic: [...this.written.traffic, { ...traffic, pairs: [pairs], start: this.soon, jitter: "0s" }] };
  }

  withoutFlows(entry) {
    const traffic = [...this.written.traffic];
    if (traffic[entry].stop != null) wrong(`traffic[${entry}]: stop must be left out, got \`${traffic[entry].stop}\``, `traffic[${entry}]`);
    traffic[entry] = { ...traffic[entry], stop: this.soon };
    return { ...this.written, traffic };
  }

  withOutage(span) {
    const { dumbbell } = this.written.topology, { bottleneck } = dumbbell, at = "topology.dumbbell.bottleneck.schedule", start = parseFloat(this.soon);
    if (bottleneck.rate == null) wrong("outage: rate of the bottleneck must be given, got nothing", "topology.dumbbell.bottleneck.rate");
    if (bottleneck.schedule_repeat != null) wrong("outage: the rate must be constant, got one that changes; choose a constant rate first", at);
    const cut = (link) => {
      const steps = link.schedule ?? [];
      if (steps.length && parseFloat(steps.at(-1).at) >= start) wrong(`outage: the last one must be over, got one until ${steps.at(-1).at}`, at);
      return { ...link, schedule: [...steps, { at: seconds(start), rate: "0bit" }, { at: seconds(start + span), rate: link.rate }] };
    };
    const out = cut(bottleneck);
    if (bottleneck.reverse?.rate != null) out.reverse = cut(bottleneck.reverse);
    return { ...this.written, topology: { dumbbell: { ...dumbbell, bottleneck: out } } };
  }
}

const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

// What differs, as assignments.
function changed(old, now, path = "") {
  if (isTable(old) && isTable(now) && old.kind === now.kind) {
    return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((key) => {
      const inner = path ? `${path}.${key}` : key;
      return key in now ? changed(old[key], now[key], inner) : [`${inner} as by default`];
    });
  }
  if (Array.isArray(old) && Array.isArray(now) && old.length <= now.length && path) {
    return now.flatMap((one, i) => i < old.length ? changed(old[i], one, `${path}[${i}]`) : [`${path}[${i}] = ${literal(one)}`]);
  }
  return JSON.stringify(old) === JSON.stringify(now) ? [] : [`${path} = ${literal(now)}`];
}
const literal = (value) => Array.isArray(value) ? `[${value.map(literal).join(", ")}]`
  : isTable(value) ? `{ ${Object.entries(value).map(([key, one]) => `${key} = ${literal(one)}`).join(", ")} }` : JSON.stringify(value);

export class Session {
  // `tell` takes what the page is told; `most` has the limits of a page.
  constructor(module, tell, most) { Object.assign(this, { module, tell, most, setups: [], speed: 1, task: null, paused: false, run: 0 }); }

  about() { return new Simulator(this.module).ask({ do: "about" }); }
  schema() { return new Simulator(this.module).ask({ do: "schema" }); }

  take({ do: name, ...given }) {
    try {
      this[`do_${name}`](given);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.tell({ tell: "refused", at: error.at, text: error.message, setup: error.setup ?? given.setup ?? null });
    }
  }

  // A set-up whose run is built, which finds what the schema cannot tell.
  made(written, seed, index) {
    try {
      this.bounds(written);
      const made = new Setup(this.module, { ...written, traffic: written.traffic.map((one) => typeof one === "string" ? { kind: one } : one) }, this.most);
      made.start(seed);
      return made;
    } catch (error) {
      if (error instanceof Refused) error.setup = index;
      throw error;
    }
  }

  bounds({ topology, traffic }) {
    const { dumbbell } = topology ?? {}, most = (path, name, value, what) => {
      if (value > this.most[what]) wrong(`${path ? `${path}: ` : ""}${name} must be at most ${this.most[what]} in the playground, got ${value}`, path ? `${path}.${name}` : name);
    };
    if (!dumbbell) wrong("topology must be a dumbbell in the playground, got another; `haltere run` takes any", "topology");
    most("topology.dumbbell", "pairs", dumbbell.pairs, "pairs");
    most("", "traffic", traffic?.length, "entries");
    (traffic ?? []).forEach((entry, i) => most(`traffic[${i}]`, "count", entry.count, "count"));
  }

  do_check({ experiment, setup }) {
    this.made(experiment, 1, setup);
    this.tell({ tell: "checked", setup });
  }

  // The page can only show what it could have made: flows of some kinds, each entry with a pair of its own, and a ping.
  do_open({ setups }) {
    if (!setups.length || setups.length > this.most.setups) wrong(`open: setups must be a list of 1 to ${this.most.setups} experiments`);
    const written = setups.map((one, index) => {
      const { written } = this.made(one, 1, index), { dumbbell } = written.topology, seen = new Set();
      for (const [key, table] of [["access", dumbbell.access], ["bottleneck", dumbbell.bottleneck], ["bottleneck.queue", dumbbell.bottleneck?.queue]]) {
        if (!isTable(table)) wrong(`topology.dumbbell.${key} must be a table in the playground, got something else`, `topology.dumbbell.${key}`);
      }
      written.traffic.forEach(({ kind, pairs, congestion }, i) => {
        const at = `traffic[${i}]`, alone = Array.isArray(pairs) && pairs.length === 1 && (kind === "ping" || !seen.has(pairs[0]));
        if (!FLOWS.includes(kind)) wrong(`${at}: kind must be one of ${FLOWS.map((one) => `\`${one}\``).join(", ")} in the playground, got \`${kind}\``, at);
        if (!alone) wrong(`${at}: pairs must be one pair of its own in the playground`, at);
        if (Array.isArray(congestion)) wrong(`${at}: congestion must be one control in the playground, got a list`, at);
        if (kind !== "ping") seen.add(pairs[0]);
      });
      if (seen.size !== dumbbell.pairs) wrong("traffic: pairs must be one for each entry but the ping in the playground", "traffic");
      return written;
    });
    this.tell({ tell: "opened", setups: written });
  }

  do_start({ setups, speed, seed }) {
    const made = setups.map((one, index) => this.made(one, seed, index));
    Object.assign(this, { setups: made, speed, paused: false });
    this.tell({ tell: "started", setups: made.map(({ flows, end }) => ({ flows, end })) });
    this.go(++this.run);
  }

  running(index) {
    if (!this.task) wrong("there must be a run, got none; press Run");
    return this.setups[index];
  }

  edit(index, tell, edited) {
    const one = this.running(index), written = edited(one);
    this.bounds(written);
    const what = one.change(written);
    this.tell({ tell, setup: index, at: one.now, what, experiment: one.written, flows: one.flows });
  }

  do_change({ experiment, setup }) { this.edit(setup, "changed", () => experiment); }
  do_join({ traffic, setup, delay }) { this.edit(setup, "joined", (one) => one.withFlows(traffic, delay)); }
  do_leave({ entry, setup }) { this.edit(setup, "left", (one) => one.withoutFlows(entry)); }
  do_outage({ seconds, setup }) { this.edit(setup, "outage", (one) => one.withOutage(seconds)); }
  do_speed({ speed }) { this.speed = speed; }
  do_pause() { this.paused = true; }
  do_resume() { this.paused = false; }
  do_stop() {
    this.run += 1;
    this.task = null;
    this.tell({ tell: "ended", why: "stopped" });
  }

  do_export({ experiment, setup }) {
    const one = this.setups[setup], ran = one && JSON.stringify(one.written) === JSON.stringify(experiment) ? one.changes : [];
    const log = ran.map(([at, what]) => `#   ${at.toFixed(2)} s  ${what}`);
    const head = ["# From the playground. Run it with: haltere run FILE", ...(log.length ? ["# Below is the set-up as it was at the end. It became that while it ran:", ...log] : []), "", ""];
    this.tell({ tell: "exported", setup, text: head.join("\n") + new Simulator(this.module).ask({ do: "toml", experiment }) });
  }

  // Step by step to the end: no step is to take longer than two ticks.
  async go(mine) {
    this.task = mine;
    let budget = TICK / 1000, before = performance.now();
    while (this.run === mine) {
      const begun = performance.now();
      if (!this.paused) {
        // What passed since the last step, but no catching up after a stall.
        const due = this.speed === "max" ? Infinity : Math.min(begun - before, 4 * TICK) / 1000 * this.speed;
        try {
          this.tell({ tell: "samples", setups: this.setups.map((one) => one.advance(Math.min(due, budget))) });
        } catch (error) {
          this.task = null;
          return this.tell({ tell: "ended", why: "failed", text: error.message });
        }
      }
      before = begun;
      const took = performance.now() - begun;
      if (!this.paused) budget = Math.min(Math.max(budget * Math.min(Math.max(TICK / Math.max(took, 0.1), 0.25), 2), 1e-4), 10);
      if (this.setups.every((one) => one.done)) {
        this.task = null;
        return this.tell({ tell: "ended", why: "done" });
      }
      await new Promise((go) => setTimeout(go, Math.max(0, TICK - (performance.now() - begun))));
    }
  }
}
