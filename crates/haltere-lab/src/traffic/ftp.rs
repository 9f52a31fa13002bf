//! Files uploaded by FTP.

use super::prelude::*;
use haltere_plan::plan::{FtpPlan, TcpPlan, Work};
use std::sync::Arc;

/// Uploads by FTP. Each has a control connection with its dialogue and a data connection. Either every file is uploaded
/// once, all from the start, or `tasks` run at a time, each followed by another file drawn at random.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Ftp {
    /// Between whom and when: `from` uploads to `to`. `count` is how often the whole work is done side by side.
    #[serde(flatten)]
    pub(crate) ends: Ends,
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// Sizes of the files.
    #[schemars(length(min = 1, max = 100_000))]
    pub files: Vec<Bytes>,
    /// Tasks at a time, to the end of the run. A task that is done is followed by one with a file drawn from `files`.
    /// If it is not given, each file is uploaded once, and all start together.
    #[schemars(range(min = 1, max = 100_000))]
    pub tasks: Option<u32>,
    /// Packets of tasks with files up to this are marked short (DSCP AF11), those of other tasks long (CS1).
    #[serde(default = "sixteen_kilobytes")]
    pub short: Bytes,
}

defaults! { sixteen_kilobytes: Bytes = Bytes::new(16_000); }

impl TrafficKind for Ftp {
    fn about() -> About {
        About { table: Some("tasks"), without: &["dscp"], ..About::TCP }
    }
    /// One for each file, or for each task at a time.
    fn flows_of_a_pair(&self) -> u32 {
        self.tasks.unwrap_or(self.files.len() as u32)
    }
    /// One for each file, or one for all tasks that draw theirs. The congestion controls are assigned to them
    /// round-robin.
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        if let Some(i) = self.files.iter().position(|bytes| *bytes == Bytes::ZERO) {
            return Err(entry.fault(&format!("files[{i}]"), "at least 1B", Bytes::ZERO).out_of_range());
        }
        let tcp = entry.tcp(&self.side, |tcp| tcp)?;
        let plan = |tcp: &TcpPlan, work| FtpPlan { tcp: tcp.clone(), work, short: self.short }.into();
        if self.tasks.is_some() {
            let files: Arc<[Bytes]> = self.files.as_slice().into();
            return Ok(tcp.iter().map(|tcp| plan(tcp, Work::Loop(files.clone()))).collect());
        }
        let assigned = self.files.iter().zip(tcp.iter().cycle());
        Ok(assigned.map(|(bytes, tcp)| plan(tcp, Work::One(*bytes))).collect())
    }
}
