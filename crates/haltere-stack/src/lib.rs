//! Transport stacks in shared libraries: `stack = "noq"`, `stack = "./libmine.so"`.
//!
//! A stack does no I/O. It is a library with one symbol, which gives a table of functions
//! (`stacks/adapter/include/haltere_stack.h`). The simulator gives each end the time and the datagrams, and takes what it
//! sends.
//!
//! | file | what |
//! |---|---|
//! | `maker` | finds a library by name or path, reads what it says of itself, and makes ends of connections |
//! | `library` | the border to C: loads a library and calls its functions. All `unsafe` of this crate |
//! | `control` | Haltere's congestion controls as a stack calls them |

mod about;
mod control;
mod library;
mod maker;

pub use maker::{add, folder};
