//! What the adapter must know of the stack's version, from the lock file: which calls its trait of controls has.

use std::{env, fs};

fn main() {
    let stack = env::var("CARGO_PKG_NAME").expect("cargo sets it").replace("haltere-stack-", "");
    let lock = fs::read_to_string("Cargo.lock").expect("cargo writes it before it builds");
    let package = format!("name = \"{stack}-proto\"\nversion = \"");
    let version = lock.split_once(&package).and_then(|(_, rest)| rest.split_once('"')).expect("a dependency").0;
    let mut parts = version.split('.').map_while(|part| part.parse::<u32>().ok());
    let release = (parts.next(), parts.next());
    println!("cargo:rustc-check-cfg=cfg(cwnd_limited)");
    if stack == "noq" && release >= (Some(1), Some(2)) {
        println!("cargo:rustc-cfg=cwnd_limited");
    }
    // A build from source has the name that it is kept under.
    let name = env::var("HALTERE_STACK_VERSION").unwrap_or_else(|_| version.to_owned());
    println!("cargo:rustc-env=HALTERE_STACK_VERSION={name}");
    println!("cargo:rerun-if-env-changed=HALTERE_STACK_VERSION");
    println!("cargo:rerun-if-changed=Cargo.lock");
}
