//! CUBIC in its Reno-friendly region, RFC 9438 section 4.3: the pace of Reno with CUBIC's reduction until the window is
//! what it was at the last loss, then that of Reno. The constant C is so small that the cubic function itself hardly
//! grows. A round trip is longer than the 31 ms for which the pace is kept if the window is.

use haltere_congestion::{AckEvent, CongestionControl, CongestionParams, Control, LossEvent, LossKind, SenderContext};
use haltere_units::{Bytes, Dur, Time};

const MSS: u64 = 1000;
const RTT: Dur = Dur::from_ms(40);

/// Acknowledges windows until the window has so many segments; round trips that it took.
fn rounds_to(control: &mut Control, now: &mut Time, target: u64) -> u64 {
    let mut rounds = 0;
    while control.cwnd().as_u64() < target * MSS {
        *now += RTT;
        rounds += 1;
        for _ in 0..control.cwnd().as_u64() / MSS {
            let mut ev = AckEvent::at(*now);
            (ev.acked, ev.delivered, ev.cwnd_limited) = (Bytes::new(MSS), Bytes::new(MSS), true);
            (ev.rtt, ev.srtt, ev.min_rtt) = (Some(RTT), RTT, RTT);
            control.on_ack(&ev);
        }
        assert!(rounds < 10_000, "stuck at {}", control.cwnd());
    }
    rounds
}

/// Round trips from 70 to 100 segments, the window at the loss, and from 100 to 130.
fn rounds(reno_friendly: &str) -> (u64, u64) {
    let params: CongestionParams =
        serde_json::from_str(&format!(r#"{{"kind": "cubic", "c": 1e-9, "reno_friendly": "{reno_friendly}"}}"#))
            .expect("cubic");
    let sender =
        SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(100 * MSS), seed: 7, ..Default::default() };
    let (mut control, mut now) = (Control::new(&params, &sender).expect("its defaults"), Time::ZERO);
    control.on_loss(&LossEvent::at(now, LossKind::Loss));
    assert_eq!(control.cwnd().as_u64(), 70 * MSS);
    (rounds_to(&mut control, &mut now, 100), rounds_to(&mut control, &mut now, 130))
}

#[test]
fn rfc_9438_takes_the_pace_of_reno_once_the_window_is_back() {
    // alpha = 3 (1 - 0.7) / (1 + 0.7) = 0.53 segments a round trip: 30 segments take 57. Then one a round trip.
    let (below, above) = rounds("rfc9438");
    assert!((54..=62).contains(&below), "{below}");
    assert!((28..=35).contains(&above), "{above}");
}

#[test]
fn linux_keeps_its_pace() {
    // 15/8 round trips a segment, below and above.
    let (below, above) = rounds("linux");
    assert!((54..=62).contains(&below) && (54..=62).contains(&above), "{below}, {above}");
}
