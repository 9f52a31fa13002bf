//! Finds a library and makes ends of connections with it.

use crate::control::Ours;
use crate::library::{Library, Made};
use haltere_congestion::{CongestionParams, SenderContext};
use haltere_lab::Code;
use haltere_plan::stack::{self, CONTROL, Control, EndContext, Endpoint, HALTERE, LANGUAGE, OWN, library::Params};
use haltere_units::outside::{About, Format, Location, Makers, Parameter, Reporter};
use haltere_units::{Bytes, Dur, ParamError, Rate};
use serde_json::Value;
use std::env;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Adds stacks in libraries to what a program takes from outside.
pub fn add(makers: &mut Makers) {
    makers.add::<dyn stack::Maker>(LANGUAGE, Box::new(Maker));
}

/// Where `haltere stack build` puts libraries: one folder a name, and in it one a version.
pub fn folder() -> PathBuf {
    let given = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache");
    given.unwrap_or_else(home).join("haltere").join("stacks")
}

/// The file of a library in the folder of its version.
const FILE: &str = "libstack.so";

struct Maker;

/// Libraries that were loaded. They stay for the life of the process.
static LOADED: Code<&'static Library> = Code::new();

/// The library's file: a path, or a name with or without a version.
fn file(at: Location<'_>) -> Result<PathBuf, ParamError> {
    if at.source.contains('/') || at.source.ends_with(".so") || at.source.ends_with(".dylib") {
        return Ok(Path::new(at.folder).join(at.source));
    }
    let (name, version) = at.source.split_once('@').map_or((at.source, None), |(name, version)| (name, Some(version)));
    let versions = folder().join(name);
    let found = match version {
        Some(version) => Some(versions.join(version)),
        None => newest(&versions),
    };
    found.map(|folder| folder.join(FILE)).filter(|file| file.is_file()).ok_or_else(|| {
        let build = version.map_or(format!("haltere stack build {name}"), |version| {
            format!("haltere stack build {name} --version {version}")
        });
        ParamError::new("stack", "`tcp`, a stack that was built, or the path of a library", format!("`{}`", at.source))
            .hint(format!("`{build}` builds one; `haltere stack list` shows those that are known"))
    })
}

/// The folder of the newest version in it.
fn newest(versions: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(versions).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    folders.filter(|path| path.join(FILE).is_file()).max_by_key(|path| numbers(path))
}

/// The numbers of a version such as `1.4.0`.
fn numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn faulty(at: Location<'_>, why: &str) -> ParamError {
    ParamError::new("stack", "a library that Haltere can run", format!("`{}`: {why}", at.source))
}

/// Loads the library, and gives the digest of its file.
fn load(at: Location<'_>) -> Result<(&'static Library, String), ParamError> {
    let path = file(at)?;
    let mut bytes = Vec::new();
    let read = haltere_lab::open_regular(&path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| faulty(at, &error.to_string()).hint("a path counts from the folder of the experiment file"))?;
    LOADED.of(&bytes, |digest| {
        let library = Library::load(&bytes, digest).map_err(|e| faulty(at, &e))?;
        Ok(&*Box::leak(Box::new(library)))
    })
}

impl stack::Maker for Maker {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        let (library, digest) = load(at)?;
        let told = &library.told;
        let mut controls = vec![OWN.to_owned()];
        controls.extend(told.ours.then(|| HALTERE.to_owned()));
        controls.extend(told.controls.iter().cloned());
        let meaning = "Whose congestion control runs. `own`: the stack's own with the name of `congestion`. `haltere`: \
                       Haltere's, with its parameters, through the stack's interface for controls. Else one of the \
                       stack's own by name.";
        let control = Parameter { values: controls, ..Parameter::new(CONTROL, Format::Text, OWN, meaning) };
        let mut parameters = vec![control];
        parameters.extend(told.parameters().map_err(|why| faulty(at, &why))?);
        Ok(About {
            name: told.name.clone(),
            summary: format!("{} Version {}.", told.summary, told.version),
            digest,
            parameters,
        })
    }
    fn make(&self, params: &Params, end: &EndContext) -> Result<Box<dyn Endpoint>, ParamError> {
        let library = LOADED.get(params, || load(params.location()))?;
        let told = &library.told;
        if end.paths > 1 && !library.takes_paths() {
            let hint = "`stack = \"noq\"` has multipath QUIC";
            return Err(ParamError::new("stack", "one of several paths", format!("`{}`", params.name)).hint(hint));
        }
        let (own, ours) = match stack::control(params, &end.congestion) {
            Control::Haltere => (None, Some(Ours::maker(&end.congestion, sender(end))?)),
            Control::Own(name) => {
                own_control(name, &told.controls, &params.name)?;
                if params.parameters.get(CONTROL).is_none_or(|value| value == OWN) {
                    plain(&end.congestion, &params.name)?;
                }
                (Some(name.to_owned()), None)
            }
        };
        let others = params.parameters.iter().filter(|(name, _)| *name != CONTROL);
        let options = others.map(|(name, value)| (name.clone(), plain_text(value, told.format(name)))).collect();
        let reporter = Reporter::new(params, &end.origin.outside);
        let made = Made { own, ours, options, reporter };
        let made = library.open(made, end).map_err(|why| faulty(params.location(), &why))?;
        Ok(Box::new(made))
    }
}

/// A parameter's value as a stack gets it: without quotes, and in ns, bit/s or bytes if it has a unit.
fn plain_text(value: &Value, format: Option<Format>) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let number = match format {
        Some(Format::Duration) => text.parse().map(Dur::as_ns).ok(),
        Some(Format::Rate) => text.parse().map(Rate::as_bps).ok(),
        Some(Format::Bytes) => text.parse().map(Bytes::as_u64).ok(),
        _ => None,
    };
    number.map_or(text, |number| number.to_string())
}

/// What Haltere's control of that end knows of its sender. Segments are datagrams.
fn sender(end: &EndContext) -> SenderContext {
    let mss = Bytes::new(u64::from(end.max_datagram));
    SenderContext { mss, initial_window: mss, seed: end.origin.seed, outside: end.origin.outside.clone() }
}

/// The stack has a control of that name.
fn own_control(name: &str, known: &[String], stack: &str) -> Result<(), ParamError> {
    if known.iter().any(|one| one == name) {
        return Ok(());
    }
    let rule = format!("a control of `{stack}`: `{}`", known.join("`, `"));
    let hint = "`stack = { kind = ..., control = \"haltere\" }` runs Haltere's in the stack";
    Err(ParamError::new("congestion", rule, format!("`{name}`")).hint(hint))
}

/// The control has no parameters of its own: the stack would not know them.
fn plain(congestion: &CongestionParams, stack: &str) -> Result<(), ParamError> {
    if CongestionParams::default_of(congestion.kind()).as_ref() == Some(congestion) {
        return Ok(());
    }
    let rule = format!("a name alone, as the control is that of `{stack}`");
    Err(ParamError::new("congestion", rule, "parameters").hint("`control = \"haltere\"` takes Haltere's with them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_units_become_plain_numbers() {
        let plain = |value: &str, format| plain_text(&Value::from(value), Some(format));
        assert_eq!(plain("1.5ms", Format::Duration), "1500000");
        assert_eq!(plain("10Mbit", Format::Rate), "10000000");
        assert_eq!(plain("90kB", Format::Bytes), "90000");
        assert_eq!(plain_text(&Value::from(1.125), Some(Format::Number)), "1.125");
        assert_eq!(plain("null", Format::Text), "null");
    }
    #[test]
    fn versions_are_compared_by_numbers() {
        assert!(numbers(Path::new("noq/1.10.0")) > numbers(Path::new("noq/1.9.3")));
        assert_eq!(numbers(Path::new("0.11.19")), [0, 11, 19]);
    }
}
