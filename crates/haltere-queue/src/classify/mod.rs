//! Flow classifiers: which of two classes, short or long, each packet belongs to.
//!
//! A classifier sees one packet at a time and may keep state; like a discipline it is handed time and chance. It stands
//! before any [service](crate::service) and any disciplines in [`classed`](crate::classed), or alone before a capture.
//!
//! | module | calls a packet long when | what it needs |
//! |---|---|---|
//! | [`rafle`] | a random one of the last N packets is of its flow | N flow ids |
//! | [`run2c`] | its byte offset in the stream has passed a threshold | senders whose sequence numbers tell the offset |
//! | [`las`] | its flow has been served more than a threshold | state for every flow |
//! | [`ideal`] | its sender says so | senders that mark |

use crate::{Fate, LinkContext, Pkt};
use haltere_units::{ParamError, Probe, Time};

pub mod ideal;
pub mod las;
pub mod rafle;
pub mod run2c;

/// The class of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Of a short flow.
    Short,
    /// Of a long flow.
    Long,
}

/// How many classes there are.
pub const CLASSES: usize = 2;
/// The DSCP with which a sender marks packets of short tasks: AF11 (RFC 2597).
pub const DSCP_SHORT: u8 = 10;
/// The DSCP with which a sender marks packets of long tasks: CS1, lower effort (RFC 3662).
pub const DSCP_LONG: u8 = 8;

impl Class {
    /// The class's place among queues: 0 short, 1 long.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The class that a sender's mark names, if it names one.
    #[inline]
    pub const fn of_mark(dscp: u8) -> Option<Class> {
        match dscp {
            DSCP_SHORT => Some(Class::Short),
            DSCP_LONG => Some(Class::Long),
            _ => None,
        }
    }
    /// The mark that names this class.
    #[inline]
    pub const fn mark(self) -> u8 {
        match self {
            Class::Short => DSCP_SHORT,
            Class::Long => DSCP_LONG,
        }
    }
}

/// Tells the class of each packet, in order of arrival.
pub trait Classifier<P: Pkt> {
    /// The class of a packet that arrives now.
    fn classify(&mut self, now: Time, pkt: &P, fate: &mut impl Fate<P>) -> Class;
    /// True where all packets of a flow get one class, so that their order outlives any service.
    fn is_constant_per_flow(&self) -> bool {
        false
    }
    /// Shows the inner variables.
    fn probe(&self, _row: &mut Probe) {}
}

macro_rules! classifiers {
    ($($variant:ident, $module:ident);+ $(;)?) => {
        haltere_units::params_registry! {
            /// A flow classifier with its parameters, told apart by `kind`.
            pub enum ClassifierParams { $($variant($module::Params) = $module),+ }
        }

        /// Any classifier of the registry.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "each variant is the classifier of that name")]
        pub enum Sorter { $($variant($module::$variant)),+ }

        impl Sorter {
            /// The classifier of these parameters on that link.
            pub fn new(params: &ClassifierParams, link: &LinkContext) -> Result<Sorter, ParamError> {
                Ok(match params { $(ClassifierParams::$variant(p) => Sorter::$variant($module::$variant::new(p, link)?)),+ })
            }
        }

        impl<P: Pkt> Classifier<P> for Sorter {
            #[inline]
            fn classify(&mut self, now: Time, pkt: &P, fate: &mut impl Fate<P>) -> Class {
                match self { $(Sorter::$variant(c) => c.classify(now, pkt, fate)),+ }
            }
            fn is_constant_per_flow(&self) -> bool {
                match self { $(Sorter::$variant(c) => Classifier::<P>::is_constant_per_flow(c)),+ }
            }
            fn probe(&self, row: &mut Probe) {
                match self { $(Sorter::$variant(c) => Classifier::<P>::probe(c, row)),+ }
            }
        }
    };
}

classifiers! {
    Rafle, rafle;
    Run2c, run2c;
    Las, las;
    Ideal, ideal;
}
