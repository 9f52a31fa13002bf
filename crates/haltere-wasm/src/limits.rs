//! What a module may use at most.

pub use haltere_lab::limits::{
    WASM_BYTES as MODULE_BYTES, WASM_INSTRUCTIONS as INSTRUCTIONS, WASM_MEMORY as MEMORY_BYTES,
};

/// Bytes of the description that `haltere_about` returns.
pub const ABOUT_BYTES: usize = 64 << 10;
/// Bytes of the message of `fail`.
pub const MESSAGE_BYTES: usize = 200;
