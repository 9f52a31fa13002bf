//! Checks a value against the schema, with errors that a person can act on, and brings it into one form.
//!
//! What a file may write in two ways is written in one afterwards: a name alone becomes a table with that
//! `kind`, a bare zero becomes text, a table without `kind` takes the default's. After the check the typed
//! structures read the value without failing.

use super::node::{Node, constants, reads_no_quantity, strip_nulls, takes, texts};
use super::value::{Place, integer, number, one_of, quantity, rule_of, rule_of_names, shown};
use super::{kinds, outside};
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::names::{did_you_mean, listed, rule};
use haltere_units::outside::Outside;
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
        if let Some(language) = kinds::of(kinds).and_then(|kind| kind.language) {
            outside::add_language(value, language, kinds);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds all tables in `schema`, each with its format or that of the table around it.
    fn tables<'a>(schema: &'a Value, around: &'a str, out: &mut Vec<(&'a Map<String, Value>, &'a str)>) {
        match schema {
            Value::Array(items) => items.iter().for_each(|item| tables(item, around, out)),
            Value::Object(keys) => {
                let format = keys.get("format").and_then(Value::as_str).unwrap_or(around);
                out.push((keys, format));
                keys.values().for_each(|value| tables(value, format, out));
            }
            _ => {}
        }
    }

    #[test]
    fn every_text_with_a_pattern_has_a_parser_and_every_whole_number_a_width() {
        let mut all = Vec::new();
        tables(crate::schema::schema(), "", &mut all);
        let texts = || all.iter().filter(|(keys, _)| keys.get("pattern").is_some_and(Value::is_string));
        let numbers = || all.iter().filter(|(keys, _)| keys.get("type").is_some_and(|name| name == "integer"));
        assert!(texts().count() > 5 && numbers().count() > 20);
        for (keys, format) in texts() {
            assert!(rule_of(format).is_some(), "a wrong text would be called a bug of Haltere: {keys:?}");
        }
        for (keys, format) in numbers() {
            assert!(!format.is_empty(), "a large number would be called a bug of Haltere: {keys:?}");
        }
    }
}
