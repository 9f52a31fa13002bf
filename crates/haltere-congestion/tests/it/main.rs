//! The crate's integration tests are one program: linking one for each file took most of the time of a build.

#[path = "../path/mod.rs"]
mod path;

mod bbr3_draft;
mod bbr3_quiche;
mod closed_loop;
mod conformance;
mod cubic_reno;
mod cubic_tables;
mod pauses;
mod ranges;
mod slow_starts;
mod survivors;
