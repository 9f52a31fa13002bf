//! Mechanisms from outside the tree: what every registry that takes them has in common.
//!
//! A *language* (`python`, `wasm`, `rust`) makes mechanisms of a kind, such as congestion controls, from a *source*:
//! `my_module:MyControl`, `control.wasm`. An experiment file names both with a colon between them: `kind =
//! "python:my_module:MyControl"`. The mechanism's own parameters are beside `kind`.
//!
//! | step | who | by |
//! |---|---|---|
//! | the languages of a program | the program, which passes the table to the laboratory | [`Makers::add`] |
//! | name, parameters and digest of a source | the laboratory, before a run | `about` of the maker |
//! | one mechanism for a sender or link | the registry's enum | `make` of the maker, with [`Params`] |
//! | a mechanism fails during a run | the mechanism | its [`Reporter`] |
//! | the run ends with that fault | the world | [`Outside::fault`] of its plan |

use crate::error::ParamError;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use once_cell::race::OnceBox;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The name of the variant that a registry has for mechanisms from outside. It is among no registry's `NAMES`.
pub const KIND: &str = "outside";

/// The parameters of a mechanism from outside, as the plan of a run holds them.
///
/// The laboratory makes them of `{ kind = "python:my_module:MyControl", beta = 0.7 }`. Everything is resolved:
/// `parameters` has every parameter, those with their defaults too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The language, such as `python`.
    pub language: String,
    /// What the language finds the mechanism by, such as `my_module:MyControl` or `control.wasm`.
    pub source: String,
    /// The folder to which file names in `source` are relative: that of the experiment file. Empty: the working
    /// directory.
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
    /// The value of `kind` in an experiment file: `python:my_module:MyControl`.
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

/// Splits `python:my_module:MyControl` into the language and the source. `None` without a colon: the kind is a name of
/// the registry.
pub fn split(kind: &str) -> Option<(&str, &str)> {
    kind.split_once(':')
}

/// Where the code of a mechanism is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location<'a> {
    /// What the language finds the mechanism by.
    pub source: &'a str,
    /// The folder to which file names in `source` are relative. Empty: the working directory.
    pub folder: &'a str,
}

/// The description of a source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// The mechanism's name, for reports: that of its class or module, without the path.
    pub name: String,
    /// What it does: the first paragraph of its documentation.
    pub summary: String,
    /// SHA-256 over everything that its behaviour depends on, in hexadecimal.
    pub digest: String,
    /// The parameters that the mechanism takes.
    pub parameters: Vec<Parameter>,
}

impl About {
    /// The JSON Schema of the table in an experiment file, without `kind`. The laboratory checks the user's table
    /// against it.
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
    /// A number, whole or not.
    Number,
    /// A whole number, without a unit.
    Integer,
    /// A truth value: `true` or `false`.
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
    /// The name in JSON Schema.
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
    /// The name of the parameter.
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

/// The languages of a program: who makes mechanisms from outside, one maker for each language and kind of mechanism.
///
/// A kind is known by its trait of makers, such as `dyn haltere_congestion::outside::Maker`.
///
/// ```
/// use haltere_units::outside::Makers;
/// type Numbers = dyn Fn() -> u32 + Send + Sync;
/// let mut makers = Makers::default();
/// makers.add::<Numbers>("python", Box::new(|| 1));
/// assert_eq!(makers.find::<Numbers>("python").map(|make| make()), Ok(1));
/// ```
#[derive(Default)]
pub struct Makers {
    /// Each maker is a `Box<M>` of its trait `M`.
    entries: Vec<(&'static str, Box<dyn Any + Send + Sync>)>,
}

impl Makers {
    /// Adds the maker of a language for one kind of mechanism. The first one of a language stays.
    pub fn add<M: ?Sized + Send + Sync + 'static>(&mut self, language: &'static str, maker: Box<M>) {
        self.entries.push((language, Box::new(maker)));
    }
    /// The maker of that language for this kind of mechanism, or the error of its absence.
    pub fn find<M: ?Sized + 'static>(&self, language: &str) -> Result<&M, ParamError> {
        let mut known = self.entries.iter().filter_map(|(name, maker)| Some((*name, maker.downcast_ref::<Box<M>>()?)));
        if let Some((_, maker)) = known.clone().find(|(name, _)| *name == language) {
            return Ok(maker);
        }
        let rule = match known.next() {
            None => "a mechanism of the tree: this program has no languages for others".into(),
            Some((first, _)) => known
                .fold(alloc::format!("in a language of this program: `{first}:`"), |list, (name, _)| {
                    alloc::format!("{list}, `{name}:`")
                }),
        };
        Err(ParamError::new("kind", rule, alloc::format!("`{language}:`")))
    }
}

impl fmt::Debug for Makers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|(language, _)| language)).finish()
    }
}

/// What a run shares with its mechanisms from outside: the languages that make them, and the place of the first fault.
///
/// A copy shares both. Two are always equal: a plan is the same run whatever program carries it out.
#[derive(Clone, Default)]
pub struct Outside(Option<Arc<Shared>>);

struct Shared {
    makers: Arc<Makers>,
    fault: OnceBox<Fault>,
}

impl Outside {
    /// Without languages: mechanisms of the tree only.
    pub const NONE: Outside = Outside(None);

    /// For one run of a program that has these languages.
    pub fn of(makers: &Arc<Makers>) -> Outside {
        Outside(Some(Arc::new(Shared { makers: makers.clone(), fault: OnceBox::new() })))
    }
    /// The same languages for another run, which has no fault yet.
    pub fn again(&self) -> Outside {
        self.0.as_ref().map_or(Outside::NONE, |shared| Outside::of(&shared.makers))
    }
    /// The maker of that language for the kind of mechanism whose makers are `M`.
    pub fn find<M: ?Sized + 'static>(&self, language: &str) -> Result<&M, ParamError> {
        const NO_MAKERS: &Makers = &Makers { entries: Vec::new() };
        self.0.as_ref().map_or(NO_MAKERS, |shared| &shared.makers).find(language)
    }
    /// Ends the run with that fault; the first one counts. It returns: the mechanism must still answer, and from now on
    /// does the least that it can (a window of one segment, packets in order of arrival), until the world has looked.
    #[cold]
    pub fn raise(&self, fault: Fault) {
        if let Some(shared) = &self.0 {
            let _ = shared.fault.set(Box::new(fault));
        }
    }
    /// The first fault of the run. Cheap enough to be asked between events.
    #[inline]
    pub fn fault(&self) -> Option<&Fault> {
        self.0.as_ref()?.fault.get()
    }
}

/// Where one mechanism reports its fault.
#[derive(Debug, Clone)]
pub struct Reporter {
    /// The mechanism, as [`Params::kind`] names it.
    mechanism: Arc<str>,
    run: Outside,
}

impl Reporter {
    /// A reporter for the mechanism of these parameters.
    pub fn new(params: &Params, run: &Outside) -> Reporter {
        Reporter { mechanism: params.kind().into(), run: run.clone() }
    }
    /// The call `name` of the mechanism must `rule`, but did `got`: the run ends. See [`Outside::raise`].
    #[cold]
    pub fn raise(&self, name: &str, rule: &str, got: impl fmt::Display) {
        self.raise_fault(Fault::new("", name, rule, got));
    }
    /// The same with the rest of the fault, whose mechanism is filled in.
    #[cold]
    pub fn raise_fault(&self, fault: Fault) {
        self.run.raise(Fault { mechanism: (*self.mechanism).into(), ..fault });
    }
    /// The first fault of the run: see [`Outside::fault`].
    pub fn fault(&self) -> Option<&Fault> {
        self.run.fault()
    }
}

impl PartialEq for Outside {
    fn eq(&self, _: &Outside) -> bool {
        true
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outside").field(&self.0.as_ref().map(|shared| &shared.makers)).finish()
    }
}

/// What a run gives each part that it makes: the seed of its random numbers, and what mechanisms from outside need.
///
/// A seed alone converts into one: `1.into()`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// The seed of its random numbers.
    pub seed: u64,
    /// The languages of the program, and the place of faults.
    pub outside: Outside,
}

impl Origin {
    /// The same with another seed, for a part of that part.
    pub fn with_seed(&self, seed: u64) -> Origin {
        Origin { seed, outside: self.outside.clone() }
    }
}

impl From<u64> for Origin {
    fn from(seed: u64) -> Origin {
        Origin { seed, outside: Outside::NONE }
    }
}

/// What went wrong in a mechanism from outside during a run. The run ends with it.
///
/// Prints as `python:my_module:MyControl: on_ack must return without an error, got ZeroDivisionError: division by zero
/// at my_module.py:12`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fault {
    /// The mechanism, as [`Params::kind`] names it.
    pub mechanism: String,
    /// The event or call.
    pub name: String,
    /// What it must do.
    pub rule: String,
    /// What it did, with the file and the line of the user's code.
    pub got: String,
    /// What to do about it, or empty.
    pub hint: String,
    /// More, such as a traceback. Or empty.
    pub details: String,
    /// The error of the language behind it, for a program that knows its type.
    pub cause: Cause,
}

/// An error of a language, such as a Python exception. Two are always equal.
#[derive(Clone, Default)]
pub struct Cause(pub Option<Arc<dyn Any + Send + Sync>>);

impl PartialEq for Cause {
    fn eq(&self, _: &Cause) -> bool {
        true
    }
}

impl Eq for Cause {}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Cause" } else { "None" })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maker_is_found_by_its_language_and_its_kind() {
        type One = dyn Fn() -> u32 + Send + Sync;
        type Other = dyn Fn() -> u64 + Send + Sync;
        let mut makers = Makers::default();
        makers.add::<One>("a", Box::new(|| 1));
        makers.add::<One>("b", Box::new(|| 2));
        makers.add::<One>("a", Box::new(|| 3));
        makers.add::<Other>("c", Box::new(|| 4));
        assert_eq!((makers.find::<One>("a").unwrap()(), makers.find::<Other>("c").unwrap()()), (1, 4));
        let unknown = |found: Option<ParamError>| found.unwrap().to_string();
        let text = "kind must be in a language of this program: `c:`, got `a:`";
        assert_eq!(unknown(makers.find::<Other>("a").err()), text);
        let text = "kind must be a mechanism of the tree: this program has no languages for others, got `a:`";
        assert_eq!(unknown(Outside::NONE.find::<One>("a").err()), text);
    }
    #[test]
    fn the_first_fault_of_a_run_stays_and_another_run_has_none() {
        let makers = Arc::default();
        let (run, other) = (Outside::of(&makers), Outside::of(&makers));
        let fault = |call| Fault::new("python:m:C", call, "return without an error", "one");
        run.raise(fault("on_ack"));
        run.clone().raise(fault("on_loss"));
        assert_eq!((run.fault(), other.fault()), (Some(&fault("on_ack")), None));
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
