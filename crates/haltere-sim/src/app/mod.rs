//! What runs on the hosts: one flow each, both of its ends.

pub(crate) mod arrivals;
pub(crate) mod bulk;
pub(crate) mod cbr;
pub(crate) mod ftp;
pub(crate) mod multipath;
pub(crate) mod on_off;
pub(crate) mod ping;
pub(crate) mod tcp;

use crate::error::RunError;
use crate::net::fabric::{Fabric, Port};
use crate::net::packet::Packet;
use haltere_plan::plan::{AppPlan, DurationDistribution, FlowPlan};
use haltere_plan::record::{FlowRecord, PingSample};
use haltere_transport::Info;
use haltere_units::{Dur, ParamError, Rate, Time};

/// One flow. Those of TCP lie in their list themselves: mostly there are no others.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the large one is the usual one")]
pub(crate) enum Flow {
    Tcp(tcp::Tcp),
    Cbr(Box<cbr::Cbr>),
    Ping(Box<ping::Ping>),
    Ftp(Box<ftp::Ftp>),
    Multipath(Box<multipath::Multi>),
    /// An arrival process; its flows are in [`arrivals::SpawnedFlows`].
    Arrivals,
}

/// Where both ends of a flow send from, its place in the plan, and the run's seed.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub index: usize,
    pub ports: [Port; 2],
    /// Of a multipath connection: both ends of each path.
    pub paths: Vec<[Port; 2]>,
    pub seed: u64,
}

impl Flow {
    /// The flow of that plan.
    pub fn new(plan: &FlowPlan, place: Place) -> Result<Flow, RunError> {
        let flow = match &plan.app {
            AppPlan::Bulk { tcp, bytes } => {
                let source = tcp::Source::Bulk(bulk::Bulk::new(*bytes));
                tcp::Tcp::new(plan, tcp, source, place).map(Flow::Tcp)
            }
            AppPlan::OnOff { tcp, rate, chunk, on, off } => {
                on_off::OnOff::new(plan, *rate, *chunk, (*on, *off), place.seed)
                    .and_then(|source| tcp::Tcp::new(plan, tcp, tcp::Source::OnOff(Box::new(source)), place))
                    .map(Flow::Tcp)
            }
            AppPlan::Cbr { rate, packet, ecn } => {
                cbr::Cbr::new(plan, *rate, *packet, *ecn, place).map(|cbr| Flow::Cbr(Box::new(cbr)))
            }
            AppPlan::Ping { interval, payload, ecn } => {
                ping::Ping::new(plan, *interval, *payload, *ecn, place).map(|ping| Flow::Ping(Box::new(ping)))
            }
            AppPlan::Multipath(multi) => {
                multipath::Multi::new(plan, multi, place).map(|multi| Flow::Multipath(Box::new(multi)))
            }
            AppPlan::Arrivals(arrivals) => {
                let bytes = haltere_units::Bytes::new(1);
                // Built to hear what it says of its parameters.
                tcp::Tcp::limited(0, &arrivals.tcp, bytes, place.ports, [0; 2]).map(|_| Flow::Arrivals)
            }
            AppPlan::Ftp(ftp) => ftp::Ftp::new(plan, ftp, place).map(|ftp| Flow::Ftp(Box::new(ftp))),
        };
        flow.map_err(|error| RunError::Param { place: format!("flow {}", plan.name), error })
    }
    /// The flow, where it is one of TCP.
    #[inline(always)]
    pub fn tcp(&self) -> Option<&tcp::Tcp> {
        if let Flow::Tcp(tcp) = self { Some(tcp) } else { None }
    }
    /// Its start has come.
    pub fn start(&mut self, fabric: &mut Fabric) {
        match self {
            Flow::Tcp(tcp) => tcp.start(fabric),
            Flow::Cbr(cbr) => cbr.step(fabric),
            Flow::Ping(ping) => ping.step(fabric),
            Flow::Ftp(ftp) => ftp.start(fabric),
            Flow::Arrivals => {}
            Flow::Multipath(multi) => multi.start(fabric),
        }
    }
    /// Its application's next step is due.
    pub fn step(&mut self, fabric: &mut Fabric) {
        match self {
            Flow::Tcp(tcp) => tcp.step(fabric),
            Flow::Cbr(cbr) => cbr.step(fabric),
            Flow::Ping(ping) => ping.step(fabric),
            Flow::Multipath(multi) => multi.step(fabric),
            Flow::Arrivals => {}
            Flow::Ftp(_) => {} // it goes on when something arrives or a timer fires
        }
    }
    /// Its application stops.
    pub fn stop(&mut self, fabric: &mut Fabric) {
        match self {
            Flow::Tcp(tcp) => tcp.stop(fabric),
            Flow::Multipath(multi) => multi.stop(fabric),
            Flow::Arrivals | Flow::Cbr(_) | Flow::Ping(_) | Flow::Ftp(_) => {} // they look at the time themselves
        }
    }
    /// The timer of the endpoint at `side` (0 near, 1 far) is due.
    #[inline]
    pub fn on_timer(&mut self, side: usize, fabric: &mut Fabric) {
        match self {
            Flow::Tcp(tcp) => tcp.on_timer(side, fabric),
            Flow::Ftp(ftp) => ftp.on_timer(side, fabric),
            Flow::Multipath(multi) => multi.on_timer(side, fabric),
            Flow::Arrivals | Flow::Cbr(_) | Flow::Ping(_) => {}
        }
    }
    /// A packet reached the endpoint at `side` (0 near, 1 far).
    #[inline]
    pub fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric, pings: &mut Vec<PingSample>) {
        match self {
            Flow::Tcp(tcp) => tcp.receive(side, packet, fabric),
            Flow::Cbr(cbr) => cbr.receive(side, packet, fabric),
            Flow::Ping(ping) => ping.receive(side, packet, fabric, pings),
            Flow::Ftp(ftp) => ftp.receive(side, packet, fabric),
            Flow::Arrivals => fabric.pool.give(&packet),
            Flow::Multipath(multi) => multi.receive(side, packet, fabric),
        }
    }
    /// Payload bytes delivered to the receiving application so far.
    pub fn received(&self) -> u64 {
        match self {
            Flow::Tcp(tcp) => tcp.received(),
            Flow::Cbr(cbr) => cbr.received,
            Flow::Arrivals | Flow::Ping(_) => 0,
            Flow::Ftp(ftp) => ftp.received,
            Flow::Multipath(multi) => multi.received,
        }
    }
    /// The sender's endpoint (TCP).
    pub fn sender(&self) -> Option<Info> {
        match self {
            Flow::Tcp(tcp) => Some(tcp.sender()),
            Flow::Multipath(multi) => Some(multi.sender()),
            Flow::Arrivals | Flow::Cbr(_) | Flow::Ping(_) | Flow::Ftp(_) => None,
        }
    }
    /// What became of it; what was when the warm-up ended is the recorder's to add.
    pub fn record(&self) -> FlowRecord {
        let mut record = FlowRecord { received: self.received(), sender: self.sender(), ..FlowRecord::default() };
        match self {
            Flow::Tcp(tcp) => record.completed = tcp.completed,
            Flow::Multipath(multi) => record.completed = multi.completed,
            Flow::Cbr(cbr) => {
                (record.packets_sent, record.packets_received) = (cbr.packets_sent, cbr.packets_received);
            }
            Flow::Ping(ping) => {
                (record.packets_sent, record.packets_received) = (ping.requests, ping.replies);
            }
            Flow::Arrivals | Flow::Ftp(_) => {} // its tasks have records of their own
        }
        record
    }
}

/// The rate of a source, which cannot be zero.
fn positive_rate(rate: Rate) -> Result<Rate, ParamError> {
    if rate == Rate::ZERO { Err(ParamError::new("rate", "above zero", rate)) } else { Ok(rate) }
}

/// A span at whose end something is done again, which cannot be zero.
fn positive_span(name: &'static str, span: Dur) -> Result<Dur, ParamError> {
    if span.is_zero() { Err(ParamError::new(name, "above zero", span)) } else { Ok(span) }
}

/// A payload that fits into an IPv4 packet with its headers.
fn payload(name: &'static str, bytes: haltere_units::Bytes, least: u64) -> Result<u32, ParamError> {
    /// 65535 less the headers of IPv4 and UDP or ICMP echo.
    const MOST: u64 = 65_507;
    match u32::try_from(bytes.as_u64()) {
        Ok(n) if (least..=MOST).contains(&u64::from(n)) => Ok(n),
        _ => Err(ParamError::new(name, format!("from {least} B to {MOST} B"), bytes)),
    }
}

/// The mean of a law.
fn mean(law: DurationDistribution) -> Dur {
    match law {
        DurationDistribution::Constant(span)
        | DurationDistribution::Exponential(span)
        | DurationDistribution::Pareto(span, _) => span,
        DurationDistribution::Uniform(low, high) => Dur::from_ns(low.as_ns() / 2 + high.as_ns() / 2),
    }
}

/// True where the application of `plan` no longer sends at `now`.
fn is_over(stop: Option<Time>, now: Time) -> bool {
    stop.is_some_and(|stop| now >= stop)
}
