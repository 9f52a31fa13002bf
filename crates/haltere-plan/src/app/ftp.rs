//! Files uploaded by FTP, one task after the other.

use super::prelude::*;

/// Files uploaded by FTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FtpPlan {
    /// Endpoints of every connection.
    pub tcp: TcpPlan,
    /// Which files are uploaded, and how often.
    pub work: Work,
    /// Packets of tasks with files up to this are marked short, the others long.
    pub short: Bytes,
}

/// The files of one FTP flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// One file of that size.
    One(Bytes),
    /// Files drawn from these sizes, each when the last is done.
    Loop(Arc<[Bytes]>),
}

tcp_app!(FtpPlan);
