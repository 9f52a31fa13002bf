//! Captures as a stream of packets.
//! Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng. Deviations: none.
//! Model: pcap is a head and records, pcapng is blocks; each packet has a time, the bytes that were kept and its length
//! on the line, and (pcapng) an interface with its kind of link and its unit of time. Both byte orders are read.
//! Units: ns, bytes. Cost: one packet at a time, copied once; memory: the largest packet.
//! Known problems: a file compressed by gzip or zstd must be unpacked first.

use crate::error::{CaptureError, Watch};
use std::io::{BufReader, ErrorKind, Read};
use std::sync::atomic::Ordering;

/// The longest packet or block that is accepted: libpcap's bound for a packet, and room for a block's options.
pub const MAX_RECORD_BYTES: u32 = 262_144 + 65_536;
/// Packets between two checks of the cancel flag.
const LOOK: u64 = 4096;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// The option with an interface's unit of time.
const TSRESOL: u16 = 9;

/// The kinds of link whose packets are read, as <https://www.tcpdump.org/linktypes.html> numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// Ethernet, with or without tags.
    Ethernet,
    /// IPv4 or IPv6 without anything below.
    Ip,
    /// A protocol family in four bytes, then IP.
    Loopback,
    /// Linux "cooked", version 1.
    Cooked,
    /// Linux "cooked", version 2.
    Cooked2,
}

impl LinkType {
    const fn of(number: u16) -> Option<LinkType> {
        Some(match number {
            1 => LinkType::Ethernet,
            12 | 14 | 101 | 228 | 229 => LinkType::Ip,
            0 | 108 => LinkType::Loopback,
            113 => LinkType::Cooked,
            276 => LinkType::Cooked2,
            _ => return None,
        })
    }
}

/// A packet as the file has it.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Nanoseconds since 1970, or whatever the clock of the capture counts from.
    pub at_ns: u64,
    /// What lies below IP.
    pub link: LinkType,
    /// The bytes that were kept.
    pub bytes: &'a [u8],
    /// Bytes on the line.
    pub length: u32,
}

/// An interface of a pcapng file; a pcap file has one.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: Result<LinkType, u16>,
    unit: Unit,
    snaplen: u32,
}

/// A unit of time: 1 / `per_second` s.
#[derive(Debug, Clone, Copy)]
struct Unit {
    per_second: u64,
}

impl Unit {
    /// `if_tsresol`: a negative power of ten, or of two if the highest bit is set. `None`: it is too large.
    fn of(resolution: u8) -> Option<Unit> {
        let exponent = u32::from(resolution & 0x7f);
        let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
        base.checked_pow(exponent).map(|per_second| Unit { per_second })
    }
    fn ns(self, ticks: u64) -> u64 {
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.per_second);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Pcap,
    PcapNg,
}

/// Reads a capture packet by packet.
#[derive(Debug)]
pub struct Reader<'a, R: Read> {
    input: BufReader<R>,
    watch: Watch<'a>,
    format: Format,
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Packets read.
    number: u64,
    /// Blocks of pcapng read, packets or not.
    blocks: u64,
    /// Bytes read.
    place: u64,
    body: Vec<u8>,
}

/// What a packet's block says, and where its bytes lie in the body.
struct Found {
    interface: u32,
    ticks: u64,
    start: usize,
    kept: u32,
    length: u32,
}

impl<'a, R: Read> Reader<'a, R> {
    /// Reads the file's head.
    pub fn new(input: R, watch: Watch<'a>) -> Result<Reader<'a, R>, CaptureError> {
        let input = BufReader::with_capacity(1 << 18, input);
        let mut reader = Reader {
            input,
            watch,
            format: Format::Pcap,
            big_endian: false,
            interfaces: vec![],
            number: 0,
            blocks: 0,
            place: 0,
            body: vec![],
        };
        reader.head()?;
        Ok(reader)
    }
    /// Packets read so far.
    pub fn number(&self) -> u64 {
        self.number
    }
    fn head(&mut self) -> Result<(), CaptureError> {
        let mut magic = [0; 4];
        if self.fill(&mut magic)? < 4 {
            return Err(CaptureError::Format("less than four bytes".into()));
        }
        let per_second = match u32::from_le_bytes(magic) {
            0xa1b2_c3d4 | 0xd4c3_b2a1 => 1_000_000,
            0xa1b2_3c4d | 0x4d3c_b2a1 => 1_000_000_000,
            SECTION => {
                self.format = Format::PcapNg;
                return self.section();
            }
            other => return Err(CaptureError::Format(told_magic(other))),
        };
        self.big_endian = magic[0] == 0xa1;
        let mut rest = [0; 20];
        if self.fill(&mut rest)? < 20 {
            return Err(CaptureError::Format("a pcap head that breaks off".into()));
        }
        // The upper bits of the link type tell of a frame check sequence.
        let link = self.u32(&rest[16..]) as u16;
        let snaplen = self.u32(&rest[12..]);
        self.interfaces.push(Interface { link: LinkType::of(link).ok_or(link), unit: Unit { per_second }, snaplen });
        Ok(())
    }
    /// The rest of a section header, whose type was read.
    fn section(&mut self) -> Result<(), CaptureError> {
        let mut head = [0; 8];
        if self.fill(&mut head)? < 8 {
            return Err(self.broken("the end of the file in a section's head"));
        }
        self.big_endian = match head[4..] {
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            _ => return Err(CaptureError::Format("a pcapng section of no known byte order".into())),
        };
        self.interfaces.clear();
        let length = self.u32(&head);
        self.body(length, 12)
    }
    /// The next packet; `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        if self.number.is_multiple_of(LOOK) {
            self.watch.look(self.place)?;
        }
        let found = match self.format {
            Format::Pcap => self.record()?,
            Format::PcapNg => self.packet_block()?,
        };
        let Some(Found { interface, ticks, start, kept, length }) = found else {
            self.watch.look(self.place)?;
            return Ok(None);
        };
        self.number += 1;
        let Some(on) = self.interfaces.get(interface as usize) else {
            return Err(CaptureError::Packet(self.number, format!("interface {interface}, which is not described")));
        };
        let link = on.link.map_err(|number| CaptureError::LinkType(self.number, number))?;
        let bytes = &self.body[start..start + kept as usize];
        Ok(Some(Record { at_ns: on.unit.ns(ticks), link, bytes, length: length.max(kept) }))
    }
    /// A record of a pcap file.
    fn record(&mut self) -> Result<Option<Found>, CaptureError> {
        let mut head = [0; 16];
        match self.fill(&mut head)? {
            0 => return Ok(None),
            16 => {}
            got => return Err(self.broken(&format!("{got} of the 16 bytes of its head"))),
        }
        let [seconds, fraction, kept, length] = [0, 4, 8, 12].map(|at| self.u32(&head[at..]));
        let per_second = self.interfaces[0].unit.per_second;
        if u64::from(fraction) >= per_second {
            return Err(self.broken(&format!("{fraction} parts of a second of {per_second}")));
        }
        self.read_body(kept)?;
        Ok(Some(Found {
            interface: 0,
            ticks: u64::from(seconds) * per_second + u64::from(fraction),
            start: 0,
            kept,
            length,
        }))
    }
    /// The next block that holds a packet.
    fn packet_block(&mut self) -> Result<Option<Found>, CaptureError> {
        loop {
            self.blocks += 1;
            if self.blocks.is_multiple_of(LOOK) {
                self.watch.look(self.place)?;
            }
            let mut kind = [0; 4];
            match self.fill(&mut kind)? {
                0 => return Ok(None),
                4 => {}
                got => return Err(self.broken(&format!("{got} bytes of a block"))),
            }
            if u32::from_le_bytes(kind) == SECTION {
                self.section()?;
                continue;
            }
            let kind = self.u32(&kind);
            let mut length = [0; 4];
            if self.fill(&mut length)? < 4 {
                return Err(self.broken("the end of the file in a block's head"));
            }
            let length = self.u32(&length);
            self.body(length, 8)?;
            let found = match kind {
                INTERFACE => {
                    self.interface()?;
                    None
                }
                ENHANCED_PACKET => Some(self.enhanced()?),
                SIMPLE_PACKET => Some(self.simple()?),
                OLD_PACKET => Some(self.old()?),
                _ => None,
            };
            if let Some(found) = found {
                let room = self.body.len() - found.start;
                if found.kept as usize > room {
                    return Err(self.broken(&format!("{} bytes in a block with room for {room}", found.kept)));
                }
                return Ok(Some(found));
            }
        }
    }
    fn interface(&mut self) -> Result<(), CaptureError> {
        if self.body.len() < 8 {
            return Err(self.broken("an interface's block that is too short"));
        }
        let link = self.u16(&self.body);
        let snaplen = self.u32(&self.body[4..]);
        let mut unit = Unit { per_second: 1_000_000 };
        let mut options = &self.body[8..];
        while let [_, _, _, _, rest @ ..] = options {
            let (code, size) = (self.u16(options), usize::from(self.u16(&options[2..])));
            match (code, rest) {
                (0, _) => break,
                (TSRESOL, [resolution, ..]) if size == 1 => {
                    let wrong = || self.broken(&format!("a unit of time of code {resolution}"));
                    unit = Unit::of(*resolution).ok_or_else(wrong)?;
                }
                _ => {}
            }
            options = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        }
        self.interfaces.push(Interface { link: LinkType::of(link).ok_or(link), unit, snaplen });
        Ok(())
    }
    fn enhanced(&self) -> Result<Found, CaptureError> {
        let words = self.words::<5>()?;
        let [interface, high, low, kept, length] = words;
        Ok(Found { interface, ticks: u64::from(high) << 32 | u64::from(low), start: 20, kept, length })
    }
    fn simple(&self) -> Result<Found, CaptureError> {
        let [length] = self.words::<1>()?;
        let room = (self.body.len() - 4) as u32;
        let snaplen = self.interfaces.first().map_or(0, |on| on.snaplen);
        let most = if snaplen == 0 { room } else { snaplen };
        Ok(Found { interface: 0, ticks: 0, start: 4, kept: length.min(most), length })
    }
    fn old(&self) -> Result<Found, CaptureError> {
        let [_, high, low, kept, length] = self.words::<5>()?;
        let interface = u32::from(self.u16(&self.body));
        Ok(Found { interface, ticks: u64::from(high) << 32 | u64::from(low), start: 20, kept, length })
    }
    /// The first words of the body.
    fn words<const N: usize>(&self) -> Result<[u32; N], CaptureError> {
        if self.body.len() < N * 4 {
            return Err(self.broken("a block that is too short"));
        }
        Ok(std::array::from_fn(|i| self.u32(&self.body[i * 4..])))
    }
    /// Reads a block's body and the length behind it, of which `before` bytes were read.
    fn body(&mut self, length: u32, before: u32) -> Result<(), CaptureError> {
        if length < before + 4 || !length.is_multiple_of(4) {
            return Err(self.broken(&format!("a block of {length} bytes")));
        }
        self.read_body(length - before - 4)?;
        let mut again = [0; 4];
        if self.fill(&mut again)? < 4 {
            return Err(self.broken("the end of the file in a block's end"));
        }
        let again = self.u32(&again);
        if again != length {
            return Err(self.broken(&format!("a block of {length} bytes whose end says {again}")));
        }
        Ok(())
    }
    fn read_body(&mut self, size: u32) -> Result<(), CaptureError> {
        if size > MAX_RECORD_BYTES {
            return Err(self.broken(&format!("a length of {size} bytes")));
        }
        let mut body = std::mem::take(&mut self.body);
        body.resize(size as usize, 0);
        let got = self.fill(&mut body)?;
        self.body = body;
        if got < size as usize {
            return Err(self.broken(&format!("{got} of its {size} bytes")));
        }
        Ok(())
    }
    /// Fills `buffer` as far as the file goes. Returns how far.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, CaptureError> {
        let mut got = 0;
        while got < buffer.len() {
            match self.input.read(&mut buffer[got..]) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(CaptureError::Open(error)),
            }
        }
        self.place += got as u64;
        Ok(got)
    }
    /// The error of the packet that would come next.
    fn broken(&self, got: &str) -> CaptureError {
        CaptureError::Packet(self.number + 1, got.to_owned())
    }
    fn u32(&self, bytes: &[u8]) -> u32 {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
    fn u16(&self, bytes: &[u8]) -> u16 {
        let bytes = [bytes[0], bytes[1]];
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }
}

impl Watch<'_> {
    /// Tells how far the file was read; an error where the caller wants no more.
    fn look(&self, place: u64) -> Result<(), CaptureError> {
        if let Some(read) = self.read {
            read.store(self.before + place, Ordering::Relaxed);
        }
        match self.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => Err(CaptureError::Cancelled),
            _ => Ok(()),
        }
    }
}

fn told_magic(magic: u32) -> String {
    match magic.to_le_bytes() {
        [0x1f, 0x8b, ..] => "a gzip file; unpack it first".into(),
        [0x28, 0xb5, 0x2f, 0xfd] => "a zstd file; unpack it first".into(),
        bytes => format!("a file that begins with {bytes:02x?}"),
    }
}

#[cfg(test)]
mod tests;
