//! Exports all mutable globals of a module, so that a copy of a running one has their values.
//! Source: WebAssembly core specification, section 5.5 (binary format of modules).

use std::ops::Range;

/// The name under which global `index` is exported. No source language makes such a name.
pub(crate) fn name(index: u32) -> String {
    format!("haltere:global:{index}")
}

const IMPORTS: u8 = 2;
const GLOBALS: u8 = 6;
const EXPORTS: u8 = 7;

/// Reads a module that the engine has found valid.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at - 1]
    }
    /// An unsigned number in LEB128.
    fn number(&mut self) -> u32 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return value;
            }
            shift += 7;
        }
    }
    /// The next section: its number and its bytes; `None` at the end.
    fn section(&mut self) -> Option<(u8, Range<usize>)> {
        if self.at == self.bytes.len() {
            return None;
        }
        let id = self.byte();
        let len = self.number() as usize;
        let body = self.at..self.at + len;
        self.at = body.end;
        Some((id, body))
    }
}

fn write_number(mut value: u32, to: &mut Vec<u8>) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        to.push(if value == 0 { byte } else { byte | 0x80 });
        if value == 0 {
            return;
        }
    }
}

/// Writes a section.
fn write_section(id: u8, body: &[u8], to: &mut Vec<u8>) {
    to.push(id);
    write_number(body.len() as u32, to);
    to.extend_from_slice(body);
}

/// The module with `count` globals exported besides what it exports.
pub(crate) fn exposed(module: &[u8], count: u32) -> Vec<u8> {
    const HEADER: usize = 8;
    let mut out = module[..HEADER].to_vec();
    let mut reader = Reader { bytes: module, at: HEADER };
    while let Some((id, body)) = reader.section() {
        let bytes = &module[body];
        if id == EXPORTS {
            write_section(EXPORTS, &with_globals(bytes, count), &mut out);
        } else {
            write_section(id, bytes, &mut out);
        }
    }
    out
}

/// The section of exports with `count` globals more.
fn with_globals(section: &[u8], count: u32) -> Vec<u8> {
    let mut reader = Reader { bytes: section, at: 0 };
    let old = reader.number();
    let mut body = Vec::with_capacity(section.len() + 32 * count as usize);
    write_number(old + count, &mut body);
    body.extend_from_slice(&section[reader.at..]);
    for index in 0..count {
        let name = name(index);
        write_number(name.len() as u32, &mut body);
        body.extend_from_slice(name.as_bytes());
        body.push(3); // a global
        write_number(index, &mut body);
    }
    body
}

/// How many globals a module defines. It imports none.
pub(crate) fn count(module: &[u8]) -> u32 {
    let mut reader = Reader { bytes: module, at: 8 };
    while let Some((id, body)) = reader.section() {
        debug_assert!(id != IMPORTS || !body.is_empty(), "an empty section of imports is left out");
        if id == GLOBALS {
            return Reader { bytes: &module[body], at: 0 }.number();
        }
    }
    0
}
