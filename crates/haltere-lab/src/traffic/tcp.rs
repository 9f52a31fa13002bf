//! The TCP of the flows of an entry: the keys, and the plan of both endpoints.

use super::entry::Entry;
use crate::error::{Fault, ScenarioError};
use crate::scenario::overrides::Overrides;
use haltere_congestion::{CongestionParams, Control, SenderContext};
use haltere_plan::plan::TcpPlan;
use haltere_plan::stack::{self, Keeps, StackParams};
use haltere_transport::TcpParams;
use haltere_units::Time;
use haltere_units::outside::Origin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The TCP of the flows of one entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpSide {
    /// The congestion control. A list is assigned round-robin to the pairs and their `count`; both directions of one
    /// pair get the same.
    pub congestion: Controls,
    /// The transport stack of both ends. A name other than `tcp` is that of a library that `haltere stack build` made,
    /// such as `noq`, or the path of one. Only the simulator runs it. `congestion` then names a control of the stack's
    /// own, unless the stack's parameter `control` says otherwise; of `[tcp]` only the lengths of segments apply.
    #[serde(skip_serializing_if = "is_tcp")]
    pub stack: StackParams,
    /// Both ends use ECN, or do not. If it is not given, `[tcp]` says.
    pub ecn: Option<bool>,
    /// What is different from `[tcp]` at both ends.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub tcp: Overrides<TcpParams>,
    /// What is different from that at the receiving end.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub receiver: Overrides<TcpParams>,
}

impl Default for TcpSide {
    /// Linux's default congestion control, and `[tcp]` as it is.
    fn default() -> TcpSide {
        TcpSide {
            congestion: Controls::One(CongestionParams::default_of("cubic").expect("the registry holds cubic")),
            stack: StackParams::default(),
            ecn: None,
            tcp: Overrides::default(),
            receiver: Overrides::default(),
        }
    }
}

fn is_tcp(stack: &StackParams) -> bool {
    *stack == StackParams::default()
}

/// One congestion control, or several that are assigned round-robin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Controls {
    /// One for all.
    One(CongestionParams),
    /// In turn.
    RoundRobin(#[schemars(length(min = 1))] Vec<CongestionParams>),
}

impl Controls {
    /// All that are assigned.
    pub fn all(&self) -> &[CongestionParams] {
        match self {
            Controls::One(control) => std::slice::from_ref(control),
            Controls::RoundRobin(controls) => controls,
        }
    }
}

impl Entry<'_> {
    /// One plan for each congestion control of `side`. Checks all parameters of TCP.
    pub(crate) fn tcp<T>(&self, side: &TcpSide, app: impl Fn(TcpPlan) -> T) -> Result<Vec<T>, ScenarioError> {
        let mut base = self.hosts_tcp.clone();
        base.ecn = side.ecn.unwrap_or(base.ecn);
        let sender = side.tcp.apply(&base, &self.place)?;
        let receiver = side.receiver.apply(&sender, &self.place)?;
        let controls = side.congestion.all();
        for (i, control) in controls.iter().enumerate() {
            let name = if controls.len() == 1 { "congestion".into() } else { format!("congestion[{i}]") };
            self.check_tcp(side, &sender, control, &name)?;
        }
        self.check_tcp(side, &receiver, &controls[0], "congestion")?;
        let (sender, receiver) = (Arc::new(sender), Arc::new(receiver));
        let stack = side.stack.outside().map(|stack| Arc::new(stack.clone()));
        let plan = |c: &CongestionParams| TcpPlan {
            congestion: Arc::new(c.clone()),
            sender: sender.clone(),
            receiver: receiver.clone(),
            stack: stack.clone(),
        };
        for control in controls {
            self.check_stack(&plan(control))?;
        }
        Ok(controls.iter().map(|c| app(plan(c))).collect())
    }

    /// Whether the stack takes its parameters and the control.
    fn check_stack(&self, tcp: &TcpPlan) -> Result<(), ScenarioError> {
        let Some(stack) = &tcp.stack else { return Ok(()) };
        self.ask(
            || self.place.clone(),
            |origin| stack::make(stack, &tcp.end_context(false, Time::ZERO, Keeps::default(), origin)),
        )
    }

    /// The same of an application that turns Nagle's algorithm off, as those do that ask and answer, unless the entry's
    /// `tcp` says otherwise.
    pub(crate) fn tcp_without_nagle<T>(
        &self,
        side: &TcpSide,
        app: impl Fn(TcpPlan) -> T,
    ) -> Result<Vec<T>, ScenarioError> {
        let mut plans = self.tcp(side, |tcp| tcp)?;
        for TcpPlan { sender, receiver, .. } in &mut plans {
            for (end, written) in [(sender, &side.tcp), (receiver, &side.receiver)] {
                if !side.tcp.has("nagle") && !written.has("nagle") {
                    Arc::make_mut(end).nagle = false;
                }
            }
        }
        Ok(plans.into_iter().map(app).collect())
    }

    /// Whether the control and the endpoint take these parameters.
    fn check_tcp(
        &self,
        side: &TcpSide,
        tcp: &TcpParams,
        control: &CongestionParams,
        name: &str,
    ) -> Result<(), ScenarioError> {
        tcp.check().map_err(|e| {
            let place = if side.receiver.has(&e.name) {
                format!("{}.receiver", self.place)
            } else if side.tcp.has(&e.name) {
                format!("{}.tcp", self.place)
            } else {
                "tcp".into()
            };
            Fault::param(place, e)
        })?;
        let initial_window = tcp.mss * u64::from(tcp.initial_window);
        self.ask(
            || format!("{}.{name}", self.place),
            |Origin { seed, outside }| {
                Control::new(control, &SenderContext { mss: tcp.mss, initial_window, seed, outside })
            },
        )
    }
}
