//! The language `wasm` of the registries: `kind = "wasm:control.wasm"`.

use crate::about::Kind;
use crate::control::Control;
use crate::limits::MODULE_BYTES;
use crate::module::Module;
use crate::queue::Queue;
use crate::trial::load;
use haltere_congestion::SenderContext;
use haltere_congestion::outside::OutsideControl;
use haltere_queue::LinkContext;
use haltere_queue::outside::OutsideQueue;
use haltere_units::ParamError;
use haltere_units::outside::{About, Location, Makers, Params};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The name of the language.
const LANGUAGE: &str = "wasm";

/// Adds the language `wasm` to those of a program, for congestion controls and queue disciplines.
pub fn add(makers: &mut Makers) {
    makers.add::<dyn haltere_congestion::outside::Maker>(LANGUAGE, Box::new(Maker));
    makers.add::<dyn haltere_queue::outside::Maker>(LANGUAGE, Box::new(Maker));
}

struct Maker;

/// Modules that were read, by the digest of their file.
static READ: Mutex<Option<HashMap<String, Module>>> = Mutex::new(None);
/// The most modules that are kept. One more, as in a day at the playground, empties the table.
const KEPT: usize = 64;

/// The module of that digest if it was read before.
fn known(digest: &str) -> Option<Module> {
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.as_ref()?.get(digest).cloned()
}

/// Reads the module, and gives the digest of its file.
fn read(at: Location<'_>) -> Result<(Module, String), ParamError> {
    let path = Path::new(at.folder).join(at.source);
    let bytes = contents(&path).map_err(|error| unreadable(at, &error))?;
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some(module) = known(&digest) {
        return Ok((module, digest));
    }
    let module = load(&bytes).map_err(|why| faulty(at, &why))?;
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let table = read.get_or_insert_default();
    if table.len() >= KEPT {
        table.clear();
    }
    table.insert(digest.clone(), module.clone());
    Ok((module, digest))
}

/// The bytes of a regular file, at most one more than a module may have.
fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    haltere_lab::open_regular(path)?.take(MODULE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(at: Location<'_>, error: &io::Error) -> ParamError {
    let why = match error.kind() {
        ErrorKind::NotFound => "which does not exist".to_owned(),
        ErrorKind::IsADirectory => "which is a directory".to_owned(),
        ErrorKind::InvalidInput => "which is no regular file".to_owned(),
        _ => format!("which cannot be read: {error}"),
    };
    ParamError::new("kind", "the name of a WebAssembly module", format!("`{}`, {why}", at.source))
        .hint("its name counts from the folder of the experiment file")
}

/// A module that cannot be used: `why` is `<what> must be <rule>, got <value>`.
fn faulty(at: Location<'_>, why: &str) -> ParamError {
    ParamError::new("kind", "a module that Haltere can run", format!("`{}`: {why}", at.source))
}

impl Maker {
    fn about(&self, at: Location<'_>, kind: Kind) -> Result<About, ParamError> {
        let (module, digest) = read(at)?;
        let about = module.about();
        if about.kind != kind {
            let got = format!("`{}`, which is {}", at.source, about.kind.name());
            return Err(ParamError::new("kind", kind.name(), got));
        }
        let name = Path::new(at.source).file_stem().map(|name| name.to_string_lossy().into_owned());
        let (name, summary) = (name.unwrap_or_default(), about.summary.clone());
        Ok(About { name, summary, digest, parameters: about.parameters.clone() })
    }
    /// The module of these parameters with their values. Each process reads it once.
    fn module(&self, params: &Params) -> Result<(Module, Vec<f64>), ParamError> {
        let module = match known(&params.digest) {
            Some(module) => module,
            None => {
                let (module, digest) = read(params.location())?;
                params.check_digest(&digest)?;
                module
            }
        };
        let values = module.about().values(&params.parameters)?;
        Ok((module, values))
    }
}

impl haltere_congestion::outside::Maker for Maker {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        self.about(at, Kind::Control)
    }
    fn make(&self, params: &Params, sender: &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError> {
        let (module, values) = self.module(params)?;
        let made = Control::new(&module, params, &values, sender);
        Ok(Box::new(made.map_err(|why| faulty(params.location(), &why))?))
    }
}

impl haltere_queue::outside::Maker for Maker {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        self.about(at, Kind::Queue)
    }
    fn make(&self, params: &Params, link: &LinkContext) -> Result<Box<dyn OutsideQueue>, ParamError> {
        let (module, values) = self.module(params)?;
        let made = Queue::new(&module, params, &values, link);
        Ok(Box::new(made.map_err(|why| faulty(params.location(), &why))?))
    }
}
