//! Decisions that a queue discipline makes during a call. The host records them and carries them out after the call.
//!
//! The engine's functions live as long as the module, and [`Verdicts`] as long as one call, so the functions cannot
//! borrow them. They need not: the host knows which packets wait and which of them are ECN-capable, so it can answer
//! at once.

use haltere_queue::outside::{PacketView, Verdicts};
use haltere_queue::{DropReason, MarkReason};
use std::collections::VecDeque;
use wasmi::Error;

/// A decision about the packet of that number.
#[derive(Debug, Clone, Copy)]
enum Decision {
    Drop(u64, DropReason),
    Mark(u64, MarkReason),
}

/// The decisions of the current call, and the packets that wait.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decisions {
    /// The current call may decide.
    is_open: bool,
    made: Vec<Decision>,
    /// For each packet from number `first` on, whether it is ECN-capable. `None`: it has left.
    waiting: VecDeque<Option<bool>>,
    first: u64,
}

impl Decisions {
    /// A call begins that may decide. At an arrival the packet waits from now on.
    pub fn open(&mut self, arrival: Option<&PacketView>) {
        self.is_open = true;
        if let Some(packet) = arrival {
            if self.waiting.is_empty() {
                self.first = packet.id;
            }
            self.waiting.push_back(Some(packet.ecn.is_capable()));
        }
    }
    /// The call has ended: its decisions are carried out in their order.
    pub fn close(&mut self, verdicts: &mut dyn Verdicts) {
        self.is_open = false;
        for decision in self.made.drain(..) {
            match decision {
                Decision::Drop(id, reason) => verdicts.drop(id, reason),
                Decision::Mark(id, reason) => _ = verdicts.mark(id, reason),
            }
        }
    }
    /// Refuses the import in a call that may not decide.
    pub fn check(&self, import: &str) -> Result<(), Error> {
        let refused = || Error::new(format!("a call of `{import}`, which this event may not call"));
        if self.is_open { Ok(()) } else { Err(refused()) }
    }
    pub fn drop(&mut self, id: u64, reason: DropReason) -> Result<(), Error> {
        self.check("drop")?;
        self.made.push(Decision::Drop(id, reason));
        self.leave(id);
        Ok(())
    }
    /// False if the packet is not ECN-capable.
    pub fn mark(&mut self, id: u64, reason: MarkReason) -> Result<bool, Error> {
        self.check("mark")?;
        self.made.push(Decision::Mark(id, reason));
        Ok(self.place(id).and_then(|place| *place).unwrap_or(false))
    }
    /// The packet no longer waits.
    pub fn leave(&mut self, id: u64) {
        if let Some(place) = self.place(id) {
            *place = None;
        }
        while let Some(None) = self.waiting.front() {
            self.waiting.pop_front();
            self.first += 1;
        }
    }
    fn place(&mut self, id: u64) -> Option<&mut Option<bool>> {
        self.waiting.get_mut(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }
}
