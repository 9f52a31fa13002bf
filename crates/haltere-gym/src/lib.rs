//! A gym: runs of the simulator that wait for decisions, and policies that decide by themselves.
//!
//! | module | what |
//! |---|---|
//! | `fields`, `window` | what is observed: the table of fields, and sums over the events of a sender |
//! | `action`, `interval` | what is decided, and how often |
//! | `agent`, `queue` | the congestion control and the queue that are decided |
//! | `policy` | a trained policy, read from a file |
//! | `makers` | both as mechanisms from outside the tree: `policy:FILE.json`, and those that only the gym makes |
//! | `spec`, `env`, `vector` | an environment: one run in steps; and many of them on a few threads |
//!
//! A step is a function of the experiment, the seed and the decisions before it. The number of threads does not matter.

mod action;
mod agent;
mod env;
mod fields;
mod interval;
mod makers;
mod path;
mod policy;
mod queue;
mod reading;
mod spec;
mod vector;
mod window;

pub use action::{ACTIONS, Action, ActionSpec};
pub use env::{BEGUN, TERMINATED, TRUNCATED};
pub use fields::{Field, QUEUE, QUEUE_COUNTERS, SENDER, SENDER_COUNTERS};
pub use makers::add;
pub use policy::Policy;
pub use spec::{Choices, Spec};
pub use vector::{Gym, Shown};
