//! The list of congestion controls. One line here makes a control known to experiment files, the
//! command line, Python, the reference pages and the conformance tests.

use crate::{AckEvent, CongestionControl, CouplingView, EcnUse, LossEvent, RestartEvent, RtoEvent, SenderContext};
use alloc::boxed::Box;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};

macro_rules! controls {
    ($($variant:ident, $module:ident, $type:ty);+ $(;)?) => {
        $(use crate::$module;)+

        haltere_units::params_registry! {
            /// A congestion control with its parameters, told apart by `kind`.
            pub enum CongestionParams { $($variant($module::Params) = $module),+ }
        }

        /// Any control of the registry. Dispatch is by enum: no virtual call on the hot path. What is
        /// much larger than the rest stands in a box, so that no connection pays for it but its own.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "each variant is the control of that name")]
        pub enum Control { $($variant($type)),+ }

        impl Control {
            /// The control of these parameters for that sender.
            pub fn new(params: &CongestionParams, sender: &SenderContext) -> Result<Control, ParamError> {
                Ok(match params { $(CongestionParams::$variant(p) => Control::$variant($module::$variant::new(p, sender)?.into())),+ })
            }
        }

        impl CongestionControl for Control {
            #[inline]
            fn on_ack(&mut self, ev: &AckEvent) {
                match self { $(Control::$variant(c) => c.on_ack(ev)),+ }
            }
            fn on_loss(&mut self, ev: &LossEvent) {
                match self { $(Control::$variant(c) => c.on_loss(ev)),+ }
            }
            fn on_rto(&mut self, ev: &RtoEvent) {
                match self { $(Control::$variant(c) => c.on_rto(ev)),+ }
            }
            fn on_recovered(&mut self, now: Time) {
                match self { $(Control::$variant(c) => c.on_recovered(now)),+ }
            }
            fn on_established(&mut self, now: Time, rtt: Dur) {
                match self { $(Control::$variant(c) => c.on_established(now, rtt)),+ }
            }
            fn on_returned(&mut self, now: Time, bytes: Bytes) -> bool {
                match self { $(Control::$variant(c) => c.on_returned(now, bytes)),+ }
            }
            fn on_spurious(&mut self, now: Time) {
                match self { $(Control::$variant(c) => c.on_spurious(now)),+ }
            }
            fn on_restart(&mut self, ev: &RestartEvent) {
                match self { $(Control::$variant(c) => c.on_restart(ev)),+ }
            }
            fn on_coupling(&mut self, view: &CouplingView<'_>) {
                match self { $(Control::$variant(c) => c.on_coupling(view)),+ }
            }
            fn is_coupled(&self) -> bool {
                match self { $(Control::$variant(c) => c.is_coupled()),+ }
            }
            fn bytes_between_losses(&self) -> Bytes {
                match self { $(Control::$variant(c) => c.bytes_between_losses()),+ }
            }
            #[inline]
            fn cwnd(&self) -> Bytes {
                match self { $(Control::$variant(c) => c.cwnd()),+ }
            }
            #[inline]
            fn ssthresh(&self) -> Bytes {
                match self { $(Control::$variant(c) => c.ssthresh()),+ }
            }
            #[inline]
            fn pacing_rate(&self) -> Option<Rate> {
                match self { $(Control::$variant(c) => c.pacing_rate()),+ }
            }
            fn owns_recovery(&self) -> bool {
                match self { $(Control::$variant(c) => c.owns_recovery()),+ }
            }
            fn ecn(&self) -> EcnUse {
                match self { $(Control::$variant(c) => c.ecn()),+ }
            }
            fn probe(&self, row: &mut Probe) {
                match self { $(Control::$variant(c) => c.probe(row)),+ }
            }
        }
    };
}

controls! {
    Reno, reno, reno::Reno;
    Cubic, cubic, cubic::Cubic;
    Vegas, vegas, vegas::Vegas;
    Dctcp, dctcp, dctcp::Dctcp;
    Bbr, bbr, Box<bbr::Bbr>;
    Bbr3, bbr3, Box<bbr3::Bbr3>;
    Lia, lia, lia::Lia;
    Olia, olia, olia::Olia;
    Balia, balia, balia::Balia;
}
