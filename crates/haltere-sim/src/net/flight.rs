//! Packets in flight. One list holds those of all lines; the packets of one line are chained in order of departure.
//!
//! A packet keeps its place from link to link, unless it waits in a discipline. A place that it leaves is the next to be
//! used. So the list has as many places as packets were ever in flight at once, and the few places that a short line
//! uses stay in the cache, however many lines there are.
//!
//! ```text
//!   flight of a line:   head -> place -> place -> tail        a place: due time and packet, one cache line
//! ```

use crate::engine::event::Target;
use crate::engine::large_pages;
use crate::engine::prefetch::fetch;
use haltere_units::Time;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A packet in flight. With the simulator's packets it fills one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct InFlight<P> {
    packet: P,
    due: Time,
}

/// The packets in flight on one line, as places in [`Flights`].
#[derive(Debug)]
pub(crate) struct Flight {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for Flight {
    fn default() -> Flight {
        Flight { head: NONE, tail: NONE, len: 0 }
    }
}

/// A packet that a link sent ahead of time: see [`ahead`](crate::net::ahead).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ahead {
    /// The link that sent it.
    pub from: u32,
    /// Its place among the packets in flight. It is in no line's flight yet.
    pub place: u32,
}

impl Flight {
    /// The number of packets.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }
}

/// The packets in flight on all lines.
#[derive(Debug)]
pub(crate) struct Flights<P> {
    places: Vec<InFlight<P>>,
    /// The place after this one, in its flight or among the free places.
    next: Vec<u32>,
    free: u32,
}

impl<P> Default for Flights<P> {
    fn default() -> Flights<P> {
        Flights { places: Vec::new(), next: Vec::new(), free: NONE }
    }
}

impl<P: Copy> Flights<P> {
    /// Stores a packet that is in no line's flight. Returns its place.
    #[inline(always)]
    pub fn place(&mut self, due: Time, packet: P) -> u32 {
        let at = self.free;
        if at == NONE {
            return self.place_more(due, packet);
        }
        self.free = self.next[at as usize];
        self.places[at as usize] = InFlight { packet, due };
        at
    }
    /// There were never as many packets in flight.
    #[cold]
    #[inline(never)]
    fn place_more(&mut self, due: Time, packet: P) -> u32 {
        let at = self.places.len() as u32;
        assert!(at < Target::MAX_INDEX, "{} packets are in flight", Target::MAX_INDEX);
        large_pages::push(&mut self.places, InFlight { packet, due });
        self.next.push(NONE);
        at
    }
    /// The packet at that place is delivered at `due` instead.
    #[inline(always)]
    pub fn set_due(&mut self, at: u32, due: Time) {
        self.places[at as usize].due = due;
    }
    /// The packet at that place, and the time of its delivery.
    #[inline(always)]
    pub fn get_mut(&mut self, at: u32) -> (&mut P, Time) {
        let place = &mut self.places[at as usize];
        (&mut place.packet, place.due)
    }
    /// Removes the packet that was [placed](Flights::place) there.
    #[inline(always)]
    pub fn take(&mut self, at: u32) -> P {
        self.next[at as usize] = core::mem::replace(&mut self.free, at);
        self.places[at as usize].packet
    }
    /// Adds the packet at that [place](Flights::place) to the end of that flight.
    #[inline(always)]
    pub fn join(&mut self, flight: &mut Flight, at: u32) {
        self.next[at as usize] = NONE;
        if flight.len == 0 {
            flight.head = at;
        } else {
            self.next[flight.tail as usize] = at;
        }
        flight.tail = at;
        flight.len += 1;
    }
    /// Adds the packet at that [place](Flights::place) to that flight, after those that are due by then.
    pub fn insert(&mut self, flight: &mut Flight, at: u32) {
        let due = self.places[at as usize].due;
        if self.last_due(flight).is_none_or(|last| last <= due) {
            return self.join(flight, at);
        }
        let (mut before, mut after) = (NONE, flight.head);
        while self.places[after as usize].due <= due {
            (before, after) = (after, self.next[after as usize]);
        }
        self.next[at as usize] = after;
        if before == NONE {
            flight.head = at;
        } else {
            self.next[before as usize] = at;
        }
        flight.len += 1;
    }
    /// Prefetches the first two packets of that flight. Returns the place of its head, or [`NONE`] if it is empty.
    #[inline(always)]
    pub fn fetch_first(&self, flight: &Flight) -> u32 {
        let place = if flight.len > 0 { flight.head } else { NONE };
        self.fetch_place(place);
        self.fetch_place(self.after(place));
        place
    }
    /// Prefetches the third packet of that flight. The delivery of the head reads when the second is due.
    #[inline(always)]
    pub fn fetch_third(&self, flight: &Flight) {
        self.fetch_place(self.after(self.after(flight.head)));
    }
    /// The place after that one, or [`NONE`].
    #[inline(always)]
    fn after(&self, place: u32) -> u32 {
        self.next.get(place as usize).copied().unwrap_or(NONE)
    }
    #[inline(always)]
    pub fn fetch_place(&self, place: u32) {
        fetch(self.places.as_ptr().wrapping_add(place as usize));
    }
    /// The packet at that place, if there is such a place.
    #[inline(always)]
    pub fn look(&self, place: u32) -> Option<&P> {
        self.places.get(place as usize).map(|place| &place.packet)
    }
    /// When the head of that flight is delivered. Never: nothing is in flight.
    #[inline(always)]
    pub fn due(&self, flight: &Flight) -> Time {
        self.places.get(flight.head as usize).map_or(Time::NEVER, |head| head.due)
    }
    /// When the last packet of that flight is delivered, if there is one.
    pub fn last_due(&self, flight: &Flight) -> Option<Time> {
        (flight.len > 0).then(|| self.places[flight.tail as usize].due)
    }
    /// Removes the head of that flight, if it is delivered by `now`. The packet keeps its place, which is returned.
    #[inline(always)]
    pub fn pop(&mut self, flight: &mut Flight, now: Time) -> Option<u32> {
        let at = flight.head;
        self.places.get(at as usize).filter(|head| head.due <= now)?;
        flight.head = self.next[at as usize];
        flight.len -= 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Three lines in one list deliver what a queue each would, and there are only as many places as packets were
        /// in flight at once.
        #[test]
        fn lines_share_the_list_and_keep_their_order(steps in prop::collection::vec((0usize..3, any::<bool>(), 0u64..5), 1..400)) {
            let (mut flights, mut lines): (_, [Flight; 3]) = (Flights::default(), Default::default());
            let mut model: [VecDeque<(Time, u16)>; 3] = Default::default();
            let mut most = 0;
            for (step, (line, push, late)) in steps.into_iter().enumerate() {
                let (now, want) = (Time::from_ns(step as u64), &mut model[line]);
                if push {
                    let due = Time::from_ns(step as u64 + late);
                    let place = flights.place(due, step as u16);
                    flights.join(&mut lines[line], place);
                    want.push_back((due, step as u16));
                } else {
                    let due = want.front().is_some_and(|head| head.0 <= now);
                    let id = if due { want.pop_front().map(|head| head.1) } else { None };
                    let place = flights.pop(&mut lines[line], now);
                    prop_assert_eq!(place.map(|place| flights.take(place)), id);
                }
                prop_assert_eq!(flights.due(&lines[line]), model[line].front().map_or(Time::NEVER, |head| head.0));
                prop_assert_eq!(flights.last_due(&lines[line]), model[line].back().map(|last| last.0));
                prop_assert_eq!(lines[line].len() as usize, model[line].len());
                most = most.max(model.iter().map(VecDeque::len).sum());
            }
            prop_assert_eq!(flights.places.len(), most);
        }

        /// Packets that are inserted leave in the order of their times, those of one time as they came.
        #[test]
        fn inserted_packets_leave_by_their_times(steps in prop::collection::vec((any::<bool>(), 0u64..9), 1..200)) {
            let (mut flights, mut line, mut model) = (Flights::default(), Flight::default(), Vec::<(Time, usize)>::new());
            for (step, (push, due)) in steps.into_iter().enumerate() {
                if push {
                    let due = Time::from_ns(due);
                    let place = flights.place(due, step);
                    flights.insert(&mut line, place);
                    model.push((due, step));
                    model.sort();
                } else {
                    let place = flights.pop(&mut line, Time::NEVER);
                    let want = (!model.is_empty()).then(|| model.remove(0).1);
                    prop_assert_eq!(place.map(|place| flights.take(place)), want);
                }
                prop_assert_eq!(flights.due(&line), model.first().map_or(Time::NEVER, |head| head.0));
                prop_assert_eq!((flights.last_due(&line), line.len() as usize), (model.last().map(|last| last.0), model.len()));
            }
        }
    }
}
