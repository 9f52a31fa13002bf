//! A source that writes at a rate while it is on.
//! Source: the on-off application of ns-3 as its documentation describes it. Deviations: it begins on unless
//! the plan says otherwise, and at the flow's start; ns-3's begins off, when the connection is established.
//! Model: while on, one chunk is written every `chunk / rate`; the part of that time that had passed when the source
//! went off counts when it comes on again. A chunk is written whole; one that finds no room in the send buffer waits
//! and is written, instead of a new one, when the next would be due: a source that is held up offers less. A chunk
//! larger than the whole buffer goes in parts.

use super::stream::Stream;
use super::{Source, mean, positive_rate, positive_span};
use haltere_plan::plan::{DurationDistribution, FlowPlan, OnOffPlan};
use haltere_plan::rng::Rng;
use haltere_units::outside::Origin;
use haltere_units::{Bytes, Dur, ParamError, Serialisation, Time};

/// What is done at the next step.
#[derive(Debug, Clone, Copy)]
enum Next {
    Write,
    TurnOff,
    TurnOn,
}

#[derive(Debug)]
pub(crate) struct OnOff {
    chunk: u64,
    clock: Serialisation,
    on: DurationDistribution,
    off: DurationDistribution,
    rng: Rng,
    next: Next,
    on_until: Time,
    /// Time until the next chunk is due, counted while on.
    wait: Dur,
    unsent: u64,
}

impl OnOff {
    pub fn new(flow: &FlowPlan, plan: &OnOffPlan, origin: &Origin) -> Result<OnOff, ParamError> {
        let OnOffPlan { rate, chunk, on, off, begins_off, .. } = *plan;
        if chunk == Bytes::ZERO {
            return Err(ParamError::new("chunk", "above zero", chunk));
        }
        positive_span("on", mean(on))?;
        let mut clock = Serialisation::new(Some(positive_rate(rate)?));
        let wait = clock.next(chunk);
        let rng = Rng::new(origin.seed, &format!("{}/source", flow.name));
        let next = if begins_off { Next::TurnOff } else { Next::TurnOn };
        let (chunk, on_until) = (chunk.as_u64(), Time::ZERO);
        Ok(OnOff { chunk, clock, on, off, rng, next, on_until, wait, unsent: 0 })
    }
    /// Does what is due now; the time of the next step is returned.
    fn act(&mut self, now: Time, socket: &mut dyn Stream) -> Time {
        match self.next {
            Next::TurnOn => self.on_until = now + self.rng.span(self.on),
            Next::TurnOff => {
                self.next = Next::TurnOn;
                return now + self.rng.span(self.off);
            }
            Next::Write => {
                let bytes = if self.unsent > 0 { self.unsent } else { self.chunk };
                let room = socket.writable().as_u64() >= bytes || socket.unacknowledged() == Bytes::ZERO;
                self.unsent = if room { bytes - socket.write(Bytes::new(bytes)).as_u64() } else { bytes };
                self.wait = self.clock.next(Bytes::new(self.chunk));
            }
        }
        let due = now + self.wait;
        if due <= self.on_until {
            self.next = Next::Write;
            due
        } else {
            self.next = Next::TurnOff;
            self.wait = due - self.on_until;
            self.on_until
        }
    }
}

impl Source for OnOff {
    fn step(&mut self, now: Time, client: &mut dyn Stream) -> Option<Time> {
        Some(self.act(now, client))
    }
}
