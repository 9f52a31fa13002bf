//! What an environment is made of: networks, who decides, what and how often.

use crate::action::Action;
use crate::fields::{Field, QUEUE, QUEUE_COUNTERS, SENDER, SENDER_COUNTERS};
use crate::interval::Interval;
use crate::makers;
use haltere_congestion::CongestionParams;
use haltere_lab::Scenario;
use haltere_plan::Plan;
use haltere_plan::app::{AppPlan, TcpPlan};
use haltere_queue::QueueParams;
use haltere_units::{ParamError, Size};
use serde::Deserialize;
use std::sync::Arc;

/// The choices, as a caller gives them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choices {
    /// The senders that decide: names of flows or of traffic entries, or numbers of flows from 0. Empty with `link`.
    pub agents: Vec<String>,
    /// The link whose queue decides.
    pub link: Option<String>,
    /// The name of the action.
    pub action: String,
    /// The interval between decisions.
    pub interval: String,
    /// False: the experiment's own controls or discipline decide, and the steps only show what they do.
    pub decides: bool,
    /// The limit of a queue that decides.
    pub limit: Option<String>,
    /// A queue that decides marks packets that can be marked.
    pub ecn: bool,
}

/// What every environment of a gym has in common.
#[derive(Debug)]
pub struct Spec {
    pub(crate) networks: Vec<Arc<Scenario>>,
    choices: Choices,
    /// What every decision sets.
    pub action: Action,
    pub(crate) interval: Interval,
    /// How many decide in an environment.
    pub agents: usize,
    /// Environment `i` always runs network `i` modulo their number, instead of one drawn with the seed of the run.
    pub(crate) is_fixed: bool,
}

/// Who decides in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deciders {
    /// The senders of these flows.
    Flows(Vec<usize>),
    /// The queue of this link.
    Link(usize),
}

fn refuse<T>(name: &'static str, rule: impl Into<String>, got: impl std::fmt::Display) -> Result<T, ParamError> {
    Err(ParamError::new(name, rule, got))
}

impl Spec {
    /// Checks the choices, and finds those that decide in each network. The networks know the languages that
    /// [`add`](crate::add) adds.
    pub fn new(networks: Vec<Arc<Scenario>>, choices: Choices, is_fixed: bool) -> Result<Spec, String> {
        let spec = Spec::checked(networks, choices, is_fixed).map_err(|error| format!("gym: {error}"))?;
        let mut agents = None;
        for network in &spec.networks {
            let (_, deciders) = spec.plan(network, 1)?;
            let (count, names) = (deciders.count(), &spec.choices.agents);
            match agents {
                None => agents = Some(count),
                Some(other) if other == count => {}
                Some(other) => {
                    let rule = format!("as many flows in every network, {other} as in the first");
                    let error = ParamError::new("agents", rule, format!("{count} for `{}`", names.join("`, `")));
                    return Err(format!("gym: {error}"));
                }
            }
        }
        let agents = agents.ok_or("gym: networks must be at least one, got none")?;
        if (agents > 1 || spec.choices.link.is_some()) && !matches!(spec.interval, Interval::Fixed(_)) {
            let got = format!("`{}`", spec.choices.interval);
            let error = ParamError::new("interval", "a duration if several senders or a queue decide", got);
            return Err(format!("gym: {}", error.hint("write for example `20ms`")));
        }
        Ok(Spec { agents, ..spec })
    }
    fn checked(networks: Vec<Arc<Scenario>>, choices: Choices, is_fixed: bool) -> Result<Spec, ParamError> {
        let of_queue = choices.link.is_some();
        if of_queue != choices.agents.is_empty() {
            return refuse("agents", "given, or a link, but not both", if of_queue { "both" } else { "none" });
        }
        let action = Action::of(&choices.action).filter(|action| (*action == Action::Probability) == of_queue);
        let Some(action) = action else {
            let rule = if of_queue { "`probability` for a queue" } else { "an action of a sender" };
            return refuse("action", rule, format!("`{}`", choices.action));
        };
        let interval = Interval::parse(&choices.interval)?;
        Ok(Spec { networks, choices, action, interval, agents: 0, is_fixed })
    }
    /// True if the decisions come from outside.
    pub fn decides(&self) -> bool {
        self.choices.decides
    }
    /// The fields of the observations.
    pub fn fields(&self) -> &'static [Field] {
        if self.choices.link.is_some() { QUEUE } else { SENDER }
    }
    /// The names of the exact whole numbers.
    pub fn counters(&self) -> &'static [&'static str] {
        if self.choices.link.is_some() { QUEUE_COUNTERS } else { SENDER_COUNTERS }
    }
    /// Names of those that decide in the first network.
    pub fn names(&self) -> Result<Vec<String>, String> {
        let (plan, deciders) = self.plan(&self.networks[0], 1)?;
        Ok(match deciders {
            Deciders::Flows(flows) => flows.iter().map(|&flow| plan.flows[flow].name.clone()).collect(),
            Deciders::Link(link) => vec![plan.links[link].name.clone()],
        })
    }
    /// The run of that network with that seed, with mechanisms that wait for decisions in their places.
    pub(crate) fn plan(&self, network: &Scenario, seed: u64) -> Result<(Plan, Deciders), String> {
        let mut plan = network.plan(seed).map_err(|error| error.to_string())?;
        plan.measure = haltere_plan::plan::Measure::default();
        let deciders = match &self.choices.link {
            Some(name) => self.decided_queue(&mut plan, name),
            None => self.decided_flows(&mut plan),
        };
        Ok((plan, deciders.map_err(|error| format!("gym: {error}"))?))
    }
    fn decided_flows(&self, plan: &mut Plan) -> Result<Deciders, ParamError> {
        let mut chosen = Vec::new();
        for agent in &self.choices.agents {
            let before = chosen.len();
            let number: Option<usize> = agent.parse().ok();
            for (index, flow) in plan.flows.iter().enumerate() {
                let is_named = flow.name == *agent || flow.group_name() == agent || number == Some(index);
                if is_named && !chosen.contains(&index) {
                    chosen.push(index);
                }
            }
            if chosen.len() == before {
                let names: Vec<&str> = plan.flows.iter().take(20).map(|flow| flow.name.as_str()).collect();
                let rule = format!("the name of another flow or traffic entry: `{}`", names.join("`, `"));
                return refuse("agents", rule, format!("`{agent}`"));
            }
        }
        for &index in &chosen {
            let flow = &mut plan.flows[index];
            let name = flow.name.clone();
            let Some(tcp) = tcp_of(&mut flow.app) else {
                return refuse("agents", "flows of one TCP connection: `bulk` or `on_off`", format!("`{name}`"));
            };
            let params = match self.choices.decides {
                true => makers::agent_params(self.action, &self.choices.interval),
                false => makers::watched_params(&tcp.congestion, &self.choices.interval),
            };
            tcp.congestion = Arc::new(CongestionParams::Outside(params));
        }
        Ok(Deciders::Flows(chosen))
    }
    fn decided_queue(&self, plan: &mut Plan, name: &str) -> Result<Deciders, ParamError> {
        let Some(index) = plan.links.iter().position(|link| link.name == *name) else {
            let names: Vec<&str> = plan.links.iter().take(20).map(|link| link.name.as_str()).collect();
            return refuse("link", format!("the name of a link: `{}`", names.join("`, `")), format!("`{name}`"));
        };
        if self.choices.decides {
            let limit = self.choices.limit.as_deref().unwrap_or("1000p");
            let wrong = || ParamError::new("limit", "a size such as `100p`, `90kB` or `2bdp`", format!("`{limit}`"));
            let limit: Size = limit.parse().map_err(|_| wrong())?;
            plan.links[index].queue = QueueParams::Outside(makers::queue_params(limit, self.choices.ecn)).into();
        }
        Ok(Deciders::Link(index))
    }
}

impl Deciders {
    /// How many they are.
    pub(crate) fn count(&self) -> usize {
        match self {
            Deciders::Flows(flows) => flows.len(),
            Deciders::Link(_) => 1,
        }
    }
}

/// The endpoints of a flow that is one TCP connection.
fn tcp_of(app: &mut AppPlan) -> Option<&mut TcpPlan> {
    match app {
        AppPlan::Bulk(plan) => Some(&mut plan.tcp),
        AppPlan::OnOff(plan) => Some(&mut plan.tcp),
        _ => None,
    }
}
