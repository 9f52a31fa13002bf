//! Services: which of two class queues the link serves next.
//!
//! | module | serves |
//! |---|---|
//! | [`round_robin`] | each in turn, one packet |
//! | [`deficit_round_robin`] | each in turn, a number of bytes |
//! | [`priority`] | short first |

use crate::LinkContext;
use crate::classify::CLASSES;
use haltere_units::ParamError;

/// Chooses between the class queues.
pub trait ClassService {
    /// The queue (its class's index) to be served next among those that hold packets; `None` if none does. The caller
    /// may ask again with fewer waiting, if a discipline dropped all its packets.
    fn pick(&mut self, waiting: [bool; CLASSES]) -> Option<usize>;
    /// A packet of `len` bytes was taken from queue `class`, while packets waited in those of `waiting` at the pick.
    fn sent(&mut self, class: usize, len: u32, waiting: [bool; CLASSES]);
}

haltere_units::registry! {
    /// A service of the class queues with its parameters, distinguished by `kind`.
    params ServiceParams;
    /// Any service of the registry.
    any Service;
    match each_service;

    round_robin => RoundRobin;
    deficit_round_robin => DeficitRoundRobin;
    priority => Priority;
}

impl Service {
    /// The service of these parameters on that link.
    pub fn new(params: &ServiceParams, link: &LinkContext) -> Result<Service, ParamError> {
        Ok(each_service!(new p in params => (p, link)?))
    }
}

impl ClassService for Service {
    #[inline]
    fn pick(&mut self, waiting: [bool; CLASSES]) -> Option<usize> {
        each_service!(self, s => s.pick(waiting))
    }
    #[inline]
    fn sent(&mut self, class: usize, len: u32, waiting: [bool; CLASSES]) {
        each_service!(self, s => s.sent(class, len, waiting))
    }
}

/// The ids served when those packets (class, length) wait from the start: for the services' tests.
#[cfg(test)]
fn order(service: &mut impl ClassService, packets: &[(usize, u32)]) -> alloc::vec::Vec<usize> {
    let mut queues: [alloc::collections::VecDeque<(usize, u32)>; CLASSES] = Default::default();
    packets.iter().enumerate().for_each(|(id, &(class, len))| queues[class].push_back((id, len)));
    let mut out = alloc::vec::Vec::new();
    loop {
        let waiting = [0, 1].map(|class: usize| !queues[class].is_empty());
        let Some(class) = service.pick(waiting) else { return out };
        let (id, len) = queues[class].pop_front().expect("only what waits is picked");
        service.sent(class, len, waiting);
        out.push(id);
    }
}
