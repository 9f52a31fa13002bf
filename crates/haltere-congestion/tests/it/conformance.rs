//! What every control of the registry keeps to, whatever happens to it.

use haltere_congestion::{
    AckEvent, CongestionControl, CongestionParams, Control, LossEvent, LossKind, RateSample, RestartEvent, RtoEvent,
    SenderContext,
};
use haltere_units::{Bytes, Dur, Probe, Rate, Time};
use proptest::prelude::*;

pub(crate) const MSS: u64 = 1448;

pub(crate) fn sender() -> SenderContext {
    SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(10 * MSS), seed: 7, ..Default::default() }
}
fn every() -> impl Iterator<Item = (&'static str, Control)> {
    CongestionParams::NAMES
        .iter()
        .map(|name| (*name, Control::new(&CongestionParams::default_of(name).unwrap(), &sender()).unwrap()))
}

/// One thing that happens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Ack { segments: u64, bytes: u64, lost: u64, ce: bool, rtt_us: Option<u64>, limited: bool, recovery: u8, rate: bool },
    Loss(bool),
    Rto(bool, u64),
    Recovered,
    Spurious,
    Restart(u64),
    EarlyCe(u64),
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let ack = (
        0u64..64,
        0..MSS,
        prop_oneof![9 => Just(0u64), 1 => 1u64..20],
        any::<bool>(),
        proptest::option::of(1u64..2_000_000),
        any::<bool>(),
        0u8..6,
        any::<bool>(),
    )
        .prop_map(|(segments, bytes, lost, ce, rtt_us, limited, recovery, rate)| Step::Ack {
            segments,
            bytes,
            lost,
            ce,
            rtt_us,
            limited,
            recovery,
            rate,
        });
    prop_oneof![
        20 => ack,
        2 => any::<bool>().prop_map(Step::Loss),
        1 => (any::<bool>(), 0u64..20).prop_map(|(first, left)| Step::Rto(first, left)),
        1 => Just(Step::Recovered),
        1 => Just(Step::Spurious),
        1 => (0u64..20_000).prop_map(Step::Restart),
        1 => (0u64..100_000).prop_map(Step::EarlyCe),
    ]
}

/// Plays steps and returns the window, the threshold, the rate and the probe after each.
pub(crate) fn play(control: &mut Control, steps: &[(u64, Step)]) -> Vec<(Bytes, Bytes, Option<Rate>, String)> {
    let (mut now, mut una, mut delivered, mut lost_in_all) = (Time::ZERO, 0u64, 0u64, 0u64);
    let mut rows = Vec::new();
    for &(wait_us, step) in steps {
        now += Dur::from_us(wait_us);
        match step {
            Step::Ack { segments, bytes, lost, ce, rtt_us, limited, recovery, rate } => {
                let amount = segments * MSS + bytes;
                let prior = delivered;
                una += amount;
                delivered += amount;
                lost_in_all += lost * MSS;
                let mut ev = AckEvent::at(now);
                (ev.acked, ev.delivered, ev.lost) = (Bytes::new(amount), Bytes::new(amount), Bytes::new(lost * MSS));
                ev.ce = if ce { ev.delivered } else { Bytes::ZERO };
                ev.ece = ce;
                ev.rtt = rtt_us.map(Dur::from_us);
                ev.srtt = ev.rtt.unwrap_or(Dur::from_ms(50));
                ev.min_rtt = ev.srtt;
                ev.prior_in_flight = control.cwnd();
                ev.in_flight = control.cwnd() / 2;
                (ev.snd_una, ev.snd_nxt) = (una, una + control.cwnd().as_u64());
                ev.cwnd_limited = limited;
                (ev.in_recovery, ev.in_rto_recovery) = (recovery == 1, recovery == 2);
                if rate {
                    let mut sample = RateSample::new(Bytes::new(amount), ev.srtt);
                    sample.prior_delivered = prior.saturating_sub(20 * MSS);
                    sample.total_delivered = delivered;
                    (sample.lost, sample.total_lost) = (ev.lost, lost_in_all);
                    sample.tx_in_flight = ev.prior_in_flight;
                    sample.app_limited = !limited;
                    ev.rate = Some(sample);
                }
                control.on_ack(&ev);
            }
            Step::Loss(ecn) => {
                control.on_loss(&LossEvent::at(now, if ecn { LossKind::Ecn } else { LossKind::Loss }));
            }
            Step::Rto(first, left) => {
                let mut ev = RtoEvent::at(now);
                (ev.first, ev.still_in_flight) = (first, Bytes::new(left * MSS));
                control.on_rto(&ev);
            }
            Step::Recovered => control.on_recovered(now),
            Step::Spurious => control.on_spurious(now),
            Step::Restart(ms) => {
                let mut ev = RestartEvent::at(now);
                (ev.idle, ev.rto) = (Dur::from_ms(ms), Dur::from_ms(200));
                control.on_restart(&ev);
            }
            Step::EarlyCe(bytes) => {
                control.on_early_ce(now, Bytes::new(bytes));
            }
        }
        let mut probe = Probe::new();
        control.probe(&mut probe);
        rows.push((control.cwnd(), control.ssthresh(), control.pacing_rate(), format!("{:?}", probe.values())));
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_stay_sane_and_runs_repeat(steps in proptest::collection::vec((0u64..300_000, step()), 1..300)) {
        for (name, mut control) in every() {
            let mut twin = control.clone();
            let rows = play(&mut control, &steps);
            for (i, (cwnd, ssthresh, rate, probe)) in rows.iter().enumerate() {
                prop_assert!(cwnd.as_u64() >= MSS, "{name}: window {cwnd} after {:?}", steps[i]);
                prop_assert!(cwnd.as_u64() <= MSS * u64::from(u32::MAX), "{name}: window {cwnd}");
                prop_assert!(ssthresh.as_u64() >= 2 * MSS, "{name}: threshold {ssthresh} after {:?}", steps[i]);
                prop_assert!(*rate != Some(Rate::ZERO), "{name}: rate zero after {:?}", steps[i]);
                prop_assert!(!probe.contains("NaN"), "{name}: {probe}");
            }
            prop_assert_eq!(rows, play(&mut twin, &steps), "{} is not deterministic", name);
        }
    }
}

/// A window is never above what it began with plus all that was ever delivered.
#[test]
fn no_window_grows_without_delivery() {
    for (name, mut control) in every() {
        let before = control.cwnd();
        for ms in 0..100 {
            let mut ev = AckEvent::at(Time::ZERO + Dur::from_ms(ms));
            ev.cwnd_limited = true;
            ev.rtt = Some(Dur::from_ms(40));
            control.on_ack(&ev);
        }
        assert!(control.cwnd() <= before, "{name}: {before} to {}", control.cwnd());
    }
}

#[test]
fn parameters_survive_being_written_and_read() {
    for name in CongestionParams::NAMES {
        let params = CongestionParams::default_of(name).unwrap();
        let text = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<CongestionParams>(&text).unwrap(), params, "{text}");
        let bare = format!("{{\"kind\":\"{name}\"}}");
        assert_eq!(
            serde_json::from_str::<CongestionParams>(&bare).unwrap(),
            params,
            "defaults fill what is not written"
        );
        let wrong = format!("{{\"kind\":\"{name}\",\"no_such_parameter\":1}}");
        assert!(serde_json::from_str::<CongestionParams>(&wrong).is_err(), "{name} takes what it does not know");
    }
    assert!(CongestionParams::default_of("none").is_none());
}

#[test]
fn every_control_names_its_source_and_every_parameter_its_meaning() {
    let schema = serde_json::to_value(schemars::schema_for!(CongestionParams)).unwrap();
    let variants = schema["oneOf"].as_array().unwrap();
    assert_eq!(variants.len(), CongestionParams::NAMES.len());
    for control in variants {
        let text = control["description"].as_str().unwrap_or("");
        for part in ["\n\nSource: ", "\n\nDeviations: ", "\n\nKnown problems: "] {
            assert!(text.contains(part), "no `{}` in the description of Params: {text}", part.trim());
        }
        for (name, parameter) in control["properties"].as_object().unwrap().iter().filter(|(name, _)| *name != "kind") {
            let text = parameter["description"].as_str().unwrap_or("");
            assert!(text.len() > 10, "{name} has no description");
            // The value stands in `impl Default` alone, from which the schema has it.
            assert!(!text.contains("Default "), "{name} repeats its default: {text}");
            let has_default = parameter.get("default").is_some_and(|value| !value.is_null());
            assert!(has_default || text.contains("Left out: "), "{name} says nothing of being left out: {text}");
        }
    }
}
