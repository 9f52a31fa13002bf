//! The bytes themselves, if the world has them (the wire). In the simulator only lengths exist and this is absent.
//! Model: a send buffer from the first unacknowledged byte on; a receive buffer in order, and what arrived ahead of it.
//! Units: stream offsets. Cost: one copy in and one out. Known problems: none.

use crate::tcp::seq::Offset;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// Bytes of both directions.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    sent: VecDeque<u8>,
    /// Offset of the first byte of `sent`.
    sent_from: Offset,
    here: VecDeque<u8>,
    /// Offset after the last byte in order.
    here_to: Offset,
    ahead: BTreeMap<Offset, Vec<u8>>,
}

impl Payload {
    pub(crate) fn new() -> Payload {
        Payload { sent_from: Offset::FIRST, here_to: Offset::FIRST, ..Payload::default() }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.sent.extend(bytes);
    }

    /// Everything below `una` is acknowledged.
    pub(crate) fn acknowledged(&mut self, una: Offset) {
        let done = (una.since(self.sent_from) as usize).min(self.sent.len());
        self.sent.drain(..done);
        self.sent_from += done as u64;
    }

    /// Copies the bytes from `offset` on; gives how many there were.
    pub(crate) fn copy(&self, offset: Offset, into: &mut [u8]) -> usize {
        if offset < self.sent_from {
            return 0;
        }
        let bytes = self.sent.iter().skip((offset - self.sent_from) as usize);
        into.iter_mut().zip(bytes).map(|(to, from)| *to = *from).count()
    }

    /// A segment's bytes from `offset` on, of which the receiver took those below `next` as in order.
    pub(crate) fn arrived(&mut self, offset: Offset, bytes: &[u8], next: Offset) {
        if offset + bytes.len() as u64 > self.here_to {
            let longer = self.ahead.get(&offset).is_none_or(|old| old.len() < bytes.len());
            if longer {
                self.ahead.insert(offset, bytes.into());
            }
        }
        while self.here_to < next {
            let Some((start, bytes)) = self.ahead.pop_first() else { return };
            if start > self.here_to {
                self.ahead.insert(start, bytes);
                return;
            }
            let known = ((self.here_to - start) as usize).min(bytes.len());
            self.here.extend(&bytes[known..]);
            self.here_to += (bytes.len() - known) as u64;
        }
    }

    /// Takes up to `into.len()` bytes in order; gives how many there were.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.here.len());
        for (to, from) in into.iter_mut().zip(self.here.drain(..count)) {
            *to = from;
        }
        count
    }
}
