//! Exports the globals of a module, so that a copy of a running instance can take over their values.
//! Source: WebAssembly core specification, section 5.5 (binary format of modules).

/// The name under which global `index` is exported. No source language makes such a name.
pub(crate) fn name(index: u32) -> String {
    format!("haltere:global:{index}")
}

/// The number of a section.
pub(crate) const ELEMENTS: u8 = 9;
const GLOBALS: u8 = 6;
const EXPORTS: u8 = 7;
/// The magic number and the version.
const HEADER: usize = 8;

/// Reads a module that need not be valid: the first byte that makes no sense ends it.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }
    /// An unsigned number of 32 bits in LEB128.
    fn number(&mut self) -> Option<u32> {
        let mut value = 0;
        for shift in (0..32).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

/// The sections of a module: their numbers and contents.
fn sections(module: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut reader = Reader(module.get(HEADER..).unwrap_or_default());
    std::iter::from_fn(move || {
        let id = reader.take(1)?[0];
        let len = reader.number()? as usize;
        Some((id, reader.take(len)?))
    })
}

/// The first section of that number.
pub(crate) fn section(module: &[u8], id: u8) -> Option<&[u8]> {
    sections(module).find(|(one, _)| *one == id).map(|(_, body)| body)
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

fn write_section(id: u8, body: &[u8], to: &mut Vec<u8>) {
    to.push(id);
    write_number(body.len() as u32, to);
    to.extend_from_slice(body);
}

/// The module with `count` globals exported besides what it exports.
pub(crate) fn exposed(module: &[u8], count: u32) -> Vec<u8> {
    let mut out = module[..HEADER].to_vec();
    for (id, body) in sections(module) {
        match id {
            EXPORTS => write_section(EXPORTS, &with_globals(body, count), &mut out),
            _ => write_section(id, body, &mut out),
        }
    }
    out
}

/// The section of exports with `count` globals more.
fn with_globals(section: &[u8], count: u32) -> Vec<u8> {
    let mut reader = Reader(section);
    let old = reader.number().expect("the engine has read it");
    let mut body = Vec::with_capacity(section.len() + 32 * count as usize);
    write_number(old + count, &mut body);
    body.extend_from_slice(reader.0);
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
    section(module, GLOBALS).and_then(|body| Reader(body).number()).unwrap_or(0)
}
