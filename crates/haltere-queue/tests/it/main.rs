//! The crate's integration tests are one program: linking one for each file took most of the time of a build.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/world.rs"]
mod world;

mod conformance;
mod edges;
mod oracles;
mod p4;
mod ranges;
mod survivors;
