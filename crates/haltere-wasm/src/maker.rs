//! The language `wasm` of the registries: `kind = "wasm:control.wasm"`.

use crate::about::Kind;
use crate::control::Control;
use crate::limits::MODULE_BYTES;
use crate::module::Module;
use crate::queue::Queue;
use crate::trial::load;
use haltere_congestion::SenderContext;
use haltere_congestion::outside::OutsideControl;
use haltere_lab::Code;
use haltere_queue::LinkContext;
use haltere_queue::outside::OutsideQueue;
use haltere_units::ParamError;
use haltere_units::outside::{About, Location, Makers, Params};
use std::io::{self, Read};
use std::path::Path;

/// The name of the language.
const LANGUAGE: &str = "wasm";

/// Adds the language `wasm` to those of a program, for congestion controls and queue disciplines.
pub fn add(makers: &mut Makers) {
    makers.add::<dyn haltere_congestion::outside::Maker>(LANGUAGE, Box::new(Maker));
    makers.add::<dyn haltere_queue::outside::Maker>(LANGUAGE, Box::new(Maker));
}

struct Maker;

static MODULES: Code<Module> = Code::new();

/// Reads the module, and gives the digest of its file.
fn read(at: Location<'_>) -> Result<(Module, String), ParamError> {
    let path = Path::new(at.folder).join(at.source);
    let bytes = contents(&path).map_err(|error| {
        let got = format!("`{}`, {}", at.source, haltere_lab::unreadable(&error));
        ParamError::new("kind", "the name of a WebAssembly module", got)
            .hint("its name counts from the folder of the experiment file")
    })?;
    MODULES.of(&bytes, |_| load(&bytes).map_err(|why| faulty(at, &why)))
}

/// The bytes of a regular file, at most one more than a module may have.
fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    haltere_lab::open_regular(path)?.take(MODULE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
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
    /// The module of these parameters with their values.
    fn module(&self, params: &Params) -> Result<(Module, Vec<f64>), ParamError> {
        let module = MODULES.get(params, || read(params.location()))?;
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
