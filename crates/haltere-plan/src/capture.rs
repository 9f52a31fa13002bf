//! Captures of one interface, as worlds write them: pcapng.
//! Source: draft-ietf-opsawg-pcapng. Deviations: none.
//! Units: time stamps in ns.

use alloc::vec::Vec;
use std::io::{self, Write};

/// An option of a block: its code and its value.
pub type BlockOption<'a> = (u16, &'a [u8]);

/// Writes a capture.
#[derive(Debug)]
pub struct Capture<W: Write> {
    out: W,
    block: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Begins the capture of the interface of that name. `link_type` is a number of tcpdump.org; at most `snaplen` bytes
    /// of a packet are kept, 0: all.
    pub fn start(out: W, interface: &str, link_type: u16, snaplen: u32) -> io::Result<Capture<W>> {
        let mut capture = Capture { out, block: Vec::with_capacity(2048) };
        // Byte-order magic, version 1.0, section length unknown.
        capture.block(0x0a0d_0d0a, &[&0x1a2b_3c4du32.to_le_bytes(), &[1, 0, 0, 0], &[0xff; 8]], &[])?;
        // Option 2: if_name, 9: if_tsresol 10^-9.
        let body: [&[u8]; 3] = [&link_type.to_le_bytes(), &[0, 0], &snaplen.to_le_bytes()];
        capture.block(1, &body, &[(2, interface.as_bytes()), (9, &[9])])?;
        Ok(capture)
    }
    /// A packet of `length` bytes at `ns`, of which these were kept.
    pub fn packet(&mut self, ns: u64, length: u32, kept: &[u8], options: &[BlockOption<'_>]) -> io::Result<()> {
        let words = [0, (ns >> 32) as u32, ns as u32, kept.len() as u32, length].map(u32::to_le_bytes);
        self.block(6, &[words.as_flattened(), kept], options)
    }
    /// A block of that kind; the parts of its body follow each other.
    pub fn block(&mut self, kind: u32, body: &[&[u8]], options: &[BlockOption<'_>]) -> io::Result<()> {
        let block = &mut self.block;
        block.clear();
        block.extend(kind.to_le_bytes());
        block.extend([0; 4]);
        body.iter().for_each(|part| block.extend_from_slice(part));
        pad(block);
        for (code, value) in options {
            block.extend(code.to_le_bytes());
            block.extend((value.len() as u16).to_le_bytes());
            block.extend_from_slice(value);
            pad(block);
        }
        // What ends the options, if there are any; and the length.
        block.extend(&[0; 8][..if options.is_empty() { 4 } else { 8 }]);
        let total = (block.len() as u32).to_le_bytes();
        block[4..8].copy_from_slice(&total);
        let end = block.len() - 4;
        block[end..].copy_from_slice(&total);
        self.out.write_all(block)
    }
    /// Passes everything written to the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_closed_by_their_own_length() {
        let mut bytes = Vec::new();
        let mut capture = Capture::start(&mut bytes, "left", 1, 0).unwrap();
        let at = 1_800_000_005_000_000_001;
        capture.packet(at, 80, &[7; 61], &[(2, &[2, 0, 0, 0])]).unwrap();
        let mut kinds = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            let total = word(4) as usize;
            assert_eq!(total % 4, 0);
            assert_eq!(word(total - 4) as usize, total);
            if word(0) == 6 {
                assert_eq!((u64::from(word(12)) << 32) + u64::from(word(16)), at);
                assert_eq!((word(20), word(24), rest[28], rest[28 + 60]), (61, 80, 7, 7));
            }
            kinds.push(word(0));
            rest = &rest[total..];
        }
        assert_eq!(kinds, [0x0a0d_0d0a, 1, 6]);
    }
}
