//! Runs one experiment file in the simulator, modules included, and prints what was carried as one line of JSON.
//!
//! `cargo run --release -p haltere-wasm --example run -- FILE [SEED]`. `benches/wasm.py` counts its instructions.

use haltere_lab::Scenario;
use haltere_sim::{RunControl, run};
use haltere_units::outside::{Makers, Outside};
use std::sync::Arc;

fn main() {
    let mut makers = Makers::default();
    haltere_wasm::add(&mut makers);
    let languages = Outside::of(&Arc::new(makers));
    let mut words = std::env::args().skip(1);
    let file = words.next().expect("usage: run FILE [SEED]");
    let seed = words.next().map_or(1, |text| text.parse().expect("SEED is a whole number"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let read = Scenario::parse_with(&text, &file, &languages);
    let plan = read.and_then(|scenario| scenario.plan(seed)).unwrap_or_else(|e| panic!("{e}"));
    let record = run(&plan, &RunControl::default()).expect("the run ends well");
    let received: u64 = record.flows.iter().map(|flow| flow.received).sum();
    let hops: u64 = record.links.iter().map(|link| link.total.sent).sum();
    println!("{{ \"received_bytes\": {received}, \"hops\": {hops}, \"events\": {} }}", record.events);
}
