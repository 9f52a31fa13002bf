//! The same experiment gives the same bytes in every build: this test's profile and the extension that Python loads are
//! compiled apart, and both are held to one committed digest (the other half is in tests/python).

use haltere_lab::{Scenario, table};
use haltere_sim::RunControl;
use std::path::Path;

#[test]
fn this_build_gives_the_committed_digest() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let text = std::fs::read_to_string(golden.join("mix.toml")).expect("the experiment is there");
    let plan = Scenario::parse(&text, "mix.toml").and_then(|one| one.plan(1)).expect("the experiment is right");
    let record = haltere_sim::run(&plan, &RunControl::default()).expect("it runs");
    let digest = table::digest(&table::tables(&plan, &record));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(golden.join("mix.digest"), format!("{digest}\n")).expect("the digest can be written");
    }
    let want = std::fs::read_to_string(golden.join("mix.digest")).unwrap_or_default();
    assert_eq!(digest, want.trim(), "the bytes of a run changed; UPDATE=1 accepts it");
}
