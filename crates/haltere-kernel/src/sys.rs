//! System calls without a safe wrapper elsewhere.
#![expect(unsafe_code, reason = "the one place for such calls")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the kernel kill this process when its parent thread ends, and gives it a process group of its own.
pub fn alone_and_with_parent(command: &mut Command) {
    command.process_group(0);
    // SAFETY: prctl is a plain system call, safe between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
}

/// Clock ticks a second in `/proc/PID/stat`.
pub fn ticks_per_second() -> f64 {
    // SAFETY: plain library call.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}
