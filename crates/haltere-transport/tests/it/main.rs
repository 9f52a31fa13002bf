//! The crate's integration tests are one program: linking one for each file took most of the time of a build.

#[path = "../paths/mod.rs"]
mod paths;
#[path = "../pipe/mod.rs"]
mod pipe;

mod accurate_ecn;
mod chaos;
mod lazy_sender;
mod linux;
mod metrics;
mod multipath;
mod offload;
mod options;
mod scipy;
mod script;
mod segments;
mod tail;
mod transfer;
