//! Limits of a module.

pub use haltere_lab::limits::{
    WASM_BYTES as MODULE_BYTES, WASM_INSTRUCTIONS as INSTRUCTIONS, WASM_MEMORY as MEMORY_BYTES,
    WASM_TABLE_ELEMENTS as TABLE_ELEMENTS, WASM_TABLES as TABLES,
};

/// Bytes of the description that `haltere_about` returns.
pub const ABOUT_BYTES: usize = 64 << 10;
/// Bytes of the message of `fail`.
pub const MESSAGE_BYTES: usize = 200;
/// Bytes of the section of elements. Each element takes at least one, and 8 in every instance.
pub const ELEMENT_SECTION_BYTES: usize = 256 << 10;
