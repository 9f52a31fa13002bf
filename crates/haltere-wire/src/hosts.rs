//! Hosts for programs that a user starts: those of a live network, and those of a guest.

use crate::clock::wait_for;
use crate::error::WireError;
use crate::namespace::{Namespace, Topology};
use crate::program::{Place, Program, Start, see_hosts};
use crate::sys;
use crate::world::{Network, begin, topology_over};
use haltere_plan::Plan;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a server may take to open a port before the user's program starts.
const MOMENT: Duration = Duration::from_secs(2);
/// How often a program at a terminal is checked, in the guest's time.
const LOOK: Duration = Duration::from_millis(10);

/// A program to be run in a host: the host's name, the program's name and arguments, and its environment beside the usual.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The host's name.
    pub host: &'a str,
    /// The program's name and arguments.
    pub words: &'a [String],
    /// Its environment beside the usual.
    pub environment: &'a [(String, String)],
}

/// Hosts; dropped, their programs are ended, and they go.
#[derive(Debug)]
pub struct Hosts {
    /// Ended before the hosts go.
    servers: Mutex<Vec<Program>>,
    pub(crate) topology: Topology,
    /// Index and name of each node that is a host.
    nodes: Vec<(usize, String)>,
    place: Place,
    /// The file that they see as `/etc/hosts`.
    names: PathBuf,
}

impl Hosts {
    pub(crate) fn new(plan: &Plan, topology: Topology, nodes: &[usize], place: Place, names: &Path) -> Hosts {
        let nodes = nodes.iter().map(|&node| (node, plan.nodes[node].clone())).collect();
        Hosts { servers: Mutex::default(), topology, nodes, place, names: names.into() }
    }
    /// The hosts of that plan on a network that begins now. `place`: where their programs are; `names`: the file that they
    /// see as `/etc/hosts`.
    pub fn over(
        plan: &Plan,
        network: &dyn Network,
        offloads: bool,
        place: Place,
        names: &Path,
    ) -> Result<Hosts, WireError> {
        let topology = topology_over(plan, network, offloads)?;
        begin(network)?;
        let nodes = topology.nodes();
        Ok(Hosts::new(plan, topology, &nodes, place, names))
    }
    /// The nodes that are hosts.
    pub fn nodes(&self) -> Vec<usize> {
        self.nodes.iter().map(|(node, _)| *node).collect()
    }
    /// Starts a program until the hosts go. It has a moment to open a port.
    pub fn serve(&self, task: Task<'_>) -> Result<(), WireError> {
        let namespace = self.namespace(task.host)?;
        let before = namespace.enter(sockets).unwrap_or(0);
        let program = self.start(&namespace, task, None)?;
        wait_for(MOMENT, || program.status().is_some() || namespace.enter(sockets).unwrap_or(0) > before);
        if let Some(status) = program.status().filter(|status| *status != 0) {
            let (name, host, words) = (task.name(), task.host, program.last_words());
            let what = format!("server `{name}` in {host}: ended with status {status}: {words}");
            return Err(WireError::Program(what));
        }
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).push(program);
        Ok(())
    }
    /// Runs a program with this process's terminal, and waits for its end: its exit status, or 128 and the signal's number.
    pub fn run(&self, task: Task<'_>) -> Result<i32, WireError> {
        let (host, name) = (self.namespace(task.host)?, task.name());
        self.place.find(name)?;
        let ran = std::thread::scope(|scope| {
            let inside = || -> io::Result<i32> {
                host.stay()?;
                see_hosts(&self.names)?;
                let mut command = Command::new(name);
                command.args(&task.words[1..]).envs(task.environment.iter().cloned());
                sys::die_with_parent(&mut command);
                let status = command.status()?;
                Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
            };
            scope.spawn(inside).join()
        });
        let ran = ran.unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
        ran.map_err(|e| WireError::os(format!("starting `{name}`"), e))
    }
    /// The same with that terminal. The program is interrupted, as by Ctrl-C, whenever `interrupted` says so.
    pub fn run_at(
        &self,
        terminal: File,
        task: Task<'_>,
        mut interrupted: impl FnMut() -> bool,
    ) -> Result<i32, WireError> {
        let program = self.start(&self.namespace(task.host)?, task, Some(terminal))?;
        loop {
            if let Some(status) = program.status() {
                return Ok(status);
            }
            if interrupted() {
                program.interrupt();
            }
            std::thread::sleep(LOOK);
        }
    }
    /// Ends the programs that [`serve`](Hosts::serve) started.
    pub(crate) fn end_servers(&self) {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
    fn start(&self, host: &Namespace, task: Task<'_>, terminal: Option<File>) -> Result<Program, WireError> {
        let start = Start {
            words: task.words.to_vec(),
            environment: task.environment.iter().cloned().collect(),
            folder: self.place.temporary(),
            hosts: self.names.clone(),
            line: None,
            terminal,
        };
        Program::start(host, start, &self.place)
    }
    fn namespace(&self, host: &str) -> Result<Namespace, WireError> {
        let Some((node, _)) = self.nodes.iter().find(|(_, name)| name == host) else {
            let names: Vec<&str> = self.nodes.iter().map(|(_, name)| name.as_str()).collect();
            let rule = format!("must be one of `{}`", names.join("`, `"));
            return Err(WireError::plan("host", format!("{rule}, got `{host}`")));
        };
        let found = self.topology.host(*node).map_or_else(Namespace::current, |host| host.namespace.again());
        found.map_err(|e| WireError::os("entering a host", e))
    }
}

impl Task<'_> {
    fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// How many sockets the calling thread's namespace has.
fn sockets() -> io::Result<usize> {
    let count = |table| fs::read_to_string(format!("/proc/thread-self/net/{table}")).map(|text| text.lines().count());
    Ok(["tcp", "tcp6", "udp", "udp6"].into_iter().filter_map(|table| count(table).ok()).sum())
}
