//! Recorded traffic: classifiers and correlators run on captures.
//!
//! | module | what |
//! |---|---|
//! | [`reader`] | pcap and pcapng as a stream of packets, whatever their size |
//! | [`packet`] | what a packet's headers say |
//! | [`replay`] | each packet shown to each classifier; when a flow is over its own size says what it was: short or long |
//! | [`mod@flows`] | the TCP flows with their starts and bytes, to be replayed |
//! | [`mod@correlate`] | round-trip times and delays of flows through the correlators: which flows share a bottleneck |
//!
//! Memory is bounded by the flows of a capture, not by its packets.

pub mod correlate;
pub mod error;
pub mod flows;
pub mod packet;
pub mod reader;
pub mod replay;
mod samples;

pub use correlate::correlate;
pub use error::{CaptureError, Watch};
pub use flows::flows;
pub use replay::{classify, classify_with};
