//! Runs one experiment file in the simulator, stacks included, and prints a line a flow.
//!
//! `cargo run --release -p haltere-stack --example run -- FILE [SEED]`.

use haltere_lab::{Scenario, table};
use haltere_sim::{RunControl, run};
use haltere_units::outside::{Makers, Outside};
use std::sync::Arc;

fn main() {
    let mut makers = Makers::default();
    haltere_stack::add(&mut makers);
    let languages = Outside::of(&Arc::new(makers));
    let mut words = std::env::args().skip(1);
    let file = words.next().expect("usage: run FILE [SEED]");
    let seed = words.next().map_or(1, |text| text.parse().expect("SEED is a whole number"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let read = Scenario::parse_with(&text, &file, &languages);
    let plan = read.and_then(|scenario| scenario.plan(seed)).unwrap_or_else(|e| panic!("{e}"));
    let record = run(&plan, &RunControl::default()).unwrap_or_else(|e| panic!("{e}"));
    for (flow, row) in plan.flows.iter().zip(&record.flows) {
        let control = flow.app.tcp().map(|tcp| tcp.label().into_owned()).unwrap_or_default();
        let sender = row.sender.as_ref();
        let (lost, srtt) = sender.map_or((0, 0.0), |info| (info.retransmissions, info.srtt.as_secs_f64() * 1e3));
        println!("{} {control} received {} B, lost {lost}, srtt {srtt:.1} ms", flow.name, row.received);
    }
    println!("digest {}", table::digest(&table::tables(&plan, &record)));
}
