//! Programs of the machine as traffic.

use super::ends::Ends;
use super::entry::Entry;
use super::kind::{About, TrafficKind};
use crate::error::{FaultKind, ScenarioError};
use crate::keys::defaults;
use haltere_plan::app::program::{ProgramPlan, Ready};
use haltere_plan::plan::AppPlan;
use haltere_units::Dur;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An unmodified program of this machine: a client at `from` and, if it needs one, its server at `to`. The wire and the
/// kernel world run it; the simulator has no sockets.
///
/// In arguments and in the environment, `{from}` and `{to}` stand for the addresses of the two hosts, `{seed}` for the
/// random seed of the run, and `{out}` for an empty folder of the program's own, which is also its working folder. The
/// table `programs` has the exit status of each program, `outputs` what it wrote, and `sockets` the packets of each of its
/// connections as the network saw them. Goodput is the payload that the network delivered between the two hosts, in the
/// direction that carried more.
///
/// Known problems: retransmitted payload counts as goodput. Two entries between the same two hosts share that count,
/// unless `ready` names the port of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Program {
    /// Between whom and when. At `stop` the client gets SIGTERM, and SIGKILL half a second later; so does a program that
    /// still runs at the end.
    #[serde(flatten)]
    pub ends: Ends,
    /// The client: its name and its arguments.
    #[schemars(length(min = 1, max = 1000))]
    pub client: Vec<String>,
    /// The server: its name and its arguments. It starts before the run. Without it there is none.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    pub server: Vec<String>,
    /// When the server is ready: `{ port = N }`: it listens at that TCP port or has bound that UDP port. `{ line = TEXT }`:
    /// it wrote a line with that text. A time: so long after its start.
    #[serde(default = "soon")]
    pub ready: ReadySpec,
    /// Variables of the environment of both. They have PATH, HOME, LANG and TMPDIR, too.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The client's exit status. Any other ends the run with an error.
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub expect: i32,
}

/// When a server is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ReadySpec {
    /// So long after its start.
    After(Dur),
    /// It listens there.
    Port {
        /// The TCP or UDP port.
        port: u16,
    },
    /// It wrote a line that contains this.
    Line {
        /// The text.
        line: String,
    },
}

defaults! { soon: ReadySpec = ReadySpec::After(Dur::from_ms(200)); }

/// The longest time for which a run waits for a server.
const PATIENCE: Dur = Dur::from_secs(60);

impl TrafficKind for Program {
    fn about() -> About {
        About { table: Some("programs"), noun: "", ..About::PLAIN }
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        for (name, words) in [("client", &self.client), ("server", &self.server)] {
            if words.first().is_some_and(String::is_empty) || (name == "client" && words.is_empty()) {
                return Err(entry.fault(name, "a list that begins with the name of a program", "none").out_of_range());
            }
            if let Some(word) = words.iter().find(|word| word.contains('\0')) {
                return Err(entry.fault(name, "without zero bytes", format!("{word:?}")).out_of_range());
            }
        }
        let unfit =
            |(key, value): &(&String, &String)| key.is_empty() || key.contains(['=', '\0']) || value.contains('\0');
        if let Some((key, _)) = self.environment.iter().find(unfit) {
            let rule = "names without `=` and texts without zero bytes";
            return Err(entry.fault("environment", rule, format!("{key:?}")).out_of_range());
        }
        let ready = match &self.ready {
            ReadySpec::After(time) if *time > PATIENCE => {
                return Err(entry.fault("ready", format!("at most {PATIENCE}"), time).out_of_range());
            }
            ReadySpec::After(time) => Ready::After(*time),
            ReadySpec::Port { port: 0 } => {
                return Err(entry.fault("ready", "a port from 1 to 65535", 0).out_of_range());
            }
            ReadySpec::Port { port } => Ready::Port(*port),
            ReadySpec::Line { line } => Ready::Line(line.clone()),
        };
        let (client, server, environment) = (self.client.clone(), self.server.clone(), self.environment.clone());
        Ok(vec![Box::new(ProgramPlan { client, server, ready, environment, expect: self.expect }).into()])
    }
}
