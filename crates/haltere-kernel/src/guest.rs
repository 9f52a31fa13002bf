//! The program that runs in a guest, as its first process.
//!
//! It mounts what it needs, reads the request, runs the plan with the wire's hosts and agents, writes the answer and switches the machine
//! off. All of it is deterministic: time is virtual, and entropy comes from the seed.

use crate::contract::{About, Answer, Done, Failure, Options, Request, version};
use haltere_plan::Plan;
use haltere_wire::{Calibrate, Control, WireError};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use serde_json::json;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often the guest says how far it is, in virtual time.
const SAY: Duration = Duration::from_millis(100);
/// Pages of memory that TCP may use: the default of a small machine is too little for a long fat path.
const TCP_PAGES: &str = "120000 140000 160000";

/// Does what the request says, and switches the machine off.
pub fn main() -> ! {
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

fn other(doing: &str) -> impl FnOnce(io::Error) -> Failure + '_ {
    move |e| Failure::Other(format!("in the guest: {doing}: {e}"))
}

fn serve() -> Result<Answer, Failure> {
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/tmp")] {
        mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>).map_err(|e| other(place)(e.into()))?;
    }
    fs::write("/proc/sys/net/ipv4/tcp_mem", TCP_PAGES).map_err(other("tcp_mem"))?;
    let bytes = fs::read("/request.json").map_err(other("request.json"))?;
    let request = serde_json::from_slice::<serde_json::Value>(&bytes).map_err(|e| other("request.json")(e.into()))?;
    if request["version"] != version() {
        return Err(Failure::Input("the guest program must be of the same build as haltere, got another one; run `haltere kernel build`".into()));
    }
    let request: Request = serde_json::from_slice(&bytes).map_err(|e| other("request.json")(e.into()))?;
    match request.plan {
        None => about().map(Answer::Kernel),
        Some(plan) => run(&plan, &request.options).map(|done| Answer::Done(Box::new(done))),
    }
}

fn about() -> Result<About, Failure> {
    let read = |path: &str| fs::read_to_string(path).map_err(other(path)).map(|text| text.trim().to_string());
    Ok(About {
        release: read("/proc/sys/kernel/osrelease")?,
        controls: read("/proc/sys/net/ipv4/tcp_available_congestion_control")?.split_whitespace().map(Into::into).collect(),
        fabric: std::path::Path::new("/proc/haltere").exists(),
    })
}

fn run(plan: &Plan, options: &Options) -> Result<Done, Failure> {
    let (progress, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let said = fs::File::create("/out/progress").map_err(other("progress"))?;
    let control = Control {
        progress: Some(&progress),
        calibrate: Calibrate::No,
        ftp_server: options.ftp_server.iter().map(Into::into).collect(),
        ..Control::default()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                // Who looks at it later sees it then.
                let _ = said.write_all_at(&progress.load(Ordering::Relaxed).to_le_bytes(), 0);
                std::thread::sleep(SAY);
            }
        });
        let outcome = haltere_wire::run(plan, &control);
        ended.store(true, Ordering::Relaxed);
        outcome
    })
    .map_err(|e: WireError| Failure::from(e))
    .map(|outcome| Done { told: json!({ "router": outcome.router.json(), "fabric": "user" }), record: outcome.record })
}
