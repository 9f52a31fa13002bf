//! The kernel world: a real Linux kernel in virtual time, as an ordinary process.
//!
//! The kernel is built as User-Mode Linux with time travel: its clock moves only when nothing is left to do, so nothing
//! is ever late and no privilege is needed. A run is one boot of that kernel:
//!
//! ```text
//!   host process                     guest kernel
//!   boot ── request.json ──────────> haltere-guest (process 1): hosts as network namespaces, sockets, the plan's flows
//!        <─ answer.json ───────────  the record
//!                                    fabric: the links of the plan with their queues, in the kernel
//! ```
//!
//! - [`fabric`] is what the network between the hosts counted. The network itself is [`haltere_plan::fabric`], which is linked into the guest kernel.
//! - [`contract`] is what goes in and what comes out, as JSON.
//! - [`boot`] starts a guest, watches it and ends it.
//! - [`guest`] is the program that runs in it.
//! - [`tc`] reads what is written of the kernel's own queue disciplines.
//! - [`terminal`] joins a person and a program in the guest.
//!
//! [`contract`], [`boot`], [`guest`], [`tc`] and [`terminal`] are there with the feature `host`.

#![cfg_attr(not(any(test, feature = "host")), no_std)]
extern crate alloc;

pub mod fabric;
pub mod queue;

#[cfg(feature = "host")]
pub mod boot;
#[cfg(feature = "host")]
pub mod contract;
#[cfg(feature = "host")]
pub mod cost;
#[cfg(feature = "host")]
pub mod guest;
#[cfg(feature = "host")]
mod sys;
#[cfg(feature = "host")]
pub mod tc;
#[cfg(feature = "host")]
pub mod terminal;
