//! Captures as a stream of Ethernet frames.
//! Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; the crate `pcap-file` reads the blocks. Deviations: raw IP and Linux
//! "cooked" packets get an Ethernet header; what a snap length cut off is zeros, as far as a frame can be long.
//! Units: ns, bytes. Cost: one packet at a time.

use haltere_units::Time;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::Block;
use pcap_file::{DataLink, PcapError};
use std::fmt;
use std::io::{Chain, Cursor, Read};

/// The largest frame that is taken; Linux's captures hold at most 256 KiB a packet.
const MOST: usize = 262_144;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// Why a capture could not be read to its end.
#[derive(Debug)]
pub enum CaptureError {
    /// It could not be opened.
    Open(std::io::Error),
    /// It is no capture.
    Format(String),
    /// It breaks off or contradicts itself after so many packets.
    Packet(u64, String),
    /// A kind of link that is not read.
    Link(u64, String),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Open(error) => write!(f, "file must be readable, got {error}"),
            CaptureError::Format(got) => write!(f, "file must be a pcap or pcapng capture, got {got}"),
            CaptureError::Packet(number, got) => {
                write!(f, "packet {number} must be whole, got {got}; the file is truncated or corrupt there")
            }
            CaptureError::Link(number, got) => {
                write!(f, "packet {number} must be Ethernet, raw IP or Linux cooked, got link type {got}")
            }
        }
    }
}

impl std::error::Error for CaptureError {}

type Input<R> = Chain<Cursor<[u8; 4]>, R>;

enum Format<R: Read> {
    Pcap(PcapReader<Input<R>>),
    PcapNg(PcapNgReader<Input<R>>),
}

/// Reads a capture.
pub(crate) struct Reader<R: Read> {
    format: Format<R>,
    /// Packets read.
    pub(crate) number: u64,
    frame: Vec<u8>,
    /// Nanoseconds of the first packet: time zero.
    first_ns: Option<u128>,
}

fn told(error: &PcapError) -> String {
    match error {
        PcapError::IncompleteBuffer => "the end of the file".into(),
        other => other.to_string(),
    }
}

impl<R: Read> Reader<R> {
    /// Reads the file's head.
    pub(crate) fn new(mut input: R) -> Result<Reader<R>, CaptureError> {
        let mut magic = [0; 4];
        input.read_exact(&mut magic).map_err(|_| CaptureError::Format("less than four bytes".into()))?;
        let whole = Cursor::new(magic).chain(input);
        let refused = |error: PcapError| CaptureError::Format(told(&error));
        let format = if magic == [0x0a, 0x0d, 0x0d, 0x0a] {
            Format::PcapNg(PcapNgReader::new(whole).map_err(refused)?)
        } else {
            Format::Pcap(PcapReader::new(whole).map_err(refused)?)
        };
        Ok(Reader { format, number: 0, frame: Vec::new(), first_ns: None })
    }
    /// The next frame and its time since the first; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(Time, &[u8])>, CaptureError> {
        let number = self.number + 1;
        let broken = |error: PcapError| CaptureError::Packet(number, told(&error));
        let ns = match &mut self.format {
            Format::Pcap(reader) => {
                let link = reader.header().datalink;
                let Some(packet) = reader.next_packet() else { return Ok(None) };
                let packet = packet.map_err(broken)?;
                fill(&mut self.frame, link, &packet.data, packet.orig_len as usize, number)?;
                packet.timestamp.as_nanos()
            }
            Format::PcapNg(reader) => loop {
                let Some(block) = reader.next_block() else { return Ok(None) };
                let (interface, data, length, ns) = match block.map_err(broken)?.into_owned() {
                    Block::EnhancedPacket(p) => (p.interface_id, p.data, p.original_len, p.timestamp.as_nanos()),
                    Block::SimplePacket(p) => (0, p.data, p.original_len, 0),
                    Block::Packet(p) => {
                        (u32::from(p.interface_id), p.data, p.original_len, u128::from(p.timestamp) * 1000)
                    }
                    _ => continue,
                };
                let none = || CaptureError::Packet(number, format!("interface {interface}, which is not described"));
                let link = reader.interfaces().get(interface as usize).ok_or_else(none)?.linktype;
                fill(&mut self.frame, link, &data, length as usize, number)?;
                break ns;
            },
        };
        self.number = number;
        let first = *self.first_ns.get_or_insert(ns);
        let since = u64::try_from(ns.saturating_sub(first)).unwrap_or(u64::MAX - 1);
        Ok(Some((Time::from_ns(since), &self.frame)))
    }
}

/// Writes the packet as an Ethernet frame of its original length.
fn fill(frame: &mut Vec<u8>, link: DataLink, data: &[u8], length: usize, number: u64) -> Result<(), CaptureError> {
    let by_version = |data: &[u8]| match data.first().map(|byte| byte >> 4) {
        Some(6) => [0x86, 0xdd],
        _ => [0x08, 0x00],
    };
    frame.clear();
    let (kind, skipped) = match link {
        DataLink::ETHERNET => (None, 0),
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => (Some(by_version(data)), 0),
        DataLink::LINUX_SLL => (data.get(14..16).map(|kind| [kind[0], kind[1]]), 16),
        other => return Err(CaptureError::Link(number, format!("{other:?}"))),
    };
    if let Some(kind) = kind {
        frame.resize(ETHERNET - 2, 0);
        frame.extend(kind);
    }
    frame.extend_from_slice(data.get(skipped..).unwrap_or_default());
    let cut = length.saturating_sub(data.len()).min(MOST.saturating_sub(frame.len()));
    frame.resize(frame.len() + cut, 0);
    Ok(())
}
