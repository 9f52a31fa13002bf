//! The program that runs in a guest, as its first process.
//!
//! It mounts what it needs, reads the request, runs the plan with the wire's hosts and agents, writes the answer and
//! switches the machine off. All of it is deterministic: time is virtual, and entropy comes from the seed.

use crate::contract::{About, Answer, Done, Failure, Options, Request, Router, Session, interrupt_file, version};
use crate::fabric::{self, kernel_queues};
use crate::tc;
use haltere_plan::fabric::{Totals, write_down};
use haltere_plan::plan::AppPlan;
use haltere_plan::{Plan, Record};
use haltere_units::Time;
use haltere_wire::clock::monotonic_ns;
use haltere_wire::hosts::{Hosts, Task};
use haltere_wire::namespace::attach_disciplines;
use haltere_wire::{Calibrate, Control, Manner, Network, WireError, host_names, program};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::prctl::set_no_new_privs;
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{setgid, setgroups, setuid};
use serde_json::json;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Uptime from which a person's programs run: `ping` of iputils takes an uptime below 1 s for no time at all.
const AWAKE: Duration = Duration::from_secs(1);
/// How often the guest reports its progress, in virtual time.
const SAY: Duration = Duration::from_millis(100);
/// Settings of the kernel as a whole. Memory for TCP: the default of a small machine is too little for a long fat path.
/// And as many packets as come in at one instant wait for their receivers.
const SYSCTLS: [(&str, &str); 2] = [("ipv4/tcp_mem", "120000 140000 160000"), ("core/netdev_max_backlog", "1000000")];

/// Where the host's files are, if a run needs a program of the host.
const HOST: &str = "/host";
/// The names of the experiment's hosts, as `/etc/hosts` has them.
const NAMES: &str = "/tmp/hosts";
/// The terminal of a person: see `kernel/line.h`.
const LINE: &str = "/proc/haltere_line";
/// The host's root folder as seen from the guest's private one.
const UP: &str = "../../../../../../../../../../../../../../../..";

/// Folders of the guest's own among the host's files: the kind of file system, where it is, and whether a host may lack it.
const OWN: [(&str, &str, bool); 7] = [
    ("proc", "/proc", false),
    ("sysfs", "/sys", false),
    ("devtmpfs", "/dev", false),
    ("tmpfs", "/tmp", false),
    ("tmpfs", "/dev/shm", false),
    ("tmpfs", "/run", true),
    ("tmpfs", "/var/tmp", true),
];
/// The largest of those in memory. All of them together leave room for programs.
const TMPFS: &str = "mode=1777,size=128m";
/// Processes and threads of programs.
const MOST_PROCESSES: u64 = 1000;
/// The user of programs, unless the guest's program is somebody's.
const NOBODY: u32 = 65_534;

/// Does what the request says, and switches the machine off. With arguments: runs that program among the host's files.
pub fn main() -> ! {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if std::process::id() != 1 {
        among_the_hosts_files(&arguments);
    }
    let answer = serve().unwrap_or_else(Answer::Failed);
    let written = serde_json::to_vec(&answer).map_err(io::Error::other);
    if let Err(e) = written.and_then(|bytes| fs::write("/out/answer.json", bytes)) {
        eprintln!("haltere-guest: writing the answer: {e}");
    }
    match reboot(RebootMode::RB_POWER_OFF) {
        Ok(never) => match never {},
        Err(e) => panic!("switching off: {e}"),
    }
}

/// Becomes that program, whose root folder is the host's, and whose user may do nothing to the guest.
fn among_the_hosts_files(arguments: &[String]) -> ! {
    let Some((program, arguments)) = arguments.split_first() else { panic!("no program is named") };
    let error = confine().err().unwrap_or_else(|| Command::new(program).args(arguments).exec());
    eprintln!("{program}: {error}");
    std::process::exit(1)
}

/// Leaves the guest's own files, and gives up its rights: switching it off, its devices, raw sockets, the fabric.
fn confine() -> io::Result<()> {
    let owner = fs::metadata("/init")?.uid();
    let user = if owner == 0 { NOBODY } else { owner };
    let network = Path::new("/proc/sys/net/ipv4");
    fs::write(network.join("ip_unprivileged_port_start"), "0")?;
    fs::write(network.join("ping_group_range"), "0 2147483647")?;
    // The first process is spared when memory runs out, and its programs are not.
    fs::write("/proc/self/oom_score_adj", "0")?;
    let folder = std::env::var_os("PWD").unwrap_or_else(|| "/".into());
    std::os::unix::fs::chroot(HOST)?;
    std::env::set_current_dir(folder)?;
    setrlimit(Resource::RLIMIT_NPROC, MOST_PROCESSES, MOST_PROCESSES)?;
    set_no_new_privs()?;
    setgroups(&[])?;
    setgid(user.into())?;
    Ok(setuid(user.into())?)
}

/// Shows the host's files, read-only, with this machine's processes, devices and names instead of the host's. `files` are those that
/// programs of the host may read; some may lie where the guest has folders of its own.
fn show_host(plan: &Plan, files: &[String]) -> Result<(), Failure> {
    // Programs write to folders that are made for them.
    umask(Mode::empty());
    let show = |kind: &str, place: &str, flags, data: Option<&str>| {
        mount(Some(kind), place, Some(kind), flags, data).map_err(|e| other(place)(e.into()))
    };
    show("hostfs", HOST, MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some(UP))?;
    let covers = |file: &&String| OWN.iter().any(|(_, place, _)| Path::new(file).starts_with(place));
    let covered =
        files.iter().filter(covers).enumerate().map(|(n, file)| (format!("{HOST}{file}"), format!("/tmp/{n}")));
    let covered: Vec<(String, String)> = covered.collect();
    for (file, kept) in &covered {
        show_again(file, kept)?;
    }
    for (kind, place, may_lack) in OWN {
        let (place, data) = (format!("{HOST}{place}"), (kind == "tmpfs").then_some(TMPFS));
        if place.ends_with("/shm") {
            fs::create_dir_all(&place).map_err(other(&place))?;
        }
        let shown = show(kind, &place, MsFlags::empty(), data);
        shown.or_else(|error| if may_lack { Ok(()) } else { Err(error) })?;
    }
    for (file, kept) in &covered {
        show_again(kept, file)?;
    }
    fs::write(NAMES, host_names(plan)).map_err(other("the names of the hosts"))?;
    let _ = mount(Some(NAMES), "/host/etc/hosts", None::<&str>, MsFlags::MS_BIND, None::<&str>);
    Ok(())
}

/// Shows a file or a folder at another place, too. A link is made again: its other end is shown if it is needed.
fn show_again(what: &str, place: &str) -> Result<(), Failure> {
    let shown = fs::symlink_metadata(what).and_then(|found| {
        fs::create_dir_all(Path::new(place).parent().unwrap_or(Path::new("/")))?;
        if found.is_symlink() {
            return std::os::unix::fs::symlink(fs::read_link(what)?, place);
        }
        if found.is_dir() {
            fs::create_dir_all(place)?
        } else {
            fs::write(place, "")?
        }
        Ok(mount(Some(what), place, None::<&str>, MsFlags::MS_BIND, None::<&str>)?)
    });
    shown.map_err(other(what))
}

fn other(doing: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |e| Failure::Other(format!("in the guest: {doing}: {e}"))
}

fn serve() -> Result<Answer, Failure> {
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")] {
        let mounted = mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>);
        // Some kernels mount `/dev` themselves.
        mounted.or_else(|e| if e == Errno::EBUSY { Ok(()) } else { Err(other(place)(e.into())) })?;
    }
    for (name, value) in SYSCTLS {
        fs::write(format!("/proc/sys/net/{name}"), value).map_err(other(name))?;
    }
    fs::write("/proc/self/oom_score_adj", "-1000").map_err(other("oom_score_adj"))?;
    let bytes = fs::read("/request.json").map_err(other("request.json"))?;
    let request = serde_json::from_slice::<serde_json::Value>(&bytes).map_err(|e| other("request.json")(e.into()))?;
    if request["version"] != version() {
        return Err(Failure::Input(
            "the guest program must be of the same build as haltere, got another one; run `haltere kernel build`"
                .into(),
        ));
    }
    let request: Request = serde_json::from_slice(&bytes).map_err(|e| other("request.json")(e.into()))?;
    match (request.plan, request.session) {
        (None, _) => about().map(Answer::Kernel),
        (Some(plan), None) => run(&plan, &request.options).map(|done| Answer::Done(Box::new(done))),
        (Some(plan), Some(session)) => hold(plan, &request.options, &session).map(Answer::Ended),
    }
}

fn about() -> Result<About, Failure> {
    let read = |path: &str| fs::read_to_string(path).map_err(other(path)).map(|text| text.trim().to_string());
    Ok(About {
        release: read("/proc/sys/kernel/osrelease")?,
        controls: read("/proc/sys/net/ipv4/tcp_available_congestion_control")?
            .split_whitespace()
            .map(Into::into)
            .collect(),
        fabric: Path::new(DEVICE).exists(),
        accurate_ecn: Path::new("/proc/sys/net/ipv4/tcp_ecn_option").exists(),
    })
}

fn run(plan: &Plan, options: &Options) -> Result<Done, Failure> {
    if plan.flows.iter().any(|flow| matches!(flow.app, AppPlan::Ftp(_) | AppPlan::Program(_))) {
        show_host(plan, &options.host_files)?;
    }
    let progress = AtomicU64::new(0);
    let control = Control {
        progress: Some(&progress),
        calibrate: Calibrate::No,
        gso: options.gso,
        ftp_server: std::iter::once("/init")
            .chain(options.ftp_server.iter().map(String::as_str))
            .map(Into::into)
            .collect(),
        programs: among_the_hosts(),
        manner: Manner {
            readers: true,
            sampled_recoveries: true,
            controls: options.controls.clone().into_iter().collect(),
        },
        ..Control::default()
    };
    saying(
        || progress.load(Ordering::Relaxed),
        || match options.router {
            Router::User => in_user_space(plan, &control),
            Router::Auto if !Path::new(DEVICE).exists() => in_user_space(plan, &control),
            Router::Auto | Router::Kernel => in_the_kernel(plan, &control, options),
        },
    )
}

/// The host's programs.
fn among_the_hosts() -> program::Place {
    program::Place { root: HOST.into(), through: vec!["/init".into()] }
}

/// Does the work, and says meanwhile how far it is, in nanoseconds.
fn saying<T>(progress: impl Fn() -> u64 + Sync, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let ended = AtomicBool::new(false);
    let said = fs::File::create("/out/progress").map_err(other("progress"))?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                // A failed write is made good by the next one.
                let _ = said.write_all_at(&progress().to_le_bytes(), 0);
                std::thread::sleep(SAY);
            }
        });
        let done = work();
        ended.store(true, Ordering::Relaxed);
        done
    })
}

/// Holds the network of the plan for a person's programs: the exit status of the one at the terminal.
fn hold(mut plan: Plan, options: &Options, session: &Session) -> Result<i32, Failure> {
    show_host(&plan, &options.host_files)?;
    // The program ends it.
    plan.end = Time::NEVER;
    plan.measure.queues = None;
    let terminal = fs::OpenOptions::new().read(true).write(true).open(LINE).map_err(other("the terminal"))?;
    saying(monotonic_ns, || {
        std::thread::sleep(AWAKE.saturating_sub(Duration::from_nanos(monotonic_ns())));
        let hosts = Hosts::over(&plan, &Device { plan: &plan }, options.gso, among_the_hosts(), Path::new(NAMES))?;
        let task = |(host, words)| Task { host, words, environment: &session.environment };
        for (host, words) in &session.servers {
            hosts.serve(task((host, words)))?;
        }
        let mut interrupts = 0;
        let interrupted = || {
            let is_new = Path::new(&interrupt_file("/", interrupts + 1)).exists();
            interrupts += u64::from(is_new);
            is_new
        };
        Ok(hosts.run_at(terminal, task((&session.host, &session.words)), interrupted)?)
    })
}

/// The links are in the wire's router, a thread of this process.
fn in_user_space(plan: &Plan, control: &Control<'_>) -> Result<Done, Failure> {
    let outcome = haltere_wire::run(plan, control)?;
    let router = outcome.router.json();
    let told = json!({ "fabric": "user", "late_us": router["late_us"], "router": router });
    Ok(Done { record: outcome.record, told })
}

/// The links are in the kernel.
fn in_the_kernel(plan: &Plan, control: &Control<'_>, options: &Options) -> Result<Done, Failure> {
    if options.pcap.is_some() {
        Device::tell(b"capture")?;
    }
    if options.refuse_every > 0 {
        Device::tell(format!("refuse {}", options.refuse_every).as_bytes())?;
    }
    let device = Device { plan };
    let record = haltere_wire::run_over(plan, &device, options.gso, control)?;
    let read = fs::read(DEVICE).and_then(|text| Ok(fabric::read(&text)?));
    let (fabric::Counted { totals, refused }, samples) = read.map_err(other("reading the fabric"))?;
    let unaccounted = totals.unaccounted();
    let Totals { links, counters, inside, sockets } = totals;
    if options.pcap.is_some() {
        fs::copy(CAPTURE, "/out/packets.pcap").map_err(other("copying the capture"))?;
    }
    let late = |ns: u64, of: u64| ns as f64 * 1e-3 / of.max(1) as f64;
    let told = json!({
        "fabric": "kernel",
        "late_us": { "mean": late(counters.late_sum_ns, counters.departed), "max": late(counters.late_max_ns, 1) },
        "router": {
            "arrived": counters.arrived, "departed": counters.departed, "emitted": counters.emitted,
            "unroutable": counters.unroutable, "inside": inside, "unaccounted": unaccounted, "refused": refused,
        },
    });
    let mut record = Record { links, queue_series: samples, events: counters.events, ..record };
    write_down(plan, sockets, &mut record);
    Ok(Done { record, told })
}

/// The file by which the kernel's fabric is controlled.
const DEVICE: &str = "/proc/haltere";

/// The file with what it captured.
const CAPTURE: &str = "/proc/haltere_pcap";

/// The fabric in the kernel.
struct Device<'p> {
    plan: &'p Plan,
}

impl Device<'_> {
    fn tell(text: &[u8]) -> Result<(), WireError> {
        // One write: the kernel reads it as a whole.
        let told = fs::OpenOptions::new().write(true).open(DEVICE).and_then(|mut file| file.write_all(text));
        told.map_err(|e| WireError::os("telling the kernel's fabric", e))
    }
}

impl Network for Device<'_> {
    fn prepare(&self, nodes: &[usize]) -> Result<(), WireError> {
        let fabric = self.plan.fabric();
        let ports = nodes.iter().map(|node| format!(" {node}")).collect::<String>();
        let mut text = format!("{} {}{ports}\n", fabric.nodes, fabric.framing).into_bytes();
        text.extend(serde_json::to_vec(&fabric).map_err(|e| WireError::os("writing the fabric's plan", e))?);
        Device::tell(&text)?;
        for (queue, (_, words)) in kernel_queues(&self.plan.links).enumerate() {
            let made = tc::parse(words).map_err(io::Error::other);
            let attached = made.and_then(|made| attach_disciplines(&format!("q{queue}"), &made));
            attached.map_err(|e| WireError::os(format!("the queue discipline `{words}`"), e))?;
        }
        Ok(())
    }
    fn start(&self, origin_ns: u64) -> Result<(), WireError> {
        Device::tell(format!("start {origin_ns}").as_bytes())
    }
}
