//! System calls without a safe wrapper elsewhere: how a guest is confined, and clock ticks.
#![expect(unsafe_code, reason = "the one place for such calls")]

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The largest file that a guest may write, in bytes: captures of long runs are large.
const LARGEST_FILE: libc::rlim_t = 64 << 30;

/// Confines the process that the command starts, and all that it starts, before its first instruction.
///
/// | what | where |
/// |---|---|
/// | a process group of its own, and SIGKILL when the calling thread ends | always |
/// | one processor, where it starts: its processes take turns, and a turn on another processor costs a fifth more | always |
/// | no new privileges, no core dumps, no file beyond [`LARGEST_FILE`] | always |
/// | no network and no capabilities, by a network and a user namespace | where the user may make them |
/// | the files of these rules and no others, no TCP, no signals to other processes | as far as Landlock has it |
pub fn confine(command: &mut Command, rules: &Rules) -> io::Result<()> {
    let ruleset = rules.ruleset().map_err(io::Error::other)?;
    command.process_group(0);
    // SAFETY: these are plain system calls with constants, safe between fork and exec; the ruleset is open until then.
    unsafe {
        command.pre_exec(move || {
            // Refused in many containers. The others hold without it.
            libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET);
            stay_here();
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
                Some(set) => done(libc::syscall(libc::SYS_landlock_restrict_self, set.as_raw_fd(), 0) as libc::c_int),
                None => Ok(()),
            }
        });
    }
    Ok(())
}

/// The command's process has this descriptor, under the number that is returned.
pub fn hand_over(command: &mut Command, what: OwnedFd) -> i32 {
    const NUMBER: i32 = 3;
    // SAFETY: plain system calls, safe between fork and exec; the descriptor is open until then.
    unsafe {
        command.pre_exec(move || {
            let from = what.as_raw_fd();
            // A descriptor that has the number already keeps it, and must outlive the start of the program.
            done(if from == NUMBER { libc::fcntl(from, libc::F_SETFD, 0) } else { libc::dup2(from, NUMBER) })
        });
    }
    NUMBER
}

/// Keeps this process, and all that it starts, on the processor on which it is: at a fork the host takes an idle one.
fn stay_here() {
    // SAFETY: a set of processors is plain data, and the calls read and write nothing else. If they are refused, the
    // process may move, which costs time alone.
    unsafe {
        let here = libc::sched_getcpu();
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if (0..libc::CPU_SETSIZE).contains(&here) {
            libc::CPU_SET(here as usize, &mut set);
            libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
        }
    }
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

/// The version of Landlock's interface whose rights are denied; an older kernel has fewer of them.
const LANDLOCK: ABI = ABI::V6;

/// True where the kernel has Landlock.
pub fn has_landlock() -> bool {
    matches!(Rules::default().ruleset(), Ok(Some(_)))
}

impl Rules {
    /// The ruleset in the kernel; `None` where there is no Landlock.
    fn ruleset(&self) -> Result<Option<OwnedFd>, RulesetError> {
        let all = AccessFs::from_all(LANDLOCK);
        let ruleset = Ruleset::default().handle_access(all)?.handle_access(AccessNet::from_all(LANDLOCK))?;
        let ruleset = ruleset.scope(Scope::from_all(LANDLOCK))?.create()?;
        let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
        let ruleset = ruleset.add_rules(path_beneath_rules(&self.readable, AccessFs::from_read(LANDLOCK)))?;
        Ok(ruleset.add_rules(path_beneath_rules(&self.writable, all & !devices))?.into())
    }
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
        if !has_landlock() {
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
    fn a_confined_process_stays_on_one_processor() {
        let (output, folder) = confined("processor", "grep Cpus_allowed_list /proc/self/status");
        let text = text(&output);
        let list = text.split_whitespace().last().unwrap_or_default();
        assert!(list.parse::<u32>().is_ok(), "one number, got {text}");
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
