//! Frames for tests, and the bodies that the fuzz targets and the bounded tests of CI share.

use crate::frame::{Frame, Kind, checksum};
use haltere_queue::{Ecn, Pkt};

/// An Ethernet frame round `payload`.
pub fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    bytes.extend_from_slice(&ethertype.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// An IPv4 packet round `payload`, its checksum right.
pub fn ipv4(tos: u8, protocol: u8, src: [u8; 4], dst: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len()) as u16;
    let mut bytes = vec![0x45, tos, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes.extend_from_slice(&src);
    bytes.extend_from_slice(&dst);
    let sum = checksum(&[&bytes]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// An IPv6 packet round `payload`.
pub fn ipv6(traffic_class: u8, next: u8, src: u128, dst: u128, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60 | (traffic_class >> 4), traffic_class << 4, 0, 0, 0, 0, next, 64];
    bytes[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    bytes.extend_from_slice(&src.to_be_bytes());
    bytes.extend_from_slice(&dst.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A TCP segment with `payload` zero bytes (checksum left zero).
pub fn tcp(src_port: u16, dst_port: u16, seq: u32, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; 20 + payload];
    bytes[0..2].copy_from_slice(&src_port.to_be_bytes());
    bytes[2..4].copy_from_slice(&dst_port.to_be_bytes());
    bytes[4..8].copy_from_slice(&seq.to_be_bytes());
    bytes[12] = 5 << 4;
    bytes[13] = 0x10;
    bytes
}

/// A UDP datagram with `payload` zero bytes.
pub fn udp(src_port: u16, dst_port: u16, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; 8 + payload];
    bytes[0..2].copy_from_slice(&src_port.to_be_bytes());
    bytes[2..4].copy_from_slice(&dst_port.to_be_bytes());
    bytes[4..6].copy_from_slice(&((8 + payload) as u16).to_be_bytes());
    bytes
}

/// Everything that a router does to a frame, on any bytes: panics where an invariant breaks.
pub fn exercise_frame(bytes: &[u8]) {
    let mut frame = Frame::parse(bytes);
    assert_eq!(frame.bytes(), bytes);
    frame.set_isn_bits(22);
    let before = (frame.flow(), frame.priority(), frame.stream_offset(), frame.len());
    assert!(before.2.is_none_or(|offset| offset < 1 << 22));
    if let Some(ip) = frame.ip() {
        assert!(ip.len() <= bytes.len());
    }
    if let Some(back) = frame.turned_round() {
        assert_eq!(back.ecn(), Ecn::Ce);
        assert_eq!((back.flow().src, back.flow().dst_port), (before.0.dst, before.0.src_port));
        assert_eq!(back.bytes().len(), bytes.len());
    }
    if frame.ecn().is_capable() {
        frame.set_ce();
        assert_eq!(frame.ecn(), Ecn::Ce);
    }
    assert_eq!((frame.flow(), frame.stream_offset(), frame.len()), (before.0, before.2, before.3));
    let _ = Frame::with_tag(bytes, 0x8100, 1).flow();
    if frame.kind() == Kind::Arp {
        assert_eq!(frame.bytes(), bytes, "ARP passes untouched");
    }
}
