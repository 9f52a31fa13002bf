//! A client program and its server.
//!
//! The server starts while the run is prepared, and the client at the flow's start. The flow's bytes are those that the network counts.

use super::{Context, Done, Endpoint, Observed, Opened, Opening, Side};
use crate::clock::wait_for;
use crate::control::place;
use crate::error::WireError;
use crate::namespace::{Namespace, node_address};
use crate::program::{GRACE, Place, Program as Process, Start};
use haltere_plan::Plan;
use haltere_plan::app::program::{ProgramPlan, Ready};
use haltere_plan::plan::FlowPlan;
use haltere_plan::record::ProgramRecord;
use haltere_units::{Dur, Time};
use nix::sys::epoll::EpollFlags;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How long a server may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p ProgramPlan, at: Opening<'p>) -> Opened<'p> {
    Ok(Box::new(ProgramPair::open(plan, &at)?))
}

/// A program that runs or ran, and its line of the record.
#[derive(Debug)]
struct Ran {
    process: Process,
    record: ProgramRecord,
    /// It was asked to end.
    is_stopped: bool,
}

impl Ran {
    /// It ended at that time.
    fn ended(&mut self, at: Time) {
        self.record.end = Some(at);
        self.record.status = self.process.status();
    }
}

/// The programs of a flow.
#[derive(Debug)]
pub(super) struct ProgramPair<'p> {
    flow: &'p FlowPlan,
    plan: &'p ProgramPlan,
    from: &'p Namespace,
    at: &'p Place,
    index: u32,
    seed: u64,
    folders: Folders,
    server: Option<Ran>,
    client: Option<Ran>,
}

impl<'p> ProgramPair<'p> {
    fn open(plan: &'p ProgramPlan, at: &Opening<'p>) -> Result<ProgramPair<'p>, WireError> {
        let folders = Folders::new(at.plan, at.index, at.programs)
            .map_err(|e| WireError::os(format!("{}: making folders for its programs", at.flow.name), e))?;
        let mut pair = ProgramPair {
            flow: at.flow,
            plan,
            from: at.from,
            at: at.programs,
            index: at.index as u32,
            seed: at.seed,
            folders,
            server: None,
            client: None,
        };
        if !plan.server.is_empty() {
            let server = pair.launch(&plan.server, false, at.to, Time::ZERO)?;
            pair.wait_until_ready(&server, at.to)?;
            pair.server = Some(server);
        }
        Ok(pair)
    }
    fn launch(&self, words: &[String], is_client: bool, host: &Namespace, at: Time) -> Result<Ran, WireError> {
        let folder = self.folders.of(is_client);
        let (from, to) = (node_address(self.flow.from).to_string(), node_address(self.flow.to).to_string());
        let (seed, out) = (self.seed.to_string(), folder.to_string_lossy().into_owned());
        let fill = |text: &String| {
            let values = [("{from}", &from), ("{to}", &to), ("{seed}", &seed), ("{out}", &out)];
            values.into_iter().fold(text.clone(), |text, (name, value)| text.replace(name, value))
        };
        let words: Vec<String> = words.iter().map(fill).collect();
        let record = ProgramRecord {
            flow: self.index,
            is_client,
            command: words.join(" "),
            start: at,
            ..ProgramRecord::default()
        };
        let line =
            if let (Ready::Line(line), false) = (&self.plan.ready, is_client) { Some(line.clone()) } else { None };
        let environment = self.plan.environment.iter().map(|(key, value)| (key.clone(), fill(value))).collect();
        let start = Start { words, environment, folder, hosts: self.folders.hosts.clone(), line, terminal: None };
        let process = Process::start(host, start, self.at).map_err(|error| match error {
            WireError::Missing(what) => self.failed(is_client, &what),
            error => error,
        })?;
        Ok(Ran { process, record, is_stopped: false })
    }
    fn wait_until_ready(&self, server: &Ran, host: &Namespace) -> Done {
        let limit = match &self.plan.ready {
            Ready::After(time) => Duration::from_nanos(time.as_ns()),
            _ => PATIENCE,
        };
        let mut is_ready = false;
        wait_for(limit, || {
            is_ready = match &self.plan.ready {
                Ready::After(_) => false,
                Ready::Line(_) => server.process.wrote_line(),
                Ready::Port(port) => host.enter(|| has_port(*port)).unwrap_or(false),
            };
            is_ready || server.process.status().is_some()
        });
        let words = || server.process.last_words();
        if is_ready {
            return Ok(());
        }
        if let Some(status) = server.process.status() {
            return Err(self.failed(false, &format!("ended with status {status} before it was ready: {}", words())));
        }
        let missing = match &self.plan.ready {
            Ready::After(_) => return Ok(()),
            Ready::Line(line) => format!("wrote no line with `{line}`"),
            Ready::Port(_) => "opened no such port".into(),
        };
        Err(self.failed(false, &format!("{missing} within {} s: {}", PATIENCE.as_secs(), words())))
    }
    fn failed(&self, is_client: bool, what: &str) -> WireError {
        let (side, words) = if is_client { ("client", &self.plan.client) } else { ("server", &self.plan.server) };
        let name = words.first().map_or("", String::as_str);
        WireError::Program(format!("{}: {side} `{name}`: {what}", place(self.flow)))
    }
}

impl Endpoint for ProgramPair<'_> {
    fn start(&mut self, context: &Context<'_>, at: Time, _: &mut Observed) -> Done {
        if let Some(server) = &self.server {
            context.watch(server.process.end(), Side::Listener, EpollFlags::EPOLLIN)?;
        }
        let client = self.launch(&self.plan.client, true, self.from, at)?;
        context.watch(client.process.end(), Side::Sender, EpollFlags::EPOLLIN)?;
        self.client = Some(client);
        Ok(())
    }
    fn ready(&mut self, context: &Context<'_>, side: Side, _: EpollFlags, _: &mut Observed) -> Done {
        let is_client = side == Side::Sender;
        let Some(ran) = (if is_client { &mut self.client } else { &mut self.server }) else { return Ok(()) };
        context.forget(ran.process.end());
        ran.ended(context.now);
        let (status, is_stopped) = (ran.record.status.unwrap_or(0), ran.is_stopped);
        let expected = if is_client { self.plan.expect } else { 0 };
        if is_stopped || status == expected {
            return Ok(());
        }
        let words = ran.process.last_words();
        Err(self.failed(is_client, &format!("ended with status {status}: {words}")))
    }
    fn stop(&mut self, context: &Context<'_>) {
        if let Some(client) = self.client.as_mut().filter(|client| client.record.end.is_none()) {
            client.is_stopped = true;
            client.process.terminate();
            // A flow that has stopped does not tick any more, so the other alarm serves.
            context.join_at(context.now + Dur::from_ns(GRACE.as_nanos() as u64));
        }
    }
    fn join(&mut self, _: &Context<'_>) -> Done {
        if let Some(client) = &self.client {
            client.process.kill();
        }
        Ok(())
    }
    fn finish(&mut self, observed: &mut Observed) {
        for mut ran in [self.server.take(), self.client.take()].into_iter().flatten() {
            ran.record.outputs = ran.process.finish();
            observed.programs.push(ran.record);
        }
    }
}

/// The folders of a flow's programs, as they see them; dropped, they go.
#[derive(Debug)]
struct Folders {
    /// Where they are for this process.
    outside: PathBuf,
    inside: PathBuf,
    /// The hosts of the experiment by name.
    hosts: PathBuf,
}

impl Folders {
    fn new(plan: &Plan, flow: usize, at: &Place) -> io::Result<Folders> {
        let inside = at.temporary().join(format!("haltere-programs-{}-{flow}", std::process::id()));
        let outside = at.outside(&inside);
        for side in ["server", "client"] {
            fs::create_dir_all(outside.join(side))?;
        }
        let hosts = outside.join("hosts");
        fs::write(&hosts, names(plan))?;
        Ok(Folders { outside, inside, hosts })
    }
    fn of(&self, is_client: bool) -> PathBuf {
        self.inside.join(if is_client { "client" } else { "server" })
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        // What cannot be removed lies in the temporary folder.
        let _ = fs::remove_dir_all(&self.outside);
    }
}

/// The experiment's hosts as `/etc/hosts` has them.
pub fn names(plan: &Plan) -> String {
    let nodes = plan.nodes.iter().enumerate().map(|(node, name)| format!("{} {name}\n", node_address(node)));
    std::iter::once("127.0.0.1 localhost\n".to_string()).chain(nodes).collect()
}

/// Something listens at that TCP port, or has bound that UDP port, in the calling thread's namespace.
fn has_port(port: u16) -> io::Result<bool> {
    let read = |table: &str| fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
    let listens = ["tcp", "tcp6"].iter().any(|table| is_bound(&read(table), port, Some(LISTENS)));
    Ok(listens || ["udp", "udp6"].iter().any(|table| is_bound(&read(table), port, None)))
}

/// The state of a TCP socket that listens.
const LISTENS: &str = "0A";

/// A table of sockets of the kernel has one at that port, in that state. Of each line: number, local address and port, remote address and
/// port, state, all in hexadecimal.
fn is_bound(table: &str, port: u16, state: Option<&str>) -> bool {
    table.lines().skip(1).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next().and_then(|address| address.rsplit_once(':')).map_or("", |(_, port)| port);
        u16::from_str_radix(local, 16) == Ok(port) && state.is_none_or(|state| words.nth(1) == Some(state))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_listens_is_told_from_one_that_is_connected() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                        0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000\n\
                        1: 0100007F:0050 0100007F:9C40 01 00000000:00000000 00:00000000\n";
        assert!(is_bound(table, 5201, Some(LISTENS)));
        assert!(!is_bound(table, 80, Some(LISTENS)));
        assert!(is_bound(table, 80, None));
        assert!(!is_bound(table, 5202, None));
    }
}
