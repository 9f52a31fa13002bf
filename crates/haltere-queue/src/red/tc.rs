//! How Linux's `tc` turns RED's `burst` into a weight, and how the kernel lets the average decay while idle.
//! Source: tc-red(8), the behaviour of iproute2 6.1 and Linux 6.1.

use haltere_units::{Bytes, Dur, ParamError, Rate};

/// `tc` counts transmission times in ticks of 64 ns where the kernel counts idle time in microseconds, so the average
/// decays 15.625 times more slowly than the paper's. Kept, as this is what runs.
const TICKS_PER_US: f64 = 1000.0 / 64.0;
/// Cells of the decay table.
const CELLS: usize = 256;
/// The largest shift in the table: what it leaves of any average is nothing.
const MAX_SHIFT: f64 = 31.0;

/// The smallest `wlog` from 1 on with `burst + 1 - min / avpkt <= (1 - (1 - w)^burst) / w`, where `w = 2^-wlog`: the
/// least smoothing that lets a burst of that many packets pass (Floyd & Jacobson 1993, section 6).
pub(super) fn wlog(burst: u32, min_pkts: f64) -> Result<i32, ParamError> {
    let room = f64::from(burst) + 1.0 - min_pkts;
    if room < 1.0 {
        let rule = alloc::format!("at least min, which is {min_pkts} packets of `avpkt`");
        return Err(ParamError::new("burst", rule, burst).hint("tc's default is (2 min + max) / (3 avpkt)"));
    }
    let reach = |wlog: i32| {
        let w = libm::exp2(-f64::from(wlog));
        (1.0 - libm::pow(1.0 - w, f64::from(burst))) / w
    };
    (1..32)
        .find(|&wlog| room <= reach(wlog))
        .ok_or_else(|| ParamError::new("burst", "reachable with a weight of 2^-31 or more", burst).hint("lower it"))
}

/// The decay of the average over idle time, by a table of shifts.
#[derive(Debug, Clone)]
pub(super) struct DecayTable {
    cell_log: u32,
    shifts: [u8; CELLS],
    max_us: u64,
}

impl DecayTable {
    /// The table for weight `2^-wlog` and packets of `avpkt` bytes at `bandwidth`.
    pub(super) fn new(wlog: i32, avpkt: Bytes, bandwidth: Rate) -> DecayTable {
        let xmit_us = libm::trunc(avpkt.as_f64() * 8e6 / bandwidth.as_bps_f64());
        let xmit_ticks = libm::trunc(xmit_us * TICKS_PER_US).max(1.0);
        let shift_per_us = -libm::log1p(-libm::exp2(-f64::from(wlog))) / xmit_ticks;
        let longest = MAX_SHIFT / shift_per_us;
        let cell_log = (0..32u32).find(|&log| longest / libm::exp2(f64::from(log)) < 512.0).unwrap_or(31);
        let mut shifts = [MAX_SHIFT as u8; CELLS];
        for (i, shift) in shifts.iter_mut().enumerate().take(CELLS - 1) {
            *shift = (((i as u64) << cell_log) as f64 * shift_per_us).min(MAX_SHIFT) as u8;
        }
        DecayTable { cell_log, shifts, max_us: 255 << cell_log }
    }
    /// The average after that idle time: a shift by the table, or, within its first step, a linear decay to a half.
    pub(super) fn decay(&self, avg: f64, idle: Dur) -> f64 {
        let us = idle.as_us().min(self.max_us);
        match self.shifts[((us >> self.cell_log) & 255) as usize] {
            0 => avg - (avg * us as f64 / (1u64 << self.cell_log) as f64).min(avg / 2.0),
            shift => avg / (1u64 << shift) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_manual_page_smooths_by_thirty_two() {
        // tc-red(8): min 30000, avpkt 1000, burst 55. 26 <= 32 (1 - (31/32)^55) = 26.4, and 16 (1 - (15/16)^55) = 15.5.
        assert_eq!(wlog(55, 30.0), Ok(5));
    }

    #[test]
    fn a_burst_of_one_packet_above_min_smooths_by_two() {
        // min 90000, avpkt 1500, burst 61: 2 <= 2 (1 - 2^-61).
        assert_eq!(wlog(61, 60.0), Ok(1));
    }

    #[test]
    fn nine_packets_over_five_smooth_by_eight() {
        // 5 <= 8 (1 - (7/8)^9) = 5.6, and 4 (1 - (3/4)^9) = 3.7.
        assert_eq!(wlog(9, 5.0), Ok(3));
    }

    #[test]
    fn a_burst_below_min_is_refused() {
        assert!(wlog(29, 30.0).is_err());
    }

    #[test]
    fn a_long_idle_time_leaves_nothing_of_the_average() {
        let table = DecayTable::new(5, Bytes::new(1000), Rate::from_mbps(10));
        assert!(table.decay(90_000.0, Dur::from_secs(100)) < 1e-3);
    }

    #[test]
    fn a_first_halving_takes_what_the_table_says() {
        // 800 us a packet = 12500 ticks; -ln(31/32) / 12500 = 2.540e-6 a us; 31 / that = 12.2e6 us, in cells of 2^15
        // us. The first cell with a shift of 1 is 13: 13 * 32768 * 2.540e-6 = 1.08, 12 gives 0.999.
        let table = DecayTable::new(5, Bytes::new(1000), Rate::from_mbps(10));
        assert_eq!(table.cell_log, 15);
        assert_eq!((table.shifts[12], table.shifts[13]), (0, 1));
    }
    #[test]
    fn an_idle_time_halves_the_average_by_the_table_and_before_that_in_a_straight_line() {
        // Cells of 2^15 us = 32,768 us as above; 26 cells are 26 * 32768 * 2.540e-6 = 2.16 halvings.
        let table = DecayTable::new(5, Bytes::new(1000), Rate::from_mbps(10));
        for (us, left) in
            [(0, 8000.0), (8192, 6000.0), (16_384, 4000.0), (32_767, 4000.0), (13 << 15, 4000.0), (26 << 15, 2000.0)]
        {
            assert_eq!(table.decay(8000.0, Dur::from_us(us)), left, "{us} us");
        }
    }
}
