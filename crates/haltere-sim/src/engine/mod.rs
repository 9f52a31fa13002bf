//! Virtual time: pending events, timers of endpoints, memory pages and prefetches. No file here knows packets.

pub mod event;
pub mod event_queue;
pub(crate) mod large_pages;
pub(crate) mod prefetch;
pub(crate) mod timer;
