//! Arithmetic of quantities against 128-bit integers, what is out of range, and quantities as JSON.

use haltere_units::{Bytes, Dur, ParamError, Prob, Probe, Rate, Serialisation, Size, Time};
use proptest::prelude::*;
use std::panic::catch_unwind;

/// Values of any size: most of the 64-bit range is large.
fn any_size() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64u32).prop_map(|(value, shift)| value >> shift)
}

/// The exact result if it fits into 64 bits; otherwise the operation must panic.
fn held<T>(exact: Option<u128>, ns: fn(T) -> u64, operation: impl FnOnce() -> T + std::panic::UnwindSafe) -> bool {
    let exact = exact.and_then(|value| u64::try_from(value).ok());
    catch_unwind(operation).ok().map(ns) == exact
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spans_are_exact_or_panic(a in any_size(), b in any_size()) {
        let (x, y, wide, other) = (Dur::from_ns(a), Dur::from_ns(b), u128::from(a), u128::from(b));
        prop_assert!(held(Some(wide + other), Dur::as_ns, || x + y));
        prop_assert!(held(wide.checked_sub(other), Dur::as_ns, || x - y));
        prop_assert!(held(Some(wide * other), Dur::as_ns, || x * b));
        prop_assert!(held(wide.checked_div(other), Dur::as_ns, || x / b));
        prop_assert_eq!(x.checked_add(y).map(Dur::as_ns), a.checked_add(b));
        prop_assert_eq!(x.saturating_add(y).as_ns(), a.saturating_add(b));
        prop_assert_eq!(x.saturating_sub(y).as_ns(), a.saturating_sub(b));
        prop_assert_eq!((x.is_zero(), x.as_us()), (a == 0, a / 1000));
        let (mut sum, mut rest) = (Dur::ZERO, x);
        sum += x;
        rest -= x;
        prop_assert_eq!((sum, rest), (x, Dur::ZERO));
    }

    #[test]
    fn times_are_exact_or_panic(a in any_size(), b in any_size()) {
        let (time, span, wide, other) = (Time::from_ns(a), Dur::from_ns(b), u128::from(a), u128::from(b));
        prop_assert!(held(Some(wide + other), Time::as_ns, || time + span));
        prop_assert!(held(wide.checked_sub(other), Dur::as_ns, || time - Time::from_ns(b)));
        prop_assert_eq!(time.checked_add(span).map(Time::as_ns), a.checked_add(b));
        prop_assert_eq!(time.saturating_sub(span).as_ns(), a.saturating_sub(b));
        prop_assert_eq!(time.since(Time::from_ns(b)).as_ns(), a.saturating_sub(b));
        let mut later = Time::ZERO;
        later += span;
        prop_assert_eq!(later.as_ns(), b);
        prop_assert_eq!(time.to_string(), Dur::from_ns(a).to_string());
    }

    #[test]
    fn bytes_are_exact_or_panic(a in any_size(), b in any_size()) {
        let (x, y, wide, other) = (Bytes::new(a), Bytes::new(b), u128::from(a), u128::from(b));
        prop_assert!(held(Some(wide + other), Bytes::as_u64, || x + y));
        prop_assert!(held(wide.checked_sub(other), Bytes::as_u64, || x - y));
        prop_assert!(held(Some(wide * other), Bytes::as_u64, || x * b));
        prop_assert!(held(wide.checked_div(other), Bytes::as_u64, || x / b));
        prop_assert_eq!(x.saturating_sub(y).as_u64(), a.saturating_sub(b));
        let (mut sum, mut rest) = (Bytes::ZERO, x);
        sum += x;
        rest -= x;
        prop_assert_eq!((sum, rest), (x, Bytes::ZERO));
        prop_assert_eq!([x, y].into_iter().map(|one| one / 2).sum::<Bytes>().as_u64(), a / 2 + b / 2);
    }

    #[test]
    fn bytes_in_a_span_and_a_rate_are_rounded_down_and_stay_in_range(
        bps in any_size(), ns in any_size(), bytes in any_size(),
    ) {
        let clamped = |exact: u128| u64::try_from(exact).unwrap_or(u64::MAX);
        let passed = u128::from(bps) * u128::from(ns) / 8_000_000_000;
        prop_assert_eq!(Rate::from_bps(bps).bytes_in(Dur::from_ns(ns)).as_u64(), clamped(passed));
        let rate = (u128::from(bytes) * 8_000_000_000).checked_div(u128::from(ns)).unwrap_or(0);
        prop_assert_eq!(Rate::of(Bytes::new(bytes), Dur::from_ns(ns)).as_bps(), clamped(rate));
    }

    // Values of which a double still has the eighths.
    #[test]
    fn a_factor_rounds_to_the_nearest(value in 0..1u64 << 44, eighths in 0..64u64) {
        let (factor, nearest) = (eighths as f64 / 8.0, (value * eighths + 4) / 8);
        prop_assert_eq!(Dur::from_ns(value).mul_f64(factor).as_ns(), nearest);
        prop_assert_eq!(Bytes::new(value).mul_f64(factor).as_u64(), nearest);
        prop_assert_eq!(Rate::from_bps(value).mul_f64(factor).as_bps(), nearest);
    }

    // Thirteen days: the two conversions together are then less than half a nanosecond wrong.
    #[test]
    fn seconds_as_a_number_are_those_of_the_nanoseconds(ns in 0..1u64 << 50) {
        prop_assert_eq!(Dur::from_secs_f64(Dur::from_ns(ns).as_secs_f64()).as_ns(), ns);
        prop_assert_eq!(Time::from_ns(ns).as_secs_f64(), Dur::from_ns(ns).as_secs_f64());
    }

    #[test]
    fn quantities_are_the_same_after_json(n in any_size(), p in 0.0..=1.0f64) {
        fn again<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(value: T) {
            let json = serde_json::to_string(&value).expect("JSON");
            assert_eq!(serde_json::from_str::<T>(&json).expect("what was written"), value);
        }
        again(Dur::from_ns(n));
        again(Time::from_ns(n));
        again(Rate::from_bps(n));
        again(Bytes::new(n));
        again(Size::Packets(n));
        again(Size::MilliBdp(n));
        again(Prob::of(p));
    }
}

#[test]
fn seconds_that_no_span_has_become_the_nearest_end_of_the_range() {
    let ns = |seconds: f64| Dur::from_secs_f64(seconds).as_ns();
    assert_eq!([ns(-1.0), ns(f64::NAN), ns(f64::NEG_INFINITY)], [0; 3]);
    assert_eq!([ns(1e300), ns(f64::INFINITY)], [u64::MAX; 2]);
    assert_eq!([ns(0.4e-9), ns(0.6e-9), ns(1.5)], [0, 1, 1_500_000_000]);
}

#[test]
fn a_line_without_a_rate_takes_no_time_and_a_rate_of_zero_takes_for_ever() {
    let mut line = Serialisation::new(None);
    assert_eq!((line.rate(), line.next(Bytes::MAX)), (None, Dur::ZERO));
    assert_eq!(Serialisation::new(Some(Rate::from_mbps(3))).rate(), Some(Rate::from_bps(3_000_000)));
    assert_eq!(Rate::ZERO.time_for(Bytes::new(1)), Dur::MAX);
    assert_eq!(Rate::of(Bytes::MAX, Dur::ZERO), Rate::ZERO);
    assert_eq!(Rate::from_bps(1).time_for(Bytes::MAX), Dur::MAX, "longer than the range");
}

/// The message of the panic in which an operation ends.
fn told<T>(operation: fn() -> T) -> String {
    let panic = catch_unwind(operation).err().expect("a panic");
    panic.downcast_ref::<String>().expect("a message with both values").clone()
}

#[test]
fn what_is_out_of_range_is_told_with_both_values() {
    assert_eq!(told(|| Time::from_ns(3) - Time::from_ns(5)), "time runs backwards: 3 ns - 5 ns");
    assert_eq!(told(|| Dur::MAX + Dur::from_ns(7)), "duration overflow: 18446744073709551615 ns + 7 ns");
    assert_eq!(told(|| Dur::from_us(1) - Dur::from_us(2)), "negative duration: 1000 ns - 2000 ns");
    assert_eq!(told(|| Dur::MAX * 2), "duration overflow: 18446744073709551615 ns * 2");
    assert_eq!(told(|| Bytes::MAX + Bytes::new(1)), "bytes out of range: 18446744073709551615 + 1");
    assert_eq!(told(|| Bytes::MAX * 3), "bytes out of range: 18446744073709551615 * 3");
}

#[test]
fn a_probability_in_json_is_a_number_or_a_text_and_nothing_else() {
    let read = |json: &str| serde_json::from_str::<Prob>(json).map_err(|error| error.to_string());
    assert_eq!(
        [read("0.02"), read("\"2%\""), read("\" 0.02 \"")],
        [Ok(Prob::of(0.02)), Ok(Prob::of(0.02)), Ok(Prob::of(0.02))]
    );
    assert_eq!([read("0"), read("1")], [Ok(Prob::ZERO), Ok(Prob::ONE)]);
    for (json, got) in
        [("1.5", "1.5"), ("-1", "-1"), ("2", "2"), ("\"two\"", "two"), ("\"101%\"", "101%"), ("\"NaN\"", "NaN")]
    {
        let error = read(json).expect_err(json);
        assert!(
            error.starts_with(&format!("must be a probability from 0 to 1 such as 0.02 or `2%`, got `{got}`")),
            "{error}"
        );
    }
    for json in ["true", "[]", "{}", "null"] {
        let error = read(json).expect_err(json);
        assert!(error.contains("a probability from 0 to 1"), "{error}");
    }
}

#[test]
fn a_quantity_in_json_is_text_with_a_unit() {
    for json in ["5", "5.0", "true", "[]", "\"5\"", "\"5 apples\"", "\"5ms 3\"", "\"1.2.3s\"", "\".s\""] {
        assert!(serde_json::from_str::<Dur>(json).is_err(), "{json}");
        assert!(serde_json::from_str::<Size>(json).is_err(), "{json}");
    }
    assert_eq!(serde_json::from_str::<Size>("\"1.25bdp\"").expect("a size"), Size::MilliBdp(1250));
    assert_eq!(Size::MilliBdp(1250).to_string(), "1.25bdp");
    assert_eq!(Size::MilliBdp(3000).to_string(), "3bdp");
}

#[test]
fn the_schema_names_each_quantity_by_its_format() {
    fn format<T: schemars::JsonSchema>() -> (String, serde_json::Value) {
        let schema = schemars::schema_for!(T);
        (T::schema_name().into_owned(), schema.get("format").expect("a format").clone())
    }
    for (name, format) in [format::<Dur>(), format::<Rate>(), format::<Bytes>(), format::<Size>(), format::<Prob>()] {
        assert_eq!(format, name);
    }
}

#[test]
fn a_wrong_parameter_is_told_with_its_rule_its_value_and_the_default() {
    let wrong = ParamError::new("target", "more than 0", "0s");
    assert_eq!(wrong.to_string(), "target must be more than 0, got 0s");
    assert_eq!(wrong.default_is("5ms").to_string(), "target must be more than 0, got 0s; the default is `5ms`");
}

#[test]
fn a_row_of_values_keeps_their_order_and_is_empty_once_cleared() {
    let mut row = Probe::new();
    row.push("count", "", 3.0);
    row.push("delay", "s", 0.5);
    assert_eq!((row.get("delay"), row.get("delays")), (Some(0.5), None));
    assert_eq!(row.values(), [("count", "", 3.0), ("delay", "s", 0.5)]);
    row.clear();
    assert_eq!((row.values().len(), row.get("count")), (0, None));
}
