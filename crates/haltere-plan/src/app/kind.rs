//! What the plan of a traffic kind says of it, and what kinds have in common.

use super::arrivals::ArrivalsPlan;
use super::multipath::PathPlan;
use crate::headers::{TCP_HEADER_WITH_TIMESTAMPS, UDP_HEADER};
use crate::stack::{self, Keeps};
use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use haltere_congestion::CongestionParams;
use haltere_transport::TcpParams;
use haltere_units::outside::Origin;
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
    fn arrivals(&self) -> Option<&ArrivalsPlan> {
        None
    }
    /// The paths, if one flow uses several interfaces of its hosts. The first is the flow's own.
    fn paths(&self) -> &[PathPlan] {
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

/// Implements [`App`] for a plan whose flows are TCP, with the endpoints in its field `tcp`; then come its other methods.
macro_rules! tcp_app {
    ($plan:ty $(; $($method:item)+)?) => {
        impl App for $plan {
            fn protocol(&self) -> Protocol {
                self.tcp.protocol()
            }
            fn tcp(&self) -> Option<&TcpPlan> {
                Some(&self.tcp)
            }
            $($($method)+)?
        }
    };
}
pub(super) use tcp_app;

/// A protocol above IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// ICMP, which has no ports.
    Icmp,
    /// The Transmission Control Protocol (RFC 9293).
    Tcp,
    /// The User Datagram Protocol (RFC 768).
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
    /// Parameters of the endpoint that sends data.
    pub sender: Arc<TcpParams>,
    /// Parameters of the endpoint that receives data.
    pub receiver: Arc<TcpParams>,
    /// The stack from outside the tree that takes the place of TCP. `None`: it is TCP.
    pub stack: Option<Arc<stack::library::Params>>,
}

impl TcpPlan {
    /// Two endpoints with the same parameters.
    pub fn alike(congestion: impl Into<Arc<CongestionParams>>, host: impl Into<Arc<TcpParams>>) -> TcpPlan {
        let (congestion, sender) = (congestion.into(), host.into());
        TcpPlan { congestion, receiver: sender.clone(), sender, stack: None }
    }
    /// The protocol that its packets carry above IP.
    pub fn protocol(&self) -> Protocol {
        if self.stack.is_some() { Protocol::Udp } else { Protocol::Tcp }
    }
    /// What an end of its stack over one path is made with. The largest UDP payload is that of a packet as long as one of
    /// TCP with a full segment and timestamps.
    pub fn end_context(&self, is_server: bool, now: Time, keeps: Keeps, origin: Origin) -> stack::EndContext {
        let payload = self.sender.mss.as_u64() as u32 + TCP_HEADER_WITH_TIMESTAMPS - UDP_HEADER;
        stack::EndContext {
            is_server,
            now,
            congestion: self.congestion.clone(),
            max_datagram: payload,
            ecn: self.sender.ecn,
            paths: 1,
            keeps,
            origin,
        }
    }
    /// The name of the control in reports, after that of the stack if it is not TCP: `noq:cubic`.
    pub fn label(&self) -> Cow<'_, str> {
        match &self.stack {
            None => self.congestion.label().into(),
            Some(stack) => stack::label(stack, &self.congestion).into(),
        }
    }
}
