//! A stream over several paths.

use super::prelude::*;
use haltere_plan::plan::{MultipathPlan, PathPlan, TcpPlan};
use haltere_plan::stack::{self, EndContext, Keeps};
use haltere_transport::multipath::MultipathParams;
use haltere_transport::multipath::scheduler::Scheduler;

/// Multipath TCP, or multipath QUIC of a `stack`: one stream over several paths. Each interface of a host is a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Multipath {
    #[serde(flatten)]
    pub(crate) ends: Ends,
    /// The TCP of the subflows. `congestion` has one for all of them: `lia`, `olia` and `balia` are coupled, the others
    /// are not.
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// The paths in the order of joining.
    #[schemars(length(min = 1, max = 16))]
    pub paths: Vec<PathEnds>,
    /// Scheduler, correlators and buffers of the connection. A `stack` other than `tcp` has its own.
    #[serde(default)]
    pub multipath: MultipathParams,
    /// Rate at which the application writes. If it is not given, the application always has something to send.
    pub rate: Option<Rate>,
    /// Bytes of one write, if there is a rate.
    #[serde(default = "super::entry::packet")]
    pub packet: Bytes,
    /// Bytes in all. If it is not given, the stream never ends.
    pub bytes: Option<Bytes>,
}

/// One path: from an interface of the sender to one of the receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathEnds {
    /// Name of the node that is the sender's interface.
    pub from: String,
    /// Name of the node that is the receiver's interface.
    pub to: String,
    /// When the subflow joins. If it is not given, it joins with the others. The first path cannot wait.
    pub join: Option<Dur>,
    /// When the subflow leaves.
    pub leave: Option<Dur>,
    /// From then on no packet passes. Neither end gets a signal.
    pub cut: Option<Dur>,
}

impl TrafficKind for Multipath {
    fn about() -> About {
        About { table: Some("paths"), endless_without: Some(&["bytes", "rate"]), ..About::TCP }
    }
    /// The nodes of the first path: between them the flow is shown.
    fn pairs(&self, entry: &Entry<'_>) -> Result<Vec<(usize, usize)>, ScenarioError> {
        let ends = &self.ends;
        for (name, given) in [("pairs", ends.pairs.is_some()), ("from", ends.from.is_some()), ("to", ends.to.is_some())]
        {
            if given {
                let hint = "the nodes of a multipath connection stand in `paths`";
                return Err(entry.fault(name, "left out", "a value").hint(hint).out_of_range());
            }
        }
        let path = self.paths.first().ok_or_else(|| entry.fault("paths", "at least one", "none").missing())?;
        Ok(vec![self.nodes(entry, path, 0)?])
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        let tcp = entry.tcp(&self.side, |tcp| tcp)?;
        let fault = |name: &str, rule: &str, got: String| entry.fault(name, rule, got).out_of_range();
        if tcp.len() != 1 {
            return Err(fault("congestion", "one for all subflows", format!("a list of {}", tcp.len())));
        }
        let place = || format!("{}.multipath", entry.place);
        entry.ask(place, |_| self.multipath.check(tcp[0].sender.mss))?;
        entry.ask(place, |origin| Scheduler::new(&self.multipath.scheduler, &origin))?;
        for (name, bytes) in [("packet", Some(self.packet)), ("bytes", self.bytes)] {
            if bytes == Some(Bytes::ZERO) {
                return Err(fault(name, "at least 1B", Bytes::ZERO.to_string()));
            }
        }
        self.rate.map_or(Ok(()), |rate| entry.writes(rate, self.packet))?;
        let paths = self.paths.iter().enumerate().map(|(i, path)| self.path(entry, path, i));
        let paths = paths.collect::<Result<Vec<_>, ScenarioError>>()?;
        self.check_stack(entry, &tcp[0])?;
        let plan = |tcp| MultipathPlan {
            tcp,
            multipath: self.multipath.clone(),
            paths: paths.clone(),
            rate: self.rate,
            packet: self.packet,
            bytes: self.bytes,
        };
        Ok(tcp.into_iter().map(|tcp| Box::new(plan(tcp)).into()).collect())
    }
}

impl Multipath {
    /// A stack from outside the tree opens its paths and chooses among them itself, and its application always has
    /// something to send.
    fn check_stack(&self, entry: &Entry<'_>, tcp: &TcpPlan) -> Result<(), ScenarioError> {
        let Some(stack) = &tcp.stack else { return Ok(()) };
        let given = [
            ("multipath", self.multipath != MultipathParams::default()),
            ("rate", self.rate.is_some()),
            ("paths.join", self.paths.iter().any(|path| path.join.is_some())),
            ("paths.leave", self.paths.iter().any(|path| path.leave.is_some())),
        ];
        if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
            let rule = format!("left out with the stack `{}`", stack.name);
            let hint = "the stack opens its paths and chooses among them; `cut` ends one";
            return Err(entry.fault(name, &rule, "a value").hint(hint).out_of_range());
        }
        let end = |origin| EndContext {
            paths: self.paths.len() as u32,
            ..tcp.end_context(false, Time::ZERO, Keeps::default(), origin)
        };
        entry.ask(|| entry.place.clone(), |origin| stack::make(stack, &end(origin)).map(drop))
    }
    /// The nodes at both ends of path `i`.
    fn nodes(&self, entry: &Entry<'_>, path: &PathEnds, i: usize) -> Result<(usize, usize), ScenarioError> {
        let place = format!("{}.paths[{i}]", entry.place);
        Ok((entry.network.node(&path.from, &place, "from")?, entry.network.node(&path.to, &place, "to")?))
    }
    fn path(&self, entry: &Entry<'_>, path: &PathEnds, i: usize) -> Result<PathPlan, ScenarioError> {
        let (from, to) = self.nodes(entry, path, i)?;
        let fault = |name: &str, rule: &str, got: String| {
            Err(Fault::new(format!("{}.paths[{i}]", entry.place), name, rule, got).out_of_range())
        };
        if from == to {
            return fault("to", "another node than `from`", format!("`{}`", path.to));
        }
        if i == 0 && path.join.is_some_and(|j| j > Dur::ZERO) {
            return fault("join", "left out for the first path", "a time".into());
        }
        let at = |span| Time::ZERO + span;
        Ok(PathPlan { from, to, join: path.join.map(at), leave: path.leave.map(at), cut: path.cut.map(at) })
    }
}
