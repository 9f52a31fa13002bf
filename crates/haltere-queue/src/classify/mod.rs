//! Flow classifiers: which of two classes, short or long, each packet belongs to.
//!
//! A classifier sees one packet at a time and may keep state. Like a discipline it takes time and random numbers as
//! arguments. It is before a [service](crate::service) and two disciplines in [`classed`](crate::classed), or
//! classifies a capture.
//!
//! | module | calls a packet long if | needs |
//! |---|---|---|
//! | [`rafle`] | a random one of the last N packets is of its flow | N flow ids |
//! | [`run2c`] | its offset in the stream has passed a threshold | sequence numbers that show the offset |
//! | [`las`] | its flow has sent more than a threshold | state for every flow |
//! | [`ideal`] | its sender marked it as long | senders that mark |

use crate::{Fate, LinkContext, Pkt};
use haltere_units::{ParamError, Probe, Time};

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

/// Decides the class of each packet, in order of arrival.
pub trait FlowClassifier<P: Pkt> {
    /// The class of a packet that arrives now.
    fn classify(&mut self, now: Time, pkt: &P, fate: &mut impl Fate<P>) -> Class;
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
}

haltere_units::registry! {
    /// A flow classifier with its parameters, distinguished by `kind`.
    params ClassifierParams;
    /// Any classifier of the registry.
    any Classifier;
    match each_classifier, outside => Outside;

    rafle => Rafle;
    run2c => Run2c;
    las => Las;
    ideal => Ideal;
}

impl Classifier {
    /// The classifier of these parameters on that link.
    pub fn new(params: &ClassifierParams, link: &LinkContext) -> Result<Classifier, ParamError> {
        Ok(each_classifier!(new p in params => (p, link)?))
    }
}

impl<P: Pkt> FlowClassifier<P> for Classifier {
    #[inline]
    fn classify(&mut self, now: Time, pkt: &P, fate: &mut impl Fate<P>) -> Class {
        each_classifier!(self, c => c.classify(now, pkt, fate))
    }
    fn is_constant_per_flow(&self) -> bool {
        each_classifier!(self, c => FlowClassifier::<P>::is_constant_per_flow(c))
    }
    fn is_random(&self) -> bool {
        each_classifier!(self, c => FlowClassifier::<P>::is_random(c))
    }
    fn probe(&self, row: &mut Probe) {
        each_classifier!(self, c => FlowClassifier::<P>::probe(c, row))
    }
}
