//! Reading a little of everything that the next events will need, so that memory answers all of them at once.
//!
//! With thousands of flows what an event needs is no longer in the caches, and an event that waits for memory line after
//! line takes most of its time for that. The event queue takes its events in bucketfuls
//! ([`EventQueue::reached`](crate::event_queue::EventQueue::reached)); here a word of each line that they will read is read
//! beforehand. The processor does not wait for these reads, whose values nobody needs. Nothing of a run depends on it.

use crate::app::Flow;
use crate::event_queue::Target;
use crate::fabric::{DELIVER, kind};
use crate::link::Link;

/// Events of a bucketful for which this is done.
const MOST: usize = 64;

/// The next events are for these targets.
pub(crate) fn look(targets: impl Iterator<Item = Target>, links: &[Link], paths: &[u32], flows: &[Flow]) {
    let endpoint = |index: usize| flows.get(index / 2).map_or(0, |flow| flow.touch(index % 2));
    let mut seen = 0;
    let mut reached = [0; MOST];
    let mut count = 0;
    for target in targets.take(MOST) {
        let index = target.index();
        match target.kind() {
            kind::LINK => {
                seen ^= links[index].touch();
                reached[count] = index;
                count += 1;
            }
            kind::TIMER => seen ^= endpoint(index),
            _ => {}
        }
    }
    // Where the packets that come out will go: by now their links are here.
    for &link in &reached[..count] {
        let Some((cursor, end)) = links[link].next_out() else { continue };
        seen ^= match paths[cursor as usize] {
            DELIVER => endpoint(end as usize),
            next => links[next as usize].touch(),
        };
    }
    std::hint::black_box(seen);
}
