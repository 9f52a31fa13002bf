//! Congestion controls that the kernel lacks, as BPF struct_ops. They are built from `bpf/`, loaded for a run and
//! unloaded after it.
//!
//! They are registered under a name of this process's own (`vegas_1234`), by a helper program that keeps the
//! registration only as long as its standard input is open: when this process ends in any way, the kernel takes them
//! back. Needs clang, bpftool, libbpf's headers, a kernel with BTF, and root outside any user namespace.

use crate::error::{Doing, WireError};
use crate::privileges;
use crate::program::wait_until_ready;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// The controls that we have as BPF programs.
pub const CONTROLS: [&str; 2] = ["vegas", "dctcp"];

const SOURCES: [(&str, &str); 4] = [
    ("common.bpf.h", include_str!("../../../bpf/common.bpf.h")),
    ("vegas.bpf.c", include_str!("../../../bpf/vegas.bpf.c")),
    ("dctcp.bpf.c", include_str!("../../../bpf/dctcp.bpf.c")),
    ("loader.c", include_str!("../../../bpf/loader.c")),
];
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// The name under which this process's sockets ask for our version of a control.
pub fn control_name(kind: &str) -> String {
    format!("{kind}_{}", std::process::id())
}

/// Loaded controls. Dropping this unloads them.
#[derive(Debug)]
pub struct Controls {
    loader: Option<(Child, ChildStdin)>,
    /// Removed with everything in it.
    folder: Option<PathBuf>,
}

impl Drop for Controls {
    fn drop(&mut self) {
        if let Some((mut child, stdin)) = self.loader.take() {
            drop(stdin); // the loader ends
            let _ = child.wait();
        }
        if let Some(path) = self.folder.take() {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Whether this process may load these controls; needs no tool.
pub fn may_load(kinds: &[&str]) -> Result<(), WireError> {
    if kinds.is_empty() || privileges::may_load_bpf() {
        return Ok(());
    }
    let got = if privileges::is_first_user_namespace() { "a user without it" } else { "a user namespace" };
    let what = format!(
        "congestion control {}: not in this kernel; to load it as BPF needs root outside a user namespace, got {got}; \
         run as root without `unshare -Ur`, or take a control of the kernel",
        kinds.join(", ")
    );
    Err(WireError::Missing(what))
}

/// Builds and loads these controls.
pub fn load(kinds: &[&str]) -> Result<Controls, WireError> {
    let mut controls = Controls { loader: None, folder: None };
    if kinds.is_empty() {
        return Ok(controls);
    }
    may_load(kinds)?;
    let list = kinds.join(", ");
    if !Path::new(BTF).exists() {
        let what = format!(
            "congestion control {list}: not in this kernel, and without BTF ({BTF}) it cannot be loaded either"
        );
        return Err(WireError::Missing(what));
    }
    remove_leftovers();
    let folder = std::env::temp_dir().join(format!("{FOLDER}{}", std::process::id()));
    let made = fs::create_dir_all(&folder)
        .and_then(|()| SOURCES.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text)));
    controls.folder = Some(folder.clone());
    made.doing(format!("writing to `{}`", folder.display()))?;
    let header = tool(&list, Command::new("bpftool").args(["btf", "dump", "file", BTF, "format", "c"]))?;
    fs::write(folder.join("vmlinux.h"), header).doing("writing vmlinux.h")?;
    for kind in kinds {
        let name = format!("-DCONTROL_NAME=\"{}\"", control_name(kind));
        let (source, object) = (format!("{kind}.bpf.c"), format!("{kind}.o"));
        let target = format!("-D__TARGET_ARCH_{}", bpf_arch());
        let mut clang = Command::new("clang");
        clang
            .current_dir(&folder)
            .args(["-O2", "-g", "-target", "bpf", "-I.", &target, &name, "-c", &source, "-o", &object]);
        tool(&list, &mut clang)?;
    }
    let mut clang = Command::new("clang");
    tool(&list, clang.current_dir(&folder).args(["-O1", "-o", "loader", "loader.c", "-lbpf"]))?;
    controls.loader = Some(start_loader(&folder, kinds)?);
    Ok(controls)
}

fn start_loader(folder: &Path, kinds: &[&str]) -> Result<(Child, ChildStdin), WireError> {
    let mut command = Command::new(folder.join("loader"));
    command.current_dir(folder).args(kinds.iter().map(|kind| format!("{kind}.o")));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().doing("starting the loader of BPF controls")?;
    let stdin = child.stdin.take();
    let is_ready = wait_until_ready(&mut child).doing("the loader of BPF controls")?;
    let reason = match (is_ready, stdin) {
        (Ok(()), Some(stdin)) => return Ok((child, stdin)),
        (is_ready, _) => is_ready.err().unwrap_or_default(),
    };
    let _ = child.wait();
    Err(WireError::Missing(format!("congestion control {}: the kernel would not load it: {reason}", kinds.join(", "))))
}

/// The output of a program, or an error with the name of a missing program or the program's complaint.
fn tool(controls: &str, command: &mut Command) -> Result<Vec<u8>, WireError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => WireError::Missing(format!(
            "congestion control {controls}: not in this kernel; to load it as BPF `{name}` must be installed, \
             for example with `apt-get install clang bpftool libbpf-dev`"
        )),
        _ => WireError::os(format!("running {name}"), e),
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let reason = text.lines().find(|l| l.contains("error")).or(text.lines().last()).unwrap_or("").to_string();
    Err(WireError::Missing(format!("congestion control {controls}: {name} failed: {reason}")))
}

const FOLDER: &str = "haltere-bpf-";

/// Files that killed processes left behind.
fn remove_leftovers() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|n| n.strip_prefix(FOLDER)).and_then(|p| p.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The architecture as libbpf's macros name it.
fn bpf_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        "riscv64" => "riscv",
        other => other,
    }
}
