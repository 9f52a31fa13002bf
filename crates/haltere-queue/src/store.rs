//! The one bounded first-in first-out store under every discipline.

use crate::{Backlog, LinkContext, Pkt};
use alloc::collections::VecDeque;
use haltere_units::{Dur, ParamError, Size, Time};

/// A limit in packets or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    max_packets: u64,
    max_bytes: u64,
}

impl Bound {
    /// No bound: every packet fits.
    pub const NONE: Bound = Bound { max_packets: u64::MAX, max_bytes: u64::MAX };

    /// At most `limit` (packets or bytes; a `bdp` must be resolved before).
    pub fn new(limit: Size) -> Result<Bound, ParamError> {
        match limit {
            Size::Packets(n) if n > 0 => Ok(Bound { max_packets: n, ..Bound::NONE }),
            Size::Bytes(n) if n > 0 => Ok(Bound { max_bytes: n, ..Bound::NONE }),
            Size::MilliBdp(n) if n > 0 => {
                Err(ParamError::new("limit", "in packets or bytes if the link has no rate or RTT", limit)
                    .hint("write for example `100p`"))
            }
            _ => Err(ParamError::new("limit", "above 0", limit)),
        }
    }
    /// At most that on this link, or [no bound](Bound::NONE).
    pub fn optional(limit: Option<Size>, link: &LinkContext) -> Result<Bound, ParamError> {
        limit.map_or(Ok(Bound::NONE), |limit| Bound::new(link.resolve(limit)))
    }
    /// True if a packet of `len` bytes fits beside that backlog.
    #[inline]
    pub fn fits(&self, backlog: Backlog, len: u32) -> bool {
        u64::from(backlog.packets) < self.max_packets && backlog.bytes + u64::from(len) <= self.max_bytes
    }
    /// True if that backlog is above the limit.
    #[inline]
    pub fn is_exceeded(&self, backlog: Backlog) -> bool {
        u64::from(backlog.packets) > self.max_packets || backlog.bytes > self.max_bytes
    }
}

/// Packets for which an empty store keeps room.
const SPARE: usize = 8;

/// A packet that waits. It comes first, so that it is copied in the same pieces with its time and without.
#[derive(Debug, Clone)]
#[repr(C)]
struct Entry<P> {
    pkt: P,
    came: Time,
}

/// Packets in order of arrival, each with its time of arrival, limited in packets or bytes.
#[derive(Debug, Clone)]
pub struct Store<P> {
    entries: VecDeque<Entry<P>>,
    bytes: u64,
    bound: Bound,
}

impl<P: Pkt> Store<P> {
    /// An empty store that holds at most `limit` (packets or bytes; a `bdp` must be resolved before).
    pub fn new(limit: Size) -> Result<Store<P>, ParamError> {
        Ok(Store::within(Bound::new(limit)?))
    }
    /// A store without a limit, for disciplines that have one limit over several stores.
    pub fn unbounded() -> Store<P> {
        Store::within(Bound::NONE)
    }
    /// A store with that bound.
    pub fn within(bound: Bound) -> Store<P> {
        Store { entries: VecDeque::new(), bytes: 0, bound }
    }
    /// The limit.
    #[inline]
    pub fn bound(&self) -> Bound {
        self.bound
    }
    /// True if a packet of `len` bytes fits.
    #[inline]
    pub fn fits(&self, len: u32) -> bool {
        self.bound.fits(self.backlog(), len)
    }
    /// Appends the packet, or gives it back if it does not fit.
    #[inline]
    pub fn push(&mut self, now: Time, pkt: P) -> Result<(), P> {
        if !self.fits(pkt.len()) {
            return Err(pkt);
        }
        self.append(now, pkt);
        Ok(())
    }
    /// Appends the packet, whatever the limit.
    #[inline]
    pub fn append(&mut self, now: Time, pkt: P) {
        self.bytes += u64::from(pkt.len());
        self.entries.push_back(Entry { pkt, came: now });
    }
    /// Takes the oldest packet and its time of arrival.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, P)> {
        // Its length is read in its place, so that the packet moves as a whole.
        self.bytes -= u64::from(self.entries.front()?.pkt.len());
        let Entry { pkt, came } = self.entries.pop_front()?;
        if self.entries.is_empty() && self.entries.capacity() > SPARE {
            self.entries.shrink_to(0); // of thousands of queues few are full at one time
        }
        Some((came, pkt))
    }
    /// Takes the packet that would be taken after `n` others.
    pub fn remove(&mut self, n: usize) -> Option<P> {
        let Entry { pkt, .. } = self.entries.remove(n)?;
        self.bytes -= u64::from(pkt.len());
        Some(pkt)
    }
    /// Takes the newest packet.
    pub fn pop_back(&mut self) -> Option<P> {
        let Entry { pkt, .. } = self.entries.pop_back()?;
        self.bytes -= u64::from(pkt.len());
        Some(pkt)
    }
    /// The packet that is taken after `n` others.
    #[inline]
    pub fn get(&self, n: usize) -> Option<&P> {
        self.entries.get(n).map(|entry| &entry.pkt)
    }
    /// How long the oldest packet has waited; zero when empty.
    pub fn sojourn(&self, now: Time) -> Dur {
        self.entries.front().map_or(Dur::ZERO, |oldest| now.since(oldest.came))
    }
    /// True if it holds no packet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// Packets and bytes in the store.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.entries.len() as u32, bytes: self.bytes }
    }
}
