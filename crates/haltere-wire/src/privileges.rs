//! What this process may do beyond an ordinary one: asked before it is needed, given up once it is not.
//! Source: capabilities(7), user_namespaces(7).
//!
//! A router reads frames from anybody. It needs root to open its interfaces, and nothing of that afterwards: a packet
//! socket that is open receives and sends without a capability.

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl::set_no_new_privs;
use nix::unistd::{Gid, Uid, geteuid, setgroups, setresgid, setresuid};
use std::fs;
use std::io;

/// The user and the group that own nothing (`nobody`), by number: names need files that may not be there.
const NOBODY: u32 = 65_534;
/// The sets of capabilities that a thread has or could take. The first is a part of the second.
const SETS: [CapSet; 3] = [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable];

/// Gives up all capabilities, any way to get them back, and root's user, for good. The user's threads all change their
/// user; capabilities are those of the calling thread. Returns what could not be given up, and why.
///
/// In a user namespace root is the user who made it, and stays so: no other is known there.
pub fn give_up() -> Vec<String> {
    let user = if geteuid().is_root() && is_first_user_namespace() { become_nobody() } else { Ok(()) };
    let results = [
        ("the way to new privileges", set_no_new_privs().map_err(io::Error::from)),
        ("the user root", user),
        // Last: changing the user needs some.
        ("capabilities", no_capabilities()),
    ];
    let kept = |(what, result): (_, io::Result<()>)| Some(format!("{what} could not be given up: {}", result.err()?));
    results.into_iter().filter_map(kept).collect()
}

fn become_nobody() -> io::Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    setgroups(&[])?;
    setresgid(group, group, group)?;
    Ok(setresuid(user, user, user)?)
}

fn no_capabilities() -> io::Result<()> {
    SETS.into_iter().try_for_each(|set| caps::clear(None, set)).map_err(io::Error::other)?;
    let left = capabilities()?;
    if left.is_empty() { Ok(()) } else { Err(io::Error::other(format!("{left:?} are left"))) }
}

/// The capabilities that the calling thread has or could take.
fn capabilities() -> io::Result<CapsHashSet> {
    let sets = SETS.into_iter().map(|set| caps::read(None, set)).collect::<Result<Vec<_>, _>>();
    Ok(sets.map_err(io::Error::other)?.into_iter().flatten().collect())
}

/// True outside every user namespace: all users of the machine are known here by their own numbers.
pub fn is_first_user_namespace() -> bool {
    // A kernel without user namespaces has no such file.
    fs::read_to_string("/proc/self/uid_map").map_or(true, |map| is_identity(&map))
}

fn is_identity(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// True where this process may load a congestion control into the kernel.
pub fn may_load_bpf() -> bool {
    let has = capabilities().unwrap_or_default();
    let can = |capability| has.contains(&capability);
    let network = can(Capability::CAP_BPF) && can(Capability::CAP_NET_ADMIN);
    is_first_user_namespace() && (can(Capability::CAP_SYS_ADMIN) || network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_range_of_users_is_the_first_namespace() {
        assert!(is_identity("         0          0 4294967295\n"));
        assert!(!is_identity("         0       1000          1\n"), "unshare -Ur");
        assert!(!is_identity("0 0 65536\n") && !is_identity(""));
    }
}
