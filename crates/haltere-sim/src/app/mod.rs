//! What runs on the hosts: one flow each, both of its ends.
//!
//! `apps!` below is the registry: one line and one file a traffic kind. Kinds whose flow is one TCP connection are
//! [`Source`]s of the application [`tcp`], or of [`stack`] if they run on a stack from outside the tree; the others are
//! an [`App`] of their own, and those of requests and responses a client of [`exchange`]. From the line follow the enums
//! [`AnyFlow`] and [`AnySource`], through which the simulator calls a flow without a virtual call, and the one place
//! that makes a flow of its plan.

mod contract;
pub(crate) mod exchange;
mod observed;
mod one_way;
mod sockets;
mod stack;
mod stream;
pub(crate) mod tcp;

pub(crate) use contract::{App, Asked, CLIENT, Elsewhere, Place, SERVER, Source};

use crate::error::RunError;
use crate::net::fabric::Fabric;
use crate::net::packet::Packet;
use haltere_plan::app::{is_over, positive_span, unknown_to_world};
use haltere_plan::headers::MAX_DATAGRAM;
use haltere_plan::plan::{AppPlan, DurationDistribution, FlowPlan, TcpPlan};
use haltere_plan::record::FlowRecord;
use haltere_plan::{Fault, Plan, Record};
use haltere_transport::Info;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};
use stream::Stream;

macro_rules! apps {
    (
        sources { $($source:ident, $source_module:ident, $source_type:ty);+ $(;)? }
        apps { $($app:ident, $app_module:ident, $app_type:ty);+ $(;)? }
    ) => {
        $(pub(crate) mod $source_module;)+
        $(pub(crate) mod $app_module;)+

        /// The kinds that the simulator runs.
        const KINDS: &[&str] = &[$(stringify!($source_module),)+ $(stringify!($app_module)),+];

        /// One flow. Those of one TCP connection lie in their list themselves: mostly there are no others.
        #[derive(Debug)]
        #[expect(clippy::large_enum_variant, reason = "the large one is the usual one")]
        pub(crate) enum AnyFlow {
            Tcp(tcp::Tcp),
            Observed(Box<observed::Observed>),
            Stack(Box<dyn App>),
            Elsewhere(Elsewhere),
            $($app($app_type)),+
        }

        /// The application on one TCP connection.
        #[derive(Debug)]
        pub(crate) enum AnySource { $($source($source_type)),+ }

        /// The simulator runs flows of that kind.
        fn has(app: &AppPlan) -> bool {
            #[allow(unreachable_patterns, reason = "the registry may hold fewer kinds than the plan's")]
            match app {
                $(AppPlan::$source(_) => true,)+
                $(AppPlan::$app(_) => true,)+
                _ => false,
            }
        }

        impl AnyFlow {
            /// The flow of that plan.
            pub fn new(flow: &FlowPlan, place: Place) -> Result<AnyFlow, RunError> {
                let made = match (&flow.app, stack::own(flow, &place)) {
                    (_, Some(made)) => made.map(AnyFlow::Stack),
                    $((AppPlan::$source(plan), None) => $source_module::$source::new(flow, plan, &place.origin)
                        .and_then(|source| connect(flow, &plan.tcp, AnySource::$source(source.into()), place)),)+
                    $((AppPlan::$app(plan), None) => $app_module::$app::new(flow, plan, place).map(|app| AnyFlow::$app(app.into())),)+
                    #[allow(unreachable_patterns, reason = "the registry may hold fewer kinds than the plan's")]
                    (other, None) => return Err(unknown(flow, other).into()),
                };
                made.map_err(|error| RunError::Param { place: format!("flow {}", flow.name), error })
            }
        }

        haltere_units::matcher! { ($) each_flow: AnyFlow { Tcp, Observed, Stack, Elsewhere, $($app),+ } }
        haltere_units::matcher! { ($) each_source: AnySource { $($source),+ } }
    };
}

apps! {
    sources {
        Bulk, bulk, bulk::Bulk;
        OnOff, on_off, Box<on_off::OnOff>;
        Outside, outside, outside::Outside;
    }
    apps {
        Cbr, cbr, Box<cbr::Cbr>;
        Ping, ping, Box<ping::Ping>;
        Ftp, ftp, Box<ftp::Ftp>;
        Multipath, multipath, Box<multipath::Multipath>;
        Arrivals, arrivals, arrivals::Arrivals;
        Web, web, Box<web::Web>;
        Rpc, rpc, Box<rpc::Rpc>;
        Video, video, Box<video::Video>;
        Voip, voip, Box<voip::Voip>;
    }
}

impl App for AnyFlow {
    haltere_units::forward! { each_flow;
        fn start(&mut self, fabric: &mut Fabric);
        fn step(&mut self, fabric: &mut Fabric);
        fn stop(&mut self, fabric: &mut Fabric);
        fn set_stop(&mut self, at: Time, fabric: &mut Fabric);
        #[inline]
        fn on_timer(&mut self, side: usize, fabric: &mut Fabric);
        // Without a call of its own, the packet is not copied once more on its way.
        #[inline(always)]
        fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric);
        fn received(&self) -> u64;
        fn sender(&self) -> Option<Info>;
        fn record(&self, record: &mut FlowRecord);
        fn is_sampled(&self) -> bool;
        fn state(&self, probe: &mut Probe);
        fn sample(&self, at: Time, probe: &mut Probe, record: &mut Record);
        fn finish(&mut self, at: Time, record: &mut Record);
        fn spawns(&self) -> bool;
    }
}

impl Source for AnySource {
    haltere_units::forward! { each_source;
        fn limit(&self) -> Option<u64>;
        fn start(&mut self, client: &mut dyn Stream);
        fn step(&mut self, now: Time, client: &mut dyn Stream) -> Option<Time>;
        #[inline]
        fn on_client(&mut self, now: Time, client: &mut dyn Stream) -> Option<Time>;
        #[inline]
        fn on_server(&mut self, now: Time, server: &mut dyn Stream, bytes: u64);
        fn stop(&mut self, client: &mut dyn Stream);
        fn received(&self) -> u64;
        fn finish(&mut self, at: Time, flow: u32, record: &mut Record);
    }
}

impl AnyFlow {
    /// The flow, if it is one TCP connection.
    #[inline(always)]
    pub fn tcp(&self) -> Option<&tcp::Tcp> {
        if let AnyFlow::Tcp(tcp) = self { Some(tcp) } else { None }
    }
    /// The same, to change it.
    #[inline]
    pub fn tcp_mut(&mut self) -> Option<&mut tcp::Tcp> {
        if let AnyFlow::Tcp(tcp) = self { Some(tcp) } else { None }
    }
    /// Its line of the record. The recorder adds the values at the end of the warm-up.
    pub fn line(&self) -> FlowRecord {
        let mut record = FlowRecord { received: self.received(), sender: self.sender(), ..FlowRecord::default() };
        self.record(&mut record);
        record
    }
}

/// The flow of one connection, with an observer if the plan asks for one.
fn connect(flow: &FlowPlan, tcp: &TcpPlan, source: AnySource, place: Place) -> Result<AnyFlow, ParamError> {
    if tcp.stack.is_some() {
        return Ok(AnyFlow::Stack(Box::new(stack::Single::new(flow, tcp, source, place)?)));
    }
    let Place { index, asked, .. } = place;
    let tcp = tcp::Tcp::new(flow, tcp, source, place)?;
    if asked.window.is_some() || asked.senders {
        return Ok(AnyFlow::Observed(Box::new(observed::Observed::new(tcp, index, asked))));
    }
    Ok(AnyFlow::Tcp(tcp))
}

/// Refuses a plan with a flow of a kind that has no line in the registry.
pub fn check_kinds(plan: &Plan) -> Result<(), Box<Fault>> {
    let unknown_one = plan.flows.iter().find(|flow| !has(&flow.app));
    unknown_one.map_or(Ok(()), |flow| Err(Box::new(unknown(flow, &flow.app))))?;
    stack::check(plan)
}

/// Refuses a kind that has no line in the registry.
fn unknown(flow: &FlowPlan, app: &AppPlan) -> Fault {
    let fault = unknown_to_world(&format!("traffic[{}]", flow.group), "in the simulator", KINDS, app);
    fault.hint("`--world wire` and `--world kernel` run it")
}

/// The rate of a source, which cannot be zero.
fn positive_rate(rate: Rate) -> Result<Rate, ParamError> {
    if rate == Rate::ZERO { Err(ParamError::new("rate", "above zero", rate)) } else { Ok(rate) }
}

/// A payload that fits into an IPv4 packet with its headers.
fn payload(name: &'static str, bytes: Bytes, least: u64) -> Result<u32, ParamError> {
    match u32::try_from(bytes.as_u64()) {
        Ok(n) if (least..=MAX_DATAGRAM).contains(&u64::from(n)) => Ok(n),
        _ => Err(ParamError::new(name, format!("from {least} B to {MAX_DATAGRAM} B"), bytes)),
    }
}

/// The mean of a distribution.
fn mean(law: DurationDistribution) -> Dur {
    match law {
        DurationDistribution::Constant(span)
        | DurationDistribution::Exponential(span)
        | DurationDistribution::Pareto(span, _)
        | DurationDistribution::Normal(span, _) => span,
        DurationDistribution::Uniform(low, high) => Dur::from_ns(low.as_ns() / 2 + high.as_ns() / 2),
    }
}
