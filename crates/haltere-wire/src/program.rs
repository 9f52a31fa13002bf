//! A program of the machine in a host's namespace: started, watched and ended.
//!
//! A thread of its own starts it, because a thread that has entered a namespace of processes can start no other thread, and because the
//! kernel ends a program with the thread that started it. The thread waits for the end. Two more read what the program writes, and keep
//! the last of it. Nothing of the program remains: on a machine with other work it is the first process of a namespace of its own, and
//! the kernel ends such a namespace with its first process.

use crate::clock::wait_for;
use crate::error::WireError;
use crate::namespace::Namespace;
use crate::sys;
use haltere_plan::record::Output;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes that are kept of each output: the last ones.
const KEPT: usize = 1 << 20;
/// Files of a program's folder that are kept, in order of their names.
const FILES: usize = 100;
/// From SIGTERM to SIGKILL.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// How long the readers of a guest's program may go on after its end, if a child of it holds the pipes: in milliseconds.
const READS_ON_MS: u32 = 20;
/// Where programs are looked for, if the environment says nothing.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The files among which programs run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Their root folder, as this process sees it. Empty: this process's own.
    pub root: PathBuf,
    /// A program and arguments that come before a command, and move to that root.
    pub through: Vec<OsString>,
}

impl Place {
    /// This process's own files, on a machine with other work.
    fn is_shared(&self) -> bool {
        self.through.is_empty()
    }
    /// The folder for temporary files, as programs see it.
    pub fn temporary(&self) -> PathBuf {
        if self.is_shared() { std::env::temp_dir() } else { PathBuf::from("/tmp") }
    }
    /// Where that absolute path of theirs is for this process.
    pub fn outside(&self, path: &Path) -> PathBuf {
        if self.is_shared() { path.into() } else { self.root.join(path.strip_prefix("/").unwrap_or(path)) }
    }
    /// The folders with programs.
    fn path(&self) -> OsString {
        std::env::var_os("PATH").filter(|_| self.is_shared()).unwrap_or_else(|| PATH.into())
    }
    /// Refuses a program that is not there.
    pub(crate) fn find(&self, program: &str) -> Result<(), WireError> {
        if self.has(program) {
            return Ok(());
        }
        Err(WireError::Missing(format!("`{program}` must be a program of this machine, found none in PATH")))
    }
    fn has(&self, program: &str) -> bool {
        // A link may lead on from the root of the place: it counts as it is.
        let is_there = |path: &Path| fs::symlink_metadata(self.outside(path)).is_ok_and(|found| !found.is_dir());
        if program.contains('/') {
            return is_there(Path::new(program));
        }
        std::env::split_paths(&self.path()).any(|folder| is_there(&folder.join(program)))
    }
}

/// What a program is started with.
#[derive(Debug)]
pub(crate) struct Start {
    /// Its name and arguments.
    pub words: Vec<String>,
    /// Its environment beside the usual.
    pub environment: BTreeMap<String, String>,
    /// Its folder, as it sees it. It exists, and is empty.
    pub folder: PathBuf,
    /// A file that it sees as `/etc/hosts`.
    pub hosts: PathBuf,
    /// The text of the line for which [`Program::wrote_line`] waits.
    pub line: Option<String>,
    /// Where it reads and writes. `None`: it has no input, and the last of its output is kept.
    pub terminal: Option<File>,
}

/// The end of what a program writes.
#[derive(Debug, Default)]
struct Tail {
    bytes: u64,
    kept: Vec<u8>,
}

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > 2 * KEPT {
            self.kept.drain(..self.kept.len() - KEPT);
        }
    }
    fn output(&self) -> Output {
        let from = self.kept.len().saturating_sub(KEPT);
        Output { bytes: self.bytes, text: String::from_utf8_lossy(&self.kept[from..]).into_owned() }
    }
}

/// What the threads of a program say of it.
#[derive(Debug, Default)]
struct Told {
    outputs: [Tail; 2],
    wrote_line: bool,
    ended: Option<ExitStatus>,
}

/// A program that was started; dropped, it is ended.
#[derive(Debug)]
pub(crate) struct Program {
    id: Pid,
    name: String,
    told: Arc<Mutex<Told>>,
    /// It can be read from once the program has ended.
    end: PipeReader,
    thread: Option<JoinHandle<()>>,
    place: Place,
    folder: PathBuf,
}

impl Program {
    /// Starts it in that host.
    pub fn start(host: &Namespace, start: Start, place: &Place) -> Result<Program, WireError> {
        let name = start.words.first().cloned().unwrap_or_default();
        place.find(&name)?;
        let doing = format!("starting `{name}`");
        let failed = |error: io::Error| WireError::os(doing.as_str(), error);
        let host = host.as_fd().try_clone_to_owned().map_err(failed)?;
        let (end, ends) = io::pipe().map_err(failed)?;
        let told = Arc::new(Mutex::new(Told::default()));
        let (say, hear) = mpsc::channel();
        let (place_there, folder, told_there) = (place.clone(), start.folder.clone(), Arc::clone(&told));
        let thread = std::thread::spawn(move || {
            // Readers first: no thread can be started from inside a namespace of processes.
            let begun = (|| {
                let (out, error) = (io::pipe()?, io::pipe()?);
                let readers = [(out.0, 0), (error.0, 1)].map(|(pipe, which)| {
                    let (told, line) = (Arc::clone(&told_there), start.line.clone());
                    std::thread::spawn(move || read(pipe, which, line.as_deref(), &told))
                });
                setns(&host, CloneFlags::CLONE_NEWNET)?;
                let mut command = command(&start, &place_there);
                match start.terminal {
                    Some(at) => command.stdin(at.try_clone()?).stdout(at.try_clone()?).stderr(at),
                    None => command.stdin(Stdio::null()).stdout(out.1).stderr(error.1),
                };
                let child = inside(&mut command, &start.hosts, &place_there)?;
                Ok((child, readers))
            })();
            let (mut child, readers): (Child, [JoinHandle<()>; 2]) = match begun {
                Ok(begun) => begun,
                Err(error) => {
                    let _ = say.send(Err(error));
                    return;
                }
            };
            let _ = say.send(Ok(Pid::from_raw(child.id() as i32)));
            let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(Signal::SIGKILL as i32));
            // Of a shared machine nothing holds the pipes now. In a guest a child of it may: it is not waited for, but what was
            // written is read.
            if place_there.is_shared() {
                readers.into_iter().for_each(|reader| drop(reader.join()));
            } else {
                let reads = || readers.iter().any(|reader| !reader.is_finished());
                std::thread::yield_now();
                (0..READS_ON_MS).take_while(|_| reads()).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
            }
            lock(&told_there).ended = Some(status);
            drop(ends);
        });
        let id = hear.recv().unwrap_or_else(|_| Err(io::Error::other("its thread panicked"))).map_err(failed)?;
        Ok(Program { id, name, told, end, thread: Some(thread), place: place.clone(), folder })
    }
    /// The descriptor that says that it has ended.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
    /// Its exit status; 128 and the signal's number, if a signal ended it. `None`: it runs.
    pub fn status(&self) -> Option<i32> {
        let status = lock(&self.told).ended?;
        Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
    }
    /// It wrote the line that was asked for.
    pub fn wrote_line(&self) -> bool {
        lock(&self.told).wrote_line
    }
    /// Asks it to end.
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }
    /// Interrupts it, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(Signal::SIGINT);
    }
    /// Ends it at once, by SIGKILL.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }
    fn signal(&self, signal: Signal) {
        // It may have ended in between.
        if lock(&self.told).ended.is_none() {
            let _ = killpg(self.id, signal).or_else(|_| kill(self.id, signal));
        }
    }
    /// Ends it, first by asking, and gives what it wrote: to its outputs, then into its folder.
    pub fn finish(&mut self) -> Vec<(String, Output)> {
        self.terminate();
        wait_for(GRACE, || self.status().is_some());
        self.end_now();
        let names = ["stdout", "stderr"].map(String::from).into_iter();
        let written = names.zip(lock(&self.told).outputs.iter().map(Tail::output)).collect::<Vec<_>>();
        let files = files(&self.place.outside(&self.folder));
        written.into_iter().chain(files).collect()
    }
    fn end_now(&mut self) {
        self.kill();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
    /// Its name and the last thing that it said.
    pub fn last_words(&self) -> String {
        let told = lock(&self.told);
        let last = |tail: &Tail| {
            let text = tail.output().text;
            text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().chars().take(200).collect())
        };
        let said: Option<String> = last(&told.outputs[1]).or_else(|| last(&told.outputs[0]));
        said.unwrap_or_else(|| format!("`{}` said nothing", self.name))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end_now();
    }
}

/// Waits until a helper program has said `ready` on a line of its own. The inner error is the last line of its complaint.
pub(crate) fn wait_until_ready(child: &mut Child) -> io::Result<Result<(), String>> {
    let (mut line, mut why) = (String::new(), String::new());
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    if line.trim() == "ready" {
        return Ok(Ok(()));
    }
    if let Some(mut err) = child.stderr.take() {
        let _ = err.read_to_string(&mut why);
    }
    Ok(Err(why.lines().last().unwrap_or("no reason given").to_string()))
}

fn lock(told: &Mutex<Told>) -> MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads all that a program writes there.
fn read(mut pipe: PipeReader, which: usize, line: Option<&str>, told: &Mutex<Told>) {
    let (mut buffer, mut unfinished) = (vec![0; 1 << 16], Vec::new());
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let mut told = lock(told);
        told.outputs[which].add(&buffer[..count]);
        if let Some(line) = line.filter(|_| !told.wrote_line) {
            unfinished.extend_from_slice(&buffer[..count]);
            told.wrote_line = String::from_utf8_lossy(&unfinished).contains(line);
            let last = unfinished.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            unfinished.drain(..last);
        }
    }
}

fn command(start: &Start, place: &Place) -> Command {
    let words = place.through.iter().cloned().chain(start.words.iter().map(OsString::from));
    let words: Vec<OsString> = words.collect();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(place.outside(&start.folder)).env_clear();
    command.env("PATH", place.path()).env("LANG", "C.UTF-8");
    for name in ["HOME", "TMPDIR", "PWD"] {
        command.env(name, &start.folder);
    }
    command.envs(&start.environment);
    command
}

/// The calling thread, and what it starts, see that file as `/etc/hosts`.
pub(crate) fn see_hosts(hosts: &Path) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    if Path::new("/etc/hosts").exists() {
        mount(Some(hosts), "/etc/hosts", None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    }
    Ok(())
}

/// Starts the command in namespaces of files and processes of its own, if the machine has other work. The calling thread is in them then.
fn inside(command: &mut Command, hosts: &Path, place: &Place) -> io::Result<Child> {
    if place.is_shared() {
        see_hosts(hosts)?;
        unshare(CloneFlags::CLONE_NEWPID)?;
    }
    sys::begin_a_group(command, place.is_shared());
    command.spawn()
}

/// The files in a program's folder.
fn files(folder: &Path) -> Vec<(String, Output)> {
    let Ok(all) = fs::read_dir(folder) else { return Vec::new() };
    let plain = all.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut names: Vec<PathBuf> = plain.map(|entry| entry.path()).collect();
    names.sort();
    let read = |path: &PathBuf| {
        let mut tail = Tail::default();
        let bytes = fs::metadata(path).ok()?.len();
        let mut file = fs::File::open(path).ok()?;
        io::Seek::seek(&mut file, io::SeekFrom::Start(bytes.saturating_sub(KEPT as u64))).ok()?;
        file.take(KEPT as u64).read_to_end(&mut tail.kept).ok()?;
        tail.bytes = bytes;
        Some((path.file_name()?.to_string_lossy().into_owned(), tail.output()))
    };
    names.iter().take(FILES).filter_map(read).collect()
}
