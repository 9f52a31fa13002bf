//! Pacing and bursts.

use super::gain::Gain;
use haltere_units::Rate;

/// Pacing a little under the estimated rate keeps the queue from growing by its error.
const PACING_MARGIN_PERCENT: u64 = 1;
/// The largest offloaded packet, less its headers.
const MAX_BURST_BYTES: u64 = 65_536 - 1 - 320;
const MAX_BURST_SEGMENTS: u64 = 127;
/// Below this rate bursts are single segments.
const SINGLE_SEGMENT_BPS: u64 = 1_200_000;

/// The pacing rate for a bandwidth and a gain.
pub(crate) fn paced(bw: Rate, gain: Gain) -> Rate {
    Rate::from_bps(gain.of(bw.as_bps()) / 100 * (100 - PACING_MARGIN_PERCENT))
}

/// Segments that leave together: a millisecond's worth and `more` bytes, at least two.
pub(crate) fn burst(pacing_rate: Rate, more: u64, mss: u64) -> u64 {
    let bytes = (pacing_rate.as_bps() / 8 / 1024 + more).min(MAX_BURST_BYTES);
    let least = if pacing_rate.as_bps() < SINGLE_SEGMENT_BPS { 1 } else { 2 };
    (bytes / mss).max(least).min(MAX_BURST_SEGMENTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_a_millisecond_of_segments() {
        assert_eq!(burst(Rate::from_mbps(1), 0, 1448), 1);
        assert_eq!(burst(Rate::from_mbps(20), 0, 1448), 2);
        // 125 MB/s / 1024 = 122 kB, capped at 65215 B = 45 segments.
        assert_eq!(burst(Rate::from_mbps(1000), 0, 1448), 45);
    }

    #[test]
    fn pacing_stays_one_percent_below() {
        assert_eq!(paced(Rate::from_mbps(100), Gain::ratio(5, 4)), Rate::from_bps(123_750_000));
    }
}
