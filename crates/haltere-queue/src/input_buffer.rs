//! Input buffer: the buffer between the ports of a software switch and its ingress thread, as BMv2 has it.
//! Model:
//!
//! ```text
//!   recirculated ----------------------------------> its own buffer, served first --+
//!   port 1 --> socket --+                                                           +--> ingress thread
//!   port 2 --> socket --+--> reader, a packet of each port in turn --> buffer ------+
//!   port 3 --> socket --+    (waits while the buffer is full)
//! ```
//!
//! The port of a packet is its source address. Units: packets or bytes, as the limits are written. Cost: O(ports) a
//! packet while the buffer is full, else O(1).

use crate::{Backlog, Bound, CONTROL, DropReason, Fate, LinkContext, Pkt, Qdisc, Store};
use alloc::vec::Vec;
use haltere_units::{ParamError, Probe, Size, Time};

haltere_units::params! {
    /// One first-in first-out buffer for all ports; while it is full, packets wait in a socket for each port.
    ///
    /// When the buffer has room again, the sockets are read in turn. Packets of the priority 7 (control), such as
    /// copies that the switch recirculates, have a buffer of their own, which is served first.
    ///
    /// Source: BMv2, `simple_switch` (its input buffer of 1,024 packets blocks the thread that reads the ports, and
    /// holds recirculated packets apart).
    ///
    /// Deviations: the thread that reads the ports takes no time.
    ///
    /// Known problems: a port is recognised by its packets' source address, so there must be one host at each port.
    pub struct Params {
        /// Packet or byte limit of the buffer, and of that for recirculated packets, above 0. The default is BMv2's.
        pub limit: Size = Size::Packets(1024);
        /// Packet or byte limit of each port's socket, above 0. libpcap's 2 MiB hold about 1,300 packets of 1500 bytes.
        /// Left out: a packet that arrives at the full buffer is dropped.
        pub socket: Option<Size> = None;
    }
}

/// What waits at one port.
#[derive(Debug, Clone)]
struct Socket<P> {
    source: u128,
    store: Store<P>,
}

/// The input buffer of a switch, and the sockets of its ports.
#[derive(Debug, Clone)]
pub struct InputBuffer<P> {
    recirculated: Store<P>,
    buffer: Store<P>,
    limit: Bound,
    socket: Option<Bound>,
    sockets: Vec<Socket<P>>,
    /// Which socket is read next.
    next: usize,
    /// Packets and bytes in all sockets.
    blocked: Backlog,
}

impl<P: Pkt> InputBuffer<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        let limit = Bound::new(link.resolve(params.limit))?;
        let socket = params.socket.map(|socket| Bound::new(link.resolve(socket))).transpose();
        Ok(InputBuffer {
            recirculated: Store::within(limit),
            buffer: Store::within(limit),
            limit,
            socket: socket.map_err(|e| ParamError { name: "socket".into(), ..e })?,
            sockets: Vec::new(),
            next: 0,
            blocked: Backlog::default(),
        })
    }
    /// The packet waits in the socket of its port, if there is room.
    fn block(&mut self, now: Time, pkt: P, bound: Bound) -> Result<(), P> {
        let (source, len) = (pkt.flow().src, pkt.len());
        let known = self.sockets.iter().position(|socket| socket.source == source);
        let index = known.unwrap_or_else(|| {
            self.sockets.push(Socket { source, store: Store::within(bound) });
            self.sockets.len() - 1
        });
        self.sockets[index].store.push(now, pkt)?;
        self.blocked.add(len);
        Ok(())
    }
    /// Reads the sockets, a packet of each in turn, while the buffer has room.
    fn unblock(&mut self) {
        while self.blocked.packets > 0 {
            let count = self.sockets.len();
            let in_turn = (self.next..self.next + count).map(|i| i % count);
            let Some(index) = in_turn.into_iter().find(|&i| !self.sockets[i].store.is_empty()) else { return };
            let store = &mut self.sockets[index].store;
            if !store.get(0).is_some_and(|pkt| self.buffer.fits(pkt.len())) {
                return;
            }
            let Some((came, pkt)) = store.pop() else { return };
            self.next = index + 1;
            self.blocked.remove(pkt.len());
            self.buffer.append(came, pkt);
        }
    }
}

impl<P: Pkt> Qdisc<P> for InputBuffer<P> {
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        let kept = if pkt.priority() == CONTROL {
            self.recirculated.push(now, pkt)
        } else if self.blocked.packets == 0 && self.buffer.fits(pkt.len()) {
            self.buffer.push(now, pkt)
        } else if let Some(socket) = self.socket
            // A packet longer than the whole buffer would block its port for ever.
            && self.limit.fits(Backlog::default(), pkt.len())
        {
            self.block(now, pkt, socket)
        } else {
            Err(pkt)
        };
        if let Err(pkt) = kept {
            fate.dropped(pkt, DropReason::Overlimit);
        }
    }
    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let (_, pkt) = self.recirculated.pop().or_else(|| self.buffer.pop())?;
        self.unblock();
        Some(pkt)
    }
    fn backlog(&self) -> Backlog {
        self.recirculated.backlog() + self.buffer.backlog() + self.blocked
    }
    fn probe(&self, row: &mut Probe) {
        row.push("returned_packets", "packets", f64::from(self.recirculated.backlog().packets));
        row.push("socket_packets", "packets", f64::from(self.blocked.packets));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};

    fn queue(limit: u64, socket: Option<u64>) -> (InputBuffer<TestPkt>, Recorder) {
        let params = Params { limit: Size::Packets(limit), socket: socket.map(Size::Packets) };
        (InputBuffer::new(&params, &link()).unwrap(), Recorder::new(1))
    }
    fn from(id: u64, src: u8) -> TestPkt {
        TestPkt { src, ..TestPkt::new(id, 1500) }
    }
    fn drain(q: &mut InputBuffer<TestPkt>, fate: &mut Recorder) -> Vec<u64> {
        core::iter::from_fn(|| q.dequeue(Time::ZERO, fate)).map(|p| p.id).collect()
    }

    #[test]
    fn a_full_buffer_blocks_and_the_ports_are_read_in_turn() {
        let (mut q, mut fate) = queue(1, Some(3));
        for (id, src) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 3), (6, 5)] {
            q.enqueue(Time::ZERO, from(id, src), &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [4], "the socket of port 1 is full");
        assert_eq!(drain(&mut q, &mut fate), [0, 1, 5, 6, 2, 3]);
        assert_eq!(q.backlog(), Backlog::default());
    }

    #[test]
    fn without_sockets_a_full_buffer_drops() {
        let (mut q, mut fate) = queue(2, None);
        (0..3).for_each(|id| q.enqueue(Time::ZERO, from(id, 1), &mut fate));
        assert_eq!(fate.dropped_ids(), [2]);
    }

    #[test]
    fn a_packet_longer_than_the_buffer_blocks_no_port() {
        let params = Params { limit: Size::Bytes(1000), socket: Some(Size::Packets(9)) };
        let (mut q, mut fate) = (InputBuffer::new(&params, &link()).unwrap(), Recorder::new(1));
        q.enqueue(Time::ZERO, from(0, 1), &mut fate);
        q.enqueue(Time::ZERO, TestPkt::new(1, 900), &mut fate);
        assert_eq!((fate.dropped_ids(), drain(&mut q, &mut fate)), (alloc::vec![0], alloc::vec![1]));
    }

    #[test]
    fn recirculated_packets_are_served_first_and_do_not_fill_the_buffer() {
        let (mut q, mut fate) = queue(1, None);
        q.enqueue(Time::ZERO, from(0, 1), &mut fate);
        q.enqueue(Time::ZERO, from(1, 2).priority(CONTROL), &mut fate);
        assert_eq!(drain(&mut q, &mut fate), [1, 0]);
        assert!(fate.dropped.is_empty());
    }
}
