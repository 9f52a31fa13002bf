//! What a TCP sender does, as qlog wants it.

use alloc::vec::Vec;
use haltere_transport::{CaState, Info};
use haltere_units::{Dur, Time};

/// A sender after something changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderEvent {
    /// When the sender changed.
    pub at: Time,
    /// Which flow (index in the plan).
    pub flow: u32,
    /// What is true from now on.
    pub now: SenderView,
}

/// What one end of a connection on a stack wrote: a qlog of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackLog {
    /// Which flow (index in the plan).
    pub flow: u32,
    /// Which of its connections, from 1.
    pub connection: u64,
    /// The end is the client.
    pub is_client: bool,
    /// The file, JSON text sequences.
    pub text: Vec<u8>,
}

/// What qlog's recovery events say of a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SenderView {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `u64::MAX`: none yet.
    pub ssthresh: u64,
    /// Bytes in flight, as RFC 6675 counts them.
    pub in_flight: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// Variation of the round-trip time (RFC 6298).
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

/// The inner values that every sender has, whatever its control: name, unit, value.
pub fn sender_values(info: &Info) -> Vec<(&'static str, &'static str, f64)> {
    // Before the first loss there is no threshold.
    let ssthresh = Some(info.ssthresh.as_f64()).filter(|bytes| *bytes < 1e12);
    let rate = info.pacing_rate.map(|rate| rate.as_bps_f64());
    let some = [ssthresh.map(|bytes| ("ssthresh", "B", bytes)), rate.map(|rate| ("pacing_rate", "bit/s", rate))];
    [("cwnd", "B", info.cwnd.as_f64()), ("in_flight", "B", info.in_flight.as_f64())]
        .into_iter()
        .chain(some.into_iter().flatten())
        .chain([("srtt", "s", info.srtt.as_secs_f64()), ("rto", "s", info.rto.as_secs_f64())])
        .collect()
}
