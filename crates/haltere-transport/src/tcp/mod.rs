//! One TCP endpoint without I/O.

mod accurate_ecn;
#[cfg(test)]
mod claims;
pub(crate) mod connection;
mod established;
pub(crate) mod info;
pub(crate) mod metrics;
pub(crate) mod params;
pub(crate) mod receiver;
pub(crate) mod segment;
pub(crate) mod sender;
pub(crate) mod seq;
pub(crate) mod time;
