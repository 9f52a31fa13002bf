//! Exports the globals of a module, so that a copy of a running instance can take over their values.
//! Source: WebAssembly core specification, section 5.5 (binary format of modules).

use wasm_encoder::{Encode, ExportKind, RawSection};
use wasmparser::{BinaryReader, Parser};

/// The name under which global `index` is exported. No source language makes such a name.
pub(crate) fn name(index: u32) -> String {
    format!("haltere:global:{index}")
}

/// The number of a section.
pub(crate) const ELEMENTS: u8 = 9;
const GLOBALS: u8 = 6;
const EXPORTS: u8 = 7;

/// The sections of a module, which need not be valid: their numbers and contents.
fn sections(module: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let payloads = Parser::new(0).parse_all(module).map_while(Result::ok);
    payloads.filter_map(|payload| payload.as_section()).map_while(|(id, range)| Some((id, module.get(range)?)))
}

/// The first section of that number.
pub(crate) fn section(module: &[u8], id: u8) -> Option<&[u8]> {
    sections(module).find(|(one, _)| *one == id).map(|(_, body)| body)
}

/// The module with `count` globals exported besides what it exports.
pub(crate) fn exposed(module: &[u8], count: u32) -> Vec<u8> {
    let mut out = wasm_encoder::Module::new();
    for (id, data) in sections(module) {
        let exports = (id == EXPORTS).then(|| with_globals(data, count));
        out.section(&RawSection { id, data: exports.as_deref().unwrap_or(data) });
    }
    out.finish()
}

/// The section of exports with `count` globals more.
fn with_globals(section: &[u8], count: u32) -> Vec<u8> {
    let mut reader = BinaryReader::new(section, 0);
    let old = reader.read_var_u32().expect("the engine has read it");
    let mut body = Vec::with_capacity(section.len() + 32 * count as usize);
    (old + count).encode(&mut body);
    body.extend_from_slice(&section[reader.original_position()..]);
    for index in 0..count {
        name(index).encode(&mut body);
        ExportKind::Global.encode(&mut body);
        index.encode(&mut body);
    }
    body
}

/// How many globals a module defines. It imports none.
pub(crate) fn count(module: &[u8]) -> u32 {
    section(module, GLOBALS).and_then(|body| BinaryReader::new(body, 0).read_var_u32().ok()).unwrap_or(0)
}
