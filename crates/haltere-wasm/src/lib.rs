//! Congestion controls and queue disciplines that are WebAssembly modules.
//!
//! A module is read and checked before the run, and compiled once. Each flow or queue has an instance with a memory of
//! its own. At each event the host writes the fields of the event into the module's memory, calls one function, and
//! reads the answer: [`abi`] has the layout. The engine is an interpreter. It counts instructions, so that each call
//! ends, and gives the same bits on every machine. It has no clock and no files: a module imports
//! [what `abi` lists](abi::IMPORTS), and nothing else.
//!
//! [`add`] adds the language `wasm` to those of a program: `kind = "wasm:control.wasm"`.

pub mod abi;
pub mod about;
pub mod limits;

mod control;
mod decisions;
mod globals;
mod imports;
mod machine;
mod maker;
mod module;
mod queue;
mod trial;

pub use maker::add;
pub use module::Module;
pub use trial::load;
