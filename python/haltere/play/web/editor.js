// The editor of an experiment file: a text field with numbered lines, colours, a mark at the line that is wrong, and completion.

import { element } from "../page/form.js";
import { context, offers, pieces } from "./toml.js";

const LINE = 18, PAD = 8;

export class Editor {
  // `changed` is called with the text after each edit; `schema` gives the JSON Schema, or nothing yet.
  constructor(root, { changed, schema }) {
    Object.assign(this, { changed, schema, wrong: null, offered: [], chosen: 0, from: 0 });
    this.area = element("textarea", {
      id: "file", spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", "aria-label": "Experiment file", "aria-autocomplete": "list", "aria-controls": "offers",
      oninput: () => this.edited(), onscroll: () => this.place(), onkeydown: (event) => this.key(event), onblur: () => setTimeout(() => document.activeElement === this.area || this.close(), 150), onclick: () => this.close(),
    });
    this.colours = element("pre", { class: "colours", "aria-hidden": "true" });
    this.lines = element("div", { class: "lines", "aria-hidden": "true" });
    this.band = element("div", { class: "band", hidden: "" });
    this.list = element("ul", { id: "offers", role: "listbox", "aria-label": "Possible values", hidden: "" });
    this.told = element("p", { class: "told", hidden: "" });
    this.box = element("div", { class: "box" }, this.band, this.colours, this.area, this.list, this.told);
    root.append(this.lines, this.box);
  }

  get text() { return this.area.value; }
  set text(value) { this.area.value = value; this.area.scrollTop = 0; this.area.setSelectionRange(0, 0); this.draw(); this.close(); }

  edited() {
    this.draw();
    this.changed(this.text);
    this.offer(false);
  }

  draw() {
    const lines = this.text.split("\n");
    this.colours.replaceChildren(...lines.flatMap((line) => [...pieces(line).map(([name, text]) => name ? element("span", { class: name }, text) : text), "\n"]));
    this.lines.replaceChildren(...lines.map((_, i) => element("div", { class: i + 1 === this.wrong ? "wrong" : "" }, String(i + 1))));
    this.place();
  }

  // Puts what lies behind the text where the text is.
  place() {
    const { scrollTop: top, scrollLeft: left } = this.area;
    this.colours.style.transform = `translate(${-left}px, ${-top}px)`;
    this.lines.style.transform = `translateY(${-top}px)`;
    this.band.hidden = this.wrong == null;
    if (this.wrong != null) this.band.style.top = `${PAD + (this.wrong - 1) * LINE - top}px`;
  }

  // Marks a line as wrong; null: none.
  mark(line) {
    this.wrong = line;
    this.draw();
    this.area.setAttribute("aria-invalid", String(line != null));
  }

  go(line) {
    const start = this.text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.area.focus();
    this.area.setSelectionRange(start, start);
    this.area.scrollTop = Math.max(0, (line - 5) * LINE);
  }

  // --- completion ---------------------------------------------------------------------------------------------------------

  // `asked`: with the keyboard, so also where nothing is written yet.
  offer(asked) {
    const schema = this.schema(), caret = this.area.selectionStart, here = schema && context(this.text, caret);
    if (!here || here.place === "comment" || (!asked && !/[\w."'[]$/.test(here.word))) return this.close();
    this.offered = offers(schema, here).slice(0, 60);
    if (!this.offered.length || (this.offered.length === 1 && this.offered[0].insert.trim() === here.word)) return this.close();
    Object.assign(this, { from: here.place === "header" ? this.text.lastIndexOf("\n", caret - 1) + 1 : here.from, chosen: 0 });
    this.list.replaceChildren(...this.offered.map(({ label }, i) => element("li", {
      id: `offer-${i}`, role: "option", onmousedown: (event) => { event.preventDefault(); this.chosen = i; this.take(); },
    }, label)));
    this.list.hidden = this.told.hidden = false;
    this.put(caret);
    this.pick(0);
  }

  put(caret) {
    const before = this.text.slice(0, caret), row = before.split("\n").length, column = caret - (before.lastIndexOf("\n") + 1);
    this.wide ??= measured(this.area);
    const left = Math.min(PAD + column * this.wide - this.area.scrollLeft, Math.max(0, this.box.clientWidth - 250)), below = PAD + row * LINE - this.area.scrollTop;
    const up = below + 190 > this.box.clientHeight && below > 200;
    Object.assign(this.list.style, { left: `${left}px`, top: up ? "" : `${below}px`, bottom: up ? `${this.box.clientHeight - below + LINE}px` : "" });
  }

  pick(index) {
    this.chosen = (index + this.offered.length) % this.offered.length;
    [...this.list.children].forEach((one, i) => one.setAttribute("aria-selected", String(i === this.chosen)));
    this.list.children[this.chosen].scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", `offer-${this.chosen}`);
    this.told.textContent = this.offered[this.chosen].about;
    this.told.hidden = !this.told.textContent;
  }

  take() {
    const caret = this.area.selectionStart, { insert } = this.offered[this.chosen];
    const rest = this.text.slice(caret), closing = /^["']\s*/.test(rest) && insert.endsWith(rest[0]) ? 1 : /^\]+/.exec(insert.endsWith("]") ? rest : "")?.[0].length ?? 0;
    this.area.focus();
    this.area.setSelectionRange(this.from, caret + closing);
    // So the browser's undo knows of it.
    if (!document.execCommand("insertText", false, insert)) this.area.setRangeText(insert, this.from, caret + closing, "end");
    this.close();
    this.draw();
    this.changed(this.text);
    if (insert.endsWith("= ")) this.offer(true);
  }

  close() {
    this.offered = [];
    this.list.hidden = this.told.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const open = this.offered.length > 0, step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); this.offer(true); }
    else if (open && step) { event.preventDefault(); this.pick(this.chosen + step); }
    else if (open && (event.key === "Tab" || event.key === "Enter")) { event.preventDefault(); this.take(); }
    else if (open && event.key === "Escape") { event.preventDefault(); event.stopPropagation(); this.close(); }
    else if (/^(Arrow|Home|End)/.test(event.key)) this.close();
  }
}

// The width of a letter.
function measured(area) {
  const { font } = getComputedStyle(area), ctx = document.createElement("canvas").getContext("2d");
  ctx.font = font;
  return ctx.measureText("0".repeat(100)).width / 100;
}
