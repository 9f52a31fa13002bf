//! Traces of rate, delay and loss: plain CSV and TheaterQ's format, which is converted to that.

use super::{Wrong, lines, shown};
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::keys::kind;
use crate::limits::{LONGEST, OPPORTUNITIES};
use haltere_plan::varying::Steps;
use haltere_units::{Dur, Prob, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt::Write;

kind! {
    /// The kind `csv`.
    CsvKind, Csv, "csv"
}
kind! {
    /// The kind `theaterq`.
    TheaterqKind, Theaterq, "theaterq"
}

/// Rate, delay and loss over time in a CSV file. The first line names the columns: `time` and some of `rate`, `delay`,
/// `loss` and `limit`. Each further line says what holds from its time on; the first time is 0. Values are written as
/// in an experiment (`1.5s`, `10Mbit`, `20ms`, `1%`). A number without unit is in seconds or bit/s. `limit` is the
/// number of packets that may wait: one that arrives and finds so many is dropped. The link must not give what a column
/// gives.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CsvTrace {
    /// The kind.
    pub kind: CsvKind,
    /// The file and how it is read.
    #[serde(flatten)]
    pub rows: Rows,
}

/// A trace file of TheaterQ in its simple format, `KEEP,LATENCY,RATE,LOSS,LIMIT`: for how many microseconds the line
/// holds, delay in ns, rate in bit/s, loss as a share of 2^32 - 1, and how many packets may wait. The extended format
/// is read, too, if its jitter and duplication are zero. Differences: packets are lost on the line and not before the
/// queue; those in flight do not count for `LIMIT`; and no packet overtakes another, as with one `ROUTE_ID` other than
/// 0 throughout.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TheaterqTrace {
    /// The kind.
    pub kind: TheaterqKind,
    /// The file and how it is read.
    #[serde(flatten)]
    pub rows: Rows,
}

/// Rows of a trace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rows {
    /// The file. Its path is relative to the folder of the experiment file.
    pub file: String,
    /// What comes after the last row: its values hold (`hold`), or the trace begins again at its time (`loop`).
    pub cont: Cont,
    /// How far into the trace the run begins.
    pub offset: Dur,
    /// The contents instead of a file: CSV with the columns `time`, `rate`, `delay`, `loss` and `limit`.
    pub rows: String,
}

/// What comes after the last row. The names are TheaterQ's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cont {
    /// Its values hold.
    #[default]
    Hold,
    /// The trace begins again.
    Loop,
}

/// What changes, column by column. `None`: the trace does not have that column.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Changes {
    pub rate: Option<Steps<Rate>>,
    pub delay: Option<Steps<Dur>>,
    pub loss: Option<Steps<Prob>>,
    pub limit: Option<Steps<u32>>,
}

#[derive(Debug, Default)]
struct Table {
    times: Vec<Dur>,
    rate: Vec<Rate>,
    delay: Vec<Dur>,
    loss: Vec<Prob>,
    limit: Vec<u32>,
}

impl Rows {
    /// What changes on a link that has this trace in the table `path`.
    pub(crate) fn columns(&self, path: &str) -> Result<Changes, ScenarioError> {
        let fault = |name: &str, rule: String, got: String| Fault::new(path, name, rule, got).out_of_range();
        let table = parse(&self.rows).map_err(|(rule, got)| fault("rows", rule.into(), got))?;
        let last = *table.times.last().expect("a row");
        if self.cont == Cont::Loop && last.is_zero() {
            return Err(fault("cont", "`hold` for a trace of one row".into(), "`loop`".into()));
        }
        if self.offset > Dur::ZERO && self.offset >= last {
            return Err(fault("offset", format!("less than the trace's {last}"), self.offset.to_string()));
        }
        let Table { times, rate, delay, loss, limit } = &table;
        let rate = self.steps(times, rate);
        let is_silent =
            |rate: &Steps<Rate>| rate.first == Rate::ZERO && rate.steps.iter().all(|step| step.1 == Rate::ZERO);
        if rate.as_ref().is_some_and(is_silent) {
            return Err(fault("rows", "rates of which one is above zero".into(), "none".into()));
        }
        Ok(Changes {
            rate,
            delay: self.steps(times, delay),
            loss: self.steps(times, loss),
            limit: self.steps(times, limit),
        })
    }
    /// The values of a column from the offset on.
    fn steps<T: Copy>(&self, times: &[Dur], values: &[T]) -> Option<Steps<T>> {
        let end = *times.last()?;
        // With `loop` the last row says only when the trace begins again.
        let count = if self.cont == Cont::Loop { values.len().checked_sub(1)? } else { values.len() };
        let rows = || times.iter().zip(values).take(count);
        let first = *rows().rev().find(|(at, _)| **at <= self.offset)?.1;
        let later =
            rows().filter(|(at, _)| **at > self.offset).map(|(at, value)| (at.saturating_sub(self.offset), *value));
        if self.cont == Cont::Hold {
            return Some(Steps { first, steps: later.collect(), repeat: None });
        }
        // The rows before the offset come at the end of each round.
        let left = end.saturating_sub(self.offset);
        let earlier = rows()
            .filter(|(at, _)| **at <= self.offset && !self.offset.is_zero())
            .map(|(at, value)| (*at + left, *value));
        Some(Steps { first, steps: later.chain(earlier).filter(|(at, _)| *at < end).collect(), repeat: Some(end) })
    }
}

const COLUMNS: [&str; 5] = ["time", "rate", "delay", "loss", "limit"];
const HEADER: &str = "CSV with the columns `time` and some of `rate`, `delay`, `loss` and `limit`";

/// A value with the unit that a plain number has.
fn value<T: std::str::FromStr>(cell: &str, unit: &str) -> Option<T> {
    let plain = cell.parse::<f64>().is_ok();
    if plain { format!("{cell}{unit}").parse().ok() } else { cell.parse().ok() }
}

fn parse(text: &str) -> Result<Table, Wrong> {
    let mut lines = lines(text);
    let (_, header) = lines.next().ok_or((HEADER, "nothing".to_owned()))?;
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let unique = names.iter().enumerate().all(|(i, name)| COLUMNS.contains(name) && !names[..i].contains(name));
    if !unique || !names.contains(&"time") || names.len() < 2 {
        return Err((HEADER, format!("`{}`", shown(header))));
    }
    let mut table = Table::default();
    let span = |cell: &str| value::<Dur>(cell, "s").filter(|span| *span <= LONGEST);
    for (number, line) in lines {
        let wrong = || ("rows of values such as `1.5s,10Mbit,20ms,1%`", format!("`{}` on line {number}", shown(line)));
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != names.len() {
            return Err(wrong());
        }
        for (name, cell) in names.iter().zip(cells) {
            match *name {
                "time" => table.times.push(span(cell).ok_or_else(wrong)?),
                "rate" => table.rate.push(value(cell, "bit").ok_or_else(wrong)?),
                "delay" => table.delay.push(span(cell).ok_or_else(wrong)?),
                "loss" => table.loss.push(value(cell, "").ok_or_else(wrong)?),
                _ => table.limit.push(value(cell, "").ok_or_else(wrong)?),
            }
        }
        match table.times[..] {
            [.., before, time] if time <= before => {
                return Err(("rows in order of time", format!("{time} after {before} on line {number}")));
            }
            [time] if !time.is_zero() => return Err(("a first row at time 0", format!("{time} on line {number}"))),
            _ => {}
        }
        if table.times.len() > OPPORTUNITIES {
            return Err(("at most 20000000 rows", "more".into()));
        }
    }
    if table.times.is_empty() { Err(("at least one row", "none".into())) } else { Ok(table) }
}

/// The text of a CSV file, if it is right.
pub(super) fn of_csv(text: &str) -> Result<String, Wrong> {
    parse(text)?;
    Ok(lines(text).map(|(_, line)| line).collect::<Vec<_>>().join("\n"))
}

/// The rates of a CSV file as the steps of a station.
pub(super) fn rates_of_csv(text: &str) -> Result<Value, Wrong> {
    let table = parse(text)?;
    if table.rate.is_empty() || !(table.delay.is_empty() && table.loss.is_empty() && table.limit.is_empty()) {
        return Err(("CSV with the columns `time` and `rate`", "others".into()));
    }
    let rows = table.times.iter().zip(&table.rate);
    Ok(rows.map(|(at, rate)| json!({ "at": at.to_string(), "rate": rate.to_string() })).collect())
}

/// A trace file of TheaterQ as CSV. Lines that do not begin with a digit count for nothing, as in TheaterQ.
pub(super) fn of_theaterq(text: &str) -> Result<String, Wrong> {
    const RULE: &str = "lines such as `1000000,20000000,10000000,0,100` (KEEP,LATENCY,RATE,LOSS,LIMIT)";
    let mut out = String::from("time,rate,delay,loss,limit");
    let (mut now, mut last) = (Dur::ZERO, None);
    for (number, line) in lines(text).filter(|(_, line)| line.starts_with(|c: char| c.is_ascii_digit())) {
        let wrong = || (RULE, format!("`{}` on line {number}", shown(line)));
        let cells = line.split(',').map(|cell| cell.trim().parse().ok()).collect::<Option<Vec<u64>>>();
        let [keep, latency, rate, loss, limit] = match *cells.as_deref().ok_or_else(wrong)? {
            [keep, latency, rate, loss, limit] => [keep, latency, rate, loss, limit],
            // The last two may be left out by older versions: DUP_PROB, DUP_DELAY, ROUTE_ID.
            [keep, latency, jitter, rate, loss, limit, ref more @ ..] if more.len() == 2 || more.len() == 3 => {
                if jitter > 0 || more[0] > 0 {
                    return Err(("a trace without jitter and duplication", wrong().1));
                }
                [keep, latency, rate, loss, limit]
            }
            _ => return Err(wrong()),
        };
        let (loss, limit) = (u32::try_from(loss).map_err(|_| wrong())?, u32::try_from(limit).map_err(|_| wrong())?);
        let rest = format!("{rate}bit,{latency}ns,{},{limit}", f64::from(loss) / f64::from(u32::MAX));
        let _ = write!(out, "\n{now},{rest}");
        let keep = keep.checked_mul(1000).filter(|keep| *keep > 0).map(Dur::from_ns);
        now = keep.and_then(|keep| now.checked_add(keep)).ok_or_else(wrong)?;
        last = Some(rest);
    }
    let last = last.ok_or((RULE, "no such line".to_owned()))?;
    let _ = write!(out, "\n{now},{last}"); // the end of the last line, for `loop`
    parse(&out)?;
    Ok(out)
}

/// A text as a file of each kind: what was read can be read again.
pub(super) fn exercise(text: &str) {
    for contents in [of_csv(text), of_theaterq(text)].into_iter().flatten() {
        for cont in [Cont::Hold, Cont::Loop] {
            let _ = Rows { rows: contents.clone(), cont, ..Rows::default() }.columns("x");
        }
        assert_eq!(of_csv(&contents).as_ref(), Ok(&contents));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(rows: &Rows) -> Changes {
        rows.columns("x").expect("a trace")
    }
    fn steps<T: Copy>(first: T, steps: &[(u64, T)], repeat: Option<u64>) -> Option<Steps<T>> {
        let steps = steps.iter().map(|(ms, value)| (Dur::from_ms(*ms), *value)).collect();
        Some(Steps { first, steps, repeat: repeat.map(Dur::from_ms) })
    }
    const MBIT: fn(u64) -> Rate = Rate::from_mbps;

    #[test]
    fn a_csv_file_says_what_holds_from_when_on() {
        let text =
            "# from a drive\ntime, delay, rate, loss\n0, 20ms, 10Mbit, 0\n\n1.5, 0.06, 2000000, 1%\n2s,20ms,10Mbit,0\n";
        let rows = Rows { rows: of_csv(text).expect("CSV"), ..Rows::default() };
        let all = columns(&rows);
        assert_eq!(all.rate, steps(MBIT(10), &[(1500, MBIT(2)), (2000, MBIT(10))], None));
        let [short, long] = [20, 60].map(Dur::from_ms);
        assert_eq!(all.delay, steps(short, &[(1500, long), (2000, short)], None));
        assert_eq!(all.loss, steps(Prob::ZERO, &[(1500, Prob::of(0.01)), (2000, Prob::ZERO)], None));
        assert_eq!(all.limit, None);
    }
    #[test]
    fn a_trace_that_loops_begins_again_at_its_last_time() {
        let text = "time,rate\n0,1Mbit\n1,2Mbit\n3,3Mbit\n4,9Mbit";
        let rows = Rows { rows: text.into(), cont: Cont::Loop, ..Rows::default() };
        assert_eq!(columns(&rows).rate, steps(MBIT(1), &[(1000, MBIT(2)), (3000, MBIT(3))], Some(4000)));
        let turned = Rows { offset: Dur::from_ms(1500), ..rows };
        let expected = steps(MBIT(2), &[(1500, MBIT(3)), (2500, MBIT(1)), (3500, MBIT(2))], Some(4000));
        assert_eq!(columns(&turned).rate, expected);
        let silent = Rows { rows: "time,rate\n0,0\n1,9Mbit".into(), cont: Cont::Loop, ..Rows::default() };
        let error = silent.columns("x").expect_err("it never carries anything").to_string();
        assert!(error.contains("rows must be rates of which one is above zero"), "{error}");
        let held = Rows { cont: Cont::Hold, ..turned };
        assert_eq!(columns(&held).rate, steps(MBIT(2), &[(1500, MBIT(3)), (2500, MBIT(9))], None));
    }
    #[test]
    fn a_file_of_theaterq_becomes_rows() {
        // 1 s and 0.5 s; 20 ms and 40 ms; 10 and 5 Mbit/s; no loss and half of 2^32 - 1; 100 and 50 packets.
        let simple =
            "KEEP,LATENCY,RATE,LOSS,LIMIT\n1000000,20000000,10000000,0,100\n500000,40000000,5000000,2147483648,50\n";
        let rows = of_theaterq(simple).expect("a trace");
        let all = columns(&Rows { rows: rows.clone(), cont: Cont::Loop, ..Rows::default() });
        assert_eq!(all.rate, steps(MBIT(10), &[(1000, MBIT(5))], Some(1500)));
        assert_eq!(all.delay, steps(Dur::from_ms(20), &[(1000, Dur::from_ms(40))], Some(1500)));
        assert_eq!(all.limit, steps(100, &[(1000, 50)], Some(1500)));
        let loss = all.loss.expect("losses");
        assert!((loss.steps[0].1.as_f64() - 0.5).abs() < 1e-9 && loss.first == Prob::ZERO);
        let extended = "1000000,20000000,0,10000000,0,100,0,0,1\n500000,40000000,0,5000000,2147483648,50,0,0,1\n";
        assert_eq!(of_theaterq(extended).as_ref(), Ok(&rows));
    }
    #[test]
    fn what_is_wrong_is_shown_with_its_line() {
        let csv = |text: &str| of_csv(text).expect_err(text).1;
        assert_eq!(csv("time\n0"), "`time`");
        assert_eq!(csv("time,speed\n0,1"), "`time,speed`");
        assert_eq!(csv("time,rate\n0,1Mbit\n1,fast"), "`1,fast` on line 3");
        assert_eq!(csv("time,rate\n0,1Mbit\n0,1Mbit"), "0ns after 0ns on line 3");
        assert_eq!(csv("time,rate\n1,1Mbit"), "1s on line 2");
        assert_eq!(csv("time,rate\n"), "none");
        let theaterq = |text: &str| of_theaterq(text).expect_err(text);
        assert_eq!(theaterq("0,1,1,0,1").1, "`0,1,1,0,1` on line 1");
        assert_eq!(
            theaterq("5,1,7,1,0,1,0,0,0"),
            ("a trace without jitter and duplication", "`5,1,7,1,0,1,0,0,0` on line 1".into())
        );
        assert_eq!(theaterq("header\n").1, "no such line");
    }
}
