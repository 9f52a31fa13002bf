//! The wire: the same mechanisms on real packets, in real time.
//!
//! A tour, from the bytes up: [`frame`] reads an Ethernet frame and is a packet to the disciplines; [`fabric`] is a
//! network of links between ports; [`port`] is where frames come in and go out; [`clock`] is the one place for time;
//! [`router`] is the loop over all of them.

mod error;

pub mod bpf;
pub mod calibration;
pub mod clock;
mod control;
pub mod endpoint;
pub mod fabric;
pub mod frame;
pub mod hosts;
pub mod kernel_tcp;
pub mod live;
mod mptcp;
pub mod namespace;
mod netlink;
pub mod port;
mod privileges;
pub mod program;
pub mod router;
pub mod schedule;
pub mod service;
pub mod stats;
mod sys;
pub mod world;

#[cfg(test)]
extern crate self as haltere_wire;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod testing;

pub use control::{Calibrate, Control, Manner};
pub use endpoint::host_names;
pub use error::WireError;
pub use service::router_service;
pub use world::{Network, Outcome, check, check_for, may_run, run, run_over};
