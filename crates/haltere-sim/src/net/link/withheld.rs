//! The parts of a link for a discipline that withholds packets, such as a shaper: see [`Qdisc::ready_at`].
//!
//! A dequeue that finds no packet notes when the discipline will have one. The link, which is eager, has an event then.

use super::SimLink;
use crate::net::packet::Pool;
use haltere_queue::Qdisc;
use haltere_units::{Dur, Time};

impl SimLink {
    /// When the discipline has the next packet that it withholds, as far as is known.
    fn ready_at(&self) -> Time {
        self.extras.as_ref().and_then(|extras| extras.ready_at).unwrap_or(Time::NEVER)
    }
    /// A dequeue found no packet.
    #[cold]
    pub(super) fn note_ready(&mut self) {
        if let Some(extras) = &mut self.extras
            && let Some(ready) = &mut extras.ready_at
        {
            *ready = self.queue.ready_at().unwrap_or(Time::NEVER);
        }
    }
    /// Carries out what is due in the queue until the last packet that is ready by `now` has been asked for. At one
    /// instant it is asked for before the line takes the next packet.
    pub(super) fn release_until(&mut self, now: Time, pool: &mut Pool) {
        loop {
            let at = self.ready_at();
            if at > now {
                return;
            }
            self.transmit_until::<false>(at.saturating_sub(Dur::from_ns(1)), pool);
            if let Some(extras) = &mut self.extras {
                extras.ready_at = Some(Time::NEVER);
            }
            self.run_timers(at);
            if self.device().is_some() {
                self.fill_device(at, pool);
            }
            if self.idle {
                self.occupy(at);
                self.transmit_until::<false>(at, pool);
            }
        }
    }
    /// When an eager link with a backlog has its next dequeue.
    pub(super) fn next_dequeue_eager(&self) -> Time {
        if self.idle { self.ready_at() } else { self.ready_at().min(self.free_at) }
    }
}
