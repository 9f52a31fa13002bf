// The panel of one set-up: an experiment as the program reads it, edited through forms.

import { bits } from "./data.js";
import * as courses from "./courses.js";
import { whatOf } from "./figures.js";
import * as flows from "./flows.js";
import { complain, definition, described, element, field, forgive, parameters, variants } from "./form.js";

const LINK = "topology.dumbbell.bottleneck", ACCESS = "topology.dumbbell.access";

export class Setup {
  // `edited(how)` is called after each edit; `how` is "typing" while a field is being written. `act` has what is done to a run: `join`,
  // `leave` and `outage`.
  constructor(written, edited, act) {
    [this.written, this.edited, this.act] = [written, edited, act];
    this.running = false;
    this.root = element("div", { class: "setup" });
    this.opened = new Set();
    this.more = { what: "cubic", outage: 2 };
    this.live = { joined: new Set(), left: new Set() }; // entries that came and went during the run
  }

  get dumbbell() { return this.written.topology.dumbbell; }
  get bottleneck() { return this.dumbbell.bottleneck; }
  get queue() { return this.bottleneck.queue; }

  change(how) { this.edited(how); }

  // Names what sets this set-up apart from the other.
  get title() {
    const limit = this.queue.limit == null ? "" : ` ${this.queue.limit}`;
    const controls = new Set(this.written.traffic.filter((entry) => entry.kind !== "ping").map(whatOf));
    return `${this.queue.kind}${limit}, ${[...controls].join(" + ")}`;
  }

  draw() {
    this.root.replaceChildren(this.drawLink(), this.drawQueue(), flows.draw(this), this.drawRun());
    for (const one of this.root.querySelectorAll("details[data-name]")) {
      one.open = this.opened.has(one.dataset.name);
      one.addEventListener("toggle", () => this.opened[one.open ? "add" : "delete"](one.dataset.name));
    }
  }

  // A part that is opened on demand.
  fold(name, title, ...content) {
    return element("details", { "data-name": name }, element("summary", {}, title), ...content);
  }

  // A field of a table in the experiment. `after` is called with the value that it had before.
  of(table, path, properties, name, { after, ...options } = {}) {
    return field(name, properties[name], {
      path: `${path}.${name}`, get: () => table()[name],
      set: (value, how) => {
        const before = table()[name];
        if (value === undefined) delete table()[name]; else table()[name] = value;
        after?.(before);
        this.change(how);
      }, ...options,
    });
  }

  drawLink() {
    const link = definition("Link").properties, table = () => this.bottleneck, access = () => this.dumbbell.access;
    const limit = this.kinds().get(this.queue.kind).properties.limit, course = courses.courseOf(this.bottleneck);
    const keepCourse = () => { if (bits(this.bottleneck.rate)) courses.rescale(this.bottleneck, course); };
    const reverse = () => (this.bottleneck.reverse ??= {});
    const tidy = () => { if (!Object.keys(reverse()).length) delete this.bottleneck.reverse; };
    return element("section", { class: "card" }, element("h2", {}, "Bottleneck", element("small", {}, "left → right, and back")),
      element("div", { class: "fields" },
        this.of(table, LINK, link, "rate", { after: keepCourse }), this.of(table, LINK, link, "delay"),
        limit && field("limit", limit, {
          path: `${LINK}.queue.limit`, label: "buffer", get: () => this.queue.limit,
          set: (value, how) => { if (value === undefined) delete this.queue.limit; else this.queue.limit = value; this.change(how); },
        }),
        this.drawCourse(course)),
      this.running ? this.drawOutage(course) : null,
      this.fold("link", "Loss, jitter, reverse rate, access links", element("div", { class: "fields" },
        this.of(table, LINK, link, "loss"), this.of(table, LINK, link, "jitter"),
        this.of(reverse, `${LINK}.reverse`, link, "rate", {
          label: "reverse rate", left: "as forward", after: () => { if (!reverse().rate) { delete reverse().schedule; delete reverse().schedule_repeat; } tidy(); keepCourse(); },
        }),
        this.of(access, ACCESS, link, "rate", { label: "access rate" }),
        this.of(access, ACCESS, link, "delay", {
          label: "access delay", after: (before) => {
            const delays = this.dumbbell.access_delays; // those that were as before follow
            if (delays) this.dumbbell.access_delays = delays.map((one) => one === before ? access().delay ?? "0s" : one);
          },
        }))));
  }

  drawCourse(course) {
    const about = courses.all().find((one) => one.name === course)?.about;
    const select = element("select", {
      id: "course", name: `${LINK}.schedule`, onchange: (event) => { courses.setCourse(this.bottleneck, event.target.value); this.draw(); this.change(); },
    }, element("option", { value: "" }, "constant"),
    ...(course === "own" ? [element("option", { value: "own", selected: true }, "own schedule")] : []),
    ...courses.all().map((one) => element("option", { value: one.name, selected: one.name === course }, one.title)));
    return element("div", { class: "field", "data-path": `${LINK}.schedule` }, element("label", { for: "course" }, element("span", {}, "rate over time")), select,
      element("div", { class: "help", role: "tooltip" }, about ?? "A course of the rate from the built-in list."), element("div", { class: "error" }));
  }

  drawOutage(course) {
    const why = course ? "The rate must be constant: choose it above" : "Nothing passes the bottleneck for this time, in both directions";
    const button = element("button", { type: "button", title: why, disabled: Boolean(course), onclick: () => this.act.outage(this.more.outage) }, "Outage now");
    const length = element("select", { "aria-label": "Length of the outage", disabled: Boolean(course), onchange: (event) => { this.more.outage = Number(event.target.value); } },
      ...[0.1, 0.5, 1, 2, 5, 10].map((one) => element("option", { value: one, selected: one === this.more.outage }, `${one} s`)));
    return element("div", {}, element("div", { class: "add" }, length, button), course ? element("p", { class: "about" }, why) : null);
  }

  kinds() {
    // A link with a rate has no discipline that is the line itself.
    const offered = ([, table]) => !this.bottleneck.rate || !table["x-medium"];
    return new Map([...variants(definition("QueueParams"))].filter(offered));
  }

  drawQueue() {
    const kinds = this.kinds(), table = kinds.get(this.queue.kind), path = `${LINK}.queue`;
    const all = parameters(table, {
      path, without: ["limit"], get: () => this.queue,
      set: (value, how) => { this.bottleneck.queue = value; this.change(how); },
    });
    const early = (one, i) => i < 4 || one.dataset.path?.endsWith(".ecn"), shown = all.filter(early), more = all.filter((one, i) => !early(one, i));
    const select = element("select", {
      id: "queue-kind", "aria-label": "Queue discipline", name: `${path}.kind`, onchange: (event) => {
        const { limit } = this.queue, next = { kind: event.target.value };
        if (limit !== undefined && kinds.get(next.kind).properties.limit) next.limit = limit; // the buffer stays
        this.bottleneck.queue = next;
        this.draw();
        this.root.querySelector("#queue-kind").focus();
        this.change();
      },
    }, ...[...kinds.keys()].map((kind) => element("option", { value: kind, selected: kind === this.queue.kind }, kind)));
    return element("section", { class: "card" }, element("h2", {}, "Queue discipline"),
      element("div", { class: "field wide", "data-path": path }, select, element("div", { class: "error" })),
      ...described(table.description),
      shown.length ? element("div", { class: "fields" }, ...shown) : null,
      more.length ? this.fold("queue", `${more.length} more parameter${more.length > 1 ? "s" : ""}`, element("div", { class: "fields" }, ...more)) : null);
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

  // The experiment as the program changed it: flows that joined or left, or an outage.
  adopt(written) {
    this.written = written;
    this.draw();
  }

  // What a run begins with. Flows that joined the last one start with the others, and those that left are there; outages are over.
  fresh() {
    for (const index of this.live.joined) { delete this.written.traffic[index]?.start; delete this.written.traffic[index]?.jitter; }
    for (const index of this.live.left) delete this.written.traffic[index]?.stop;
    this.live = { joined: new Set(), left: new Set() };
    if (courses.outages(this.bottleneck)) courses.setCourse(this.bottleneck, "");
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
