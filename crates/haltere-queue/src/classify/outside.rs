//! Flow classifiers from outside the tree: how a language makes them, and the registry's variant for them.

use super::{Class, FlowClassifier};
use crate::outside::PacketView;
use crate::{Fate, LinkContext, Pkt};
use alloc::boxed::Box;
use core::fmt::Debug;
use haltere_units::outside::{About, Location};
use haltere_units::{ParamError, Probe, Time};

pub use haltere_units::outside::Params;

/// Makes the classifiers of one language.
pub trait Maker: Send + Sync {
    /// The description of a source, without a link. The laboratory asks for each place of an experiment that names it,
    /// so a maker keeps what it has read for as long as the code is the same. The error's name is `kind`; its hint may
    /// name the nearest classes.
    fn about(&self, at: Location<'_>) -> Result<About, ParamError>;
    /// A classifier on that link that has seen no packet. `params` were checked against [`About::schema`]. A maker that
    /// reads the code again [checks its digest](Params::check_digest).
    fn make(&self, params: &Params, link: &LinkContext) -> Result<Box<dyn OutsideClassifier>, ParamError>;
}

/// A classifier from outside the tree.
///
/// The contract is that of [`FlowClassifier`]. A call that fails [raises](haltere_units::outside::Outside::raise) a
/// fault and returns [`Class::Short`]. Names and units that [`probe`](OutsideClassifier::probe) gives live as long as
/// the process.
pub trait OutsideClassifier: Debug + Send {
    /// The class of a packet that arrives now. `random` gives 64 bits from the stream of this queue.
    fn classify(&mut self, now: Time, packet: &PacketView, random: &mut dyn FnMut() -> u64) -> Class;
    /// True if all packets of a flow get one class, so that any service keeps their order.
    fn is_constant_per_flow(&self) -> bool {
        false
    }
    /// True if it draws random numbers: a capture is then replayed several times.
    fn is_random(&self) -> bool {
        false
    }
    /// Shows the inner variables.
    fn probe(&self, _row: &mut Probe) {}
    /// A copy with the same state.
    fn clone_box(&self) -> Box<dyn OutsideClassifier>;
}

/// A classifier from outside the tree, in the registry's enum.
#[derive(Debug)]
pub struct Outside {
    classifier: Box<dyn OutsideClassifier>,
    /// Packets seen so far: the number of the next one.
    seen: u64,
}

impl Outside {
    /// A classifier that has seen no packet.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Outside, ParamError> {
        Ok(Outside { classifier: link.outside.find::<dyn Maker>(&params.language)?.make(params, link)?, seen: 0 })
    }
}

impl Clone for Outside {
    fn clone(&self) -> Outside {
        Outside { classifier: self.classifier.clone_box(), seen: self.seen }
    }
}

impl<P: Pkt> FlowClassifier<P> for Outside {
    fn classify(&mut self, now: Time, pkt: &P, fate: &mut impl Fate<P>) -> Class {
        let view = PacketView::of(self.seen, pkt);
        self.seen += 1;
        self.classifier.classify(now, &view, &mut || fate.random())
    }
    fn is_constant_per_flow(&self) -> bool {
        self.classifier.is_constant_per_flow()
    }
    fn is_random(&self) -> bool {
        self.classifier.is_random()
    }
    fn probe(&self, row: &mut Probe) {
        self.classifier.probe(row);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Classifier, ClassifierParams};
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use haltere_units::outside::Makers;

    /// Every other packet is long; a maker of the test's own language.
    #[derive(Debug, Clone)]
    struct Alternate;
    impl OutsideClassifier for Alternate {
        fn classify(&mut self, _: Time, packet: &PacketView, _: &mut dyn FnMut() -> u64) -> Class {
            if packet.id % 2 == 1 { Class::Long } else { Class::Short }
        }
        fn clone_box(&self) -> Box<dyn OutsideClassifier> {
            Box::new(self.clone())
        }
    }
    struct Test;
    impl Maker for Test {
        fn about(&self, _: Location<'_>) -> Result<About, ParamError> {
            Ok(About::default())
        }
        fn make(&self, params: &Params, _: &LinkContext) -> Result<Box<dyn OutsideClassifier>, ParamError> {
            params.check_digest("d")?;
            Ok(Box::new(Alternate))
        }
    }

    #[test]
    fn a_language_makes_classifiers_and_packets_have_numbers() {
        let mut makers = Makers::default();
        makers.add::<dyn Maker>("test", Box::new(Test));
        let link = LinkContext { outside: haltere_units::outside::Outside::of(&Arc::new(makers)), ..link() };
        let params = |digest: &str| {
            ClassifierParams::Outside(Params { language: "test".into(), digest: digest.into(), ..Params::default() })
        };
        assert!(Classifier::new(&params("e"), &link).is_err() && !ClassifierParams::NAMES.contains(&"outside"));
        let mut classifier = Classifier::new(&params("d"), &link).unwrap();
        let mut class = |pkt: TestPkt| classifier.classify(Time::ZERO, &pkt, &mut Recorder::new(1));
        let classes: Vec<Class> = (0..4).map(|i| class(TestPkt::new(i, 100))).collect();
        assert_eq!(classes, [Class::Short, Class::Long, Class::Short, Class::Long]);
    }
}
