//! What is far from the sender: the bottleneck and the receiver.

use super::{AckInfo, Event, Flow, MSS, WIRE};
use haltere_units::{Bytes, Dur};

impl Flow {
    // The bottleneck.

    fn count_queue(&mut self) {
        self.queue_seconds += self.queue.len() as f64 * self.now.since(self.last_queue_change).as_secs_f64();
        self.last_queue_change = self.now;
    }
    pub(super) fn arrive(&mut self, seq: u64, order: u64) {
        if self.queue.len() >= self.path.limit {
            self.drops += 1;
            let cwnd = self.cwnd();
            self.first_drop.get_or_insert((self.now, cwnd));
            return;
        }
        let ce = self.path.mark.is_some_and(|mark| self.queue.len() >= mark);
        self.marks += u64::from(ce);
        self.count_queue();
        self.queue.push_back((seq, order, ce));
        self.transmit();
    }
    pub(super) fn transmit(&mut self) {
        // A bucket of one packet: after an idle time two leave together.
        let span = self.path.rate.time_for(Bytes::new(WIRE));
        while !self.busy && !self.queue.is_empty() {
            self.count_queue();
            let (seq, order, ce) = self.queue.pop_front().unwrap();
            self.at(self.now, Event::Receive(seq, order, ce));
            self.free = self.free.max(self.now.saturating_sub(span)) + span;
            if self.free > self.now {
                self.busy = true;
                self.at(self.free, Event::Transmit);
            }
        }
    }

    // The receiver.

    pub(super) fn receive(&mut self, seq: u64, ce: bool) {
        self.bytes_received += MSS;
        self.pending.push((seq, ce));
        let hole = !self.beyond.is_empty() || seq != self.expected;
        if seq == self.expected {
            self.expected += 1;
            while self.beyond.remove(&self.expected).is_some() {
                self.expected += 1;
            }
        } else if seq > self.expected {
            self.beyond.insert(seq, ());
        }
        // With marks each change is told at once (RFC 8257 section 3.2); here every packet while they come.
        if hole || self.pending.len() >= 2 || self.expected < 16 || ce {
            self.acknowledge();
        } else {
            self.ack_timer += 1;
            self.at(self.now + Dur::from_ms(40), Event::DelayedAck(self.ack_timer));
        }
    }
    pub(super) fn acknowledge(&mut self) {
        let info = AckInfo { upto: self.expected, received: std::mem::take(&mut self.pending) };
        self.sequence += 1;
        let id = self.sequence;
        self.acks.insert(id, info);
        self.at(self.now + self.path.rtt, Event::Ack(id));
    }
}
