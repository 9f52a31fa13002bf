//! Congestion controls from outside the tree: how a language makes them, and the registry's variant for them.
//!
//! A program adds the [`Maker`] of a language to its [`Makers`](haltere_units::outside::Makers), which reach this crate
//! by [`SenderContext::outside`]. Only the variant `Outside` costs a virtual call.

use crate::{CongestionControl, Control, SenderContext};
use alloc::boxed::Box;
use core::any::Any;
use core::fmt::Debug;
use core::ops::{Deref, DerefMut};
use haltere_units::ParamError;
use haltere_units::outside::{About, Location};

pub use haltere_units::outside::Params;

/// Makes the controls of one language.
pub trait Maker: Send + Sync {
    /// The description of a source, without a sender. The laboratory asks for each place of an experiment that names
    /// it, so a maker keeps what it has read for as long as the code is the same. The error's name is `kind`; its hint
    /// may name the nearest classes.
    fn about(&self, at: Location<'_>) -> Result<About, ParamError>;
    /// A control at its initial window for that sender. `params` were checked against [`About::schema`]. A maker that
    /// reads the code again [checks its digest](Params::check_digest).
    fn make(&self, params: &Params, sender: &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError>;
}

/// A control from outside the tree.
///
/// A call that fails [raises](haltere_units::outside::Outside::raise) a fault and answers all the same:
/// [`cwnd`](CongestionControl::cwnd) is at least one segment, always. After a fault it is one segment. Random numbers
/// follow from [`SenderContext::seed`] alone, which differs between runs and between flows. Names and units that
/// [`probe`](CongestionControl::probe) gives live as long as the process: a maker leaks each of them once.
pub trait OutsideControl: CongestionControl + Debug + Send {
    /// A copy with the same state.
    fn clone_box(&self) -> Box<dyn OutsideControl>;
    /// The control itself, for a caller that knows its type: a run in steps sets what it decides. `None`: it is not
    /// shown.
    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

impl Control {
    /// The control, if it is from outside the tree.
    #[inline]
    pub fn outside_mut(&mut self) -> Option<&mut dyn OutsideControl> {
        if let Control::Outside(outside) = self { Some(&mut *outside.0) } else { None }
    }
}

/// A control from outside the tree, in the registry's enum.
#[derive(Debug)]
pub struct Outside(Box<dyn OutsideControl>);

impl Outside {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Outside, ParamError> {
        sender.outside.find::<dyn Maker>(&params.language)?.make(params, sender).map(Outside)
    }
}

impl From<Box<dyn OutsideControl>> for Control {
    fn from(control: Box<dyn OutsideControl>) -> Control {
        Control::Outside(Outside(control))
    }
}

impl Clone for Outside {
    fn clone(&self) -> Outside {
        Outside(self.0.clone_box())
    }
}

impl Deref for Outside {
    type Target = dyn OutsideControl;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for Outside {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AckEvent, CongestionParams, Control, LossEvent, RtoEvent};
    use alloc::string::ToString;
    use alloc::sync::Arc;
    use haltere_units::outside::Makers;
    use haltere_units::{Bytes, Time};

    /// Two segments a round; a maker of the test's own language.
    #[derive(Debug, Clone)]
    struct Two(Bytes);
    impl CongestionControl for Two {
        fn on_ack(&mut self, ev: &AckEvent) {
            self.0 += ev.acked;
        }
        fn on_loss(&mut self, _: &LossEvent) {}
        fn on_rto(&mut self, _: &RtoEvent) {}
        fn cwnd(&self) -> Bytes {
            self.0
        }
        fn ssthresh(&self) -> Bytes {
            Bytes::MAX
        }
    }
    impl OutsideControl for Two {
        fn clone_box(&self) -> Box<dyn OutsideControl> {
            Box::new(self.clone())
        }
    }
    struct Test;
    impl Maker for Test {
        fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
            Ok(About { name: at.source.into(), digest: "d".into(), ..About::default() })
        }
        fn make(&self, params: &Params, sender: &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError> {
            params.check_digest("d")?;
            Ok(Box::new(Two(sender.initial_window)))
        }
    }

    fn params(language: &str, digest: &str) -> CongestionParams {
        let (language, digest, name) = (language.into(), digest.into(), "Two".into());
        CongestionParams::Outside(Params { language, digest, name, source: "Two".into(), ..Params::default() })
    }
    fn sender() -> SenderContext {
        let mut makers = Makers::default();
        makers.add::<dyn Maker>("test", Box::new(Test));
        let outside = haltere_units::outside::Outside::of(&Arc::new(makers));
        SenderContext { mss: Bytes::new(1000), initial_window: Bytes::new(2000), seed: 1, outside }
    }

    #[test]
    fn a_language_makes_controls_and_copies_are_apart() {
        let mut control = Control::new(&params("test", "d"), &sender()).unwrap();
        let copy = control.clone();
        let mut ack = AckEvent::at(Time::ZERO);
        ack.acked = Bytes::new(500);
        control.on_ack(&ack);
        assert_eq!((control.cwnd(), copy.cwnd()), (Bytes::new(2500), Bytes::new(2000)));
    }
    #[test]
    fn an_unknown_language_and_changed_code_are_refused() {
        let refused = |params| Control::new(&params, &sender()).unwrap_err().to_string();
        assert!(refused(params("cobol", "d")).contains("`test:`, got `cobol:`"));
        assert!(refused(params("test", "e")).starts_with("kind must be `test:Two` as it was read"));
    }
    #[test]
    fn it_is_no_name_of_the_registry_and_shows_its_own() {
        let params = params("test", "d");
        assert_eq!((params.kind(), params.label()), ("outside", "Two"));
        assert!(!CongestionParams::NAMES.contains(&"outside") && CongestionParams::default_of("outside").is_none());
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<CongestionParams>(&json).unwrap(), params);
    }
}
