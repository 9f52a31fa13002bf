// Fields made from the JSON Schema of experiment files: units, ranges, defaults and meaning are the program's.

let schema = null;
export const use = (given) => { schema = given; };

export const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") made[name] = value;
    else if (value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
};

// The program's words: what stands between backticks is code.
export const prose = (text) => text.split("`").map((part, i, all) => i % 2 && i < all.length - 1 ? element("code", {}, part) : i % 2 ? `\`${part}` : part);

// A mechanism's description: what it does; its source and its limits when they are asked for.
export function described(text = "") {
  const at = text.search(/\bSource:/), about = at < 0 ? text : text.slice(0, at), rest = at < 0 ? "" : text.slice(at);
  return [element("p", { class: "about" }, ...prose(about.trim())), rest && element("details", { class: "source" }, element("summary", {}, "Source and limits"), element("p", { class: "about" }, ...prose(rest)))].filter(Boolean);
}

const target = (one) => one?.$ref ? schema.$defs[one.$ref.replace("#/$defs/", "")] : null;
export const definition = (name) => schema.$defs[name];

// The tables of a union that `kind` tells apart.
export function variants(union) {
  const out = new Map();
  for (const option of [...(union.anyOf ?? []), ...(union.oneOf ?? [])]) {
    const kind = option.properties?.kind?.const;
    if (kind && !option["x-elsewhere"]) out.set(kind, option);
    else if (option.oneOf) for (const [name, table] of variants(option)) out.set(name, table);
  }
  return out;
}

const words = (definition) => (definition?.enum ?? (definition?.oneOf ?? []).map((option) => option.const)).filter((word) => typeof word === "string");

// What may be written, in as few words as fit beside the name: units, or the range.
function hint(one) {
  const base = target(one) ?? one;
  const units = { duration: "us ms s", rate: "kbit Mbit Gbit", bytes: "B kB MB", size: "p kB MB bdp", level: "p kB ms", probability: "0–1 or %" }[base.format];
  if (units) return units;
  const said = range(one.description ?? "");
  if (said) return said;
  if (base.minimum != null && base.maximum != null) return `${base.minimum} to ${base.maximum}`;
  if (base.minimum != null) return `from ${base.minimum}`;
  return base.type === "integer" || base.type === "number" ? "number" : "";
}

// The range as the description puts it: `0 to 2`, `1 or more`, `above 0 to 1`, `from 2 to 9`, `at most 4`.
function range(text) {
  const figure = "\\d[\\d.]*(?:[eE]\\d+)?%?";
  const found = new RegExp(`(?:above ${figure} to ${figure}|(?:from )?${figure} to ${figure}|${figure} or more|above (?:zero|${figure})|at least ${figure}[^.,;]{0,24})`, "i").exec(text.replace(/\s+/g, " "));
  return found ? found[0][0].toLowerCase() + found[0].slice(1).replace(/\.$/, "") : "";
}

// What a value that is left out stands for, as the description says it.
const usual = (one) => one.default != null ? literal(one.default) : (/(?:Left out:|Default:|If it is not given,) ([^.;(]+)/.exec((one.description ?? "").replace(/\s+/g, " "))?.[1] ?? "none").replaceAll("`", "").trim();

const literal = (value) => typeof value === "string" ? value : JSON.stringify(value);

// What stands in a text field, as a value: a number where one is meant; the program says what is wrong with the rest.
function parse(text, base) {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (/^[[{]/.test(trimmed)) try { return JSON.parse(trimmed); } catch { return trimmed; } // a list or a table
  const numeric = base.type === "number" || base.type === "integer" || base.format === "probability";
  return numeric && trimmed !== "" && Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
}

// One field. `get` and `set` reach the value in the experiment; `set(undefined)` leaves the key out, for the default.
export function field(name, one, { path, get, set, wide, label, disabled, mean, left }) {
  const base = target(one) ?? one, id = `f-${path.replace(/[^a-z0-9_]/gi, "-")}`;
  const kinds = variants(base);
  if (kinds.size) return nested(name, one, kinds, { path, get, set, disabled });
  const error = element("div", { class: "error", id: `${id}-error` });
  const help = element("div", { class: "help", role: "tooltip" }, ...prose((one.description ?? mean ?? base.description ?? "").replace(/\s+/g, " ")));
  const box = element("div", { class: wide ? "field wide" : "field", "data-path": path });
  const say = element("label", { for: id }, element("span", {}, label ?? name));
  const common = { id, disabled: !!disabled, "aria-describedby": `${id}-error`, name: path };
  const choices = words(base).length ? words(base) : base.type === "boolean" && one.default == null ? ["true", "false"] : [];
  if (choices.length) {
    const chosen = get();
    const input = element("select", {
      ...common, onchange: (event) => {
        const value = event.target.value;
        set(value === "" ? undefined : base.type === "boolean" ? value === "true" : value);
      },
    }, element("option", { value: "" }, `${usual(one)} (default)`),
    ...choices.filter((word) => word !== one.default).map((word) => element("option", { value: word, selected: String(chosen) === word }, word)));
    box.append(say, input, help, error);
  } else if (base.type === "boolean") {
    box.classList.add("check");
    const checked = get() ?? one.default;
    box.append(element("input", { ...common, type: "checkbox", checked, onchange: (event) => set(event.target.checked === one.default ? undefined : event.target.checked) }), say, help, error);
  } else {
    say.append(element("i", {}, hint(one)));
    const input = element("input", {
      ...common, type: "text", autocomplete: "off", spellcheck: "false",
      placeholder: left ?? usual(one), value: get() == null ? "" : literal(get()),
      oninput: (event) => set(parse(event.target.value, base), "typing"),
      onchange: (event) => set(parse(event.target.value, base)),
      onkeydown: (event) => { if (event.key === "Enter") event.target.blur(); },
    });
    box.append(say, input, help, error);
  }
  return box;
}

// A mechanism inside a mechanism, such as the discipline of a class.
function nested(name, one, kinds, { path, get, set, disabled }) {
  const box = element("div", { class: "nested" });
  const kindOf = (value) => typeof value === "string" ? value : value?.kind;
  const draw = () => {
    const chosen = kindOf(get()) ?? kindOf(one.default) ?? [...kinds.keys()][0];
    box.replaceChildren(
      element("div", { class: "field wide", "data-path": path }, element("label", { for: `k-${path}` }, element("span", {}, name)),
        element("select", { id: `k-${path}`, disabled: !!disabled, onchange: (event) => { set({ kind: event.target.value }); draw(); } },
          ...[...kinds.keys()].map((kind) => element("option", { value: kind, selected: kind === chosen }, kind))),
        element("div", { class: "error" })),
      element("div", { class: "fields" }, ...parameters(kinds.get(chosen), {
        path, disabled, get: () => { const now = get(); return typeof now === "object" && now ? now : {}; },
        set: (value, how) => set({ kind: chosen, ...value }, how),
      })));
  };
  draw();
  return box;
}

// The fields of a mechanism's table, `without` some. `get` gives the table, `set` takes another.
export function parameters(table, { path, get, set, without = [], disabled }) {
  const yesNo = ([, one]) => Number(one.type === "boolean" && one.default != null); // they stand last, close together
  const names = Object.entries(table.properties).filter(([name]) => name !== "kind" && !without.includes(name));
  return names.sort((a, b) => yesNo(a) - yesNo(b)).map(([name, one]) =>
    field(name, one, {
      path: `${path}.${name}`, disabled,
      get: () => get()[name],
      set: (value, how) => {
        const { [name]: _, ...rest } = get();
        set(value === undefined ? rest : { ...rest, [name]: value }, how);
      },
    }));
}

// Puts the program's words beside the field that they are about. False where there is none.
export function complain(root, at, text) {
  const boxes = [...root.querySelectorAll("[data-path]")];
  let path = at;
  while (path) {
    const box = boxes.find((one) => one.dataset.path === path);
    if (box) {
      box.closest("details")?.setAttribute("open", "");
      // The field says where; the rest are the program's words.
      box.querySelector(".error").replaceChildren(...prose(text.replace(/^[\w.[\]]+: /, "")));
      box.querySelector("input, select")?.setAttribute("aria-invalid", "true");
      return true;
    }
    path = path.replace(/(\.[^.[\]]+|\[\d+\])$/, "") === path ? "" : path.replace(/(\.[^.[\]]+|\[\d+\])$/, "");
  }
  return false;
}

export function forgive(root) {
  for (const error of root.querySelectorAll(".error")) error.textContent = "";
  for (const input of root.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
}
