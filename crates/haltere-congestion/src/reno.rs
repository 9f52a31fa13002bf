//! Reno: additive increase, multiplicative decrease.
//! Source: RFC 5681 (section 3.1), RFC 6582 (the transport's recovery), byte counting RFC 3465 with L = 2.
//! Deviations: none.
//! Model: slow start cwnd += min(acked, 2 SMSS) below ssthresh; then cwnd += SMSS per window acknowledged;
//! on loss ssthresh = max(flight / 2, 2 SMSS).
//! Units: bytes. Cost: O(1) an acknowledgement. Known problems: slow on long fat paths (RFC 9438 section 1).

use crate::{AckEvent, CongestionControl, LossEvent, RtoEvent, SenderContext};
use haltere_units::{Bytes, ParamError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Additive increase, multiplicative decrease (RFC 5681).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

/// The control.
#[derive(Debug, Clone)]
pub struct Reno {
    mss: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
}

impl Reno {
    /// A sender at its initial window.
    pub fn new(_params: &Params, sender: &SenderContext) -> Result<Reno, ParamError> {
        Ok(Reno { mss: sender.mss, cwnd: sender.initial_window, ssthresh: Bytes::MAX })
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, ev: &AckEvent) {
        if ev.in_recovery || !ev.cwnd_limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += ev.acked;
        } else {
            self.cwnd += Bytes::new(self.mss.as_u64() * ev.acked.as_u64() / self.cwnd.as_u64());
        }
    }
    fn on_loss(&mut self, _ev: &LossEvent) {
        self.ssthresh = (self.cwnd / 2).max(self.mss * 2);
        self.cwnd = self.ssthresh;
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        if ev.first {
            self.ssthresh = (self.cwnd / 2).max(self.mss * 2);
        }
        self.cwnd = self.mss;
    }
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
    fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }
}
