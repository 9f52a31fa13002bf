//! CPU time and memory of this process so far, as Linux counts them.

/// User and system time in seconds, from `schedstat`, which counts nanoseconds. `stat` counts ticks of 10 ms.
pub fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Resident memory in kB: `VmRSS` now, `VmHWM` the most so far. Both are of this program alone; `ru_maxrss` would
/// include the parent's.
pub fn resident_kb(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find(|line| line.starts_with(name))?.split_whitespace().nth(1)?.parse().ok()
}
