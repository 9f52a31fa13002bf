//! LeoEM's logs of paths over satellites.

use super::{Wrong, lines, shown};
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::keys::{defaults, kind};
use crate::limits::OPPORTUNITIES;
use haltere_plan::varying::{Capacity, Steps, Varying};
use haltere_units::{Dur, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

kind! {
    /// The kind `leoem`.
    LeoemKind, Leoem, "leoem"
}

/// A path over satellites that LeoEM computed: the delay of each second, and hand-overs (X. Cao, X. Zhang, "SaTCP",
/// INFOCOM 2023). Each line of its log has the number of the second, the nodes of the path, how many there are, the
/// delays between them in seconds, and their sum. When the first or the last satellite changes, nothing leaves for three
/// times the delays to the old and to the new one, as in LeoEM. In a second without a path nothing leaves. Waiting
/// packets stay in the link's queue; LeoEM's has 50000. After the last line the log begins again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeoemLog {
    /// The kind.
    pub kind: LeoemKind,
    /// The file, such as `Starlink_SD_NY_15_ISL_path.log`. Its path is relative to the folder of the experiment file.
    #[serde(default)]
    pub file: String,
    /// The rate while there is a path. The default is LeoEM's.
    #[serde(default = "rate")]
    pub rate: Rate,
    /// The contents instead of a file: for each second its delay and the time without a path at its start, in ns:
    /// `11509688 0`. Seconds have commas between them. One without a path is `-`.
    #[serde(default)]
    pub rows: String,
}

defaults! {
    rate: Rate = Rate::from_mbps(150);
}

const LINE: &str = "lines such as `1$[-1, 750, -2]$3$[0.0012, 0.0025]$0.0037`";
const SECOND: u64 = 1_000_000_000;

/// A second of a path: the first and the last satellite, and the delays to them and over all, in seconds.
struct Second {
    ends: [i64; 2],
    hops: [f64; 2],
    sum: f64,
}

fn list<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    inner.split(',').map(|cell| cell.trim().parse().ok()).collect()
}

/// `None`: it has no path.
fn second(line: &str) -> Option<Option<Second>> {
    let cells: Vec<&str> = line.split('$').collect();
    let [_, path, _, delays, sum] = &cells[..] else { return (cells.len() < 5).then_some(None) };
    let (path, delays) = (list::<i64>(path)?, list::<f64>(delays)?);
    let sum = sum.trim().parse().ok().filter(|sum| (0.0..100.0).contains(sum))?;
    let [_, first, .., last, _] = path[..] else {
        // A path over one satellite has three nodes.
        let [_, only, _] = path[..] else { return None };
        return Some(Some(Second { ends: [only; 2], hops: [*delays.first()?, *delays.last()?], sum }));
    };
    Some(Some(Second { ends: [first, last], hops: [*delays.first()?, *delays.last()?], sum }))
}

/// A log as the value of a key.
pub(super) fn rows(text: &str) -> Result<String, Wrong> {
    let (mut out, mut before) = (String::new(), None::<Second>);
    for (number, line) in lines(text) {
        let now = second(line).ok_or_else(|| (LINE, format!("`{}` on line {number}", shown(line))))?;
        let comma = if out.is_empty() { "" } else { "," };
        let Some(now) = now else {
            out.push_str(comma);
            out.push('-');
            before = None;
            continue;
        };
        let outage = match &before {
            None if out.is_empty() => 0.0,
            None => 3.0 * now.hops[0].max(now.hops[1]),
            Some(old) => {
                let at = |end: usize| if old.ends[end] == now.ends[end] { 0.0 } else { old.hops[end] + now.hops[end] };
                3.0 * at(0).max(at(1))
            }
        };
        let ns = |seconds: f64| (seconds * 1e9).round().clamp(0.0, 1e9 - 1.0) as u64;
        let _ = write!(out, "{comma}{} {}", (now.sum * 1e9).round() as u64, ns(outage));
        before = Some(now);
    }
    if out.contains(' ') { Ok(out) } else { Err((LINE, "no line with a path".into())) }
}

/// A text as a log.
pub(super) fn exercise(text: &str) {
    if let Ok(rows) = rows(text) {
        let log = LeoemLog { kind: LeoemKind::Leoem, file: String::new(), rate: rate(), rows };
        let _ = log.varying("x").expect("rows that were read");
    }
}

impl LeoemLog {
    /// What changes on a link that has this trace in the table `path`.
    pub(crate) fn varying(&self, path: &str) -> Result<Varying, ScenarioError> {
        let fault = |name: &str, rule: &str, got: String| Fault::new(path, name, rule, got).out_of_range();
        if self.rate == Rate::ZERO {
            return Err(fault("rate", "above zero", self.rate.to_string()));
        }
        let (mut rates, mut delays, mut count) = (Vec::new(), Vec::new(), 0);
        for (i, row) in self.rows.split(',').enumerate() {
            let at = Dur::from_secs(i as u64);
            count += 1;
            let cells = || {
                let (delay, outage) = row.trim().split_once(' ')?;
                let ns = |cell: &str, most: u64| cell.trim().parse().ok().filter(|ns| *ns < most).map(Dur::from_ns);
                Some((ns(delay, 100 * SECOND)?, ns(outage, SECOND)?))
            };
            if row.trim() == "-" {
                rates.push((at, Rate::ZERO));
                continue;
            }
            let rule = "seconds such as `11509688 0` or `-`";
            let (delay, outage) = cells().ok_or_else(|| fault("rows", rule, format!("`{}`", shown(row))))?;
            if !outage.is_zero() {
                rates.push((at, Rate::ZERO));
            }
            rates.push((at + outage, self.rate));
            delays.push((at, delay));
        }
        if delays.is_empty() || count > OPPORTUNITIES {
            return Err(fault("rows", "some seconds with a path, at most 20000000", count.to_string()));
        }
        rates.dedup_by_key(|step| step.1);
        delays.dedup_by_key(|step| step.1);
        let repeat = Some(Dur::from_secs(count as u64));
        let first = delays[0].1;
        let capacity = Capacity::Schedule(Steps { first: self.rate, steps: rates.into(), repeat });
        Ok(Varying { delay: Some(Steps { first, steps: delays.into(), repeat }), ..Varying::of(capacity) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "1$[-1, 750, 12, 1069, -2]$5$[0.001, 0.002, 0.003, 0.0005]$0.0065\n\
                       2$[-1, 750, 12, 1069, -2]$5$[0.001, 0.002, 0.003, 0.0005]$0.0064\n\
                       3$[-1, 751, 12, 1069, -2]$5$[0.002, 0.002, 0.003, 0.0005]$0.0075\n\
                       4$NULL\n\
                       5$[-1, 749, -2]$3$[0.001, 0.0015]$0.0025\n";

    #[test]
    fn each_second_has_its_delay_and_a_hand_over_its_outage() {
        // The first satellite changes in second 3: 3 * (1 + 2) ms. After a second without a path: 3 * 1.5 ms.
        let rows = rows(LOG).expect("a log");
        assert_eq!(rows, "6500000 0,6400000 0,7500000 9000000,-,2500000 4500000");
        let log = LeoemLog { kind: LeoemKind::Leoem, file: String::new(), rate: rate(), rows };
        let Varying { capacity: Capacity::Schedule(rates), delay: Some(delay), .. } = log.varying("x").expect("rows")
        else {
            panic!("a schedule")
        };
        let us = |steps: &[(Dur, Rate)]| -> Vec<(u64, u64)> {
            steps.iter().map(|(at, rate)| (at.as_us(), rate.as_bps() / 1_000_000)).collect()
        };
        let want = [(0, 150), (2_000_000, 0), (2_009_000, 150), (3_000_000, 0), (4_004_500, 150)];
        assert_eq!(us(&rates.steps), want);
        assert_eq!((rates.repeat, delay.steps.len()), (Some(Dur::from_secs(5)), 4));
    }
    #[test]
    fn what_is_no_log_is_refused() {
        let got = |text: &str| rows(text).expect_err("refused").1;
        assert_eq!(got("1$[-1, x, -2]$3$[0.1]$0.1"), "`1$[-1, x, -2]$3$[0.1]$0.1` on line 1");
        assert_eq!(got("1$NULL"), "no line with a path");
    }
}
