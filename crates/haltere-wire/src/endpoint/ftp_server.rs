//! FTP servers: a real program in the namespace of each host to which files are uploaded.
//!
//! The program is given by the caller; it serves port 21 with anonymous uploads and says `ready` on a line of its own.

use super::needs_ftp_server;
use crate::error::{Doing, WireError};
use crate::namespace::Topology;
use haltere_plan::Plan;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
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
    let hosts: BTreeSet<usize> = plan.flows.iter().filter(|flow| needs_ftp_server(flow)).map(|flow| flow.to).collect();
    let mut servers = Servers(Vec::new());
    for host in topology.hosts.iter().filter(|host| host.nodes.iter().any(|node| hosts.contains(node))) {
        let Some((name, arguments)) = program.split_first() else {
            return Err(WireError::Missing("uploads by ftp need a server program, and none was given".into()));
        };
        let mut command = Command::new(name);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = host.namespace.spawn(&mut command).doing("starting the FTP server")?;
        servers.0.push(child);
        wait_until_ready(servers.0.last_mut().unwrap_or_else(|| unreachable!("just pushed")))?;
    }
    Ok(servers)
}

fn wait_until_ready(child: &mut Child) -> Result<(), WireError> {
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line).doing("waiting for the FTP server")?;
    }
    if line.trim() == "ready" {
        return Ok(());
    }
    let mut why = String::new();
    if let Some(mut err) = child.stderr.take() {
        let _ = err.read_to_string(&mut why);
    }
    let reason = why.lines().last().unwrap_or("no reason given");
    Err(WireError::Missing(format!("the FTP server does not start: {reason}")))
}
