//! A stack in a shared library.

pub use haltere_units::outside::Params;

/// The language of such stacks among the [`Makers`](haltere_units::outside::Makers) of a program. In an experiment file
/// it is left out: `stack = "noq"`.
pub const LANGUAGE: &str = "library";
