//! What a TCP sender does, as qlog wants it.

use haltere_transport::{CaState, Info};
use haltere_units::{Dur, Time};

/// A sender after something changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderEvent {
    /// When.
    pub at: Time,
    /// Which flow (index in the plan).
    pub flow: u32,
    /// What is true from now on.
    pub now: SenderView,
}

/// What qlog's recovery events tell of a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SenderView {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `u64::MAX`: none yet.
    pub ssthresh: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// Its variation.
    pub rttvar: Dur,
    /// Least round-trip time; zero before the first sample.
    pub min_rtt: Dur,
    /// The last sample; zero before the first.
    pub latest_rtt: Dur,
    /// Pacing rate in bit/s, if the control paces.
    pub pacing_bps: Option<u64>,
    /// State of the sender.
    pub state: CaState,
    /// Bytes marked lost so far.
    pub bytes_lost: u64,
    /// Retransmission timeouts so far.
    pub timeouts: u64,
}

impl SenderView {
    /// From what a connection shows of itself and its last sample of the round-trip time.
    pub fn new(info: &Info, latest_rtt: Dur) -> SenderView {
        SenderView {
            cwnd: info.cwnd.as_u64(),
            ssthresh: info.ssthresh.as_u64(),
            in_flight: info.in_flight.as_u64(),
            srtt: info.srtt,
            rttvar: info.rttvar,
            min_rtt: info.min_rtt,
            latest_rtt,
            pacing_bps: info.pacing_rate.map(|rate| rate.as_bps()),
            state: info.state,
            bytes_lost: info.bytes_lost,
            timeouts: info.timeouts,
        }
    }
    /// The sender grows its window exponentially (RFC 5681 section 3.1).
    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}
