//! Classifiers held against recorded traffic: a capture is read packet by packet, each packet is shown to each classifier
//! in the recorded order, and when a flow is over its own size says what it was: short or long.
//!
//! | module | what |
//! |---|---|
//! | `reader` | pcap and pcapng as a stream of frames, whatever their size |
//! | `packet` | a frame as a classifier sees it, with the offset that the flow's SYN lets it tell |
//! | [`replay`] | flows, verdicts, rates with intervals |
//!
//! Memory is bounded by the flows of the capture, not by its packets.

mod packet;
mod reader;
pub mod replay;

pub use reader::CaptureError;
pub use replay::{Options, Rate, Report, Score, classify, classify_with};
