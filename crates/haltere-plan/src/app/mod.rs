//! What flows do: the explicit plan of each traffic kind, and what the contract must know of it.
//!
//! `apps!` below is the registry. A kind is one file of this folder and one line. From the line follow [`AppPlan`], its
//! names and what every world may ask of a flow through the trait [`App`]: which protocol it speaks, what its TCP
//! endpoints are, whether its flows arrive during the run. A world matches on [`AppPlan`] in one place only, where it
//! makes what runs the flow.

use crate::fault::Fault;
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use haltere_congestion::CongestionParams;
use haltere_transport::TcpParams;
use haltere_units::{Dur, ParamError, Time};
use serde::{Deserialize, Serialize};

/// What the contract must know of the plan of a traffic kind.
pub trait App: fmt::Debug {
    /// The protocol that its packets carry above IP, if it does not use TCP.
    fn protocol(&self) -> Protocol {
        Protocol::Tcp
    }
    /// The TCP endpoints of its flows, if it uses TCP.
    fn tcp(&self) -> Option<&TcpPlan> {
        None
    }
    /// The arrival process, if its flows arrive during the run.
    fn arrivals(&self) -> Option<&arrivals::ArrivalsPlan> {
        None
    }
    /// The paths, if one flow uses several interfaces of its hosts. The first is the flow's own.
    fn paths(&self) -> &[multipath::PathPlan] {
        &[]
    }
    /// The nodes between which it sends, given the flow's own: the laboratory checks their paths and takes round-trip
    /// times from them.
    fn ends(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        vec![(from, to)]
    }
    /// The receiver sends packets, too: acknowledgements or replies.
    fn has_replies(&self) -> bool {
        true
    }
    /// It delivers payload, so its goodput means something.
    fn has_goodput(&self) -> bool {
        true
    }
    /// Its flows, or the responses to its requests, are rows of [`Record::completions`](crate::Record::completions).
    fn has_completions(&self) -> bool {
        self.arrivals().is_some()
    }
    /// The name of its traffic kind, if it differs from the name in the registry.
    fn kind_of_entry(&self) -> Option<&'static str> {
        None
    }
    /// The trait object of this plan.
    fn as_app(&self) -> &(dyn App + 'static)
    where
        Self: Sized + 'static,
    {
        self
    }
}

/// The largest payload of a UDP datagram or an ICMP echo over IPv4: 65,535 bytes less 20 of IPv4 and 8 of UDP or ICMP.
pub const MAX_DATAGRAM: u64 = 65_507;

/// A protocol above IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// ICMP, which has no ports.
    Icmp,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    /// Its number in the IP header.
    pub fn number(self) -> u8 {
        match self {
            Protocol::Icmp => 1,
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
        }
    }
    /// Its header has ports.
    pub fn has_ports(self) -> bool {
        self != Protocol::Icmp
    }
}

macro_rules! apps {
    ($($variant:ident, $module:ident, $plan:ty);+ $(;)?) => {
        $(pub mod $module;)+

        /// What a flow does: the explicit plan of its traffic kind. It derefs to [`App`], so `flow.app.tcp()` asks any
        /// kind.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each variant is the plan of the kind of that name")]
        pub enum AppPlan { $($variant($plan)),+ }

        impl AppPlan {
            /// The names of all kinds of plans, in the registry's order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module)),+];

            /// The source text of each kind's plan, in the registry's order: two processes that exchange plans must
            /// have the same.
            pub const SOURCES: &'static [&'static str] = &[$(include_str!(concat!(stringify!($module), ".rs"))),+];

            /// The name of the traffic kind.
            pub fn kind(&self) -> &'static str {
                let name = match self { $(AppPlan::$variant(_) => stringify!($module)),+ };
                self.kind_of_entry().unwrap_or(name)
            }
        }
        impl Deref for AppPlan {
            type Target = dyn App;
            fn deref(&self) -> &(dyn App + 'static) {
                match self { $(AppPlan::$variant(plan) => plan.as_app()),+ }
            }
        }
        $(impl From<$plan> for AppPlan {
            fn from(plan: $plan) -> AppPlan {
                AppPlan::$variant(plan)
            }
        })+
    };
}

apps! {
    Bulk, bulk, bulk::BulkPlan;
    OnOff, on_off, on_off::OnOffPlan;
    Cbr, cbr, cbr::CbrPlan;
    Ping, ping, ping::PingPlan;
    Ftp, ftp, ftp::FtpPlan;
    Multipath, multipath, Box<multipath::MultipathPlan>;
    Arrivals, arrivals, Box<arrivals::ArrivalsPlan>;
    Web, web, Box<web::WebPlan>;
    Rpc, rpc, Box<rpc::RpcPlan>;
    Video, video, Box<video::VideoPlan>;
    Voip, voip, voip::VoipPlan;
    Program, program, Box<program::ProgramPlan>;
    Outside, outside, Box<outside::OutsidePlan>;
}

/// Refuses a traffic entry at `place`: a world, such as `on the wire`, has the `known` kinds and no other.
pub fn unknown_to_world(place: &str, world: &str, known: &[&str], app: &AppPlan) -> Fault {
    let rule = format!("one of `{}` {world}", known.join("`, `"));
    Fault::new(place, "kind", rule, format!("`{}`", app.kind()))
}

/// A duration after which something is done again, which cannot be zero.
pub fn positive_span(name: &'static str, span: Dur) -> Result<Dur, ParamError> {
    if span.is_zero() { Err(ParamError::new(name, "above zero", span)) } else { Ok(span) }
}

/// True if an application that stops at `stop` no longer sends at `now`.
pub fn is_over(stop: Option<Time>, now: Time) -> bool {
    stop.is_some_and(|stop| now >= stop)
}

/// Both endpoints of a TCP flow. The flows of one entry share their parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TcpPlan {
    /// The sender's congestion control.
    pub congestion: Arc<CongestionParams>,
    /// The sender's endpoint.
    pub sender: Arc<TcpParams>,
    /// The receiver's endpoint.
    pub receiver: Arc<TcpParams>,
}

impl TcpPlan {
    /// Two endpoints with the same parameters.
    pub fn alike(congestion: impl Into<Arc<CongestionParams>>, host: impl Into<Arc<TcpParams>>) -> TcpPlan {
        let (congestion, sender) = (congestion.into(), host.into());
        TcpPlan { congestion, receiver: sender.clone(), sender }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::Bytes;

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let mut names = AppPlan::NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), AppPlan::NAMES.len());
    }
    #[test]
    fn a_world_without_a_kind_says_which_it_has() {
        let ping = ping::PingPlan { interval: Dur::from_ms(1), payload: Bytes::ZERO, ecn: false };
        let fault = unknown_to_world("traffic[2]", "on the moon", &["bulk", "cbr"], &ping.into());
        assert_eq!(fault.to_string(), "traffic[2]: kind must be one of `bulk`, `cbr` on the moon, got `ping`");
    }
}
