//! FTP servers: a real program in the namespace of each host to which files are uploaded.
//!
//! The program is given by the caller; it serves port 21 with anonymous uploads and says `ready` on a line of its own.

use crate::error::{Doing, WireError};
use crate::namespace::Topology;
use crate::program::wait_until_ready;
use haltere_plan::Plan;
use haltere_plan::plan::AppPlan;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::{Child, Command, Stdio};

/// Running servers; dropped, they are ended.
#[derive(Debug)]
pub(crate) struct Servers(Vec<Child>);

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts the servers that the plan's uploads need, and waits until they serve.
pub(crate) fn start(plan: &Plan, topology: &Topology, program: &[OsString]) -> Result<Servers, WireError> {
    let hosts: BTreeSet<usize> =
        plan.flows.iter().filter(|flow| matches!(flow.app, AppPlan::Ftp(_))).map(|flow| flow.to).collect();
    let mut servers = Servers(Vec::new());
    for host in topology.hosts.iter().filter(|host| host.nodes.iter().any(|node| hosts.contains(node))) {
        let Some((name, arguments)) = program.split_first() else {
            return Err(WireError::Missing("uploads by ftp need a server program, and none was given".into()));
        };
        let mut command = Command::new(name);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        servers.0.push(host.namespace.spawn(&mut command).doing("starting the FTP server")?);
        if let Some(child) = servers.0.last_mut() {
            wait_until_ready(child)
                .doing("waiting for the FTP server")?
                .map_err(|reason| WireError::Missing(format!("the FTP server does not start: {reason}")))?;
        }
    }
    Ok(servers)
}
