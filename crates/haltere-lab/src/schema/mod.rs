//! The JSON Schema of experiment files: for editors, for the check, and for `haltere explain`.

pub(crate) mod check;
mod describe;
mod examples;
mod generate;
mod kinds;
mod node;
pub(crate) mod outside;
mod value;

pub use describe::{describe, example, kinds, names};
pub(crate) use describe::{has_key, shared_keys};
pub(crate) use generate::is_top;
pub use generate::schema;
pub(crate) use generate::short_or_table;
pub(crate) use node::strip_nulls;
