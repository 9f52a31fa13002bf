// The panel of one set-up: an experiment as the program reads it, edited through forms.

import { colour } from "./charts.js";
import { complain, definition, element, field, forgive, parameters, variants } from "./form.js";

const PING = { name: "ping", kind: "ping", pairs: [1], interval: "100ms" };
const LINK = "topology.dumbbell.bottleneck", ACCESS = "topology.dumbbell.access";

export const first = () => experiment({ kind: "drop_tail", limit: "400p" }, [["cubic", 2], ["bbr", 1]]);

function experiment(queue, flows) {
  return {
    title: "From the playground",
    duration: "300s",
    topology: { dumbbell: {
      pairs: flows.length,
      access: { rate: "1Gbit", delay: "50us" },
      bottleneck: { rate: "50Mbit", delay: "10ms", queue },
    } },
    traffic: [structuredClone(PING), ...flows.map(([congestion, count], i) => ({ kind: "bulk", pairs: [i + 1], count, congestion }))],
    measure: { queues: "10ms", flows: "100ms" },
  };
}

export const controlOf = (entry) => typeof entry.congestion === "string" ? entry.congestion : entry.congestion?.kind ?? "cubic";

// The flows that a run has, as the charts need them: TCP only, with index, name and control.
export const tcp = (flows, written) => flows.map(({ name, entry }, index) => ({ index, name, entry }))
  .filter(({ entry }) => written.traffic[entry].kind === "bulk")
  .map((flow) => ({ ...flow, control: controlOf(written.traffic[flow.entry]) }));

export class Setup {
  // `edited(how)` is called after each edit; `how` is "typing" while a field is being written.
  constructor(written, edited, join) {
    [this.written, this.edited, this.join] = [written, edited, join];
    this.running = false;
    this.root = element("div", { class: "setup" });
    this.opened = new Set();
    this.more = { control: "cubic" };
  }

  get bottleneck() { return this.written.topology.dumbbell.bottleneck; }
  get queue() { return this.bottleneck.queue; }

  change(how) { this.edited(how); }

  draw() {
    this.root.replaceChildren(this.drawLink(), this.drawQueue(), this.drawFlows(), this.drawRun());
    for (const one of this.root.querySelectorAll("details[data-name]")) {
      one.open = this.opened.has(one.dataset.name);
      one.addEventListener("toggle", () => this.opened[one.open ? "add" : "delete"](one.dataset.name));
    }
  }

  more_(name, title, content) {
    return element("details", { "data-name": name }, element("summary", {}, title), content);
  }

  // A field of a table in the experiment.
  of(table, path, properties, name, options = {}) {
    return field(name, properties[name], {
      path: `${path}.${name}`, get: () => table()[name],
      set: (value, how) => {
        if (value === undefined) delete table()[name]; else table()[name] = value;
        this.change(how);
      }, ...options,
    });
  }

  drawLink() {
    const link = definition("Link").properties, table = () => this.bottleneck, access = () => this.written.topology.dumbbell.access;
    const limit = this.kinds().get(this.queue.kind).properties.limit;
    return element("section", { class: "card" }, element("h2", {}, "Bottleneck", element("small", {}, "left → right")),
      element("div", { class: "fields" },
        this.of(table, LINK, link, "rate"), this.of(table, LINK, link, "delay"),
        limit && field("limit", limit, {
          path: `${LINK}.queue.limit`, label: "buffer", wide: true, get: () => this.queue.limit,
          set: (value, how) => { if (value === undefined) delete this.queue.limit; else this.queue.limit = value; this.change(how); },
        })),
      this.more_("link", "Loss, jitter, access links", element("div", { class: "fields" },
        this.of(table, LINK, link, "loss"), this.of(table, LINK, link, "jitter"),
        this.of(access, ACCESS, link, "rate", { label: "access rate", disabled: this.running }),
        this.of(access, ACCESS, link, "delay", { label: "access delay", disabled: this.running }))));
  }

  kinds() { return variants(definition("QueueParams")); }

  drawQueue() {
    const kinds = this.kinds(), table = kinds.get(this.queue.kind), path = `${LINK}.queue`;
    const all = parameters(table, {
      path, without: ["limit"], get: () => this.queue,
      set: (value, how) => { this.bottleneck.queue = value; this.change(how); },
    });
    const early = (one, i) => i < 4 || one.dataset.path.endsWith(".ecn"), shown = all.filter(early), more = all.filter((one, i) => !early(one, i));
    const select = element("select", {
      id: "queue-kind", "aria-label": "Queue discipline", name: `${path}.kind`, onchange: (event) => {
        const { limit } = this.queue, next = { kind: event.target.value };
        if (limit !== undefined && kinds.get(next.kind).properties.limit) next.limit = limit; // the buffer stays
        this.bottleneck.queue = next;
        this.draw();
        this.change();
      },
    }, ...[...kinds.keys()].map((kind) => element("option", { value: kind, selected: kind === this.queue.kind }, kind)));
    return element("section", { class: "card" }, element("h2", {}, "Queue discipline"),
      element("div", { class: "field wide", "data-path": path }, select, element("div", { class: "error" })),
      element("p", { class: "about" }, table.description ?? ""),
      shown.length ? element("div", { class: "fields" }, ...shown) : null,
      more.length ? this.more_("queue", `${more.length} more parameter${more.length > 1 ? "s" : ""}`, element("div", { class: "fields" }, ...more)) : null);
  }

  drawFlows() {
    const rows = this.written.traffic.map((entry, i) => [entry, i]).filter(([entry]) => entry.kind === "bulk");
    const total = rows.reduce((sum, [entry]) => sum + (Number(entry.count ?? 1) || 0), 0);
    const list = element("div", { class: "flows" }, ...rows.map(([entry, i]) => this.drawFlow(entry, i, rows.length)));
    const kinds = [...variants(definition("CongestionParams")).keys()];
    const choice = element("select", { "aria-label": "Congestion control of the flows to add", onchange: (event) => { this.more.control = event.target.value; } },
      ...kinds.map((kind) => element("option", { value: kind, selected: kind === this.more.control }, kind)));
    const button = element("button", { onclick: () => this.add(), class: "join" }, this.running ? "Let a flow join" : "Add flows");
    return element("section", { class: "card" }, element("h2", {}, "Flows", element("small", {}, `${total} TCP, and a ping`)),
      list, element("div", { class: "add" }, choice, button));
  }

  drawFlow(entry, index, count) {
    const kinds = variants(definition("CongestionParams")), control = controlOf(entry), path = `traffic[${index}]`;
    const dot = element("span", { class: "swatch" });
    dot.style.background = colour(control);
    const disabled = this.running;
    const row = element("div", { class: "row" }, dot,
      element("input", {
        type: "text", class: "count", "aria-label": "Number of flows", value: String(entry.count ?? 1), disabled, name: `${path}.count`, inputmode: "numeric",
        oninput: (event) => { entry.count = Number.isFinite(Number(event.target.value)) && event.target.value.trim() ? Number(event.target.value) : event.target.value; this.change("typing"); },
        onchange: () => this.change(),
      }),
      element("select", { "aria-label": "Congestion control", disabled, name: `${path}.congestion`, onchange: (event) => { entry.congestion = event.target.value; this.draw(); this.change(); } },
        ...[...kinds.keys()].map((kind) => element("option", { value: kind, selected: kind === control }, kind))),
      element("label", { title: "Both ends use ECN" }, element("input", {
        type: "checkbox", disabled, checked: entry.ecn === true,
        onchange: (event) => { if (event.target.checked) entry.ecn = true; else delete entry.ecn; this.change(); },
      }), "ECN"),
      element("button", { class: "small", title: "Remove", "aria-label": "Remove", disabled: disabled || count < 2, onclick: () => this.remove(index) }, "×"));
    const inner = parameters(kinds.get(control), {
      path: `${path}.congestion`, disabled, get: () => typeof entry.congestion === "object" ? entry.congestion : {},
      set: (value, how) => {
        const { kind: _, ...rest } = value;
        entry.congestion = Object.keys(rest).length ? { kind: control, ...rest } : control;
        this.change(how);
      },
    });
    // Errors about the number stand below the row; those about the entry, too.
    const below = element("div", { "data-path": `${path}.count` }, element("div", { class: "error" }));
    const whole = element("div", { "data-path": path }, element("div", { class: "error" }));
    return element("div", { class: "flow" }, row, below, whole,
      inner.length ? this.more_(`flow${index}`, `Parameters of ${control}`, element("div", { class: "fields" }, ...inner)) : null);
  }

  add() {
    const entry = { kind: "bulk", count: 1, congestion: this.more.control };
    if (this.running) return this.join(entry);
    this.written.traffic.push(entry);
    this.renumber();
    this.draw();
    this.change();
  }

  remove(index) {
    this.written.traffic.splice(index, 1);
    this.renumber();
    this.draw();
    this.change();
  }

  // Each kind of flows has a pair of hosts of its own.
  renumber() {
    const rows = this.written.traffic.filter((entry) => entry.kind === "bulk");
    rows.forEach((entry, i) => { entry.pairs = [i + 1]; });
    this.written.topology.dumbbell.pairs = rows.length;
  }

  drawRun() {
    const properties = definition("Link").properties; // for the type of a span
    const duration = { $ref: properties.delay.$ref, description: "How long the run lasts, in simulated time." };
    return element("section", { class: "card" }, element("h2", {}, "Run"), element("div", { class: "fields" },
      field("duration", duration, {
        path: "duration", disabled: this.running, get: () => this.written.duration,
        set: (value, how) => { if (value === undefined) delete this.written.duration; else this.written.duration = value; this.change(how); },
      })));
  }

  // What a run begins with: flows that joined the last one start with the others.
  fresh() {
    for (const entry of this.written.traffic) { delete entry.start; delete entry.jitter; }
    return this.written;
  }

  setRunning(running) {
    this.running = running;
    this.draw();
  }

  complain(at, text) {
    forgive(this.root);
    return complain(this.root, at, text);
  }
  forgive() { forgive(this.root); }
}
