//! The crate's integration tests are one program: linking one for each file took most of the time of a build.

mod bodies;
mod errors;
mod fuzz;
mod paths;
mod registries;
mod scenario;
mod tables;
mod units;
