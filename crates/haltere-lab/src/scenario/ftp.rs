//! Files uploaded by FTP, as written in an experiment file.

use super::traffic::{Ends, TcpSide};
use haltere_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Uploads by FTP, each with a control connection and its dialogue and a data connection: every file once, all from the
/// start, or `tasks` at a time, each followed by another file drawn at random.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Ftp {
    /// Between whom and when: `from` uploads to `to`. `count` is how often the whole work is done side by side.
    #[serde(flatten)]
    pub ends: Ends,
    /// The TCP of all connections.
    #[serde(flatten)]
    pub side: TcpSide,
    /// Sizes of the files.
    #[schemars(length(min = 1, max = 100_000))]
    pub files: Vec<Bytes>,
    /// Tasks at a time, to the end of the run: each one done is followed by one with a file drawn from `files`. Without
    /// it each file is uploaded once, all starting together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub tasks: Option<u32>,
    /// Packets of tasks with files up to this are marked short (DSCP AF11), those of others long (CS1).
    #[serde(default = "sixteen_kilobytes")]
    pub short: Bytes,
}

fn sixteen_kilobytes() -> Bytes {
    Bytes::new(16_000)
}

impl Ftp {
    /// Flows for each pair and each of `count`: one for each file or for each task at a time.
    pub fn flows(&self) -> u32 {
        self.tasks.unwrap_or(self.files.len() as u32)
    }
}
