//! Captures of what passes a port, in pcapng.
//! Source: draft-ietf-opsawg-pcapng (section header, interface description, enhanced packet blocks). Deviations: none.
//! Units: time stamps in nanoseconds since 1970.

use haltere_units::Time;
use std::io::{self, Write};

/// Which way a frame passed the port, seen from the router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The router received it.
    In = 1,
    /// The router sent it.
    Out = 2,
}

/// A capture of one interface.
#[derive(Debug)]
pub struct Capture<W: Write> {
    out: W,
    zero_ns: u64,
    block: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Begins a capture of the interface of that name. Time zero was at `zero_ns` of the wall clock.
    pub fn start(out: W, interface: &str, zero_ns: u64) -> io::Result<Capture<W>> {
        let mut capture = Capture { out, zero_ns, block: Vec::with_capacity(2048) };
        // Byte-order magic, version 1.0, section length unknown.
        let mut body = Vec::new();
        body.extend(0x1a2b_3c4du32.to_le_bytes());
        body.extend([1, 0, 0, 0]);
        body.extend(u64::MAX.to_le_bytes());
        capture.write(0x0a0d_0d0a, &body, &[(4, b"haltere")])?; // option 4: shb_userappl
        // Link type 1 (Ethernet), no snap length; option 2: if_name, 9: if_tsresol 10^-9.
        capture.write(1, &[1, 0, 0, 0, 0, 0, 0, 0], &[(2, interface.as_bytes()), (9, &[9])])?;
        Ok(capture)
    }
    /// A frame that passed at `at`.
    pub fn packet(&mut self, at: Time, direction: Direction, frame: &[u8]) -> io::Result<()> {
        let mut body = Vec::with_capacity(frame.len() + 24);
        let len = (frame.len() as u32).to_le_bytes();
        let stamp = self.zero_ns.saturating_add(at.as_ns());
        body.extend(0u32.to_le_bytes());
        body.extend(((stamp >> 32) as u32).to_le_bytes());
        body.extend((stamp as u32).to_le_bytes());
        body.extend(len);
        body.extend(len);
        body.extend_from_slice(frame);
        self.write(6, &body, &[(2, &(direction as u32).to_le_bytes())]) // option 2: epb_flags
    }
    /// Passes everything written to the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
    fn write(&mut self, kind: u32, body: &[u8], options: &[(u16, &[u8])]) -> io::Result<()> {
        let block = &mut self.block;
        block.clear();
        block.extend(kind.to_le_bytes());
        block.extend([0; 4]);
        block.extend_from_slice(body);
        pad(block);
        for (code, value) in options {
            block.extend(code.to_le_bytes());
            block.extend((value.len() as u16).to_le_bytes());
            block.extend_from_slice(value);
            pad(block);
        }
        block.extend([0; 4]);
        let total = (block.len() + 4) as u32;
        block[4..8].copy_from_slice(&total.to_le_bytes());
        block.extend(total.to_le_bytes());
        self.out.write_all(block)
    }
}

fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_closed_by_their_own_length_and_stamps_are_wall_time() {
        let mut bytes = Vec::new();
        let zero_ns = 1_800_000_000_000_000_000;
        let mut capture = Capture::start(&mut bytes, "left", zero_ns).unwrap();
        capture.packet(Time::from_ns(5_000_000_001), Direction::Out, &[7; 61]).unwrap();
        let mut kinds = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            let total = word(4) as usize;
            assert_eq!(total % 4, 0);
            assert_eq!(word(total - 4) as usize, total);
            if word(0) == 6 {
                assert_eq!((u64::from(word(12)) << 32) + u64::from(word(16)), zero_ns + 5_000_000_001);
                assert_eq!((word(20), rest[28], rest[28 + 60]), (61, 7, 7));
            }
            kinds.push(word(0));
            rest = &rest[total..];
        }
        assert_eq!(kinds, [0x0a0d_0d0a, 1, 6]);
    }
}
