//! Captures: every packet that a line takes, as a pcapng file.
//! Source: draft-ietf-opsawg-pcapng (section header, interface description, enhanced packet and
//! decryption secrets blocks). Deviations:
//! none.
//! Model: packets with 14 or more bytes of framing are Ethernet frames, others are raw IP. Framing beyond 14 bytes is
//! not in the file, as in a real capture. A timestamp is the virtual time in nanoseconds at which the transmission
//! starts. Payload bytes are zeros, but those of stacks from outside the tree, with whose packets come their TLS secrets.

use crate::capture::wire_format::{Ipv4, encode_echo, encode_tcp, encode_udp};
use crate::control;
use crate::error::RunError;
use crate::net::packet::{Body, Header, Packet, Pool, address};
use haltere_plan::capture::Capture;
use haltere_plan::headers::{ETHERNET_FRAMING as ETHERNET, IPV4_HEADER};
use haltere_plan::plan::LinkPlan;
use haltere_units::Time;
use std::io::{self, Write};

const LINKTYPE_ETHERNET: u16 = 1;
const LINKTYPE_RAW: u16 = 101;
/// Secrets in the format of SSLKEYLOGFILE.
const TLS_KEY_LOG: u32 = 0x544c_534b;

/// Writes the packets of one link.
pub(crate) struct Tap {
    /// Or the error that ended it.
    out: io::Result<Capture<Box<dyn Write + Send>>>,
    link: String,
    /// Source and destination hardware addresses, or `None` for raw IP.
    ethernet: Option<[[u8; 6]; 2]>,
    framing: u32,
    snaplen: u32,
    /// Bytes of the run's TLS secrets that the file has.
    secrets: usize,
    frame: Vec<u8>,
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tap").field("link", &self.link).finish_non_exhaustive()
    }
}

/// A locally administered hardware address of a node.
const fn hardware(node: usize) -> [u8; 6] {
    let [a, b, c, d] = (node as u32 + 1).to_be_bytes();
    [0x02, 0, a, b, c, d]
}

impl Tap {
    pub fn new(capture: control::Capture, links: &[LinkPlan], framing: u32) -> Tap {
        let plan = &links[capture.link];
        let ethernet = (framing >= ETHERNET).then(|| [hardware(plan.from), hardware(plan.to)]);
        let link_type = if ethernet.is_some() { LINKTYPE_ETHERNET } else { LINKTYPE_RAW };
        Tap {
            out: Capture::start(capture.writer, &plan.name, link_type, capture.snaplen.unwrap_or(0)),
            link: plan.name.clone(),
            ethernet,
            framing,
            snaplen: capture.snaplen.unwrap_or(u32::MAX),
            secrets: 0,
            frame: Vec::new(),
        }
    }
    /// The line takes `packet` at `now`.
    pub fn write(&mut self, now: Time, packet: &Packet, pool: &Pool) {
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        if let Some([src, dst]) = self.ethernet {
            frame.extend(dst);
            frame.extend(src);
            frame.extend([0x08, 0x00]);
        }
        if self.secrets < pool.secrets.len() {
            self.write_secrets(pool);
        }
        encode(packet, pool, self.framing, &mut frame);
        let layer2 = if self.ethernet.is_some() { ETHERNET } else { 0 };
        let original = packet.header.len - self.framing + layer2;
        let kept = original.min(self.snaplen);
        frame.resize(kept as usize, 0);
        self.put(|out| out.packet(now.as_ns(), original, &frame, &[]));
        self.frame = frame;
    }
    /// Writes the TLS secrets that are new, before the packets that they decrypt.
    #[cold]
    fn write_secrets(&mut self, pool: &Pool) {
        let new = &pool.secrets[self.secrets..];
        self.secrets = pool.secrets.len();
        let head = [TLS_KEY_LOG, new.len() as u32].map(u32::to_le_bytes);
        self.put(|out| out.block(0x0000_000a, &[head.as_flattened(), new], &[]));
    }
    fn put(&mut self, write: impl FnOnce(&mut Capture<Box<dyn Write + Send>>) -> io::Result<()>) {
        if let Ok(out) = &mut self.out
            && let Err(error) = write(out)
        {
            self.out = Err(error);
        }
    }
    pub fn close(self) -> Result<(), RunError> {
        let flushed = self.out.and_then(|mut out| out.flush());
        flushed.map_err(|error| RunError::Capture { link: self.link, error })
    }
}

/// Appends the headers of a packet from IP up.
fn encode(packet: &Packet, pool: &Pool, framing: u32, out: &mut Vec<u8>) {
    let Header { len, src, dst, endpoint, src_port, dst_port, id, protocol, marks, dscp, .. } = packet.header;
    let payload = len - framing - IPV4_HEADER;
    let payload = u16::try_from(payload).unwrap_or_else(|_| panic!("an IP payload of {payload} bytes"));
    let ip = Ipv4 { src: address(src), dst: address(dst), protocol, ecn: marks.ecn(), dscp, id, payload };
    ip.encode(out);
    match pool.body(packet) {
        Body::Tcp(segment) => encode_tcp(&segment, &ip, (src_port, dst_port), out),
        Body::Udp(_) => encode_udp(&ip, (src_port, dst_port), pool.payload(packet).unwrap_or_default(), out),
        Body::Echo(echo) => encode_echo(echo.reply, (endpoint / 2) as u16, echo.seq, out),
    }
}
