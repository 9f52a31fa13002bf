//! The memory of a send buffer: how many segments it takes, and when an application that waits writes again.
//! Source: Linux's `sk_sndbuf`, `tcp_sndbuf_expand` and `sk_stream_is_writeable`.
//! Deviations: none. Model: a segment takes its payload and the memory of a packet buffer with room for headers. The
//! buffer has room for two windows (with BBR three) of segments, of which Linux computes each with the next power of two.
//! It grows if the window is not full after a segment or all that was written has left, and never shrinks. A segment
//! begins if the buffer is not full, so the last one may exceed it. A writer that waits is woken once half as much is
//! free as is taken. Neighbours that were SACKed become one packet buffer, which frees what the others take beside
//! their payload. A segment between two losses has no such neighbour. A fixed buffer counts payload alone.
//! Units: bytes. Cost: O(1). Known problems: none.

use crate::tcp::params::{Offload, TcpParams};

/// Linux's `sk_buff` and `skb_shared_info`, each in whole cache lines.
const PACKET: u64 = 256;
const FRAGMENTS: u64 = 320;
/// The timestamps option, which counts in the segment by which memory is computed.
const TIMESTAMPS: u64 = 12;
/// Payload of a packet buffer with segmentation offload.
const UNIT: u32 = 65_536 - 320;
/// Segments of a first window (Linux's `TCP_INIT_CWND`).
pub(crate) const FIRST_WINDOW: u64 = 10;

/// Memory that a segment takes beside its payload, with so much room for headers: the allocator gives powers of two.
pub(crate) const fn beside_payload(headers: u64) -> u64 {
    (headers + FRAGMENTS).next_power_of_two() + PACKET
}
/// Memory by which Linux computes a segment when it tunes a buffer.
pub(crate) const fn computed(headers: u64, mss: u64) -> u64 {
    (mss + TIMESTAMPS + headers + FRAGMENTS).next_power_of_two() + PACKET
}

/// Window that the memory makes by which Linux computes a segment when it tunes a receive buffer: half of it is
/// overhead, and it grows in steps of 128 bytes until the other half has room for the payload.
pub(crate) const fn received(headers: u64, mss: u64) -> u32 {
    let memory = mss + headers + FRAGMENTS + PACKET;
    let short = (2 * mss).saturating_sub(memory);
    ((memory + short.next_multiple_of(128)) / 2) as u32
}

#[derive(Debug)]
pub(crate) struct SendMemory {
    /// Linux's `sk_sndbuf`; of a fixed buffer its payload.
    size: u64,
    most: u64,
    /// Windows for which there is room; 0: the buffer is fixed.
    windows: u8,
    headers: u16,
    /// Payload of a packet buffer; 0: one segment.
    unit: u32,
    /// Payload that the buffer takes, and with which a writer that waits is woken.
    limit: u64,
    wakes_below: u64,
    /// Payload for which SACKed segments have made room.
    spare: u64,
}

impl SendMemory {
    pub(crate) fn new(p: &TcpParams, mss: u64, windows: u8) -> SendMemory {
        let mut memory = SendMemory {
            size: p.send_buffer.map_or(0, |bytes| bytes.as_u64()),
            most: p.send_buffer_max.as_u64(),
            windows: if p.send_buffer.is_some() { 0 } else { windows },
            headers: p.header_room.as_u64() as u16,
            unit: if p.offload == Offload::Off { 0 } else { UNIT },
            limit: 0,
            wakes_below: 0,
            spare: 0,
        };
        memory.set_mss(mss);
        memory.tune(u64::from(p.initial_window), mss);
        memory
    }
    pub(crate) fn set_mss(&mut self, mss: u64) {
        if self.windows == 0 {
            (self.limit, self.wakes_below) = (self.size, self.size / 3 * 2);
            return;
        }
        let (payload, beside) = self.packet(mss);
        let packet = payload + beside;
        self.limit = self.size.div_ceil(packet) * payload;
        // Woken at `taken + taken / 2 <= size`.
        self.wakes_below = (2 * self.size).div_ceil(3 * packet).saturating_sub(1) * payload;
        while self.is_woken(self.wakes_below / payload + 1, packet) {
            self.wakes_below += payload;
        }
    }
    /// What a packet buffer has of payload, and what it takes beside that.
    fn packet(&self, mss: u64) -> (u64, u64) {
        ((u64::from(self.unit) / mss).max(1) * mss, beside_payload(self.headers.into()))
    }
    /// So many segments lie in packet buffers of their neighbours.
    #[inline]
    pub(crate) fn set_merged(&mut self, segments: u64, mss: u64) {
        if segments == 0 || self.windows == 0 {
            self.spare = 0;
            return;
        }
        let (payload, beside) = self.packet(mss);
        self.spare = segments * mss / payload * beside / (payload + beside) * payload;
    }
    fn is_woken(&self, packets: u64, packet: u64) -> bool {
        packets * packet + packets * packet / 2 <= self.size
    }
    /// The window has so many segments, and is not full.
    pub(crate) fn tune(&mut self, segments: u64, mss: u64) {
        let segment = computed(self.headers.into(), mss);
        let size = (u64::from(self.windows) * segments.max(FIRST_WINDOW) * segment).min(self.most);
        if size > self.size && self.windows > 0 {
            self.size = size;
            self.set_mss(mss);
        }
    }
    /// Payload that the buffer takes.
    #[inline]
    pub(crate) fn limit(&self) -> u64 {
        self.limit + self.spare
    }
    /// A writer that waits is woken if so much payload is taken, or less.
    #[inline]
    pub(crate) fn wakes_below(&self) -> u64 {
        self.wakes_below + self.spare
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::Bytes;

    const MSS: u64 = 1448;

    fn memory(headers: u64) -> SendMemory {
        SendMemory::new(&TcpParams { header_room: Bytes::new(headers), ..TcpParams::default() }, MSS, 2)
    }

    /// By hand: 256 + 320 become 1024, and 256 more; 1460 + 256 + 320 = 2036 become 2048. A distribution's kernel has
    /// room for 320 bytes of headers: 2100 become 4096.
    #[test]
    fn room_for_headers_decides_the_memory_of_a_segment() {
        assert_eq!((beside_payload(256), computed(256, MSS)), (1280, 2304));
        assert_eq!((beside_payload(320), computed(320, MSS)), (1280, 4352));
    }

    /// 20 x 2304 B have room for 46080 / 2728 = 16.9 segments; 20 x 4352 for 87040 / 2728 = 31.9.
    #[test]
    fn a_fresh_buffer_takes_seventeen_segments() {
        assert_eq!(memory(256).limit(), 17 * MSS);
        assert_eq!(memory(320).limit(), 32 * MSS);
    }

    /// 11 x 2728 = 30008, and half of it more, are below 46080; 12 segments are not.
    #[test]
    fn a_writer_waits_until_a_third_is_free() {
        let mut m = memory(256);
        assert_eq!(m.wakes_below(), 11 * MSS);
        m.tune(20, MSS); // 92160 B: 33.8 segments; woken at 22.5
        assert_eq!((m.limit(), m.wakes_below()), (34 * MSS, 22 * MSS));
        m.tune(10, MSS);
        assert_eq!(m.limit(), 34 * MSS, "it never shrinks");
        m.tune(1 << 20, MSS);
        assert_eq!(m.limit(), 4_194_304u64.div_ceil(2728) * MSS, "send_buffer_max");
    }

    /// 1280 B of each of 32 segments are 40960 B: 15 segments of 2728 B.
    #[test]
    fn sacked_segments_free_what_they_take_beside_their_payload() {
        let mut m = memory(256);
        m.set_merged(32, MSS);
        assert_eq!((m.limit(), m.wakes_below()), ((17 + 15) * MSS, (11 + 15) * MSS));
        m.set_merged(0, MSS);
        assert_eq!(m.limit(), 17 * MSS);
    }

    #[test]
    fn a_fixed_buffer_counts_payload() {
        let p = TcpParams { send_buffer: Some(Bytes::new(30_000)), ..TcpParams::default() };
        let mut m = SendMemory::new(&p, MSS, 2);
        m.tune(100, MSS);
        assert_eq!((m.limit(), m.wakes_below()), (30_000, 20_000));
    }
}
