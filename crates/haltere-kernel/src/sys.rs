//! System calls without a safe wrapper elsewhere: how a guest is confined, and clock ticks.
#![expect(unsafe_code, reason = "the one place for such calls")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The largest file that a guest may write, in bytes: captures of long runs are large.
const LARGEST_FILE: libc::rlim_t = 64 << 30;

/// Confines the process that the command starts, and all that it starts, before its first instruction.
///
/// | what | where |
/// |---|---|
/// | a process group of its own, and SIGKILL when the calling thread ends | always |
/// | no new privileges, no core dumps, no file beyond [`LARGEST_FILE`] | always |
/// | no network and no capabilities, by a network and a user namespace | where the user may make them |
/// | the files of these rules and no others, no TCP, no signals to other processes | as far as Landlock has it |
pub fn confine(command: &mut Command, rules: &Rules) -> io::Result<()> {
    let ruleset = rules.ruleset()?;
    command.process_group(0);
    // SAFETY: these are plain system calls with constants, safe between fork and exec; the ruleset is open until then.
    unsafe {
        command.pre_exec(move || {
            // Refused in many containers. The others hold without it.
            libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET);
            done(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            for (what, most) in [(libc::RLIMIT_CORE, 0), (libc::RLIMIT_FSIZE, LARGEST_FILE)] {
                let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                done(libc::getrlimit(what, &raw mut limit))?;
                limit.rlim_max = limit.rlim_max.min(most);
                limit.rlim_cur = limit.rlim_cur.min(most);
                done(libc::setrlimit(what, &raw const limit))?;
            }
            match &ruleset {
                Some(ruleset) => done(landlock(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd() as u64, 0, 0, 0)),
                None => Ok(()),
            }
        });
    }
    Ok(())
}

fn done(outcome: libc::c_int) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The files of a confined process: each path with what is below it. One that is not there is left out.
#[derive(Debug, Default)]
pub struct Rules {
    /// May be read and executed.
    pub readable: Vec<PathBuf>,
    /// May be read and written, and have files made and removed in them.
    pub writable: Vec<PathBuf>,
}

/// Access rights of Landlock, see `linux/landlock.h`.
mod right {
    pub const EXECUTE: u64 = 1 << 0;
    pub const WRITE_FILE: u64 = 1 << 1;
    pub const READ_FILE: u64 = 1 << 2;
    pub const READ_DIR: u64 = 1 << 3;
    pub const MAKE_CHAR: u64 = 1 << 6;
    pub const MAKE_BLOCK: u64 = 1 << 11;
    pub const TRUNCATE: u64 = 1 << 14;
    pub const IOCTL_DEV: u64 = 1 << 15;
    /// Those that a file may have which is no folder.
    pub const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
    /// All rights to files of a version of the interface.
    pub fn all(version: i64) -> u64 {
        match version {
            1 => (1 << 13) - 1,
            2 => (1 << 14) - 1,
            3 | 4 => (1 << 15) - 1,
            _ => (1 << 16) - 1,
        }
    }
}

/// `struct landlock_ruleset_attr`: the rights that are denied unless a rule grants them.
#[repr(C)]
struct Handled {
    files: u64,
    /// Binding and connecting of TCP sockets.
    network: u64,
    /// Abstract Unix sockets and signals.
    scoped: u64,
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

/// The version of Landlock's interface in this kernel; 0 if it has none.
pub fn landlock_version() -> i64 {
    const VERSION: u64 = 1;
    landlock(libc::SYS_landlock_create_ruleset, 0, 0, VERSION, 0).max(0).into()
}

fn landlock(call: libc::c_long, a: u64, b: u64, c: u64, d: u64) -> libc::c_int {
    // SAFETY: each caller gives what the call takes; the structures behind addresses live until it returns.
    unsafe { libc::syscall(call, a, b, c, d) as libc::c_int }
}

impl Rules {
    /// The ruleset in the kernel; `None` where there is no Landlock.
    fn ruleset(&self) -> io::Result<Option<OwnedFd>> {
        let version = landlock_version();
        if version == 0 {
            return Ok(None);
        }
        let all = right::all(version);
        let handled =
            Handled { files: all, network: if version >= 4 { 3 } else { 0 }, scoped: if version >= 6 { 3 } else { 0 } };
        // Earlier versions know the first fields alone.
        let size = match version {
            1..=3 => 8,
            4 | 5 => 16,
            _ => 24,
        };
        let fd = landlock(libc::SYS_landlock_create_ruleset, (&raw const handled).addr() as u64, size, 0, 0);
        done(fd)?;
        // SAFETY: the call has just returned it, and nobody else has it.
        let ruleset = unsafe { OwnedFd::from_raw_fd(fd) };
        let read = right::EXECUTE | right::READ_FILE | right::READ_DIR;
        let write = all & !(right::MAKE_CHAR | right::MAKE_BLOCK);
        for (paths, rights) in [(&self.readable, read), (&self.writable, write)] {
            paths.iter().try_for_each(|path| allow(&ruleset, path, rights & all))?;
        }
        Ok(Some(ruleset))
    }
}

fn allow(ruleset: &OwnedFd, path: &Path, rights: u64) -> io::Result<()> {
    let opened = File::options().read(true).custom_flags(libc::O_PATH).open(path);
    let place = match opened {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let allowed = if place.metadata()?.is_dir() { rights } else { rights & right::OF_FILES };
    let rule = Beneath { allowed, parent: place.as_raw_fd() };
    const PATH_BENEATH: u64 = 1;
    let rule = (&raw const rule).addr() as u64;
    done(landlock(libc::SYS_landlock_add_rule, ruleset.as_raw_fd() as u64, PATH_BENEATH, rule, 0))
}

/// Clock ticks a second in `/proc/PID/stat`.
pub fn ticks_per_second() -> f64 {
    // SAFETY: plain library call.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Output;

    /// Runs a script confined to a folder that it may read, and in which it may write to `out`.
    fn confined(name: &str, script: &str) -> (Output, PathBuf) {
        let folder = std::env::temp_dir().join(format!("haltere-confined-{}-{name}", std::process::id()));
        std::fs::create_dir_all(folder.join("out")).unwrap();
        std::fs::write(folder.join("secret"), "secret").unwrap();
        let system = ["/bin", "/lib", "/lib64", "/usr", "/etc/ld.so.cache", "/proc"];
        let readable = system.iter().map(PathBuf::from).collect();
        let rules = Rules { readable, writable: vec![folder.join("out"), "/dev/null".into()] };
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).current_dir(&folder);
        confine(&mut command, &rules).unwrap();
        (command.output().unwrap(), folder)
    }

    fn text(output: &Output) -> String {
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[test]
    fn a_confined_process_reads_and_writes_its_folder_alone() {
        if landlock_version() == 0 {
            return eprintln!("skipped: no Landlock here");
        }
        let script = "cat secret; echo a >made; echo b >out/made && cat out/made; ls .; ln secret out/link; \
                      mv secret out/moved; ls / ; cat /etc/passwd";
        let (output, folder) = confined("files", script);
        assert_eq!(text(&output), "b\n", "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!folder.join("made").exists() && folder.join("secret").exists());
        assert_eq!(std::fs::read_dir(folder.join("out")).unwrap().count(), 1);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_confined_process_leaves_no_core_and_gets_no_privileges() {
        let (output, folder) = confined("limits", "ulimit -Hc; setpriv --dump");
        let told = text(&output);
        assert!(told.starts_with("0\n"), "{told}");
        assert!(!told.contains("no_new_privs: 0"), "{told}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
