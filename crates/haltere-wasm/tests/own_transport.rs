//! A congestion control that is a module, on our transport against the kernel's.

#[path = "../../haltere-wire/tests/transfer/mod.rs"]
mod transfer;

use haltere_congestion::CongestionParams;
use haltere_congestion::outside::{Maker, Params};
use haltere_units::outside::{Location, Makers, Outside};
use std::sync::Arc;

#[test]
fn a_control_that_is_a_module_runs_on_our_transport() {
    let file = std::env::temp_dir().join(format!("haltere-aimd-{}.wasm", std::process::id()));
    std::fs::write(&file, wat::parse_str(include_str!("aimd.wat")).unwrap()).unwrap();
    let mut makers = Makers::default();
    haltere_wasm::add(&mut makers);
    let languages = Outside::of(&Arc::new(makers));
    let source = file.to_str().unwrap();
    let about = languages.find::<dyn Maker>("wasm").unwrap().about(Location { source, folder: "" }).unwrap();
    let (language, source, name, digest) = ("wasm".into(), source.into(), about.name, about.digest);
    let params = Params { language, source, name, digest, ..Params::default() };
    transfer::transfer(&CongestionParams::Outside(params), 1, &languages);
    let _ = std::fs::remove_file(&file);
}
