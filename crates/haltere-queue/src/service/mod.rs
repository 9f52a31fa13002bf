//! Services: which of two class queues the link serves next.
//!
//! | module | whose turn |
//! |---|---|
//! | [`round_robin`] | each in turn, one packet |
//! | [`deficit_round_robin`] | each in turn, so many bytes |
//! | [`priority`] | short first |

use crate::LinkContext;
use crate::classify::CLASSES;
use haltere_units::ParamError;

pub mod deficit_round_robin;
pub mod priority;
pub mod round_robin;

/// Chooses between the class queues.
pub trait Service {
    /// The queue (its class's index) to be served next among those where packets wait; `None` where none waits. The
    /// caller may ask again with fewer waiting, where a discipline dropped all that it had.
    fn pick(&mut self, waiting: [bool; CLASSES]) -> Option<usize>;
    /// A packet of `len` bytes was taken from queue `class`, while packets waited in those of `waiting` at the pick.
    fn sent(&mut self, class: usize, len: u32, waiting: [bool; CLASSES]);
}

macro_rules! services {
    ($($variant:ident, $module:ident);+ $(;)?) => {
        haltere_units::params_registry! {
            /// A service of class queues with its parameters, told apart by `kind`.
            pub enum ServiceParams { $($variant($module::Params) = $module),+ }
        }

        /// Any service of the registry.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "each variant is the service of that name")]
        pub enum Server { $($variant($module::$variant)),+ }

        impl Server {
            /// The service of these parameters on that link.
            pub fn new(params: &ServiceParams, link: &LinkContext) -> Result<Server, ParamError> {
                Ok(match params { $(ServiceParams::$variant(p) => Server::$variant($module::$variant::new(p, link)?)),+ })
            }
        }

        impl Service for Server {
            #[inline]
            fn pick(&mut self, waiting: [bool; CLASSES]) -> Option<usize> {
                match self { $(Server::$variant(s) => s.pick(waiting)),+ }
            }
            #[inline]
            fn sent(&mut self, class: usize, len: u32, waiting: [bool; CLASSES]) {
                match self { $(Server::$variant(s) => s.sent(class, len, waiting)),+ }
            }
        }
    };
}

services! {
    RoundRobin, round_robin;
    DeficitRoundRobin, deficit_round_robin;
    Priority, priority;
}

/// The ids served when those packets (class, length) wait from the start: for the services' tests.
#[cfg(test)]
fn order(service: &mut impl Service, packets: &[(usize, u32)]) -> alloc::vec::Vec<usize> {
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
