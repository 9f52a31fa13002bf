//! Checks a value against the schema, with errors that a person can act on, and brings it into one form.
//!
//! What a file may write in two ways is written in one afterwards: a name alone becomes a table with that
//! `kind`, a bare zero becomes text, a table without `kind` takes the default's. After the check the typed
//! structures read the value without failing.

use super::{kinds, outside};
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::limits::LONGEST;
use crate::names::{did_you_mean, listed, rule};
use haltere_queue::ce_threshold::Selector;
use haltere_queue::threshold::Level;
use haltere_units::outside::Outside;
use haltere_units::{Bytes, Dur, Prob, Rate, Size, UnitError};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Checks `value` against the whole schema and normalises it. Names of files count from `folder`.
pub(crate) fn check(
    value: &mut Value,
    schema: &Value,
    folder: &Path,
    languages: &Outside,
) -> Result<(), ScenarioError> {
    strip_nulls(value);
    let checker = Checker { root: schema, folder, languages };
    let place = Place { path: String::new(), name: "the experiment".into() };
    checker.visit(value, &checker.node(schema), &place)
}

/// Checks the table of a mechanism from outside the tree, which has a schema of its own.
pub(super) fn check_table(
    value: &mut Value,
    schema: &Value,
    folder: &Path,
    languages: &Outside,
    place: &Place,
) -> Result<(), ScenarioError> {
    Checker { root: schema, folder, languages }.visit(value, &Node(vec![schema]), place)
}

/// A key that is null is a key that is not given.
pub(crate) fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(keys) => {
            keys.retain(|_, v| !v.is_null());
            keys.values_mut().for_each(strip_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}

/// A schema with the definitions that it refers to; the nearest says what counts.
#[derive(Clone)]
struct Node<'a>(Vec<&'a Value>);

impl<'a> Node<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.iter().find_map(|schema| schema.get(key))
    }
    fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_str()
    }
    fn list(&self, key: &str) -> Option<&'a [Value]> {
        Some(self.get(key)?.as_array()?.as_slice())
    }
    fn properties(&self) -> Option<&'a Map<String, Value>> {
        self.get("properties")?.as_object()
    }
    /// The argument of `haltere explain` that describes this table: its kind, or the name of its definition.
    fn explained(&self) -> Option<&'a str> {
        let definition = || self.text("$ref")?.rsplit('/').next().map(|name| name.trim_end_matches("Overrides"));
        self.kind().or_else(definition)
    }
    fn kind(&self) -> Option<&'a str> {
        self.properties()?.get("kind")?.get("const")?.as_str()
    }
    /// The key of a table that has exactly this one key, as in `{ exponential = "1s" }`.
    fn only_key(&self) -> Option<&'a str> {
        let required = self.list("required")?;
        let properties = self.properties()?;
        if required.len() == 1 && properties.len() == 1 { required[0].as_str() } else { None }
    }
}

/// Where a value is: the table and the key.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) name: String,
}

impl Place {
    pub(super) fn key(&self) -> String {
        if self.path.is_empty() && self.name == "the experiment" {
            return String::new();
        }
        Fault::new(&self.path, &self.name, "", "").key()
    }
    pub(super) fn below(&self, name: &str) -> Place {
        Place { path: self.key(), name: name.into() }
    }
    pub(super) fn fault(&self, rule: impl Into<String>, got: impl std::fmt::Display) -> Fault {
        Fault::new(&self.path, &self.name, rule, got)
    }
}

struct Checker<'a> {
    root: &'a Value,
    folder: &'a Path,
    /// Of mechanisms from outside the tree.
    languages: &'a Outside,
}

impl<'a> Checker<'a> {
    /// `schema` with what its `$ref` names.
    fn node(&self, schema: &'a Value) -> Node<'a> {
        let mut chain = vec![schema];
        let mut last = schema;
        while let Some(target) =
            last.get("$ref").and_then(Value::as_str).and_then(|r| self.root.pointer(r.strip_prefix('#')?))
        {
            chain.push(target);
            last = target;
        }
        Node(chain)
    }

    fn visit(&self, value: &mut Value, node: &Node<'a>, place: &Place) -> Result<(), ScenarioError> {
        if let Some(format) = node.text("format")
            && let Some(done) = quantity(value, format, place)
        {
            return done;
        }
        if let Some(options) = self.options(node) {
            return self.choose(value, &options, node, place);
        }
        if let Some(constant) = node.get("const") {
            return match value == constant {
                true => Ok(()),
                false => Err(place.fault(shown(constant), shown(value)).unknown_name()),
            };
        }
        if let Some(names) = node.list("enum") {
            return one_of(value, &texts(names), place);
        }
        match node.text("type") {
            Some("object") => self.table(value, node, place),
            Some("array") => self.list(value, node, place),
            Some("integer") => integer(value, node, place),
            Some("number") => number(value, node, place),
            Some("boolean") if !value.is_boolean() => Err(place.fault("`true` or `false`", shown(value)).wrong_type()),
            Some("string") if !value.is_string() => Err(place.fault("text in quotes", shown(value)).wrong_type()),
            _ => Ok(()),
        }
    }

    /// The alternatives of a node with unions within unions opened, or `None` where it is no union.
    fn options(&self, node: &Node<'a>) -> Option<Vec<Node<'a>>> {
        let written = node.list("anyOf").or_else(|| node.list("oneOf"))?;
        let mut out = Vec::new();
        for option in written.iter().map(|o| self.node(o)) {
            match self.options(&option) {
                Some(inner) if option.text("format").is_none() => out.extend(inner),
                _ => out.push(option),
            }
        }
        Some(out)
    }

    fn choose(
        &self,
        value: &mut Value,
        options: &[Node<'a>],
        whole: &Node<'a>,
        place: &Place,
    ) -> Result<(), ScenarioError> {
        let kinds: Vec<&str> = options.iter().filter_map(Node::kind).collect();
        let keys: Vec<&str> = options.iter().filter_map(Node::only_key).collect();
        let other = options.iter().find(|o| o.kind().is_none() && constants(o).is_empty() && takes(o, value));
        let is_kind = match (&*value, other) {
            (Value::String(_) | Value::Object(_), None) => true,
            (Value::String(name), Some(_)) => kinds.contains(&name.as_str()),
            (Value::Object(table), Some(_)) => table.contains_key("kind"),
            _ => false,
        };
        if !kinds.is_empty() && is_kind {
            return self.by_kind(value, options, &kinds, whole, place);
        }
        if !keys.is_empty() && value.is_object() {
            return self.by_key(value, options, &keys, place);
        }
        let names: Vec<&str> = options.iter().flat_map(constants).collect();
        if value.as_str().is_some_and(|text| names.contains(&text)) {
            return Ok(());
        }
        match options.iter().rev().find(|o| constants(o).is_empty() && takes(o, value)) {
            Some(option) if !names.is_empty() && reads_no_quantity(option, value) => {
                let hint = value.as_str().map(|text| did_you_mean(text, &names)).unwrap_or_default();
                Err(place.fault(self.rule(options), shown(value)).hint(hint).wrong_unit())
            }
            Some(option) => {
                self.visit(value, option, place)?;
                if let (Some(key), false) = (whole.text("x-short"), value.is_object()) {
                    *value = json!({ key: value.take() });
                }
                Ok(())
            }
            None if names.len() == options.len() || (value.is_string() && !names.is_empty()) => {
                one_of(value, &names, place)
            }
            None => Err(place.fault(self.rule(options), shown(value)).wrong_type()),
        }
    }

    /// A union of tables distinguished by `kind`; a name alone stands for a table with defaults.
    fn by_kind(
        &self,
        value: &mut Value,
        options: &[Node<'a>],
        kinds: &[&str],
        whole: &Node<'a>,
        place: &Place,
    ) -> Result<(), ScenarioError> {
        if let Some(kind) = kinds::of(kinds)
            && let Some(about) = kind.outside
            && outside::is_meant(value)
        {
            return match kind.is_entry() {
                true => outside::resolve_entry(value, about, self.folder, self.languages, place),
                false => outside::resolve(value, about, self.folder, self.languages, place),
            };
        }
        if let Value::String(name) = value {
            let mut table = Map::new();
            table.insert("kind".into(), Value::String(name.clone()));
            one_of(value, kinds, place)?;
            *value = Value::Object(table);
        }
        let Value::Object(table) = value else { return Ok(()) };
        if !table.contains_key("kind") {
            let Some(kind) = whole.get("default").and_then(|d| d.get("kind")) else {
                return Err(place.below("kind").fault(rule_of_names(kinds), "nothing").missing());
            };
            table.insert("kind".into(), kind.clone());
        }
        let kind = table.get_mut("kind").expect("put there above");
        one_of(kind, kinds, &place.below("kind"))?;
        let kind = kind.as_str().unwrap_or_default().to_owned();
        match options.iter().find(|o| o.kind() == Some(&kind)) {
            Some(option) => self.visit(value, option, place),
            None => Ok(()),
        }
    }

    /// A union of tables with one key each, such as `[topology.dumbbell]`.
    fn by_key(
        &self,
        value: &mut Value,
        options: &[Node<'a>],
        keys: &[&str],
        place: &Place,
    ) -> Result<(), ScenarioError> {
        let Value::Object(table) = &*value else { return Ok(()) };
        if let Some(unknown) = table.keys().find(|k| !keys.contains(&k.as_str())) {
            return Err(unknown_key(unknown, keys, None, place));
        }
        let given: Vec<&String> = table.keys().collect();
        let [key] = given.as_slice() else {
            let got = if given.is_empty() { "an empty table".into() } else { listed(&given) };
            return Err(place.fault(format!("exactly one of {}", listed(keys)), got).out_of_range());
        };
        match options.iter().find(|o| o.only_key() == Some(key)) {
            Some(option) => self.visit(value, option, place),
            None => Ok(()),
        }
    }

    fn table(&self, value: &mut Value, node: &Node<'a>, place: &Place) -> Result<(), ScenarioError> {
        let Value::Object(table) = value else {
            return Err(place.fault("a table", shown(value)).wrong_type());
        };
        let empty = Map::new();
        let properties = node.properties().unwrap_or(&empty);
        let others = node.get("additionalProperties");
        for (name, value) in table.iter_mut() {
            let below = place.below(name);
            match (node.properties().and_then(|p| p.get(name)), others) {
                (Some(schema), _) => self.visit(value, &self.node(schema), &below)?,
                (None, Some(Value::Bool(false))) => {
                    let known: Vec<&String> = properties.keys().collect();
                    return Err(unknown_key(name, &known, node.explained(), place));
                }
                (None, Some(schema @ Value::Object(_))) => self.visit(value, &self.node(schema), &below)?,
                (None, _) => {}
            }
        }
        // Last, so that a misspelt key is reported as such and not as a missing one.
        for name in node.list("required").unwrap_or_default().iter().filter_map(Value::as_str) {
            if !table.contains_key(name) {
                let rule = properties.get(name).map_or_else(String::new, |s| self.rule(&[self.node(s)]));
                return Err(place.below(name).fault(rule, "nothing").hint(format!("add `{name}`")).missing());
            }
        }
        Ok(())
    }

    fn list(&self, value: &mut Value, node: &Node<'a>, place: &Place) -> Result<(), ScenarioError> {
        let Value::Array(items) = value else {
            return Err(place.fault("a list", shown(value)).wrong_type());
        };
        let count = |key: &str| node.get(key).and_then(Value::as_u64);
        let (min, max) = (count("minItems"), count("maxItems"));
        let length = items.len() as u64;
        if min.is_some_and(|n| length < n) || max.is_some_and(|n| length > n) {
            let rule = match (min, max) {
                (Some(a), Some(b)) if a == b => format!("a list of {a}"),
                (Some(n), _) if length < n => format!("a list of at least {n}"),
                _ => format!("a list of at most {}", max.unwrap_or_default()),
            };
            let got = if length == 0 { "an empty list".into() } else { format!("a list of {length}") };
            return Err(place.fault(rule, got).out_of_range());
        }
        let Some(schema) = node.get("items") else { return Ok(()) };
        for (i, item) in items.iter_mut().enumerate() {
            let below = Place { path: place.path.clone(), name: format!("{}[{i}]", place.name) };
            self.visit(item, &self.node(schema), &below)?;
        }
        Ok(())
    }

    /// What a value of one of these must be, in words.
    fn rule(&self, options: &[Node<'a>]) -> String {
        let mut words: Vec<String> = Vec::new();
        let names: Vec<&str> =
            options.iter().flat_map(constants).chain(options.iter().filter_map(Node::kind)).collect();
        let mut unique: Vec<&str> = Vec::new();
        names.into_iter().for_each(|n| {
            if !unique.contains(&n) {
                unique.push(n)
            }
        });
        if !unique.is_empty() {
            words.push(rule_of_names(&unique));
        }
        for option in options.iter().filter(|o| constants(o).is_empty()) {
            let word = match (option.text("format").and_then(rule_of), self.options(option), option.text("type")) {
                (Some(rule), _, _) => rule.to_owned(),
                (None, Some(inner), _) if inner.iter().all(|o| o.only_key().is_some()) => {
                    let keys: Vec<&str> = inner.iter().filter_map(Node::only_key).collect();
                    format!("a table with one of {}", listed(&keys))
                }
                (None, Some(inner), _) => self.rule(&inner),
                (None, None, Some("object")) => "a table".into(),
                (None, None, Some("array")) => "a list".into(),
                (None, None, Some("boolean")) => "`true` or `false`".into(),
                (None, None, Some("integer")) => "a whole number".into(),
                (None, None, Some("number")) => "a number".into(),
                _ => "text in quotes".into(),
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(" or ")
    }
}

/// The texts that a schema names one by one.
fn constants<'a>(node: &Node<'a>) -> Vec<&'a str> {
    match (node.get("const").and_then(Value::as_str), node.list("enum")) {
        (Some(text), _) => vec![text],
        (None, Some(names)) => texts(names),
        (None, None) => Vec::new(),
    }
}

fn texts(names: &[Value]) -> Vec<&str> {
    names.iter().filter_map(Value::as_str).collect()
}

/// True where a value of that type can be meant by this alternative.
fn takes(option: &Node<'_>, value: &Value) -> bool {
    let quantity = option.text("format").and_then(rule_of).is_some();
    match option.text("type") {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string() || (quantity && value.is_number()),
        _ => value.is_number() || value.is_string(),
    }
}

/// True if this alternative is a quantity that the text, which begins with no digit, cannot be: a name is meant.
fn reads_no_quantity(option: &Node<'_>, value: &Value) -> bool {
    let quantity = option.text("format").and_then(rule_of).is_some();
    quantity
        && value.as_str().is_some_and(|text| !text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.'))
}

/// `key` is none of the keys `known`, which `haltere explain TABLE` prints, too.
fn unknown_key<S: AsRef<str>>(key: &str, known: &[S], table: Option<&str>, place: &Place) -> ScenarioError {
    let where_all = table.map(|table| format!("haltere explain {}", snake_case(table)));
    let rule = rule(known, "keys", where_all.as_deref());
    Fault::new(place.key(), "key", rule, format!("`{key}`")).hint(did_you_mean(key, known)).unknown_key()
}

/// The name of a definition as the reference writes it: `GraphLink` becomes `graph_link`.
fn snake_case(definition: &str) -> String {
    let mut out = String::new();
    for letter in definition.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

/// What a name of these must be. If they are those of a registry, `haltere list` prints them, too.
fn rule_of_names(names: &[&str]) -> String {
    match kinds::of(names) {
        Some(kind) => rule(kind.names, "names", Some(&format!("haltere list {}", kind.name))),
        None => rule(names, "names", None),
    }
}

fn one_of(value: &Value, names: &[&str], place: &Place) -> Result<(), ScenarioError> {
    let rule = || rule_of_names(names);
    match value {
        Value::String(text) if names.contains(&text.as_str()) => Ok(()),
        Value::String(text) => Err(place.fault(rule(), shown(value)).hint(did_you_mean(text, names)).unknown_name()),
        _ => Err(place.fault(rule(), shown(value)).wrong_type()),
    }
}

/// Reads a quantity with the units' own parsers; `None` where the format is not one of theirs.
fn quantity(value: &mut Value, format: &str, place: &Place) -> Option<Result<(), ScenarioError>> {
    let rule = rule_of(format)?;
    let text = match &*value {
        Value::String(text) => text.clone(),
        Value::Number(number) if format == "probability" => {
            return Some(Prob::new(number.as_f64().unwrap_or(f64::NAN)).map(drop).map_err(|e| wrong(e, place)));
        }
        Value::Number(number) => number.to_string(),
        other => return Some(Err(place.fault(rule, shown(other)).wrong_type())),
    };
    let read = read(format, &text);
    if let ("duration", Ok(span)) = (format, text.parse::<Dur>())
        && span > LONGEST
    {
        return Some(Err(place.fault(format!("at most {LONGEST}, a year"), span).out_of_range()));
    }
    if read.is_ok() && value.is_number() {
        *value = Value::String(text);
    }
    Some(read.map_err(|e| wrong(e, place)))
}

fn wrong(error: UnitError, place: &Place) -> ScenarioError {
    place.fault(error.rule, format!("`{}`", error.got)).hint(error.hint).wrong_unit()
}

fn read(format: &str, text: &str) -> Result<(), UnitError> {
    match format {
        "duration" => text.parse::<Dur>().map(drop),
        "rate" => text.parse::<Rate>().map(drop),
        "bytes" => text.parse::<Bytes>().map(drop),
        "size" => text.parse::<Size>().map(drop),
        "probability" => text.parse::<Prob>().map(drop),
        "level" => text.parse::<Level>().map(drop),
        "selector" => Selector::try_from(text.to_owned()).map(drop).map_err(|e| UnitError {
            rule: "VALUE/MASK, two bytes, the value within the mask",
            got: text.into(),
            hint: e.hint,
        }),
        _ => Ok(()),
    }
}

/// What a quantity must be, in the units' own words.
fn rule_of(format: &str) -> Option<&'static str> {
    read(format, "?").err().map(|e| e.rule)
}

fn integer(value: &Value, node: &Node<'_>, place: &Place) -> Result<(), ScenarioError> {
    let format = node.text("format").unwrap_or_default();
    let limit = |key: &str| node.get(key).and_then(|n| n.as_i64().map(i128::from).or(n.as_f64().map(|x| x as i128)));
    let bits = match format {
        "uint8" => Some((0, i128::from(u8::MAX))),
        "uint16" => Some((0, i128::from(u16::MAX))),
        "uint32" => Some((0, i128::from(u32::MAX))),
        "int32" => Some((i128::from(i32::MIN), i128::from(i32::MAX))),
        "uint64" | "uint" => Some((0, i128::from(u64::MAX))),
        _ => None,
    };
    let (least, most) = bits.unwrap_or((i128::from(i64::MIN), i128::from(u64::MAX)));
    let (least, most) =
        (limit("minimum").map_or(least, |n| n.max(least)), limit("maximum").map_or(most, |n| n.min(most)));
    let Some(number) = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from)) else {
        return Err(place.fault("a whole number", shown(value)).wrong_type());
    };
    if number < least {
        return Err(place.fault(format!("at least {least}"), number).out_of_range());
    }
    if number > most {
        return Err(place.fault(format!("at most {most}"), number).out_of_range());
    }
    Ok(())
}

fn number(value: &Value, node: &Node<'_>, place: &Place) -> Result<(), ScenarioError> {
    let Some(x) = value.as_f64() else {
        return Err(place.fault("a number", shown(value)).wrong_type());
    };
    let limit = |key: &str| node.get(key).and_then(Value::as_f64);
    let broken = [
        (limit("minimum").is_some_and(|n| x < n), "at least", limit("minimum")),
        (limit("maximum").is_some_and(|n| x > n), "at most", limit("maximum")),
        (limit("exclusiveMinimum").is_some_and(|n| x <= n), "above", limit("exclusiveMinimum")),
        (limit("exclusiveMaximum").is_some_and(|n| x >= n), "below", limit("exclusiveMaximum")),
    ];
    match broken.iter().find(|(bad, _, _)| *bad) {
        Some((_, word, limit)) => Err(place.fault(format!("{word} {}", limit.unwrap_or_default()), x).out_of_range()),
        None => Ok(()),
    }
}

/// A value as an error message shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Bool(on) => format!("`{on}`"),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.chars().count() > 80 => {
            format!("`{}...`", text.chars().take(77).collect::<String>())
        }
        Value::String(text) => format!("`{}`", text.replace(char::is_control, " ")),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a table".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds all tables in `schema`.
    fn tables<'a>(schema: &'a Value, out: &mut Vec<&'a Map<String, Value>>) {
        match schema {
            Value::Array(items) => items.iter().for_each(|item| tables(item, out)),
            Value::Object(keys) => {
                out.push(keys);
                keys.values().for_each(|value| tables(value, out));
            }
            _ => {}
        }
    }

    #[test]
    fn every_text_with_a_pattern_has_a_parser_and_every_whole_number_a_width() {
        let mut all = Vec::new();
        tables(crate::schema::schema(), &mut all);
        let (texts, numbers): (Vec<_>, Vec<_>) = (
            all.iter().filter(|keys| keys.get("pattern").is_some_and(Value::is_string)).collect(),
            all.iter().filter(|keys| keys.get("type").is_some_and(|name| name == "integer")).collect(),
        );
        assert!(texts.len() > 5 && numbers.len() > 20);
        for keys in texts {
            let format = keys.get("format").and_then(Value::as_str);
            assert!(format.and_then(rule_of).is_some(), "a wrong text would be called a bug of Haltere: {keys:?}");
        }
        for keys in numbers {
            assert!(keys.contains_key("format"), "a large number would be called a bug of Haltere: {keys:?}");
        }
    }
}
