//! The links from one part of a network to the others: see [`parts`](crate::parts).
//!
//! The queue and the line of such a link are in the part that sends, the packets in flight in the part that receives.
//! The sender's part sends each packet [ahead of time](crate::net::ahead): when the line takes it, its time of arrival
//! is known, and it goes into the mail for the other part. There it is put on the next link at once, or joins the
//! flight of that part's own copy of the link.
//!
//! ```text
//!   sender's part:    queue ──> line ──> mail ─ ─ ┐
//!   receiver's part:                              └ ─ ─> flight ──> next link or host
//! ```

use crate::net::fabric::Fabric;
use crate::net::flight::Ahead;
use crate::net::link::SimLink;
use crate::net::packet::{Packet, Pool};
use haltere_units::Time;

/// In [`Border::to`]: the link leads to no other part.
const HERE: u32 = u32::MAX;

/// The links that lead from this part to others, and what they have sent.
#[derive(Debug, Default)]
pub(crate) struct Border {
    /// The part to which each link leads, or [`HERE`]. Empty: the network is whole.
    to: Vec<u32>,
    /// The links that lead to other parts.
    links: Vec<u32>,
    /// What leaves, by part.
    pub mail: Vec<Mail>,
}

/// Packets from one part to another, those of one link in order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// Each with the link that sent it, and the time of its arrival.
    packets: Vec<(u32, Time, Packet)>,
    /// What few packets carry.
    pool: Pool,
}

impl Border {
    /// The part to which that link leads, if it is another one.
    #[inline(always)]
    pub fn crossed_by(&self, link: u32) -> Option<u32> {
        self.to.get(link as usize).copied().filter(|part| *part != HERE)
    }
}

impl Mail {
    /// When the first of the packets arrives.
    pub fn first(&self) -> Time {
        self.packets.iter().map(|(_, due, _)| *due).min().unwrap_or(Time::NEVER)
    }
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

impl Fabric {
    /// The network is one of so many parts, of which `to` tells for each link the one to which it leads from this one, if
    /// it leads to another.
    pub fn set_border(&mut self, parts: usize, to: impl Iterator<Item = Option<u32>>) {
        let to: Vec<u32> = to.map(|part| part.unwrap_or(HERE)).collect();
        let links = (0..).zip(&to).filter(|(_, part)| **part != HERE).map(|(link, _)| link).collect();
        self.border = Border { to, links, mail: (0..parts).map(|_| Mail::default()).collect() };
    }
    /// Links to other parts send ahead of time.
    pub fn send_over_border(&mut self) {
        for &link in &self.border.links {
            self.links[link as usize].send_in_windows_as(link);
        }
    }
    /// A packet leaves for that part.
    pub fn post(&mut self, part: u32, Ahead { from, place }: Ahead) {
        let (_, due) = self.pool.flights.get_mut(place);
        let packet = self.pool.flights.take(place);
        let mail = &mut self.border.mail[part as usize];
        let packet = mail.pool.adopt(packet, &mut self.pool);
        mail.packets.push((from, due, packet));
    }
    /// Packets come from another part.
    pub fn take_in(&mut self, mail: &mut Mail) {
        for (from, due, packet) in mail.packets.drain(..) {
            let packet = self.pool.adopt(packet, &mut mail.pool);
            let place = self.pool.flights.place(due, packet);
            let next = self.paths[packet.header.cursor as usize];
            if self.links.get(next as usize).is_some_and(SimLink::accepts_ahead) {
                self.pool.ahead.push(Ahead { from, place });
            } else {
                let next = self.links[from as usize].join_flight(place, &mut self.pool.flights);
                self.schedule_next(from, next);
            }
        }
        self.send_ahead();
    }
    /// Sends what leaves for other parts by now. Returns when something is next to be done here or, on account of what
    /// left, elsewhere.
    pub fn close_window(&mut self) -> Time {
        let mut next = self.events.next_at();
        for at in 0..self.border.links.len() {
            let link = self.border.links[at] as usize;
            next = next.min(self.links[link].send_all_until(self.now, &mut self.pool));
        }
        self.send_ahead();
        self.border.mail.iter().fold(next, |next, mail| next.min(mail.first()))
    }
}
