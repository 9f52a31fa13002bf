//! The plan of a stream over several paths.

use super::at;
use super::flows::Entry;
use crate::scenario::error::{Fault, FaultKind, ScenarioError};
use crate::scenario::multipath::Multipath;
use haltere_plan::plan::{AppPlan, MultipathPlan, PathPlan};
use haltere_units::{Bytes, Dur, Rate};

impl Entry<'_> {
    /// The nodes of the first path: between them the flow is shown.
    pub(super) fn multipath_ends(&self, multipath: &Multipath) -> Result<Vec<(usize, usize)>, ScenarioError> {
        let ends = &multipath.ends;
        for (name, given) in [("pairs", ends.pairs.is_some()), ("from", ends.from.is_some()), ("to", ends.to.is_some())]
        {
            if given {
                let hint = "the nodes of a multipath connection stand in `paths`";
                return Err(Fault::new(&self.place, name, "left out", "a value").hint(hint).out_of_range());
            }
        }
        let path = multipath
            .paths
            .first()
            .ok_or_else(|| Fault::new(&self.place, "paths", "at least one", "none").missing())?;
        let place = format!("{}.paths[0]", self.place);
        Ok(vec![(self.network.node(&path.from, &place, "from")?, self.network.node(&path.to, &place, "to")?)])
    }

    pub(super) fn multipath(&self, multipath: &Multipath) -> Result<Vec<AppPlan>, ScenarioError> {
        let tcp = self.tcp(&multipath.side, |tcp| tcp)?;
        let fault = |name: &str, rule: &str, got: String| Fault::new(&self.place, name, rule, got).out_of_range();
        if tcp.len() != 1 {
            return Err(fault("congestion", "one for all subflows", format!("a list of {}", tcp.len())));
        }
        multipath
            .multipath
            .check(tcp[0].sender.mss)
            .map_err(|e| Fault::param(format!("{}.multipath", self.place), e).out_of_range())?;
        if multipath.rate == Some(Rate::ZERO) {
            return Err(fault("rate", "above zero", Rate::ZERO.to_string()));
        }
        for (name, bytes) in [("packet", Some(multipath.packet)), ("bytes", multipath.bytes)] {
            if bytes == Some(Bytes::ZERO) {
                return Err(fault(name, "at least 1B", Bytes::ZERO.to_string()));
            }
        }
        let paths = multipath.paths.iter().enumerate().map(|(i, path)| {
            let place = format!("{}.paths[{i}]", self.place);
            let (from, to) =
                (self.network.node(&path.from, &place, "from")?, self.network.node(&path.to, &place, "to")?);
            if from == to {
                let got = format!("`{}`", path.to);
                return Err(Fault::new(place, "to", "another node than `from`", got).out_of_range());
            }
            if i == 0 && path.join.is_some_and(|j| j > Dur::ZERO) {
                return Err(Fault::new(place, "join", "left out for the first path", "a time").out_of_range());
            }
            Ok(PathPlan { from, to, join: path.join.map(at), leave: path.leave.map(at), cut: path.cut.map(at) })
        });
        let paths = paths.collect::<Result<Vec<_>, ScenarioError>>()?;
        let plan = |tcp| MultipathPlan {
            tcp,
            multipath: multipath.multipath.clone(),
            paths: paths.clone(),
            rate: multipath.rate,
            packet: multipath.packet,
            bytes: multipath.bytes,
        };
        Ok(tcp.into_iter().map(|tcp| AppPlan::Multipath(Box::new(plan(tcp)))).collect())
    }
}
