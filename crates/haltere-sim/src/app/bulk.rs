//! A source with always something to send, or with a limited number of bytes and then the end of the stream.

use super::contract::Source;
use super::stream::Stream;
use haltere_plan::plan::{BulkPlan, FlowPlan};
use haltere_units::outside::Origin;
use haltere_units::{Bytes, ParamError, Time};

#[derive(Debug)]
pub(crate) struct Bulk {
    /// Bytes in all; `None`: endless.
    limit: Option<u64>,
    /// Bytes not yet written; `None`: endless.
    remaining: Option<u64>,
    closed: bool,
}

impl Bulk {
    pub fn new(_flow: &FlowPlan, plan: &BulkPlan, _origin: &Origin) -> Result<Bulk, ParamError> {
        Ok(Bulk::of(plan.bytes))
    }
    /// A source of so many bytes; `None`: endless.
    pub fn of(bytes: Option<Bytes>) -> Bulk {
        let limit = bytes.map(Bytes::as_u64);
        Bulk { limit, remaining: limit, closed: false }
    }
    /// Writes what the send buffer takes, and the end of the stream after the last byte.
    #[inline]
    fn fill(&mut self, socket: &mut dyn Stream) {
        if let (Some(remaining), false) = (&mut self.remaining, self.closed) {
            *remaining -= socket.write(Bytes::new(*remaining)).as_u64();
            if *remaining == 0 {
                self.stop(socket);
            }
        }
    }
}

impl Source for Bulk {
    fn limit(&self) -> Option<u64> {
        self.limit
    }
    fn start(&mut self, client: &mut dyn Stream) {
        if self.remaining.is_none() {
            client.write_endless();
        }
        self.fill(client);
    }
    #[inline]
    fn on_client(&mut self, _now: Time, client: &mut dyn Stream) -> Option<Time> {
        self.fill(client);
        None
    }
    fn stop(&mut self, socket: &mut dyn Stream) {
        if !self.closed {
            self.closed = true;
            socket.close();
        }
    }
}
