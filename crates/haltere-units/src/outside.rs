//! Mechanisms from outside the tree: what every registry that takes them has in common.
//!
//! A *language* (`python`, `wasm`, `rust`) makes mechanisms of a kind, such as congestion controls, from a *source*: `my_module:MyControl`,
//! `control.wasm`. An experiment file names both with a colon between them: `kind = "python:my_module:MyControl"`. The mechanism's own
//! parameters are beside `kind`.
//!
//! | step | who | by |
//! |---|---|---|
//! | a language makes itself known, once in a process | the program | [`Makers::register`] of the registry's table |
//! | what a source is: its name, its parameters, the digest of its code | the laboratory, before a run | `about` of the maker |
//! | one mechanism for one sender or link | the registry's enum, when a run begins | `make` of the maker, with [`Params`] |
//! | a mechanism that fails during a run | the mechanism | [`raise`] |
//! | the run ends with that fault | the world | [`set_reporter`] |

use crate::ParamError;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use once_cell::race::OnceBox;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The name of the variant that a registry has for mechanisms from outside. It is among no registry's `NAMES`.
pub const KIND: &str = "outside";

/// The parameters of a mechanism from outside, as the plan of a run holds them.
///
/// The laboratory makes them of `{ kind = "python:my_module:MyControl", beta = 0.7 }`. Everything is resolved: `parameters` has every
/// parameter, those with their defaults too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The language, such as `python`.
    pub language: String,
    /// What the language finds the mechanism by, such as `my_module:MyControl` or `control.wasm`.
    pub source: String,
    /// The folder from which file names in `source` count: that of the experiment file. Empty: the working directory.
    #[serde(default)]
    pub folder: String,
    /// The mechanism's name, for reports: `MyControl`.
    pub name: String,
    /// SHA-256 over the mechanism's code, in hexadecimal: a changed code is another run.
    pub digest: String,
    /// Its own parameters by name. Quantities are texts with a unit, such as `"5ms"`.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

impl Params {
    /// What stands for `kind` in an experiment file: `python:my_module:MyControl`.
    pub fn kind(&self) -> String {
        alloc::format!("{}:{}", self.language, self.source)
    }
    /// Where the code is.
    pub fn location(&self) -> Location<'_> {
        Location { source: &self.source, folder: &self.folder }
    }
    /// Refuses code that has changed since these parameters were made: the run would not be the one that its key names.
    pub fn check_digest(&self, found: &str) -> Result<(), ParamError> {
        if self.digest == found {
            return Ok(());
        }
        let short = |digest: &str| digest.chars().take(12).collect::<String>();
        let rule = alloc::format!("`{}` as it was read, with the digest {}", self.kind(), short(&self.digest));
        Err(ParamError::new("kind", rule, short(found)).hint("read the experiment file again"))
    }
}

/// Takes `python:my_module:MyControl` apart: the language and the source. `None` if it has no colon: a name of the registry.
pub fn split(kind: &str) -> Option<(&str, &str)> {
    kind.split_once(':')
}

/// Where the code of a mechanism is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location<'a> {
    /// What the language finds the mechanism by.
    pub source: &'a str,
    /// The folder from which file names in `source` count. Empty: the working directory.
    pub folder: &'a str,
}

/// What a source is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// The mechanism's name, for reports: that of its class or module, without the path.
    pub name: String,
    /// What it does: the first paragraph of its documentation.
    pub summary: String,
    /// SHA-256 over everything that its behaviour depends on, in hexadecimal.
    pub digest: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

impl About {
    /// The JSON Schema of the table in an experiment file, without `kind`. The laboratory checks the user's table against it.
    pub fn schema(&self) -> Value {
        let properties: Map<String, Value> = self.parameters.iter().map(|p| (p.name.clone(), p.schema())).collect();
        let required: Vec<&str> =
            self.parameters.iter().filter(|p| p.default.is_none()).map(|p| p.name.as_str()).collect();
        json!({
            "type": "object", "description": self.summary, "properties": properties,
            "required": required, "additionalProperties": false,
        })
    }
}

/// What sort of value a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// A text, or one of [`values`](Parameter::values).
    Text,
    /// A duration such as `"5ms"`.
    Duration,
    /// A rate such as `"10Mbit"`.
    Rate,
    /// Bytes such as `"90kB"`.
    Bytes,
    /// A size such as `"100p"`, `"90kB"` or `"2bdp"`.
    Size,
    /// A probability such as `0.1` or `"10%"`.
    Probability,
}

impl Format {
    /// All formats by name, as JSON Schema has them.
    pub const ALL: [(&'static str, Format); 9] = [
        ("number", Format::Number),
        ("integer", Format::Integer),
        ("boolean", Format::Boolean),
        ("string", Format::Text),
        ("duration", Format::Duration),
        ("rate", Format::Rate),
        ("bytes", Format::Bytes),
        ("size", Format::Size),
        ("probability", Format::Probability),
    ];

    /// The format of that name.
    pub fn of(name: &str) -> Option<Format> {
        Format::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }
    /// Its name.
    pub fn name(self) -> &'static str {
        Format::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }
    /// The type and the format in JSON Schema.
    fn schema(self) -> Map<String, Value> {
        let value = match self {
            Format::Number | Format::Integer | Format::Boolean | Format::Text => json!({ "type": self.name() }),
            // As the units' own schemas: only the format is looked at where a text has one.
            _ => json!({ "type": "string", "format": self.name() }),
        };
        if let Value::Object(table) = value { table } else { Map::new() }
    }
}

/// A parameter of a mechanism from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it means, in a sentence, with the unit of a plain number.
    pub meaning: String,
    /// What sort of value it takes.
    pub format: Format,
    /// Its default, a text with a unit for quantities. `None`: it must be given.
    pub default: Option<Value>,
    /// The least value of a number.
    pub minimum: Option<f64>,
    /// The largest value of a number.
    pub maximum: Option<f64>,
    /// The only values of a text. Empty: any.
    pub values: Vec<String>,
}

impl Parameter {
    /// A parameter with that default.
    pub fn new(name: &str, format: Format, default: impl Into<Value>, meaning: &str) -> Parameter {
        Parameter {
            name: name.into(),
            meaning: meaning.into(),
            format,
            default: Some(default.into()),
            minimum: None,
            maximum: None,
            values: Vec::new(),
        }
    }
    /// The same, and its value is a number from `least` to `most`.
    pub fn range(self, least: f64, most: f64) -> Parameter {
        Parameter { minimum: Some(least), maximum: Some(most), ..self }
    }
    fn schema(&self) -> Value {
        let mut schema = self.format.schema();
        if !self.values.is_empty() {
            schema = Map::new();
            schema.insert("enum".into(), json!(self.values));
        }
        schema.insert("description".into(), json!(self.meaning));
        for (key, limit) in [("minimum", self.minimum), ("maximum", self.maximum)] {
            if let Some(limit) = limit {
                // A limit of whole numbers is one.
                let is_whole = self.format == Format::Integer && limit as i64 as f64 == limit;
                schema.insert(key.into(), if is_whole { json!(limit as i64) } else { json!(limit) });
            }
        }
        if let Some(default) = &self.default {
            schema.insert("default".into(), default.clone());
        }
        Value::Object(schema)
    }
}

/// The languages of one registry: a table of the process to which entries are added and from which none is taken.
///
/// ```
/// use haltere_units::outside::Makers;
/// static MAKERS: Makers<dyn Fn() -> u32 + Send + Sync> = Makers::new();
/// MAKERS.register("python", Box::new(|| 1));
/// assert_eq!(MAKERS.get("python").map(|make| make()), Some(1));
/// assert!(!MAKERS.register("python", Box::new(|| 2)), "the first one stays");
/// ```
pub struct Makers<M: ?Sized + 'static> {
    first: OnceBox<Entry<M>>,
}

struct Entry<M: ?Sized + 'static> {
    language: &'static str,
    maker: Box<M>,
    next: OnceBox<Entry<M>>,
}

impl<M: ?Sized + Send + Sync + 'static> Makers<M> {
    /// A table without languages.
    pub const fn new() -> Makers<M> {
        Makers { first: OnceBox::new() }
    }
    /// Adds a language. False if the table has it already: the first maker stays.
    pub fn register(&self, language: &'static str, maker: Box<M>) -> bool {
        let mut place = &self.first;
        let mut new = Box::new(Entry { language, maker, next: OnceBox::new() });
        loop {
            match place.set(new) {
                Ok(()) => return true,
                Err(back) => new = back,
            }
            let Some(there) = place.get() else { continue };
            if there.language == language {
                return false;
            }
            place = &there.next;
        }
    }
    /// The maker of that language.
    pub fn get(&self, language: &str) -> Option<&M> {
        self.entries().find(|entry| entry.language == language).map(|entry| &*entry.maker)
    }
    /// The maker of that language, or what to say if there is none.
    pub fn find(&self, language: &str) -> Result<&M, ParamError> {
        self.get(language).ok_or_else(|| {
            let known: Vec<String> = self.languages().map(|name| alloc::format!("`{name}:`")).collect();
            let rule = match known.is_empty() {
                true => "a mechanism of the tree: this program has no languages for others".into(),
                false => alloc::format!("in a language of this program: {}", known.join(", ")),
            };
            ParamError::new("kind", rule, alloc::format!("`{language}:`"))
        })
    }
    /// The languages in the order in which they were added.
    pub fn languages(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.entries().map(|entry| entry.language)
    }
    fn entries(&self) -> impl Iterator<Item = &Entry<M>> {
        core::iter::successors(self.first.get(), |entry| entry.next.get())
    }
}

impl<M: ?Sized + Send + Sync + 'static> Default for Makers<M> {
    fn default() -> Makers<M> {
        Makers::new()
    }
}

/// What went wrong in a mechanism from outside during a run. The run ends with it.
///
/// Prints as `python:my_module:MyControl: on_ack must return without an error, got ZeroDivisionError: division by zero at
/// my_module.py:12`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fault {
    /// The mechanism: [`Params::kind`].
    pub mechanism: String,
    /// The event or call.
    pub name: String,
    /// What it must do.
    pub rule: String,
    /// What it did, with the file and the line of the user's code.
    pub got: String,
    /// What to do about it, or empty.
    pub hint: String,
    /// More, for who asks: a traceback. Or empty.
    pub details: String,
}

impl Fault {
    /// The call `name` of `mechanism` must `rule`, but did `got`.
    pub fn new(mechanism: impl fmt::Display, name: &str, rule: &str, got: impl fmt::Display) -> Fault {
        let (mechanism, got) = (mechanism.to_string(), got.to_string());
        Fault { mechanism, name: name.into(), rule: rule.into(), got, ..Fault::default() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} must {}, got {}", self.mechanism, self.name, self.rule, self.got)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

/// Receives the faults of this process.
pub type Reporter = fn(Fault);

static REPORTER: OnceBox<Reporter> = OnceBox::new();

/// Says where faults go. `haltere_plan::outside` does so for all worlds: it keeps the first fault of each thread until the run of that
/// thread looks. Without a reporter faults are lost.
pub fn set_reporter(reporter: Reporter) {
    // A second reporter would be the same one.
    let _ = REPORTER.set(Box::new(reporter));
}

/// Ends the run of this thread with that fault. It returns: the mechanism must still answer, and from now on does the least that it can
/// (a window of one segment, packets in order of arrival), until the world has looked.
#[cold]
pub fn raise(fault: Fault) {
    if let Some(reporter) = REPORTER.get() {
        reporter(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_languages_in_order_and_the_first_maker_stays() {
        let makers: Makers<dyn Fn() -> u32 + Send + Sync> = Makers::new();
        assert!(makers.get("a").is_none() && makers.languages().next().is_none());
        assert!(makers.register("a", Box::new(|| 1)) && makers.register("b", Box::new(|| 2)));
        assert!(!makers.register("a", Box::new(|| 3)));
        assert_eq!((makers.get("a").unwrap()(), makers.get("b").unwrap()()), (1, 2));
        assert!(makers.languages().eq(["a", "b"]));
        let Err(unknown) = makers.find("c") else { panic!("there is no c") };
        assert_eq!(unknown.to_string(), "kind must be in a language of this program: `a:`, `b:`, got `c:`");
    }
    #[test]
    fn a_schema_says_what_the_laboratory_checks() {
        let beta = Parameter::new("beta", Format::Number, 0.7, "The part that stays.").range(0.0, 1.0);
        let delay = Parameter { default: None, ..Parameter::new("delay", Format::Duration, "5ms", "A delay.") };
        let about = About { parameters: alloc::vec![beta, delay], ..About::default() };
        let schema = about.schema();
        assert_eq!(schema["required"], json!(["delay"]));
        assert_eq!(schema["properties"]["beta"]["maximum"], 1.0);
        assert_eq!(schema["properties"]["delay"]["format"], "duration");
    }
    #[test]
    fn a_fault_prints_the_mechanism_the_call_and_what_it_did() {
        let fault = Fault::new("python:m:C", "on_ack", "return without an error", "ValueError at m.py:3");
        assert_eq!(fault.to_string(), "python:m:C: on_ack must return without an error, got ValueError at m.py:3");
    }
}
