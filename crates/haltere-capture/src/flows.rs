//! The TCP flows of a capture: when each began, between whom, and how many bytes it carried.
//! Model: each direction of a connection that carries payload is a flow. It begins with its first packet that has
//! payload. Its bytes are the part of the sequence numbers that was seen, so a retransmission counts once. Who sent the
//! SYN is the client; without a SYN it is who sent payload first. Cost: one pass, memory by flow.

use crate::packet::{Packet, reversed};
use crate::reader::Reader;
use crate::{CaptureError, Watch};
use haltere_queue::FlowKey;
use serde::Serialize;
use std::collections::HashMap;
use std::io::Read;

/// One direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CapturedFlow {
    /// Nanoseconds from the first packet of the capture to the first payload of the flow.
    pub start_ns: u64,
    /// The number of its client's address, in order of appearance from 0.
    pub client: u32,
    /// The client sends; else the server does.
    pub from_client: bool,
    /// Bytes of payload, each counted once.
    pub bytes: u64,
}

/// The sequence numbers of a direction.
#[derive(Debug)]
struct Seen {
    /// Its place in the list of flows.
    place: usize,
    /// The highest sequence number, with how often it wrapped, less the first.
    highest: u64,
    first: u32,
}

/// The flows of a capture, in order of their start.
pub fn flows(input: impl Read, watch: Watch<'_>) -> Result<Vec<CapturedFlow>, CaptureError> {
    let mut reader = Reader::new(input, watch)?;
    let (mut first, mut list) = (None, Vec::new());
    let mut clients: HashMap<u128, u32> = HashMap::new();
    let mut seen: HashMap<FlowKey, Seen> = HashMap::new();
    // Which of a connection's two directions is the client's.
    let mut opened: HashMap<FlowKey, bool> = HashMap::new();
    while let Some(record) = reader.next_record()? {
        let start_ns = record.at_ns.saturating_sub(*first.get_or_insert(record.at_ns));
        let Some((packet, tcp)) = Packet::of(&record).and_then(|packet| Some((packet, packet.tcp?))) else { continue };
        let key = packet.flow;
        if tcp.syn {
            // A SYN begins another connection of the same ports, too.
            let from_client = tcp.ack.is_none();
            opened.insert(key, from_client);
            opened.insert(reversed(key), !from_client);
            seen.remove(&key);
        }
        if tcp.payload == 0 {
            continue;
        }
        let from_client = *opened.entry(key).or_insert(true);
        opened.entry(reversed(key)).or_insert(!from_client);
        let one = seen.entry(key).or_insert_with(|| {
            let address = if from_client { key.src } else { key.dst };
            let next = clients.len() as u32;
            let client = *clients.entry(address).or_insert(next);
            list.push(CapturedFlow { start_ns, client, from_client, bytes: 0 });
            Seen { place: list.len() - 1, highest: 0, first: tcp.seq }
        });
        // The signed distance from the highest number so far, as sequence numbers wrap.
        let last = one.first.wrapping_add(one.highest as u32);
        let ahead = tcp.seq.wrapping_add(tcp.payload).wrapping_sub(last) as i32;
        one.highest += u64::try_from(ahead).unwrap_or(0);
        list[one.place].bytes = one.highest;
    }
    Ok(list)
}
