//! [`Control`] as a [`CongestionControl`]: each call goes to the control that it holds.

use crate::{
    AckEvent, CongestionControl, Control, CouplingView, EcnUse, LossEvent, LostSegment, RestartEvent, RtoEvent,
};
use haltere_units::{Bytes, Dur, Probe, Rate, Time};

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ev: &AckEvent) {
        each_control!(self, c => c.on_ack(ev))
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        each_control!(self, c => c.on_loss(ev))
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        each_control!(self, c => c.on_rto(ev))
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        each_control!(self, c => c.on_segment_lost(lost))
    }
    fn on_recovered(&mut self, now: Time) {
        each_control!(self, c => c.on_recovered(now))
    }
    #[inline]
    fn wants_reduction(&self) -> bool {
        each_control!(self, c => c.wants_reduction())
    }
    fn on_established(&mut self, now: Time, rtt: Dur) {
        each_control!(self, c => c.on_established(now, rtt))
    }
    fn on_cached_ssthresh(&mut self, ssthresh: Bytes) {
        each_control!(self, c => c.on_cached_ssthresh(ssthresh))
    }
    fn on_early_ce(&mut self, now: Time, bytes: Bytes) -> bool {
        each_control!(self, c => c.on_early_ce(now, bytes))
    }
    fn on_spurious(&mut self, now: Time) {
        each_control!(self, c => c.on_spurious(now))
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        each_control!(self, c => c.on_restart(ev))
    }
    fn on_coupling(&mut self, view: &CouplingView<'_>) {
        each_control!(self, c => c.on_coupling(view))
    }
    fn is_coupled(&self) -> bool {
        each_control!(self, c => c.is_coupled())
    }
    fn bytes_between_losses(&self) -> Bytes {
        each_control!(self, c => c.bytes_between_losses())
    }
    #[inline]
    fn cwnd(&self) -> Bytes {
        each_control!(self, c => c.cwnd())
    }
    #[inline]
    fn ssthresh(&self) -> Bytes {
        each_control!(self, c => c.ssthresh())
    }
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        each_control!(self, c => c.pacing_rate())
    }
    fn owns_recovery(&self) -> bool {
        each_control!(self, c => c.owns_recovery())
    }
    fn ecn(&self) -> EcnUse {
        each_control!(self, c => c.ecn())
    }
    fn probe(&self, row: &mut Probe) {
        each_control!(self, c => c.probe(row))
    }
    fn state(&self, row: &mut Probe) {
        each_control!(self, c => c.state(row))
    }
}
