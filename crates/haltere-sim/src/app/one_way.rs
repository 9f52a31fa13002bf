//! One-way delay, jitter and loss of a stream of UDP packets.
//! Source: RFC 3550 section 6.4.1 (interarrival jitter) and appendix A.3 (packets lost). Deviations: jitter is computed
//! with fractions; packet numbers have 32 bits and do not wrap.
//! Model: for packets i - 1 and i in order of arrival D = transit(i) - transit(i - 1), and J += (|D| - J) / 16. The
//! result is the mean of J over the packets. Only packets that were sent in the measured window count.

use super::Asked;
use crate::net::packet::Datagram;
use haltere_plan::Histogram;
use haltere_plan::record::{DelayOf, DelayRecord};
use haltere_units::{Dur, Time};

/// What a sink measures.
#[derive(Debug)]
pub(crate) struct OneWay {
    asked: Asked,
    delays: Histogram,
    last_transit: Option<Dur>,
    /// `J`, in ns.
    jitter_ns: f64,
    /// The sum of `J` over the packets but the first.
    jitter_sum_ns: f64,
    /// The least and the largest number that arrived.
    numbers: Option<(u32, u32)>,
}

impl OneWay {
    /// A sink's measures, if the plan asks for them.
    pub fn asked(asked: Asked) -> Option<Box<OneWay>> {
        let new = OneWay {
            asked,
            delays: Histogram::default(),
            last_transit: None,
            jitter_ns: 0.0,
            jitter_sum_ns: 0.0,
            numbers: None,
        };
        asked.window.map(|_| Box::new(new))
    }
    pub fn arrived(&mut self, now: Time, packet: &Datagram) {
        if !self.asked.measures_at(packet.sent) {
            return;
        }
        let transit = now.since(packet.sent);
        self.delays.add(transit);
        let (low, high) = self.numbers.unwrap_or((packet.seq, packet.seq));
        self.numbers = Some((low.min(packet.seq), high.max(packet.seq)));
        if let Some(last) = self.last_transit.replace(transit) {
            let difference = transit.as_ns().abs_diff(last.as_ns()) as f64;
            self.jitter_ns += (difference - self.jitter_ns) / 16.0;
            self.jitter_sum_ns += self.jitter_ns;
        }
    }
    /// What was measured of that flow.
    pub fn record(&self, flow: u32) -> DelayRecord {
        let expected = self.numbers.map_or(0, |(low, high)| u64::from(high - low) + 1);
        let steps = self.delays.count().saturating_sub(1);
        DelayRecord {
            jitter: (steps > 0).then(|| Dur::from_ns((self.jitter_sum_ns / steps as f64) as u64)),
            expected,
            lost: expected.saturating_sub(self.delays.count()),
            ..DelayRecord::new(DelayOf::OneWay(flow), self.delays.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Dur::from_ms(n)
    }

    #[test]
    fn jitter_and_loss_follow_rfc_3550() {
        let asked = Asked { window: Some((Time::ZERO, Time::NEVER)), senders: false, ..Asked::default() };
        let mut sink = OneWay::asked(asked).expect("it was asked for");
        // Sent every 20 ms; transit times 10, 14 and 10 ms; number 3 is lost, and 5 has not been sent.
        for (seq, sent, arrives) in [(1, 0, 10), (2, 20, 34), (4, 60, 70)] {
            sink.arrived(ms(arrives), &Datagram { sent: ms(sent), seq, payload: 160 });
        }
        let record = sink.record(7);
        assert_eq!((record.expected, record.lost, record.histogram.count()), (4, 1, 3));
        // J: 4 ms / 16 = 250 us, then 250 us + (4 ms - 250 us) / 16 = 484.375 us; their mean.
        assert_eq!(record.jitter, Some(Dur::from_ns(367_187)));
        assert_eq!(record.histogram.max(), Some(Dur::from_ms(14)));
    }
    #[test]
    fn packets_sent_outside_the_window_do_not_count() {
        let asked = Asked { window: Some((ms(100), ms(200))), senders: false, ..Asked::default() };
        let mut sink = OneWay::asked(asked).expect("it was asked for");
        for (seq, sent) in [(1, 90), (2, 110), (3, 210)] {
            sink.arrived(ms(sent + 300), &Datagram { sent: ms(sent), seq, payload: 160 });
        }
        assert_eq!((sink.record(0).expected, sink.record(0).histogram.count()), (1, 1));
    }
}
