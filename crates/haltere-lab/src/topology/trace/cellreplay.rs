//! CellReplay's two traces of a cellular link.

use super::opportunities::Opportunities;
use super::{Wrong, lines, shown};
use crate::error::{Fault, FaultKind, ScenarioError};
use crate::keys::kind;
use crate::limits::{LONGEST, OPPORTUNITIES};
use haltere_plan::replay::{Train, TwoTraces};
use haltere_units::Dur;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

kind! {
    /// The kind `cellreplay`.
    CellreplayKind, Cellreplay, "cellreplay"
}

/// CellReplay's two traces of one direction of a cellular link (NSDI 2025). `file` was recorded with trains of packets
/// sent into an idle link. Each line has the time of a train, its base delay, and when its packets arrived after the
/// first, all in whole ms: `0 23 0 0 4 9`. `heavy` was recorded under full load, in Mahimahi's format. A packet that
/// finds the link idle begins a train: those behind it leave as in the recorded train, and then as in `heavy`. The base
/// delay is interpolated between trains. It is the link's delay; that of queues before the link comes on top. Latency
/// by packet size, an option of CellReplay, is left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CellreplayTraces {
    /// The kind.
    pub kind: CellreplayKind,
    /// The file of base delays and light load (`down-delay-light-pdo`). Its path is relative to the folder of the
    /// experiment file.
    #[serde(default)]
    pub file: String,
    /// The trace of heavy load (`down-pdo`): the name of its file, or a table as of the kind `mahimahi`. Its
    /// `opportunity` counts for both. CellReplay's is 1400 bytes.
    #[serde(default)]
    pub heavy: Opportunities,
    /// A link that was idle for longer begins a new train. CellReplay's default is 0.
    #[serde(default)]
    pub timer: Dur,
    /// The contents instead of a file: trains as in its lines, with commas between them.
    #[serde(default)]
    pub trains: String,
}

/// The rule of a line.
const LINE: &str = "lines such as `0 23 0 0 4 9`: time, base delay and arrivals in whole ms";

fn parse(text: &str) -> Result<Vec<Train>, Wrong> {
    let mut trains: Vec<Train> = Vec::new();
    let mut count = 0;
    for (number, line) in text.split(['\n', ',']).map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        let wrong = || (LINE, format!("`{}` in line {}", shown(line), number + 1));
        let span = |cell: &str| cell.parse().ok().map(Dur::from_ms).filter(|span| *span <= LONGEST);
        let cells = line.split_whitespace().map(span).collect::<Option<Vec<Dur>>>().ok_or_else(wrong)?;
        let [at, delay, opportunities @ ..] = &cells[..] else { return Err(wrong()) };
        count += opportunities.len();
        if !opportunities.is_sorted() || count > OPPORTUNITIES {
            return Err(("arrivals in order, at most 20000000", wrong().1));
        }
        match trains.last() {
            None if !at.is_zero() => return Err(("a first train at time 0", wrong().1)),
            Some(before) if *at <= before.at => return Err(("trains in order of time", wrong().1)),
            _ => {}
        }
        trains.push(Train { at: *at, delay: *delay, opportunities: opportunities.into() });
    }
    if trains.len() < 3 { Err(("at least three trains", trains.len().to_string())) } else { Ok(trains) }
}

/// The text of a file of trains as the value of a key, if it is right.
pub(super) fn trains(text: &str) -> Result<String, Wrong> {
    let text = lines(text).map(|(_, line)| line).collect::<Vec<_>>().join(",");
    parse(&text)?;
    Ok(text)
}

/// A text as a file of trains.
pub(super) fn exercise(text: &str) {
    if let Ok(trains) = trains(text) {
        parse(&trains).expect("trains that were read");
    }
}

impl CellreplayTraces {
    fn read(&self, path: &str) -> Result<Vec<Train>, ScenarioError> {
        parse(&self.trains).map_err(|(rule, got)| Fault::new(path, "trains", rule, got).out_of_range())
    }
    /// The delay of the first train, for which round-trip times count.
    pub(crate) fn base_delay(&self, path: &str) -> Result<Dur, ScenarioError> {
        Ok(self.read(path)?[0].delay)
    }
    /// The traces of a link that has them in the table `path`.
    pub(crate) fn traces(&self, path: &str) -> Result<TwoTraces, ScenarioError> {
        let heavy = self.heavy.instants(&format!("{path}.heavy"))?;
        Ok(TwoTraces { trains: self.read(path)?.into(), heavy, timer: self.timer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_time_a_delay_and_arrivals() {
        let text = trains("0 23 0 0 4\n1000 25 0 7\n2000 21 0\n").expect("trains");
        assert_eq!(text, "0 23 0 0 4,1000 25 0 7,2000 21 0");
        let read = parse(&text).expect("trains");
        assert_eq!((read[1].at, read[1].delay, read[0].opportunities.len()), (Dur::from_secs(1), Dur::from_ms(25), 3));
    }
    #[test]
    fn what_is_no_trace_is_refused() {
        let rule = |text: &str| trains(text).expect_err("refused").0;
        assert_eq!(rule("0 23 0\n1 23 0"), "at least three trains");
        assert_eq!(rule("5 23 0"), "a first train at time 0");
        assert_eq!(rule("0 1 0\n0 1 0\n"), "trains in order of time");
        assert_eq!(rule("0 1 5 3"), "arrivals in order, at most 20000000");
        assert_eq!(rule("0\n"), LINE);
    }
}
