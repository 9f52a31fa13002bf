//! TOML to plain values, with the line of each key.

use crate::error::{Fault, FaultKind, ScenarioError};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// The lines of a file's keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SourceText {
    file: String,
    /// One for all points of a sweep.
    lines: Arc<HashMap<String, usize>>,
}

impl SourceText {
    /// A source without lines, such as a Python dict.
    pub(crate) fn new(file: &str) -> SourceText {
        SourceText { file: file.into(), lines: Arc::default() }
    }
    /// The folder of the file, from which the names of other files count.
    pub(crate) fn folder(&self) -> &Path {
        Path::new(&self.file).parent().unwrap_or(Path::new(""))
    }
    /// `error` with the file's name and the line of its key, or of the nearest table above it.
    pub(crate) fn place(&self, mut error: ScenarioError) -> ScenarioError {
        let fault = error.fault_mut();
        if fault.file.is_empty() {
            fault.file = self.at(&fault.key());
        }
        error
    }
    /// The file and the line of a key, or of the nearest table above it.
    pub(crate) fn at(&self, key: &str) -> String {
        let mut key = key;
        loop {
            if let Some(line) = self.lines.get(key) {
                return at_line(&self.file, *line);
            }
            match key.rfind(['.', '[']) {
                Some(end) => key = &key[..end],
                None => return self.file.clone(),
            }
        }
    }
}

/// `file:line`, or the line alone if the text has no name.
fn at_line(file: &str, line: usize) -> String {
    if file.is_empty() { format!("line {line}") } else { format!("{file}:{line}") }
}

pub(crate) fn read_toml(text: &str, file: &str) -> Result<(Value, SourceText), ScenarioError> {
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let mut reader = Reader { ends, file, lines: HashMap::new() };
    let table = DeTable::parse(text).map_err(|e| {
        let message = e.message().lines().collect::<Vec<_>>().join(", ");
        reader.syntax(e.span().map_or(0, |s| s.start), "the text", "TOML", format!("what is no TOML: {message}"))
    })?;
    let value = reader.table(table.get_ref(), "")?;
    Ok((value, SourceText { file: file.into(), lines: Arc::new(reader.lines) }))
}

pub(crate) fn read_json(text: &str, file: &str) -> Result<(Value, SourceText), ScenarioError> {
    let value = serde_json::from_str(text).map_err(|e| {
        let mut fault = Fault::new("", "the text", "JSON", format!("what is no JSON: {e}"));
        fault.file = at_line(file, e.line());
        fault.syntax()
    })?;
    Ok((value, SourceText::new(file)))
}

struct Reader<'a> {
    /// Where each line ends: a line is looked up for every key, so it is not counted for each from the start.
    ends: Vec<usize>,
    file: &'a str,
    lines: HashMap<String, usize>,
}

impl Reader<'_> {
    fn line(&self, offset: usize) -> usize {
        1 + self.ends.partition_point(|&end| end < offset)
    }
    fn syntax(&self, offset: usize, name: &str, rule: &str, got: String) -> ScenarioError {
        let mut fault = Fault::new("", name, rule, got);
        fault.file = at_line(self.file, self.line(offset));
        fault.syntax()
    }
    fn table(&mut self, table: &DeTable<'_>, path: &str) -> Result<Value, ScenarioError> {
        let mut out = Map::new();
        for (key, value) in table {
            let name = key.get_ref();
            let below = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            let line = self.line(key.span().start);
            self.lines.insert(below.clone(), line);
            out.insert(name.to_string(), self.value(value.get_ref(), value.span().start, &below)?);
        }
        Ok(Value::Object(out))
    }
    fn value(&mut self, value: &DeValue<'_>, offset: usize, path: &str) -> Result<Value, ScenarioError> {
        Ok(match value {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(on) => Value::Bool(*on),
            DeValue::Datetime(when) => Value::String(when.to_string()),
            DeValue::Table(table) => self.table(table, path)?,
            DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
                Ok(n) => n.into(),
                Err(_) => return Err(self.syntax(offset, path, "a number that fits in 64 bits", n.to_string())),
            },
            DeValue::Float(x) => match x.as_str().parse::<f64>().ok().and_then(Number::from_f64) {
                Some(x) => Value::Number(x),
                None => return Err(self.syntax(offset, path, "a finite number", x.to_string())),
            },
            DeValue::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (i, item) in items.iter().enumerate() {
                    let below = format!("{path}[{i}]");
                    let line = self.line(item.span().start);
                    self.lines.insert(below.clone(), line);
                    out.push(self.value(item.get_ref(), item.span().start, &below)?);
                }
                Value::Array(out)
            }
        })
    }
}
