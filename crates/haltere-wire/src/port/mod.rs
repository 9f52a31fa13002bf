//! Ports: where frames come in and go out, in batches.
//!
//! [`packet::PacketPort`] is a network interface through AF_PACKET.

pub mod packet;

use crate::error::WireError;
use crate::frame::Frame;
use haltere_units::Time;
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

/// What a port counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct PortCounters {
    /// Frames that came from the interface.
    pub received: u64,
    /// Frames that the interface took.
    pub sent: u64,
    /// Bytes of the frames received.
    pub received_bytes: u64,
    /// Bytes of the frames sent.
    pub sent_bytes: u64,
    /// Frames that the kernel dropped because we were too slow.
    pub overrun: u64,
    /// Frames that were longer than their place in memory, and dropped.
    pub oversize: u64,
    /// Frames that came with an unfinished checksum, finished here: an offload of the sender is on.
    pub unfinished_checksum: u64,
    /// Frames that the interface would not take, and were dropped.
    pub refused: u64,
    /// Frames that came as several packets in one, and were cut into them.
    pub segmented: u64,
    /// Frames that came with an unfinished checksum or as several packets in one, and were passed on so.
    pub whole: u64,
    /// Frames that an offload left in a state that cannot be finished here, and were dropped.
    pub unhandled: u64,
    /// The interface is down now: it takes no frame and gives none.
    pub is_down: bool,
}

/// A place where frames come in and go out.
pub trait Port {
    /// Readable when frames wait; `None` for ports in memory.
    fn fd(&self) -> Option<BorrowedFd<'_>>;
    /// Receives at most `most` frames that have come by `now`; how many.
    fn receive(&mut self, now: Time, most: usize, each: &mut dyn FnMut(Frame)) -> io::Result<usize>;
    /// Sends all frames; each leaves or is counted as refused.
    fn send(&mut self, now: Time, frames: &mut VecDeque<(Time, Frame)>) -> io::Result<()>;
    /// When [`receive`](Port::receive) wants to be called even if no descriptor wakes.
    fn next(&self) -> Option<Time> {
        None
    }
    /// Called now and then: an error if the interface will never give or take a frame again.
    fn check(&mut self) -> Result<(), WireError> {
        Ok(())
    }
    /// What it counted so far.
    fn counters(&mut self) -> PortCounters;
}
