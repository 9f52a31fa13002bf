//! What a guest is given and what it gives back, as JSON files in the guest's folder.

use haltere_plan::plan::AppPlan;
use haltere_plan::{Fault, Plan, Record};
use haltere_wire::WireError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// What the guest is asked to do: the folder's `request.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The [`version`] of who asks.
    pub version: String,
    /// The run; `None`: the guest only says what its kernel is.
    pub plan: Option<Plan>,
    /// Programs of a person, for whom the network of the plan is there without its flows.
    pub session: Option<Session>,
    /// How the run is done.
    pub options: Options,
}

/// The programs of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Host and words of programs beside it. They start first.
    pub servers: Vec<(String, Vec<String>)>,
    /// The host of the program at the person's terminal.
    pub host: String,
    /// Its name and arguments.
    pub words: Vec<String>,
    /// The environment of all of them beside the usual.
    pub environment: Vec<(String, String)>,
}

/// How a run is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Where the links of the plan are.
    pub router: Router,
    /// Hosts hand whole buffers of up to 64 kB to their link (generic segmentation offload), and the queues hold them
    /// as one packet.
    pub gso: bool,
    /// Congestion controls of the kernel that stand for those of the plan.
    pub controls: BTreeMap<String, String>,
    /// Every packet that leaves or reaches a host is written to this file of the host's machine, as pcap.
    pub pcap: Option<String>,
    /// For tests: every so-manyth request of the fabric for memory is refused. 0: none.
    pub refuse_every: u32,
    /// Program and arguments of the FTP server, as seen from the host's root folder.
    pub ftp_server: Vec<String>,
    /// Files and folders of the host that this server and the plan's programs read. The guest may read no others.
    pub host_files: Vec<String>,
}

/// Where the links of a plan are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Router {
    /// In the guest's kernel; in user space, if the plan has what the kernel's fabric cannot do.
    #[default]
    Auto,
    /// In the guest's kernel.
    Kernel,
    /// In user space in the guest: the wire's router.
    User,
}

/// The answer: `out/answer.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// What the kernel is.
    Kernel(About),
    /// The run came to its end.
    Done(Box<Done>),
    /// The program at the terminal ended with this status: 128 and the signal's number, if a signal ended it.
    Ended(i32),
    /// The run, or the session, failed.
    Failed(Failure),
}

/// What a guest kernel says of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Its release, e.g. `6.1.192-haltere`.
    pub release: String,
    /// Its congestion controls.
    pub controls: Vec<String>,
    /// It has the fabric.
    pub fabric: bool,
    /// Its TCP has accurate ECN.
    pub accurate_ecn: bool,
}

/// A run that came to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The record.
    pub record: Record,
    /// What the manifest says of the run beyond its record.
    pub told: Value,
}

/// Why a run came to no end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Failure {
    /// The experiment asks for what this world cannot do: path, name, rule, value, hint.
    Refused([String; 5]),
    /// The input or the machine lacks something.
    Input(String),
    /// Anything else.
    Other(String),
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Failure {
        match error {
            WireError::Refused(f) => Failure::Refused([f.path, f.name, f.rule, f.got, f.hint]),
            error @ (WireError::Plan(..) | WireError::Missing(_)) => Failure::Input(error.to_string()),
            error => Failure::Other(error.to_string()),
        }
    }
}

impl Failure {
    /// The mistake in the experiment, if it is one.
    pub fn fault(&self) -> Option<Fault> {
        let Failure::Refused([path, name, rule, got, hint]) = self else { return None };
        Some(Fault::new(path, name, rule, got).hint(hint))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(_) => write!(f, "{}", self.fault().unwrap_or_default()),
            Failure::Input(why) | Failure::Other(why) => write!(f, "{why}"),
        }
    }
}

/// The file in the guest's root folder that says that the person interrupted the program for the `nth` time.
pub fn interrupt_file(root: &str, nth: u64) -> String {
    format!("{root}interrupt-{nth}")
}

/// Tells two builds of this contract apart: a digest of the sources of plan, record, fabric and this file.
pub fn version() -> String {
    let sources = [
        include_str!("contract.rs"),
        include_str!("fabric.rs"),
        include_str!("../../haltere-plan/src/fabric.rs"),
        include_str!("../../haltere-plan/src/plan.rs"),
        include_str!("../../haltere-plan/src/app/mod.rs"),
        include_str!("../../haltere-plan/src/record.rs"),
        include_str!("../../haltere-plan/src/varying.rs"),
        include_str!("../../haltere-plan/src/link_queue.rs"),
        include_str!("../../haltere-transport/src/tcp/info.rs"),
        include_str!("../../haltere-transport/src/multipath/info.rs"),
    ];
    let bytes = sources.iter().chain(AppPlan::SOURCES).flat_map(|text| text.bytes());
    let digest = bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{digest:016x}")
}
