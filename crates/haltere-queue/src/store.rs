//! The one bounded first-in first-out store under every discipline.

use crate::{Backlog, Pkt};
use alloc::collections::VecDeque;
use haltere_units::{Dur, ParamError, Size, Time};

/// Packets in order of arrival, with the time at which each came, bounded in packets or bytes.
#[derive(Debug, Clone)]
pub struct Store<P> {
    entries: VecDeque<(Time, P)>,
    bytes: u64,
    max_packets: u64,
    max_bytes: u64,
}

impl<P: Pkt> Store<P> {
    /// An empty store that holds at most `limit` (packets or bytes; a `bdp` must be resolved before).
    pub fn new(limit: Size) -> Result<Store<P>, ParamError> {
        let (max_packets, max_bytes) = match limit {
            Size::Packets(n) if n > 0 => (n, u64::MAX),
            Size::Bytes(n) if n > 0 => (u64::MAX, n),
            Size::MilliBdp(_) => {
                return Err(ParamError::new("limit", "in packets or bytes where the link has no rate or RTT", limit)
                    .hint("write for example `100p`"));
            }
            _ => return Err(ParamError::new("limit", "at least one packet", limit)),
        };
        Ok(Store { entries: VecDeque::new(), bytes: 0, max_packets, max_bytes })
    }
    /// A store without bound, for disciplines that hold one limit over several stores.
    pub fn unbounded() -> Store<P> {
        Store { entries: VecDeque::new(), bytes: 0, max_packets: u64::MAX, max_bytes: u64::MAX }
    }
    /// True where a packet of `len` bytes would still fit.
    #[inline]
    pub fn fits(&self, len: u32) -> bool {
        (self.entries.len() as u64) < self.max_packets && self.bytes + u64::from(len) <= self.max_bytes
    }
    /// Appends the packet, or gives it back where it does not fit.
    #[inline]
    pub fn push(&mut self, now: Time, pkt: P) -> Result<(), P> {
        if !self.fits(pkt.len()) {
            return Err(pkt);
        }
        self.bytes += u64::from(pkt.len());
        self.entries.push_back((now, pkt));
        Ok(())
    }
    /// Takes the oldest packet and the time at which it came.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, P)> {
        let (at, pkt) = self.entries.pop_front()?;
        self.bytes -= u64::from(pkt.len());
        Some((at, pkt))
    }
    /// How long the oldest packet has waited; zero when empty.
    pub fn sojourn(&self, now: Time) -> Dur {
        self.entries.front().map_or(Dur::ZERO, |(at, _)| now.since(*at))
    }
    /// True when nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// What waits.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.entries.len() as u32, bytes: self.bytes }
    }
}
