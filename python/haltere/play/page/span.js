// Which time the figures show: the last seconds, everything, or from one time to another.

import { choose } from "./choose.js";

export class Span {
  // `changed` is called when another time is to be shown.
  constructor(group, from, to, changed) {
    [this.fields, this.changed, this.value, this.before] = [[from, to], changed, 20, 20];
    this.set = choose(group, "span", (name) => this.pick(name === "own" ? [...this.now] : name === "all" ? "all" : Number(name)));
    this.now = [0, 20];
    for (const field of this.fields) {
      field.addEventListener("change", () => this.typed());
      field.addEventListener("keydown", (event) => { if (event.key === "Enter") field.blur(); });
    }
    this.draw();
  }

  pick(value) {
    if (!Array.isArray(value)) this.before = value;
    this.value = value;
    this.draw();
    this.changed();
  }

  typed() {
    const [from, to] = this.fields.map((field) => Number(field.value.replace(/\s*s$/, "")));
    const good = Number.isFinite(from) && Number.isFinite(to) && from >= 0 && to > from;
    for (const field of this.fields) field.setAttribute("aria-invalid", String(!good));
    if (good) this.pick([from, to]);
  }

  // A part of a figure was drawn over: it is shown. `reset` goes back.
  zoom(from, to) { if (to - from > 1e-3) this.pick([Math.max(0, from), to]); }
  reset() { if (Array.isArray(this.value)) this.pick(this.before); }

  draw() {
    const own = Array.isArray(this.value);
    this.set(own ? "own" : this.value);
    this.fields[0].parentElement.hidden = !own;
    if (own) this.fields.forEach((field, i) => { field.value = String(+this.value[i].toFixed(2)); field.setAttribute("aria-invalid", "false"); });
  }

  // The time to show when the run is at `now`.
  at(now) {
    if (Array.isArray(this.value)) return this.value;
    const span = this.value === "all" ? Math.max(10, now) : this.value;
    return (this.now = [Math.max(0, now - span), Math.max(span, now)]);
  }
}
