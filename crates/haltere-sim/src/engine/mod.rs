//! Virtual time: the pending events, and what makes them cheap. Nothing here knows of packets.

pub mod event_queue;
pub(crate) mod large_pages;
pub(crate) mod prefetch;
pub(crate) mod timer;
