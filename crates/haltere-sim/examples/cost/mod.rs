//! What this process has cost so far, as Linux counts it.

/// User and system time in seconds (from `schedstat`, in nanoseconds, where the times of `stat` are ticks of 10 ms).
pub fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Memory that is resident, in kB: `VmRSS`, or at most so far: `VmHWM`, of this program alone, where the parent's `ru_maxrss`
/// begins with its own.
pub fn resident_kb(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find(|line| line.starts_with(name))?.split_whitespace().nth(1)?.parse().ok()
}
