//! Traffic kinds: what the flows of a `[[traffic]]` entry do.
//!
//! `kinds!` below is the registry: one line and one file a kind. The file holds the kind's keys with their defaults (the schema and
//! `haltere explain` are made from them), its checks, and how it becomes the explicit plan of its flows. What all kinds share is done
//! once: names, starts, stops, directions and counts in [`entry`], the TCP of the flows in [`tcp`].
//!
//! A kind need not run in every world: one without a line in a world's own registry is refused there with the kinds that the world has.
//! So programs of one's own can be a kind of the worlds that have sockets.

mod duration;
mod ends;
mod entry;
mod hosts;
mod sizes;
mod tcp;

pub(crate) use duration::{DurationSpec, Pareto, RandomDuration, a_second};
pub(crate) use ends::{Direction, Ends, Pairs};
pub(crate) use entry::{Entry, FlowDraft, flows};
pub(crate) use hosts::Arriving;
pub(crate) use sizes::{SizeLaw, SizesSpec, read_files};
pub(crate) use tcp::TcpSide;

use crate::error::ScenarioError;
use haltere_plan::plan::AppPlan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a traffic kind must say of itself.
pub(crate) trait TrafficKind {
    /// What the kind is, for those who show its results.
    fn about() -> About
    where
        Self: Sized;
    /// Between whom and when its flows run.
    fn ends(&self) -> &Ends;
    /// The nodes between which its flows run: those of `pairs`, or `from` and `to`, if the kind says nothing else.
    fn pairs(&self, entry: &Entry<'_>) -> Result<Vec<(usize, usize)>, ScenarioError> {
        entry.pairs()
    }
    /// Flows for each pair and each of `count`.
    fn flows_of_a_pair(&self) -> u32 {
        1
    }
    /// What its flows do. Several plans are assigned to the flows round-robin. Everything that can be wrong is found here.
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError>;
}

/// What a traffic kind is, for those who show its results. They need no list of kinds of their own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct About {
    /// Its flows are TCP.
    pub tcp: bool,
    /// It delivers payload, so its goodput means something.
    pub goodput: bool,
    /// It sends requests and measures the time until the response.
    pub request_response: bool,
    /// Its flows arrive and end during the run: they are counted by completion, not one by one.
    pub arrivals: bool,
    /// Each of its flows, or each response, is a row of the table `completions`.
    pub completions: bool,
    /// The table that holds its own results beside `flows`.
    pub table: Option<&'static str>,
    /// Keys of [`Ends`] that have no place in its entries.
    pub without: &'static [&'static str],
    /// Its flows always have something to send, unless the entry gives one of these keys. `None`: they never do.
    pub endless_without: Option<&'static [&'static str]>,
    /// What a sentence calls one of its flows, after the control and the kind.
    pub noun: &'static str,
    /// An entry, as keys of TOML, for a dumbbell.
    pub example: &'static str,
}

impl About {
    /// A kind without TCP that delivers payload.
    pub const PLAIN: About = About {
        tcp: false,
        goodput: true,
        request_response: false,
        arrivals: false,
        completions: false,
        table: None,
        without: &[],
        endless_without: None,
        noun: "flow",
        example: "",
    };
    /// A kind of TCP flows.
    pub const TCP: About = About { tcp: true, ..About::PLAIN };
    /// A kind whose TCP flows arrive by themselves: an entry does not say how many there are, or when each starts.
    pub const ARRIVALS: About = About {
        arrivals: true,
        completions: true,
        table: Some("completions"),
        without: &["count", "jitter", "stagger"],
        ..About::TCP
    };
}

macro_rules! kinds {
    ($($variant:ident, $module:ident);+; @outside $foreign:ident, $outside:ident;) => {
        $(mod $module;)+
        mod $outside;

        /// Flows of one kind, distinguished by `kind`.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum Traffic {
            $(#[expect(missing_docs, reason = "the schema takes the text of the kind's own table")] $variant($module::$variant),)+
            /// A source from outside the tree. It is not in `NAMES`, and the schema does not have it.
            #[schemars(skip)]
            $foreign($outside::$foreign),
        }

        impl Traffic {
            /// The names of all kinds.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module)),+];

            /// The name of this kind.
            pub fn kind(&self) -> &'static str {
                match self { $(Traffic::$variant(_) => stringify!($module),)+ Traffic::$foreign(_) => stringify!($outside) }
            }
            /// The name of this kind in results: that of a source from outside the tree is its class's.
            pub fn label(&self) -> &str {
                if let Traffic::$foreign(entry) = self { &entry.source.name } else { self.kind() }
            }
            /// What the kind of that name is.
            pub fn about(name: &str) -> Option<About> {
                $(if name == stringify!($module) { return Some($module::$variant::about()); })+
                (name == stringify!($outside)).then($outside::$foreign::about)
            }
            /// The entry as any kind.
            pub(crate) fn as_kind(&self) -> &dyn TrafficKind {
                match self { $(Traffic::$variant(kind) => kind,)+ Traffic::$foreign(kind) => kind }
            }
        }
    };
}

kinds! {
    Bulk, bulk;
    OnOff, on_off;
    Cbr, cbr;
    Ping, ping;
    Ftp, ftp;
    Multipath, multipath;
    Poisson, poisson;
    Incast, incast;
    Permutation, permutation;
    Web, web;
    Rpc, rpc;
    Replay, replay;
    Video, video;
    Voip, voip;
    @outside Outside, outside;
}

impl Traffic {
    /// Its flows arrive during the run.
    pub(crate) fn arrives(&self) -> bool {
        Traffic::about(self.kind()).is_some_and(|about| about.arrivals)
    }
}
