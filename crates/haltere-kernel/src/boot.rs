//! Starts a guest, watches it, and ends it.
//!
//! A guest has a private folder: `root`, the guest's root file system, with its program, `request.json` and `out`, into
//! which the guest writes; and `work`, for the kernel's memory and sockets. Its command line and environment differ
//! only in the seed, because the kernel's random pool takes both in. The guest is a process group of its own: nothing
//! of it is left when [`run`] returns, and it dies with the caller.
//!
//! User-Mode Linux is an ordinary process, so code that was compiled into it could do whatever the user may.
//! [`sys::confine`] says what the host's kernel denies it.

use crate::contract::{About, Answer, Done, Failure, Options, Request, Session, interrupt_file, version};
pub use crate::sys::has_landlock;
use crate::sys::{self, Rules};
use haltere_plan::Plan;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often the guest is checked.
const LOOK: Duration = Duration::from_millis(20);
/// After so many checks without progress its processor time is summed.
const ADD_UP: u32 = 100;
/// Processor time without progress after which a guest is held to be stuck: in virtual time a loop that never sleeps
/// stops the clock.
const PATIENCE_CPU_S: f64 = 120.0;
/// Sets another one, in seconds.
const PATIENCE: &str = "HALTERE_KERNEL_PATIENCE";
/// The guest's root folder, written alike in every run: Linux 6.12 takes no relative path.
const ROOT: &str = "hostfs=/proc/self/cwd/root";
/// The part of the private folder where the kernel keeps its memory, its number and its sockets.
const WORK: &str = "work";
/// Read by every program: the kernel is linked with the host's libraries, and reads these of its own process.
#[rustfmt::skip]
const HOST_FILES: [&str; 9] = [
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store", "/gnu/store", "/etc/ld.so.cache", "/proc/cpuinfo",
    "/proc/mounts",
];
/// Memory of a guest.
const MEMORY: &str = "768M";
/// Virtual time of boot, in nanoseconds since 1970: 2023-11-14 22:13:20.
const START_NS: &str = "1700000000000000000";

/// A kernel and the program that runs in it.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The User-Mode Linux kernel.
    pub vmlinux: PathBuf,
    /// The guest program, statically linked.
    pub guest: PathBuf,
}

/// How a run is watched.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watch<'a> {
    /// Set from outside to end the run early: it is then an error, [`BootError::Interrupted`].
    pub stop: Option<&'a AtomicBool>,
    /// Nanoseconds of the run that are done, for others to read.
    pub progress: Option<&'a AtomicU64>,
    /// How often the person interrupted the program at the terminal.
    pub interrupts: Option<&'a AtomicU64>,
}

/// Why a run in a guest failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum BootError {
    /// The guest reported a failure.
    Guest(Failure),
    /// The kernel stopped; the reason is the console's.
    Kernel(String),
    /// A system call failed: what was being done, and the error.
    Os(String, io::Error),
    /// The user asked to stop.
    Interrupted,
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BootError::Guest(failure) => failure.fmt(f),
            BootError::Kernel(why) => write!(f, "the guest kernel {why}"),
            BootError::Os(doing, error) => write!(f, "{doing}: {error}"),
            BootError::Interrupted => write!(f, "interrupted"),
        }
    }
}

impl std::error::Error for BootError {}

fn os(doing: impl Into<String>) -> impl FnOnce(io::Error) -> BootError {
    |error| BootError::Os(doing.into(), error)
}

/// Runs the plan in a guest.
pub fn run(kernel: &Kernel, plan: &Plan, options: &Options, watch: Watch<'_>) -> Result<Done, BootError> {
    let request = Request { version: version(), plan: Some(plan.clone()), session: None, options: options.clone() };
    match ask(kernel, plan.seed, &request, None, watch)? {
        Answer::Done(done) => Ok(*done),
        answer => Err(unexpected(answer)),
    }
}

/// Holds the network of the plan in a guest until the session's program ends: its exit status. `line` is what the guest's kernel
/// calls the person's end of the terminal.
pub fn hold(
    kernel: &Kernel,
    plan: &Plan,
    session: Session,
    options: &Options,
    line: OwnedFd,
    watch: Watch<'_>,
) -> Result<i32, BootError> {
    let (plan, options, seed) = (Some(plan.clone()), options.clone(), plan.seed);
    let request = Request { version: version(), plan, session: Some(session), options };
    match ask(kernel, seed, &request, Some(line), watch)? {
        Answer::Ended(status) => Ok(status),
        answer => Err(unexpected(answer)),
    }
}

fn unexpected(answer: Answer) -> BootError {
    match answer {
        Answer::Failed(failure) => BootError::Guest(failure),
        _ => BootError::Kernel("answered another question".into()),
    }
}

/// Asks a kernel what it is.
pub fn about(kernel: &Kernel) -> Result<About, BootError> {
    let request = Request { version: version(), plan: None, session: None, options: Options::default() };
    match ask(kernel, 1, &request, None, Watch::default())? {
        Answer::Kernel(about) => Ok(about),
        answer => Err(unexpected(answer)),
    }
}

/// Boots, waits and reads the answer.
fn ask(
    kernel: &Kernel,
    seed: u64,
    request: &Request,
    line: Option<OwnedFd>,
    watch: Watch<'_>,
) -> Result<Answer, BootError> {
    let folder = Folder::new().map_err(os("making a folder for the guest"))?;
    folder.fill(kernel, request)?;
    let console = folder.path.join("console");
    let rules = folder.rules(&kernel.vmlinux, &request.options.host_files);
    let mut guest = Guest(start(kernel, seed, &folder.path, &console, &rules, line)?, folder.path.clone());
    guest.wait(&folder.path, watch)?;
    drop(guest);
    if let Some(to) = &request.options.pcap {
        let from = folder.path.join("root/out/packets.pcap");
        if from.exists() {
            fs::copy(&from, to).map_err(os(format!("writing {to}")))?;
        }
    }
    let console = fs::read_to_string(&console).unwrap_or_default();
    let Ok(answer) = fs::read(folder.path.join("root/out/answer.json")) else {
        return Err(BootError::Kernel(reason(&console)));
    };
    let answer = serde_json::from_slice(&answer);
    match answer.map_err(|e| BootError::Kernel(format!("gave an answer that cannot be read: {e}")))? {
        Answer::Failed(Failure::Other(why)) if ate_memory(&console).is_some() => {
            let memory = ate_memory(&console).unwrap_or_default();
            Ok(Answer::Failed(Failure::Other(format!("{why}; the guest {memory}"))))
        }
        answer => Ok(answer),
    }
}

/// A guest's private folder; it goes with this value.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> io::Result<Folder> {
        use std::os::unix::fs::DirBuilderExt;
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        remove_left_folders();
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("haltere-guest-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder { path }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }
    fn fill(&self, kernel: &Kernel, request: &Request) -> Result<(), BootError> {
        let root = self.path.join("root");
        for name in ["root/proc", "root/sys", "root/dev", "root/tmp", "root/out", "root/host", WORK] {
            fs::create_dir_all(self.path.join(name)).map_err(os("making a folder for the guest"))?;
        }
        // No link: what the guest might do to its file, it must not do to the one that every run has.
        fs::copy(&kernel.guest, root.join("init")).map_err(os(format!("copying {}", kernel.guest.display())))?;
        let text = serde_json::to_vec(request).map_err(|e| BootError::Kernel(format!("cannot be asked: {e}")))?;
        fs::write(root.join("request.json"), text).map_err(os("writing the guest's request"))
    }
    /// What of the host's files the guest may reach.
    fn rules(&self, vmlinux: &Path, host_files: &[String]) -> Rules {
        let inside = |name| self.path.join(name);
        let mut readable: Vec<PathBuf> = HOST_FILES.iter().map(PathBuf::from).collect();
        readable.extend([vmlinux.to_path_buf(), inside("root")]);
        readable.extend(host_files.iter().map(PathBuf::from));
        Rules { readable, writable: vec![inside("root/out"), inside(WORK), "/dev/null".into()] }
    }
}

/// Removes the folders of processes that were killed.
fn remove_left_folders() {
    let Ok(all) = fs::read_dir(std::env::temp_dir()) else { return };
    for folder in all.flatten() {
        let name = folder.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix("haltere-guest-")?.split('-').next());
        if process.is_some_and(|id| id.parse::<u32>().is_ok() && !Path::new("/proc").join(id).exists()) {
            // Another process may have removed it, or it may be another user's.
            let _ = fs::remove_dir_all(folder.path());
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed lies in the temporary folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn start(
    kernel: &Kernel,
    seed: u64,
    folder: &Path,
    console: &Path,
    rules: &Rules,
    line: Option<OwnedFd>,
) -> Result<Child, BootError> {
    let log = File::create(console).map_err(os("making the guest's console"))?;
    let errors = log.try_clone().map_err(os("making the guest's console"))?;
    let vmlinux = fs::canonicalize(&kernel.vmlinux).map_err(os(format!("finding {}", kernel.vmlinux.display())))?;
    let mut command = Command::new(&vmlinux);
    // The first argument is part of what a process starts with: it is the same wherever the kernel lies.
    std::os::unix::process::CommandExt::arg0(&mut command, "linux");
    command.args([&format!("mem={MEMORY}"), "rootfstype=hostfs", "root=/dev/root", ROOT, "rw"]);
    command.args(["init=/init", "con0=null,fd:1", "con=null", "panic=-1", "quiet"]);
    let work = format!("./{WORK}/");
    command.args(["umid=guest", &format!("uml_dir={work}")]);
    command.args(["time-travel=inf-cpu", &format!("time-travel-start={START_NS}")]);
    command.env_clear().env("HALTERE_SEED", format!("0x{seed:016x}")).env("TMPDIR", work).current_dir(folder);
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    if let Some(line) = line {
        let number = sys::hand_over(&mut command, line);
        command.arg(format!("haltere_line={number}"));
    }
    sys::confine(&mut command, rules).map_err(os("confining the guest"))?;
    command.spawn().map_err(os(format!("starting {}", vmlinux.display())))
}

/// A running guest and its folder; dropped, all its processes are ended.
struct Guest(Child, PathBuf);

impl Guest {
    fn wait(&mut self, folder: &Path, watch: Watch<'_>) -> Result<(), BootError> {
        let progress = folder.join("root/out/progress");
        let patience = std::env::var(PATIENCE).ok().and_then(|s| s.parse().ok()).unwrap_or(PATIENCE_CPU_S);
        let (mut last, mut since_cpu, mut looks, mut interrupts) = (0, 0.0, 0, 0);
        let root = format!("{}/root/", folder.display());
        loop {
            if watch.interrupts.is_some_and(|asked| asked.load(Ordering::Relaxed) > interrupts) {
                interrupts += 1;
                File::create(interrupt_file(&root, interrupts)).map_err(os("interrupting the program"))?;
            }
            if self.0.try_wait().map_err(os("waiting for the guest"))?.is_some() {
                return Ok(());
            }
            if watch.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(BootError::Interrupted);
            }
            let at = fs::read(&progress).ok().and_then(|b| Some(u64::from_le_bytes(*b.first_chunk()?))).unwrap_or(0);
            if at > last {
                (last, since_cpu, looks) = (at, self.cpu_s(), 0);
                if let Some(progress) = watch.progress {
                    progress.store(at, Ordering::Relaxed);
                }
            } else if looks >= ADD_UP {
                looks = 0;
                let spent = self.cpu_s() - since_cpu;
                if spent > patience {
                    return Err(BootError::Kernel(format!(
                        "used {spent:.0} s of processor time while its clock stood still at {:.3} s; a program in it \
                         waits without sleeping",
                        last as f64 * 1e-9
                    )));
                }
            }
            looks += 1;
            std::thread::sleep(LOOK);
        }
    }
    /// Processor time of all processes of the guest.
    fn cpu_s(&self) -> f64 {
        let group = self.0.id();
        let elsewhere = in_folder(&self.1);
        let Ok(all) = fs::read_dir("/proc") else { return 0.0 };
        let stats = all.flatten().filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
        let ticks = stats.filter_map(|stat| {
            // After the name, which may hold anything: state, parent, group; utime and stime are the 12th and 13th.
            let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
            let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
            let process = stat.split(' ').next()?.parse::<i32>().ok()?;
            let is_ours = number(2)? == u64::from(group) || elsewhere.contains(&process);
            is_ours.then_some(number(11)? + number(12)?)
        });
        ticks.sum::<u64>() as f64 / sys::ticks_per_second()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The group may be gone already.
        let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
        let _ = self.0.wait();
        for process in in_folder(&self.1) {
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
        }
    }
}

/// The processes whose working folder is this one. From Linux 6.12 on, programs in the guest are sessions of their own;
/// they share its private folder with no other process.
fn in_folder(folder: &Path) -> Vec<i32> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let processes = all.flatten().filter_map(|entry| Some((entry.path(), entry.file_name().to_str()?.parse().ok()?)));
    let here = |(entry, id): (PathBuf, i32)| (fs::read_link(entry.join("cwd")).ok()? == folder).then_some(id);
    processes.filter_map(here).collect()
}

/// The console's line that says that memory ran out.
fn ate_memory(console: &str) -> Option<String> {
    let line = |what: &str| console.lines().find(|line| line.contains(what)).map(str::trim);
    let line = line("Out of memory").or(line("oom-kill")).or(line("deadlocked on memory"))?;
    Some(format!("ran out of its {MEMORY} of memory: {line}"))
}

/// Why a guest ended without an answer, from its console.
fn reason(console: &str) -> String {
    if let Some(memory) = ate_memory(console) {
        return memory;
    }
    let line = |what: &str| console.lines().find(|line| line.contains(what)).map(str::trim);
    if let Some(line) = line("Kernel panic") {
        let before: Vec<&str> =
            console.lines().take_while(|l| !l.contains("Kernel panic")).filter(|l| !l.is_empty()).collect();
        let told = before.last().map_or(String::new(), |l| format!(" after `{}`", l.trim()));
        return format!("stopped: {line}{told}");
    }
    let last = console.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("nothing on its console");
    format!("ended without an answer: {}", last.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_tells_why_a_guest_ended() {
        let text = "Checking that ptrace can change system call numbers...OK\nOut of memory: Killed process 1 (init)\nKernel panic - not syncing";
        assert!(reason(text).starts_with("ran out of its 768M of memory: Out of memory"), "{}", reason(text));
        let text = "Kernel panic - not syncing: System is deadlocked on memory";
        assert!(reason(text).starts_with("ran out of its 768M of memory: Kernel panic"), "{}", reason(text));
        let text = "haltere: no such link\nKernel panic - not syncing: Attempted to kill init! exitcode=0x00000100\n\n";
        assert_eq!(
            reason(text),
            "stopped: Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100 after `haltere: no such link`"
        );
        assert_eq!(reason(""), "ended without an answer: nothing on its console");
    }
}
