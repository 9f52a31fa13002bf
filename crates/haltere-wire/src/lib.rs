//! The wire: the same mechanisms on real packets, in real time.

pub mod frame;
#[doc(hidden)]
pub mod testing;
