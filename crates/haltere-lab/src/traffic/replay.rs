//! Flows that are replayed from a file.

use super::prelude::*;
use crate::files::{Key, read_text};
use crate::limits::REPLAYED_FLOWS;
use haltere_plan::arrivals::FlowArrival;
use haltere_plan::plan::{Between, Pattern};
use haltere_plan::sizes::SizeDistribution;
use serde_json::{Map, Value, json};
use std::path::Path;

/// TCP flows that are replayed from a file: when each starts, between whom, and how many bytes it has. A flow ends when
/// all is delivered.
///
/// The file is CSV with the header `start,from,to,size`. `start` counts from the entry's start, in seconds or with a
/// unit, `from` and `to` are names of nodes, and `size` is in bytes or with a unit. `#` begins a comment. Rows may be
/// in any order. `haltere replay CAPTURE` makes such a file of a capture.
///
/// Known problems: the flows of a capture were as long as their own congestion made them; here only their starts and
/// sizes count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Replay {
    /// Name and times. No flow starts after `stop`.
    #[serde(flatten)]
    pub(crate) ends: Ends,
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// The file. Its path is relative to the folder of the experiment file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The flows of the file, or flows instead of a file.
    #[serde(default)]
    #[schemars(length(max = 1_000_000))]
    pub flows: Vec<ReplayedFlow>,
}

/// A flow that is replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayedFlow {
    /// When it starts, from the entry's start.
    pub start: Dur,
    /// Name of the node that sends.
    pub from: String,
    /// Name of the node that receives.
    pub to: String,
    /// Its bytes.
    pub size: Bytes,
}

impl TrafficKind for Replay {
    fn about() -> About {
        let without = &["pairs", "from", "to", "count", "direction", "jitter", "stagger"];
        About { without, ..About::ARRIVALS }
    }
    fn pairs(&self, entry: &Entry<'_>) -> Result<Vec<(usize, usize)>, ScenarioError> {
        match self.arrivals(entry)?.first() {
            Some(flow) => Ok(vec![(flow.from, flow.to)]),
            None => {
                let fault = entry.fault("file", "given, or `flows`", "nothing");
                Err(fault.hint("write for example `file = \"flows.csv\"`").missing())
            }
        }
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        let flows = self.arrivals(entry)?;
        let mut pairs: Vec<(usize, usize)> = flows.iter().map(|flow| (flow.from, flow.to)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let (between, pattern) = (Between::Pairs(pairs.into()), Pattern::Replay(flows.into()));
        let sizes = SizeDistribution::constant(Bytes::new(1));
        entry.arrivals(&self.side, Arriving { between, pattern, sizes, max_flows: None })
    }
}

impl Replay {
    /// The flows in order of time.
    fn arrivals(&self, entry: &Entry<'_>) -> Result<Vec<FlowArrival>, ScenarioError> {
        let mut flows = Vec::with_capacity(self.flows.len());
        for (i, flow) in self.flows.iter().enumerate() {
            let place = format!("{}.flows[{i}]", entry.place);
            let node = |name: &str, key| entry.network.node(name, &place, key);
            let (from, to) = (node(&flow.from, "from")?, node(&flow.to, "to")?);
            refuse_if!(from == to, Fault::new(&place, "to", "another node than `from`", format!("`{}`", flow.to)));
            refuse_if!(flow.size == Bytes::ZERO, Fault::new(&place, "size", "at least 1B", flow.size));
            flows.push(FlowArrival { at: Time::ZERO + flow.start, from, to, bytes: flow.size });
        }
        flows.sort_by_key(|flow| flow.at);
        Ok(flows)
    }
}

/// Replaces the name of a file of flows by its flows, so that a run depends on the experiment and the seed only.
pub(super) fn read_file(entry: &mut Map<String, Value>, path: &str, folder: &Path) -> Result<(), ScenarioError> {
    let (Some(Value::String(file)), None) = (entry.get("file"), entry.get("flows")) else { return Ok(()) };
    let text = read_text(&Key { path, name: "file", rule: "a file of flows" }, folder, file)?;
    let fault = |rule: &str, got: String| Fault::new(path, "file", rule, format!("{got} of `{file}`")).out_of_range();
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.split('#').next().unwrap_or_default().trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty());
    let header = lines.next().map_or("", |(_, line)| line);
    if !fields(header).eq(["start", "from", "to", "size"]) {
        return Err(fault("a file that begins with `start,from,to,size`", format!("`{header}` as first line")));
    }
    let mut flows = Vec::new();
    for (number, line) in lines {
        let row = row(line).ok_or_else(|| {
            fault("rows of start, from, to and size, such as `0.5,c1,s1,20kB`", format!("`{line}` in line {number}"))
        })?;
        flows.push(row);
        if flows.len() > REPLAYED_FLOWS {
            return Err(fault(&format!("a file of at most {REPLAYED_FLOWS} flows"), "more".into()));
        }
    }
    entry.insert("flows".into(), Value::Array(flows));
    Ok(())
}

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(str::trim)
}

/// A flow of the file: a start without a unit is in seconds, a size without one in bytes.
fn row(line: &str) -> Option<Value> {
    let mut fields = fields(line);
    let (start, from, to, size) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let start = start.parse::<Dur>().ok().or_else(|| format!("{start}s").parse().ok())?;
    let size = size.parse::<Bytes>().ok().or_else(|| format!("{size}B").parse().ok())?;
    let is_whole = fields.next().is_none() && !from.is_empty() && !to.is_empty();
    is_whole.then(|| json!({ "start": start, "from": from, "to": to, "size": size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_seconds_and_bytes_if_it_names_no_unit() {
        let flow = |line: &str| row(line).map(|value| ReplayedFlow::deserialize(value).expect("a flow"));
        let expected =
            ReplayedFlow { start: Dur::from_ms(500), from: "c1".into(), to: "s1".into(), size: Bytes::new(20_000) };
        assert_eq!(flow("0.5,c1,s1,20000"), Some(expected.clone()));
        assert_eq!(flow(" 500ms , c1, s1, 20kB"), Some(expected));
        assert_eq!(
            [flow("0.5,c1,s1"), flow("0.5,c1,s1,20kB,x"), flow("soon,c1,s1,20kB"), flow("1,,s1,20kB")],
            [const { None }; 4]
        );
    }
}
