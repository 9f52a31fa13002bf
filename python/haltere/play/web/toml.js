// Where in an experiment file the caret is, and what the schema offers there. This reads as much TOML as that needs; the laboratory reads
// the file.

const TOKEN = /#[^\n]*|"""[\s\S]*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|\n|[[\]{}=,]|[^\s#"'[\]{}=,]+/g;

const plain = (word) => /^["']/.test(word) ? word.replace(/^(["'])([\s\S]*?)\1?$/, "$2") : word;
const dotted = (word) => /^["']/.test(word) ? [plain(word)] : word.split(".");

// Tables of the file by path, each with what is given in it: `traffic.1` is the second entry.
class Tables {
  constructor() { Object.assign(this, { given: new Map(), counts: new Map() }); }
  at(path) {
    const key = path.join(".");
    if (!this.given.has(key)) this.given.set(key, {});
    return this.given.get(key);
  }
  header(names, isArray) {
    const name = names.join("."), count = (this.counts.get(name) ?? -1) + 1;
    if (isArray) { this.counts.set(name, count); return [...names, count]; }
    const path = []; // below an array: its last entry
    for (const one of names) {
      path.push(one);
      const last = this.counts.get(path.filter((step) => typeof step === "string").join("."));
      if (last != null && path.length < names.length) path.push(last);
    }
    return path;
  }
}

// { path, place: "header" | "key" | "value", word, from, tables }: `word` is what stands before the caret, from `from` on.
export function context(text, caret) {
  const tables = new Tables(), frame = (type, path) => ({ type, path, keys: [], place: type === "array" ? "value" : "key" });
  let stack = [frame("table", [])], found = null, fresh = true, header = null;
  const top = () => stack.at(-1), inner = (one) => one.type === "array" ? [...one.path, 0] : [...one.path, ...one.keys];
  const here = (word, from) => header ? { path: [], place: "header", word: text.slice(header.from, caret).replace(/^\[+/, ""), from, tables }
    : { path: top().place === "key" ? top().path : inner(top()), place: top().place, word, from, tables };
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (!found && index >= caret) found = here("", caret);
    const end = index + token.length, touches = !found && caret > index && caret <= end;
    if (token[0] === "#") { if (touches) found = { path: [], place: "comment", word: "", from: caret, tables }; continue; }
    if (header) {
      if (touches && token !== "\n") found = here(token.slice(0, caret - index), index);
      if (token === "\n" || token === "]" && header.open-- === 1) {
        const path = tables.header(header.names.flatMap(dotted), header.array);
        stack = [frame("table", path)];
        tables.at(path);
        header = null;
      } else if (!/^[[\]{}=,]/.test(token)) header.names.push(token.replace(/^\.|\.$/g, ""));
      else if (token === "[") { header.array = true; header.open += 1; }
      fresh = token === "\n";
      continue;
    }
    const now = top();
    if (token === "\n") {
      if (now.type === "table") { Object.assign(now, { keys: [], place: "key" }); fresh = true; }
    } else if (token === "[" && now.type === "table" && fresh) {
      header = { from: index, names: [], array: false, open: 1 };
      if (touches) found = here("", caret);
    } else if (token === "=") now.place = "value";
    else if (token === "{" || token === "[") {
      stack.push(frame(token === "{" ? "inline" : "array", inner(now)));
      if (token === "{") tables.given.set(inner(now).join("."), {});
    } else if (token === "}" || token === "]") { if (stack.length > 1) stack.pop(); }
    else if (token === ",") Object.assign(now, now.type === "array" ? {} : { keys: [], place: "key" });
    else {
      if (touches) found = here(token.slice(0, caret - index), index);
      if (now.place === "key") now.keys = dotted(token);
      else if (now.keys.length && now.type !== "array") tables.at(now.path)[now.keys.join(".")] = plain(token);
    }
    if (now.place === "key" && now.keys.length && now.type !== "array") tables.at(now.path)[now.keys[0]] ??= true;
    if (token !== "\n") fresh = false;
  }
  return found ?? here("", caret);
}

// --- the schema ---------------------------------------------------------------------------------------------------------------

// The plain definitions that a part of the schema stands for, references followed and unions laid open.
function options(schema, part, into = []) {
  if (!part) return into;
  const target = part.$ref ? schema.$defs[part.$ref.replace("#/$defs/", "")] : null;
  if (target) options(schema, target, into);
  for (const one of [...(part.anyOf ?? []), ...(part.oneOf ?? [])]) options(schema, one, into);
  if (part.properties || part.enum || part.items || part.const !== undefined || (part.type && !target) || part.format) into.push(part);
  return into;
}

// The tables among them; if the file gives a kind, those of that kind.
const tablesOf = (all, kind) => {
  const tables = all.filter((one) => one.properties), mine = tables.filter((one) => one.properties.kind?.const === kind);
  return kind && mine.length ? mine : tables;
};

function parts(schema, path, tables) {
  let now = [schema];
  path.forEach((step, i) => {
    const all = now.flatMap((one) => options(schema, one));
    if (typeof step === "number") { now = all.flatMap((one) => one.items ? [one.items] : []); return; }
    const kind = tables.given.get(path.slice(0, i).join("."))?.kind;
    now = tablesOf(all, kind).flatMap((one) => one.properties[step] ? [one.properties[step]] : []);
  });
  return now;
}

const about = (part, schema) => (part.description ?? (part.$ref ? schema.$defs[part.$ref.replace("#/$defs/", "")]?.description : "") ?? "").replace(/\s+/g, " ").split(/ (?:Source|Deviations|Known problems):/)[0];
const EXAMPLES = { duration: ["10ms", "1s"], rate: ["10Mbit", "1Gbit"], bytes: ["16kB", "1MB"], size: ["100p", "1bdp", "200kB"], level: ["20p", "5ms"], probability: ["1%"] };

// What may be written at the caret: { label, insert, about }, best first.
export function offers(schema, { path, place, word, tables }) {
  const start = plain(word).toLowerCase(), quoted = /^["']/.test(word), out = new Map();
  const add = (label, insert, told = "") => { if (!out.has(label)) out.set(label, { label, insert, about: told }); };
  if (place === "header") {
    for (const [name, part] of Object.entries(schema.properties)) {
      const all = options(schema, part);
      if (all.some((one) => one.type === "array" && one.items)) add(`[[${name}]]`, `[[${name}]]`, about(part, schema));
      const inside = tablesOf(all).filter((one) => Object.keys(one.properties).length === 1 && one.required?.length);
      for (const [below, one] of inside.flatMap((one) => Object.entries(one.properties))) add(`[${name}.${below}]`, `[${name}.${below}]`, about(one, schema));
      if (!inside.length && all.some((one) => one.properties || one.additionalProperties)) add(`[${name}]`, `[${name}]`, about(part, schema));
    }
    return [...out.values()].filter(({ label }) => label.toLowerCase().includes(word.replace(/\]+$/, "").toLowerCase()));
  }
  if (place === "key") {
    const given = tables.at(path);
    const all = parts(schema, path, tables).flatMap((one) => options(schema, one));
    for (const table of tablesOf(all, given.kind)) for (const [name, part] of Object.entries(table.properties)) {
      if (given[name] == null || name === plain(word)) add(name, `${name} = `, about(part, schema));
    }
  } else if (place === "value") {
    for (const part of parts(schema, path, tables)) {
      if (part.default != null && typeof part.default !== "object") add(JSON.stringify(part.default), JSON.stringify(part.default), `The default. ${about(part, schema)}`);
      for (const one of options(schema, part)) {
        for (const name of one.enum ?? []) add(JSON.stringify(name), JSON.stringify(name), about(kindOf(schema, part, name) ?? one, schema));
        if (one.const !== undefined) add(JSON.stringify(one.const), JSON.stringify(one.const), about(one, schema));
        if (one.type === "boolean") for (const value of ["true", "false"]) add(value, value);
        for (const example of EXAMPLES[one.format] ?? []) add(`"${example}"`, `"${example}"`, `For example. ${about(one, schema)}`);
        const kind = one.properties?.kind?.const;
        if (kind) add(`{ kind = "${kind}" }`, `{ kind = "${kind}" }`, about(one, schema));
      }
    }
    if (path.at(-1) === "kind") for (const one of tablesOf(parts(schema, path.slice(0, -1), tables).flatMap((one) => options(schema, one)))) {
      const kind = one.properties.kind?.const;
      if (kind) add(`"${kind}"`, `"${kind}"`, about(one, schema));
    }
  }
  const fits = [...out.values()].filter(({ label }) => plain(label).toLowerCase().includes(start) && !(quoted && !label.startsWith('"')));
  const first = ({ label }) => Number(!plain(label).toLowerCase().startsWith(start));
  return fits.sort((a, b) => first(a) - first(b));
}

const kindOf = (schema, part, name) => options(schema, part).find((one) => one.properties?.kind?.const === name);

// --- colours ------------------------------------------------------------------------------------------------------------------

// The text in pieces: [class, text].
export function pieces(line) {
  const out = [], rule = /(#.*$)|(^\s*\[\[?[^\]]*\]\]?)|("(?:\\.|[^"\\])*"?|'[^']*'?)(\s*=)?|([A-Za-z0-9_.-]+)(?=\s*=)|(\b(?:true|false)\b|[+-]?\b\d[\d_.eE+-]*)/g;
  let last = 0;
  for (const found of line.matchAll(rule)) {
    out.push(["", line.slice(last, found.index)]);
    const [all, comment, header, text, equals, key] = found;
    if (text !== undefined) out.push([equals ? "key" : "text", text], ["", equals ?? ""]);
    else out.push([comment ? "comment" : header ? "head" : key ? "key" : "number", all]);
    last = found.index + all.length;
  }
  out.push(["", line.slice(last)]);
  return out.filter(([, text]) => text);
}
