//! The language `rust` of this build: each mechanism of the crate is a line of `MECHANISMS`.

use crate::control;
use haltere_congestion::SenderContext;
use haltere_congestion::outside::{Maker, OutsideControl};
use haltere_units::ParamError;
use haltere_units::outside::{About, Location, Makers, Parameter, Params};
use sha2::{Digest, Sha256};

/// A mechanism of this crate.
struct Mechanism {
    /// What stands behind `rust:` in an experiment.
    name: &'static str,
    /// What it does, in a sentence.
    summary: &'static str,
    /// Its parameters with their defaults and ranges.
    parameters: fn() -> Vec<Parameter>,
    /// Makes one for a sender.
    make: fn(&Params, &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError>,
}

const MECHANISMS: &[Mechanism] = &[Mechanism {
    name: "@name@",
    summary: control::SUMMARY,
    parameters: control::parameters,
    make: control::make,
}];

/// All sources of this crate: if one changes, runs are other runs.
const SOURCES: &[&str] =
    &[include_str!("control.rs"), include_str!("maker.rs"), include_str!("lib.rs"), env!("CARGO_PKG_VERSION")];

/// The languages of this build, besides those that Haltere adds.
pub fn makers() -> Makers {
    let mut makers = Makers::default();
    makers.add::<dyn Maker>("rust", Box::new(Crate));
    makers
}

struct Crate;

fn find(name: &str) -> Result<&'static Mechanism, ParamError> {
    let names: Vec<String> = MECHANISMS.iter().map(|one| format!("`{}`", one.name)).collect();
    let rule = || format!("a mechanism of this build: {}", names.join(", "));
    MECHANISMS.iter().find(|one| one.name == name).ok_or_else(|| ParamError::new("kind", rule(), format!("`{name}`")))
}

impl Maker for Crate {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        let one = find(at.source)?;
        let digest = Sha256::digest(SOURCES.concat()).iter().map(|byte| format!("{byte:02x}")).collect();
        let (name, summary) = (one.name.to_owned(), one.summary.to_owned());
        Ok(About { name, summary, digest, parameters: (one.parameters)() })
    }
    fn make(&self, params: &Params, sender: &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError> {
        params.check_digest(&self.about(params.location())?.digest)?;
        (find(&params.source)?.make)(params, sender)
    }
}
