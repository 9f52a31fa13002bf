//! One stream over several paths: a socket of the kernel's Multipath TCP and the subflows that the plan wants of it.

use super::stream::{RateSource, Stream, Transfer};
use super::{Context, Done, Endpoint, Observed, Opened, Opening, Side};
use crate::error::WireError;
use crate::mptcp::{self, Join, PathManager, Subflow};
use crate::namespace::node_address;
use haltere_plan::plan::{MultipathPlan, PathPlan};
use haltere_plan::record::PathSample;
use haltere_transport::Info;
use haltere_transport::multipath::PathInfo;
use haltere_units::{Dur, Time};
use nix::sys::epoll::EpollFlags;

/// How soon to ask again while the connection is not established.
const AGAIN: Dur = Dur::from_ms(1);

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p MultipathPlan, at: Opening<'p>) -> Opened<'p> {
    Ok(Box::new(Subflows::open(plan, &at)?))
}

#[derive(Debug)]
pub(super) struct Subflows {
    transfer: Transfer,
    manager: PathManager,
    name: String,
    port: u16,
    paths: Vec<PathPlan>,
    /// The next path to join: they join in the order of the plan.
    next: usize,
}

impl Subflows {
    fn open(plan: &MultipathPlan, at: &Opening<'_>) -> Result<Subflows, WireError> {
        let (flow, port) = (at.flow, at.port());
        let failed = |e| WireError::os(format!("{}: the kernel's Multipath TCP", flow.name), e);
        let source = plan.rate.map(|rate| RateSource::steady(rate, plan.packet, at.source_rng()));
        let transfer = Transfer::open(at, Stream { tcp: &plan.tcp, bytes: plan.bytes, source, multipath: true })?;
        let manager = at.from.enter(PathManager::open).map_err(failed)?;
        at.to.enter(|| PathManager::open()?.accept_joins()).map_err(failed)?;
        Ok(Subflows { transfer, manager, name: flow.name.clone(), port, paths: plan.paths.clone(), next: 1 })
    }
    /// The next path that is due joins, if it can; when to try again.
    fn join_next(&mut self, context: &Context<'_>) -> Result<Option<Time>, WireError> {
        let now = context.now;
        while let Some(path) = self.paths.get(self.next) {
            if let Some(at) = path.join.filter(|at| *at > now) {
                return Ok(Some(at));
            }
            let failed = |e| WireError::os(format!("{}: joining path {}", self.name, self.next), e);
            let Some(token) = mptcp::token(self.transfer.sender()).map_err(failed)? else {
                return Ok(Some(now + AGAIN));
            };
            // An address has the place of the first path from it as its identifier: the first path's is 0.
            let id = self.paths.iter().position(|p| p.from == path.from).unwrap_or(0) as u8;
            let to = (node_address(path.to), self.port);
            let join = Join { token, id, from: node_address(path.from), to };
            if !self.manager.join(&join).map_err(failed)? {
                return Ok(Some(now + AGAIN));
            }
            self.next += 1;
        }
        Ok(None)
    }
    fn subflows(&self) -> Vec<Subflow> {
        mptcp::subflows(self.transfer.sender()).unwrap_or_default()
    }
}

impl Endpoint for Subflows {
    fn start(&mut self, context: &Context<'_>, at: Time, observed: &mut Observed) -> Done {
        context.join_at(at);
        self.transfer.start(context, at, observed)
    }
    fn tick(&mut self, context: &Context<'_>, at: Time, observed: &mut Observed) -> Done {
        self.transfer.tick(context, at, observed)
    }
    fn join(&mut self, context: &Context<'_>) -> Done {
        if let Some(at) = self.join_next(context)? {
            context.join_at(at);
        }
        Ok(())
    }
    fn ready(&mut self, context: &Context<'_>, side: Side, events: EpollFlags, observed: &mut Observed) -> Done {
        self.transfer.ready(context, side, events, observed)
    }
    fn stop(&mut self, context: &Context<'_>) {
        self.transfer.stop(context);
    }
    /// The subflows together; windows and counters are sums, times are the first one's.
    fn sender_info(&self) -> Option<Info> {
        let infos = self.subflows().into_iter().map(|(.., tcp)| tcp.info());
        infos.reduce(|mut sum, one| {
            sum.cwnd += one.cwnd;
            sum.in_flight += one.in_flight;
            sum.acked += one.acked;
            sum.segments_sent += one.segments_sent;
            sum.retransmissions += one.retransmissions;
            sum.timeouts += one.timeouts;
            sum.delivered += one.delivered;
            sum.delivered_ce += one.delivered_ce;
            sum
        })
    }
    /// Each path as its subflow shows it.
    fn sample_paths(&self, at: Time, flow: u32, paths: &mut Vec<PathSample>) {
        let subflows = self.subflows();
        for (path, ends) in self.paths.iter().enumerate() {
            let ends = (node_address(ends.from), node_address(ends.to));
            let Some((.., tcp)) = subflows.iter().find(|(from, to, _)| (*from, *to) == ends) else { continue };
            let mut info = PathInfo::default();
            info.subflow = tcp.info();
            info.segments = info.subflow.segments_sent;
            info.bytes = info.subflow.acked + info.subflow.in_flight.as_u64();
            paths.push(PathSample { at, flow, path: path as u32, info });
        }
    }
}
