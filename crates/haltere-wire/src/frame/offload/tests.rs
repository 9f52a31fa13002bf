use super::*;
use crate::testing::{ethernet, ipv4, ipv6, tcp, udp};
use haltere_queue::Pkt;
use proptest::prelude::*;

const TCP4: [u8; HEADER] = header(NEEDS_CHECKSUM, TCP_OVER_IPV4, 1000, 34, 16);

const fn header(flags: u8, kind: u8, size: u16, start: u16, offset: u16) -> [u8; HEADER] {
    let (size, start, offset) = (size.to_ne_bytes(), start.to_ne_bytes(), offset.to_ne_bytes());
    [flags, kind, 0, 0, size[0], size[1], start[0], start[1], offset[0], offset[1]]
}

fn finished(header: [u8; HEADER], bytes: &[u8], tag: Option<Tag>) -> Option<Vec<Frame>> {
    let mut frames = Vec::new();
    Offload::read(&header).finish(bytes, tag, &mut |frame| frames.push(frame)).then_some(frames)
}

/// The sum over pseudo-header and all that the checksum covers is zero exactly if the checksum is right.
fn transport_sum(frame: &Frame) -> u16 {
    let (ip, protocol) = (frame.ip().unwrap(), frame.layout.protocol);
    let at = usize::from(frame.layout.l4 - frame.layout.l3);
    let addresses = if frame.kind() == Kind::Ipv4 { &ip[12..20] } else { &ip[8..40] };
    checksum(&[addresses, &[0, protocol], &((ip.len() - at) as u32).to_be_bytes(), &ip[at..]])
}

/// A TCP segment with counting payload, sequence number 7, these flags.
fn segment(payload: usize, flags: u8) -> Vec<u8> {
    let mut bytes = tcp(1000, 80, 7, payload);
    bytes[13] = flags;
    bytes[20..].iter_mut().enumerate().for_each(|(i, byte)| *byte = (i % 251) as u8);
    bytes
}

fn frame4(payload: &[u8], protocol: u8) -> Vec<u8> {
    ethernet(0x0800, &ipv4(2, protocol, [10, 0, 0, 1], [10, 0, 0, 2], payload))
}

fn seq(frame: &Frame) -> u32 {
    let l4 = usize::from(frame.layout.l4);
    u32::from_be_bytes(frame.bytes()[l4 + 4..l4 + 8].try_into().unwrap())
}

#[test]
fn a_whole_frame_takes_the_line_as_long_as_its_packets() {
    let bytes = frame4(&segment(2500, 0x10), 6);
    let offload = Offload::read(&TCP4);
    let whole = Frame::whole(&bytes, offload);
    let packets = finished(TCP4, &bytes, None).unwrap();
    assert_eq!(whole.len(), packets.iter().map(Pkt::len).sum::<u32>());
    assert_eq!((whole.bytes(), whole.offload(), whole.offload().write()), (&bytes[..], offload, TCP4));
    // A copy is as whole, and one packet with an unfinished checksum is one packet.
    assert_eq!((whole.clone().len(), whole.clone().offload()), (whole.len(), offload));
    let single = Frame::whole(&frame4(&segment(900, 0x10), 6), Offload::read(&header(NEEDS_CHECKSUM, 0, 0, 34, 16)));
    assert_eq!(single.len(), 954);
    assert!(Frame::parse(&bytes).offload().is_nothing());
}

#[test]
fn a_long_tcp_frame_becomes_packets_with_right_numbers_flags_and_checksums() {
    let bytes = frame4(&segment(2500, 0x10 | FIN_PSH | CWR), 6);
    let frames = finished(header(NEEDS_CHECKSUM, TCP_OVER_IPV4 | WITH_CWR, 1000, 34, 16), &bytes, None).unwrap();
    assert_eq!(frames.iter().map(Pkt::len).collect::<Vec<_>>(), [1054, 1054, 554]);
    assert_eq!(frames.iter().map(seq).collect::<Vec<_>>(), [7, 1007, 2007]);
    let flags = |frame: &Frame| frame.bytes()[47];
    assert_eq!(frames.iter().map(flags).collect::<Vec<_>>(), [0x10 | CWR, 0x10, 0x10 | FIN_PSH]);
    let id = |frame: &Frame| u16::from_be_bytes([frame.bytes()[18], frame.bytes()[19]]);
    assert_eq!(frames.iter().map(id).collect::<Vec<_>>(), [0, 1, 2]);
    for frame in &frames {
        assert_eq!((frame.kind(), checksum(&[&frame.ip().unwrap()[..20]]), transport_sum(frame)), (Kind::Ipv4, 0, 0));
    }
    let payload: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes()[54..].to_vec()).collect();
    assert_eq!(payload, bytes[54..]);
}

#[test]
fn a_congestion_signal_of_accurate_ecn_stands_in_every_packet() {
    let frames = finished(TCP4, &frame4(&segment(2500, 0x10 | CWR), 6), None).unwrap();
    assert!(frames.iter().all(|frame| frame.bytes()[47] == 0x10 | CWR));
}

#[test]
fn ipv6_and_datagrams_are_cut_too() {
    let bytes = ethernet(0x86dd, &ipv6(0, 6, 1, 2, &segment(2001, 0x10)));
    let frames = finished(header(NEEDS_CHECKSUM, TCP_OVER_IPV6, 1000, 54, 16), &bytes, None).unwrap();
    assert_eq!(frames.iter().map(|f| f.ip().unwrap().len()).collect::<Vec<_>>(), [1060, 1060, 61]);
    assert!(frames.iter().all(|frame| transport_sum(frame) == 0));
    let frames = finished(header(NEEDS_CHECKSUM, UDP_DATAGRAMS, 600, 34, 6), &frame4(&udp(5, 6, 1000), 17), None);
    let frames = frames.unwrap();
    let length = |frame: &Frame| u16::from_be_bytes([frame.bytes()[38], frame.bytes()[39]]);
    assert_eq!(frames.iter().map(length).collect::<Vec<_>>(), [608, 408]);
    assert!(frames.iter().all(|frame| transport_sum(frame) == 0 && frame.flow().dst_port == 6));
}

#[test]
fn a_tag_taken_out_goes_into_each_packet() {
    let frames = finished(TCP4, &frame4(&segment(1500, 0x10), 6), Some((0x8100, 5))).unwrap();
    assert_eq!(frames.len(), 2);
    for frame in &frames {
        assert_eq!((&frame.bytes()[12..16], transport_sum(frame)), (&[0x81, 0, 0, 5][..], 0));
    }
}

/// For TCP a sum of zero is written as zero; UDP has another form of it, as zero means that there is none.
#[test]
fn a_sum_of_zero_is_zero_for_tcp_alone() {
    let written = |protocol, at: usize, mut payload: Vec<u8>| {
        // What is in the field makes the sum of everything zero.
        payload[at..at + 2].fill(0);
        let rest = checksum(&[&payload]);
        payload[at..at + 2].copy_from_slice(&rest.to_be_bytes());
        let header = header(NEEDS_CHECKSUM, 0, 0, 34, at as u16);
        let frames = finished(header, &frame4(&payload, protocol), None).unwrap();
        be16(frames[0].bytes(), 34 + at).unwrap()
    };
    assert_eq!(written(TCP, 16, segment(100, 0x10)), 0);
    assert_eq!(written(UDP, 6, udp(5, 6, 100)), 0xffff);
}

#[test]
fn an_unfinished_checksum_is_finished_and_nothing_else_changed() {
    let mut bytes = frame4(&segment(101, 0x18), 6);
    // What a sender leaves in the field: the sum of the pseudo-header, not inverted.
    let pseudo = !checksum(&[&bytes[26..34], &[0, 6], &121u32.to_be_bytes()]);
    put(&mut bytes, 50, pseudo);
    for tag in [None, Some((0x8100, 9))] {
        let frames = finished(header(NEEDS_CHECKSUM, 0, 0, 34, 16), &bytes, tag).unwrap();
        assert_eq!((frames.len(), transport_sum(&frames[0])), (1, 0));
    }
    // RFC 768: a sum of zero is sent as ones.
    let mut bytes = frame4(&udp(0xffff, 0, 0), 17);
    bytes[36..].fill(0);
    assert_eq!(checksum(&[&bytes[34..]]), 0);
    let frames = finished(header(NEEDS_CHECKSUM, 0, 0, 34, 6), &bytes, None).unwrap();
    assert_eq!(frames[0].bytes()[40..42], [0xff, 0xff]);
}

#[test]
fn what_cannot_be_finished_is_refused_whole() {
    let bytes = frame4(&segment(2500, 0x10), 6);
    // Another protocol, no size, a checksum elsewhere (a tunnel), a field behind the end, SCTP.
    for wrong in [
        header(NEEDS_CHECKSUM, TCP_OVER_IPV6, 1000, 34, 16),
        header(NEEDS_CHECKSUM, UDP_DATAGRAMS, 1000, 34, 6),
        header(NEEDS_CHECKSUM, TCP_OVER_IPV4, 0, 34, 16),
        header(NEEDS_CHECKSUM, TCP_OVER_IPV4, 1000, 84, 16),
        header(NEEDS_CHECKSUM, 9, 1000, 34, 16),
        header(NEEDS_CHECKSUM, 0, 0, 34, 9000),
    ] {
        assert!(finished(wrong, &bytes, None).is_none(), "{wrong:?}");
    }
    assert!(finished(header(NEEDS_CHECKSUM, 0, 0, 34, 8), &frame4(&[0; 60], SCTP), None).is_none());
    assert!(finished(TCP4, &bytes[..400], None).is_none(), "truncated");
    assert!(Offload::read(&[0; HEADER]).is_nothing() && Offload::read(&header(2, 0, 0, 0, 0)).is_nothing());
}

proptest! {
    #[test]
    fn no_header_and_no_bytes_break_it(
        head in proptest::array::uniform10(any::<u8>()), at in 0usize..90, value in any::<u8>(), v6 in any::<bool>(),
        cut in 0usize..300, tag in any::<bool>(), kind in 0u8..6, start in 0u16..60,
    ) {
        let payload = segment(200, 0x10);
        let mut bytes =
            if v6 { ethernet(0x86dd, &ipv6(0, 6, 1, 2, &payload)) } else { frame4(&payload, 6) };
        bytes[at] = value;
        bytes.truncate(cut);
        for head in [head, header(NEEDS_CHECKSUM, kind, u16::from(head[4]), start, 16)] {
            if let Some(frames) = finished(head, &bytes, tag.then_some((0x8100, 1))) {
                let most = bytes.len() + 4;
                prop_assert!(!frames.is_empty() && frames.iter().all(|frame| frame.bytes().len() <= most));
            }
        }
    }
}
