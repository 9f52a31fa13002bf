//! [`Control`]: how it is made, and each of its calls, which goes to the control that it holds.

use crate::slow_start::Start;
use crate::slow_start::over::Starting;
use crate::window::Window;
use crate::{
    AckEvent, CongestionControl, CongestionParams, Control, CouplingView, EcnUse, LossEvent, LostSegment, RestartEvent,
    RtoEvent, SenderContext,
};
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};

impl Control {
    /// The control of these parameters for that sender.
    pub fn new(params: &CongestionParams, sender: &SenderContext) -> Result<Control, ParamError> {
        let control = Control::plain(params, sender)?;
        match params.start() {
            Some(start) if *start != Start::default() => Starting::over(control, start),
            _ => Ok(control),
        }
    }
}

impl CongestionControl for Control {
    haltere_units::forward! { each_control;
        #[inline]
        fn on_ack(&mut self, ev: &AckEvent);
        fn on_loss(&mut self, ev: &LossEvent);
        fn on_rto(&mut self, ev: &RtoEvent);
        fn on_segment_lost(&mut self, lost: &LostSegment);
        fn on_recovered(&mut self, now: Time);
        #[inline]
        fn wants_reduction(&self) -> bool;
        fn on_established(&mut self, now: Time, rtt: Dur);
        fn on_cached_ssthresh(&mut self, ssthresh: Bytes);
        fn on_early_ce(&mut self, now: Time, bytes: Bytes) -> bool;
        fn on_spurious(&mut self, now: Time);
        fn on_restart(&mut self, ev: &RestartEvent);
        fn on_flight_start(&mut self, now: Time);
        fn on_coupling(&mut self, view: &CouplingView<'_>);
        fn is_coupled(&self) -> bool;
        fn bytes_between_losses(&self) -> Bytes;
        #[inline]
        fn cwnd(&self) -> Bytes;
        #[inline]
        fn ssthresh(&self) -> Bytes;
        #[inline]
        fn pacing_rate(&self) -> Option<Rate>;
        fn owns_recovery(&self) -> bool;
        #[inline]
        fn notes_starvation(&self) -> bool;
        fn window(&mut self) -> Option<&mut Window>;
        fn ecn(&self) -> EcnUse;
        fn probe(&self, row: &mut Probe);
        fn state(&self, row: &mut Probe);
    }
}
