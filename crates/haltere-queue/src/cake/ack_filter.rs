//! The ACK filter: a TCP acknowledgement that a later one contains need not be sent.

use super::AckFilter;
use crate::{Pkt, Store};

/// The place of the oldest packet of the store that `arrival` makes redundant, if one is to go.
///
/// Only pure acknowledgements of the same flow with the same flags go, and only if `arrival` acknowledges more. The plain filter
/// leaves one of them beside `arrival`, so that the sender still sees acknowledgements at about its usual rate.
#[inline]
pub(super) fn redundant<P: Pkt>(filter: AckFilter, store: &Store<P>, arrival: &P) -> Option<usize> {
    if filter == AckFilter::Off || store.is_empty() {
        return None;
    }
    let new = arrival.pure_ack()?;
    let is_older = |at: &usize| {
        store.get(*at).is_some_and(|pkt| {
            pkt.pure_ack().is_some_and(|old| old.flags == new.flags && (new.ack.wrapping_sub(old.ack) as i32) > 0)
                && pkt.flow() == arrival.flow()
        })
    };
    let mut older = (0..store.backlog().packets as usize).filter(is_older);
    let oldest = older.next()?;
    (filter == AckFilter::Aggressive || older.next().is_some()).then_some(oldest)
}
