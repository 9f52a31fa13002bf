//! What is printed reads back as the same value, and what cannot be held exactly is refused.

use haltere_units::{Bytes, Dur, Prob, Rate, Serialisation, Size, Time};
use proptest::prelude::*;

proptest! {
    #[test]
    fn duration_reads_back(ns: u64) {
        let dur = Dur::from_ns(ns);
        prop_assert_eq!(dur.to_string().parse::<Dur>().unwrap(), dur);
    }

    #[test]
    fn rate_reads_back(bps: u64) {
        let rate = Rate::from_bps(bps);
        prop_assert_eq!(rate.to_string().parse::<Rate>().unwrap(), rate);
    }

    #[test]
    fn bytes_read_back(n: u64) {
        let bytes = Bytes::new(n);
        prop_assert_eq!(bytes.to_string().parse::<Bytes>().unwrap(), bytes);
    }

    #[test]
    fn size_reads_back(n in 0..u64::MAX / 1000, unit in 0..3) {
        let size = match unit { 0 => Size::Packets(n), 1 => Size::Bytes(n), _ => Size::MilliBdp(n) };
        prop_assert_eq!(size.to_string().parse::<Size>().unwrap(), size);
    }

    #[test]
    fn probability_reads_back(p in 0.0..=1.0) {
        let prob = Prob::new(p).unwrap();
        prop_assert_eq!(prob.to_string().parse::<Prob>().unwrap(), prob);
    }

    #[test]
    fn no_text_panics(text in ".{0,24}") {
        let _ = (text.parse::<Dur>(), text.parse::<Rate>(), text.parse::<Bytes>());
        let _ = (text.parse::<Size>(), text.parse::<Prob>());
    }

    /// n packets occupy the line for the exact time, rounded down: nothing drifts.
    #[test]
    fn serialisation_carries_the_remainder(
        bps in 1_000u64..200_000_000_000, sizes in prop::collection::vec(1u64..9001, 1..400),
    ) {
        let mut line = Serialisation::new(Some(Rate::from_bps(bps)));
        let total: Dur = sizes.iter().map(|&n| line.next(Bytes::new(n))).sum();
        let bits = u128::from(sizes.iter().sum::<u64>()) * 8;
        prop_assert_eq!(u128::from(total.as_ns()), bits * 1_000_000_000 / u128::from(bps));
    }
}

#[test]
fn experiment_file_texts() {
    assert_eq!("5ms".parse(), Ok(Dur::from_ms(5)));
    assert_eq!("1.5Gbit".parse(), Ok(Rate::from_mbps(1500)));
    assert_eq!("10 Mbit/s".parse(), Ok(Rate::from_mbps(10)));
    assert_eq!("90kB".parse(), Ok(Bytes::new(90_000)));
    assert_eq!("64KiB".parse(), Ok(Bytes::new(65_536)));
    assert_eq!("100p".parse(), Ok(Size::Packets(100)));
    assert_eq!("4bdp".parse(), Ok(Size::MilliBdp(4000)));
    assert_eq!("0.5bdp".parse(), Ok(Size::MilliBdp(500)));
    assert_eq!("2%".parse(), Ok(Prob::of(0.02)));
    assert_eq!("0".parse(), Ok(Dur::ZERO));
}

#[test]
fn errors_say_what_to_write() {
    let text = |e: haltere_units::UnitError| e.to_string();
    assert_eq!(
        text("5".parse::<Dur>().unwrap_err()),
        "must be a duration such as `5ms`, got `5`; add a unit: `ns`, `us`, `ms`, `s`"
    );
    assert_eq!(
        text("10MB".parse::<Rate>().unwrap_err()),
        "must be a rate in bit/s such as `10Mbit`, got `10MB`; did you mean `80Mbit`?"
    );
    assert_eq!(
        text("10mbit".parse::<Rate>().unwrap_err()),
        "must be a rate in bit/s such as `10Mbit`, got `10mbit`; did you mean `10Mbit`?"
    );
    assert_eq!(
        text("-3ms".parse::<Dur>().unwrap_err()),
        "must be a duration such as `5ms`, got `-3ms`; it cannot be negative"
    );
    assert_eq!(
        text("0.5ns".parse::<Dur>().unwrap_err()),
        "must be a duration such as `5ms`, got `0.5ns`; it has more decimals than the unit can hold"
    );
    assert_eq!(
        text("99999999999s".parse::<Dur>().unwrap_err()),
        "must be a duration such as `5ms`, got `99999999999s`; it is too large"
    );
    assert_eq!(
        text("100".parse::<Size>().unwrap_err()),
        "must be a size such as `100p` (packets), `90kB` or `1bdp`, got `100`; add a unit: `100p`, `100B` or `1bdp`"
    );
    assert_eq!(
        text("150%".parse::<Prob>().unwrap_err()),
        "must be a probability from 0 to 1 such as 0.02 or `2%`, got `150%`"
    );
}

#[test]
fn units_of_other_tools_are_refused_with_the_value_in_ours() {
    let hint = |e: haltere_units::UnitError| e.hint;
    for (text, ours) in
        [("20Mbps", "20Mbit"), ("20mbps", "20Mbit"), ("1.5 Gb/s", "1.5Gbit"), ("20MBps", "160Mbit"), ("64k", "64kbit")]
    {
        assert_eq!(hint(text.parse::<Rate>().unwrap_err()), format!("did you mean `{ours}`?"), "{text}");
    }
    assert_eq!(hint("5 minutes".parse::<Dur>().unwrap_err()), "did you mean `300s`?");
    assert_eq!(hint("10msec".parse::<Dur>().unwrap_err()), "did you mean `10ms`?");
    assert_eq!(hint("64KB".parse::<Bytes>().unwrap_err()), "did you mean `64kB`?");
    assert_eq!(hint("100 packets".parse::<Size>().unwrap_err()), "did you mean `100p`?");
    assert_eq!(hint("0.5 BDP".parse::<Size>().unwrap_err()), "did you mean `0.5bdp`?");
    assert_eq!(hint("1000pkts".parse::<Size>().unwrap_err()), "did you mean `1000p`?");
}

#[test]
fn ten_and_hundred_gigabit_do_not_drift() {
    for (gbit, exact_ns) in [(10u64, 1_211_200_000u64), (100, 121_120_000)] {
        let mut line = Serialisation::new(Some(Rate::from_mbps(gbit * 1000)));
        let total: Dur = (0..1_000_000).map(|_| line.next(Bytes::new(1514))).sum();
        assert_eq!(total, Dur::from_ns(exact_ns), "{gbit} Gbit/s");
    }
}

#[test]
fn a_bdp_becomes_whole_packets() {
    let (rate, rtt, packet) = (Some(Rate::from_mbps(100)), Some(Dur::from_ms(20)), Bytes::new(1514));
    assert_eq!(Size::MilliBdp(1000).resolve(rate, rtt, packet), Some(Size::Packets(165)));
    assert_eq!(Size::MilliBdp(1).resolve(rate, Some(Dur::from_us(1)), packet), Some(Size::Packets(1)));
    assert_eq!(Size::MilliBdp(1000).resolve(None, rtt, packet), None);
    assert_eq!(Size::Bytes(7).resolve(None, None, packet), Some(Size::Bytes(7)));
}

#[test]
#[should_panic(expected = "time overflow: 18446744073709551615 ns + 1 ns")]
fn overflow_of_time_names_both_values() {
    let _ = Time::NEVER + Dur::from_ns(1);
}

#[test]
#[should_panic(expected = "bytes out of range: 1 - 2")]
fn overflow_of_bytes_names_both_values() {
    let _ = Bytes::new(1) - Bytes::new(2);
}
