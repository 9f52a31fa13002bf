//! The interval between decisions.

use haltere_units::{Dur, ParamError, Time};

/// The shortest interval that follows the round-trip time.
const LEAST: Dur = Dur::from_ms(1);

/// How long an interval lasts: until the first acknowledgement or timeout after this time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Interval {
    /// The same time always.
    Fixed(Dur),
    /// So many smoothed round-trip times, at least 1 ms.
    Rtts(f64),
    /// No time: until the next acknowledgement or timeout.
    EachAck,
}

impl Interval {
    /// Reads `20ms`, `1rtt` or `ack`.
    pub fn parse(text: &str) -> Result<Interval, ParamError> {
        let wrong = || {
            let rule = "`ack`, a duration from 100us to 1h, or from 0.1rtt to 100rtt";
            ParamError::new("interval", rule, format!("`{text}`")).hint("write for example `20ms` or `1rtt`")
        };
        if text == "ack" {
            return Ok(Interval::EachAck);
        }
        if let Some(number) = text.strip_suffix("rtt") {
            let count: f64 = number.trim().parse().map_err(|_| wrong())?;
            return if (0.1..=100.0).contains(&count) { Ok(Interval::Rtts(count)) } else { Err(wrong()) };
        }
        let span: Dur = text.parse().map_err(|_| wrong())?;
        let in_range = (Dur::from_us(100)..=Dur::from_secs(3600)).contains(&span);
        if in_range { Ok(Interval::Fixed(span)) } else { Err(wrong()) }
    }
    /// When the interval that begins at `now` is over.
    pub fn end(self, now: Time, srtt: Dur) -> Time {
        let span = match self {
            Interval::Fixed(span) => span,
            Interval::Rtts(count) => srtt.mul_f64(count).max(LEAST),
            Interval::EachAck => Dur::ZERO,
        };
        now.checked_add(span).unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_time_or_round_trips() {
        assert_eq!(Interval::parse("20ms"), Ok(Interval::Fixed(Dur::from_ms(20))));
        let rtts = Interval::parse("1.5rtt").unwrap();
        assert_eq!(rtts.end(Time::ZERO, Dur::from_ms(10)), Time::ZERO + Dur::from_ms(15));
        assert_eq!(rtts.end(Time::ZERO, Dur::from_us(10)), Time::ZERO + LEAST);
        let each = Interval::parse("ack").unwrap();
        assert_eq!(each.end(Time::ZERO, Dur::from_ms(10)), Time::ZERO);
        for wrong in ["0ms", "rtt", "acks", "0rtt", "1e9rtt", "nanrtt", "fast", "-1ms"] {
            assert!(Interval::parse(wrong).is_err(), "{wrong}");
        }
    }
}
