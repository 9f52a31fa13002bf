//! A module is tried before the run, so that it fails there if it fails at once.

use crate::about::Kind;
use crate::control::{self, Control};
use crate::module::Module;
use crate::queue::{self, Queue};
use haltere_units::outside::Params;

/// Reads a module, and makes one mechanism of it with the defaults. The error is `<what> must be <rule>, got <value>`.
pub fn load(bytes: &[u8]) -> Result<Module, String> {
    let module = Module::read(bytes)?;
    let values = module.about().values(&serde_json::Map::new()).expect("defaults were checked");
    match module.about().kind {
        Kind::Control => Control::new(&module, &Params::default(), &values, &control::TRIAL).map(|_| ())?,
        Kind::Queue => Queue::new(&module, &Params::default(), &values, &queue::TRIAL).map(|_| ())?,
    }
    Ok(module)
}
