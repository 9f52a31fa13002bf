//! The crate's integration tests are one program: linking one for each file took most of the time of a build.

#[path = "../common/mod.rs"]
mod common;

mod arrivals;
mod datagrams;
mod digest;
mod ecn;
mod edges;
mod event_loop;
mod ftp;
mod impairments;
mod kinds;
mod live;
mod measures;
mod multipath;
mod offload;
mod published;
mod shaping;
mod switch;
mod tcp;
mod varying;
mod workloads;
