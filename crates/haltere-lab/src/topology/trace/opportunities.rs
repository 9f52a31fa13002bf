//! Traces of delivery opportunities: Mahimahi's format.

use super::{Wrong, lines, shown};
use crate::error::{Fault, FaultKind, ScenarioError, refuse_if};
use crate::keys::kind;
use crate::limits::OPPORTUNITIES;
use haltere_plan::varying;
use haltere_units::{Bytes, Dur};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

kind! {
    /// The kind `mahimahi`.
    MahimahiKind, Mahimahi, "mahimahi"
}

/// A trace of delivery opportunities.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Trace")]
pub struct Opportunities {
    /// The kind. A table without it is of this one.
    #[serde(skip_serializing)]
    pub kind: MahimahiKind,
    /// The file. Its path is relative to the folder of the experiment file. Each line has the time of one delivery
    /// opportunity in whole milliseconds from the start, in order (Mahimahi's format). The last time is the period
    /// after which the trace begins again.
    pub file: String,
    /// Bytes that each opportunity delivers. If it is not given, it is a full packet of 1500 bytes with its `framing`.
    /// Mahimahi's own 1504 bytes have 4 of framing.
    pub opportunity: Option<Bytes>,
    /// How far into the trace the run begins.
    pub offset: Dur,
    /// The contents instead of a file: milliseconds from each opportunity to the next. `1x12` stands for twelve times
    /// 1.
    pub gaps: String,
}

impl Opportunities {
    /// The instants of the trace. Bytes that are not given are those of a full packet, which the caller knows.
    pub(crate) fn instants(&self, path: &str) -> Result<varying::Trace, ScenarioError> {
        let fault = |rule: &str, got: String| Fault::new(path, "gaps", rule, got).out_of_range();
        let mut instants = Vec::new();
        let mut now = 0u64;
        for token in self.gaps.split_whitespace() {
            let (gap, count) = token.split_once('x').unwrap_or((token, "1"));
            let (Ok(gap), Ok(count)) = (gap.parse::<u32>(), count.parse::<usize>()) else {
                return Err(fault("milliseconds such as `3` or `1x12`", format!("`{token}`")));
            };
            if count > OPPORTUNITIES - instants.len() {
                return Err(fault(&format!("at most {OPPORTUNITIES} opportunities"), "more".into()));
            }
            if now + u64::from(gap) * count as u64 > u64::from(u32::MAX) {
                return Err(fault(
                    &format!("gaps with a sum of at most {}", Dur::from_ms(u64::from(u32::MAX))),
                    "more".into(),
                ));
            }
            instants.extend((0..count).map(|_| {
                now += u64::from(gap);
                Dur::from_ms(now)
            }));
        }
        if now == 0 {
            return Err(fault("gaps with a sum above zero", format!("{} that last 0ms", instants.len())));
        }
        refuse_if!(self.opportunity == Some(Bytes::ZERO), Fault::new(path, "opportunity", "at least 1B", Bytes::ZERO));
        if self.offset.as_ns() >= now * 1_000_000 {
            let rule = format!("less than the trace's {}", Dur::from_ms(now));
            return Err(Fault::new(path, "offset", rule, self.offset).out_of_range());
        }
        let opportunity = self.opportunity.unwrap_or(Bytes::ZERO);
        Ok(varying::Trace { instants: instants.into(), opportunity, offset: self.offset })
    }
}

/// The times of a file as gaps, runs of equal ones together; blank lines and those that begin with `#` count for
/// nothing.
pub(super) fn gaps(text: &str) -> Result<String, Wrong> {
    let mut out = String::new();
    let (mut last, mut run) = (0u64, (0u64, 0usize));
    let flush = |(gap, count): (u64, usize), out: &mut String| {
        let blank = if out.is_empty() { "" } else { " " };
        let _ = match count {
            0 => Ok(()),
            1 => write!(out, "{blank}{gap}"),
            _ => write!(out, "{blank}{gap}x{count}"),
        };
    };
    for (number, line) in lines(text) {
        let time: u32 = line.parse().map_err(|_| {
            ("a file of delivery times in whole ms, one a line", format!("`{}` on line {number}", shown(line)))
        })?;
        let gap = u64::from(time).checked_sub(last).ok_or_else(|| {
            let got = format!("{time} after {last} on line {number}");
            ("a file of delivery times in order", got)
        })?;
        last = u64::from(time);
        if gap == run.0 && run.1 > 0 {
            run.1 += 1;
        } else {
            flush(run, &mut out);
            run = (gap, 1);
        }
    }
    flush(run, &mut out);
    match (out.is_empty(), last) {
        (true, _) => Err(("a file of at least one delivery time", "none".into())),
        (_, 0) => Err(("a file whose last delivery time, its period, is above zero", "0".into())),
        _ => Ok(out),
    }
}

/// A text as a trace file and as gaps.
pub(super) fn exercise(text: &str) {
    let _ = Opportunities { gaps: text.into(), ..Opportunities::default() }.instants("x");
    let Ok(gaps) = gaps(text) else { return };
    let times: Vec<Dur> = lines(text).map(|(_, line)| Dur::from_ms(line.parse().expect("a number"))).collect();
    let trace =
        Opportunities { gaps, ..Opportunities::default() }.instants("x").expect("the gaps of a trace that was read");
    assert_eq!(trace.instants.as_ref(), times.as_slice());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_stand_for_the_times_of_the_file() {
        let read = gaps("# a comment\n1\n2\n3\n\n3\n7\n").expect("times");
        assert_eq!(read, "1x3 0 4");
        let trace = Opportunities { gaps: read, ..Opportunities::default() }.instants("").expect("gaps");
        let ms: Vec<u64> = trace.instants.iter().map(|t| t.as_ns() / 1_000_000).collect();
        assert_eq!(ms, [1, 2, 3, 3, 7]);
    }
}
