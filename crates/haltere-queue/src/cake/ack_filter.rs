//! The ACK filter: a TCP acknowledgement that a later one contains need not be sent.

use super::AckFilter;
use crate::{Fate, Pkt, PureAck, Store};

/// The place of the oldest packet of the store that `arrival` makes redundant, if one is to go.
///
/// Only pure acknowledgements of the same flow with the same flags go, and only those that `arrival` [`contains`]. The
/// plain filter leaves one of them beside `arrival`, so that the sender still sees acknowledgements at about its usual
/// rate.
#[inline]
pub(super) fn redundant<P: Pkt>(
    filter: AckFilter,
    store: &Store<P>,
    arrival: &P,
    fate: &impl Fate<P>,
) -> Option<usize> {
    if filter == AckFilter::Off || store.is_empty() {
        return None;
    }
    let new = fate.pure_ack(arrival)?;
    let is_older = |at: &usize| {
        store.get(*at).is_some_and(|pkt| {
            fate.pure_ack(pkt).is_some_and(|old| old.flags == new.flags && contains(&new, &old))
                && pkt.flow() == arrival.flow()
        })
    };
    let mut older = (0..store.backlog().packets as usize).filter(is_older);
    let oldest = older.next()?;
    (filter == AckFilter::Aggressive || older.next().is_some()).then_some(oldest)
}

/// True if `new` says all that `old` does, and more: a higher number, or more bytes in blocks. Each block of `old` must
/// lie in one of `new`, even if `new` acknowledges what it holds. An acknowledgement that reports a duplicate (RFC
/// 2883: a block below its number) is never contained.
fn contains(new: &PureAck, old: &PureAck) -> bool {
    let gain = new.ack.wrapping_sub(old.ack) as i32;
    let is_held = |&(start, end): &(u32, u32)| {
        is_at_or_after(start, old.ack)
            && blocks(new).any(|&(from, to)| is_at_or_after(start, from) && is_at_or_after(to, end))
    };
    gain >= 0 && blocks(old).all(is_held) && (gain > 0 || sacked(new) > sacked(old))
}

/// The blocks of an acknowledgement.
fn blocks(ack: &PureAck) -> impl Iterator<Item = &(u32, u32)> {
    ack.sack.iter().filter(|(start, end)| start != end)
}

/// Bytes in its blocks.
fn sacked(ack: &PureAck) -> u64 {
    blocks(ack).map(|(start, end)| u64::from(end.wrapping_sub(*start))).sum()
}

/// True if sequence number `a` is `b` or a later one.
fn is_at_or_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}
