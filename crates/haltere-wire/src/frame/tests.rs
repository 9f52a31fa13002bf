use super::*;
use crate::testing::{ethernet, ipv4, ipv6, tcp, udp};
use proptest::prelude::*;

fn tcp_frame(tos: u8, seq: u32, payload: usize) -> Frame {
    Frame::parse(&ethernet(0x0800, &ipv4(tos, 6, [10, 0, 0, 1], [10, 0, 0, 2], &tcp(1000, 80, seq, payload))))
}

fn v4_checksum_holds(frame: &Frame) -> bool {
    checksum(&[&frame.ip().unwrap()[..20]]) == 0
}

#[test]
fn rfc1624_example() {
    // RFC 1624 section 4: HC = DD2F, m = 5555, m' = 3285 gives 0000.
    assert_eq!(checksum_update(0xdd2f, 0x5555, 0x3285), 0);
}

#[test]
fn tcp_over_ipv4_is_read() {
    let frame = tcp_frame(0, 7, 100);
    assert_eq!(frame.kind(), Kind::Ipv4);
    assert_eq!(frame.len(), 14 + 20 + 20 + 100);
    let flow = frame.flow();
    assert_eq!((flow.src, flow.dst), (0x0a00_0001, 0x0a00_0002));
    assert_eq!((flow.src_port, flow.dst_port, flow.protocol), (1000, 80, 6));
}

#[test]
fn length_counts_the_plans_framing() {
    let mut frame = tcp_frame(0, 7, 100);
    frame.set_framing(2);
    assert_eq!(frame.len(), 2 + 140);
}

#[test]
fn tags_are_passed_over_and_put_back() {
    let plain = tcp_frame(2, 7, 10);
    let tagged = Frame::with_tag(plain.bytes(), 0x8100, 0x6005);
    assert_eq!(tagged.flow(), plain.flow());
    assert_eq!(tagged.ecn(), Ecn::Ect0);
    assert_eq!(&tagged.bytes()[12..18], &[0x81, 0, 0x60, 5, 8, 0]);
    assert_eq!(Frame::with_tag(tagged.bytes(), 0x88a8, 1).flow(), plain.flow());
}

#[test]
fn a_data_segment_has_payload_and_no_syn_fin_or_rst() {
    let segment = |flags: u8, payload: usize| {
        let mut bytes = tcp(1000, 80, 7, payload);
        bytes[13] = flags;
        // A short frame is padded to 60 bytes: padding is no payload.
        let mut bytes = ethernet(0x0800, &ipv4(2, 6, [10, 0, 0, 1], [10, 0, 0, 2], &bytes));
        bytes.resize(bytes.len().max(60), 0);
        Frame::parse(&bytes).is_data_segment()
    };
    assert!(segment(0x10, 1) && segment(0x18, 1000));
    assert!(!segment(0x10, 0), "an acknowledgement");
    for flags in [0x02, 0x12, 0x11, 0x14] {
        assert!(!segment(flags, 100), "flags {flags:#x}");
    }
    let datagram = ethernet(0x0800, &ipv4(2, 17, [10, 0, 0, 1], [10, 0, 0, 2], &udp(1, 2, 100)));
    assert!(!Frame::parse(&datagram).is_data_segment());
}

#[test]
fn a_pure_acknowledgement_has_no_payload_and_no_option_but_timestamps_and_sack() {
    let read = |flags: u8, options: &[u8], payload: usize| {
        let mut bytes = tcp(1000, 80, 7, payload);
        (bytes[12], bytes[13]) = (((5 + options.len() / 4) as u8) << 4, flags);
        bytes[8..12].copy_from_slice(&77u32.to_be_bytes());
        bytes.splice(20..20, options.iter().copied());
        let mut bytes = ethernet(0x0800, &ipv4(0, 6, [10, 0, 0, 1], [10, 0, 0, 2], &bytes));
        bytes.resize(bytes.len().max(60), 0);
        Frame::parse(&bytes).pure_ack()
    };
    let timestamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let sack = [1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 2, 0];
    let bare = PureAck { ack: 77, ..PureAck::default() };
    assert_eq!(read(0x10, &[], 0), Some(bare));
    assert_eq!(read(0x58, &timestamps, 0), Some(PureAck { flags: 0x40, ..bare }), "the ECN echo is kept");
    let blocks = [(1, 2), (256, 512), (0, 0), (0, 0)];
    assert_eq!(read(0x10, &sack, 0), Some(PureAck { sack: blocks, ..bare }));
    assert_eq!(read(0x10, &[&timestamps[..], &sack].concat(), 0), Some(PureAck { sack: blocks, ..bare }));
    assert_eq!(read(0x10, &[1, 1, 1, 0], 0), Some(bare), "padding, and the end of the options");
    for refused in [[172, 4, 0, 0], [5, 4, 0, 0], [5, 10, 0, 0], [8, 10, 0, 0], [1, 1, 1, 5]] {
        assert_eq!(read(0x10, &refused, 0), None, "options {refused:?}: AccECN, or cut off");
    }
    assert_eq!(read(0x10, &timestamps, 1), None);
    for flags in [0x00, 0x02, 0x12, 0x11, 0x14] {
        assert_eq!(read(flags, &timestamps, 0), None, "flags {flags:#x}");
    }
}

#[test]
fn ce_keeps_the_ipv4_checksum_right() {
    for tos in [1u8, 2, 3, 0xb9] {
        let mut frame = tcp_frame(tos, 7, 10);
        assert!(v4_checksum_holds(&frame));
        frame.set_ce();
        assert_eq!(frame.ecn(), Ecn::Ce);
        assert_eq!(frame.bytes()[15], tos | 3, "nothing else of the byte changes");
        assert!(v4_checksum_holds(&frame));
    }
}

#[test]
fn ce_on_ipv6_touches_the_ecn_field_only() {
    let bytes = ethernet(0x86dd, &ipv6(0x2a, 17, 1, 2, &udp(5, 6, 30)));
    let mut frame = Frame::parse(&bytes);
    assert_eq!(frame.ecn(), Ecn::Ect0);
    frame.set_ce();
    assert_eq!(frame.ecn(), Ecn::Ce);
    let changed: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i] != frame.bytes()[i]).collect();
    assert_eq!(changed, [15]);
    assert_eq!(frame.flow().dst_port, 6);
}

#[test]
fn priority_follows_linux() {
    // rt_tos2priority: low delay 0x10 is interactive (6), throughput 0x08 bulk (2), both interactive bulk (4).
    for (tos, priority) in [(0, 0), (0x10, 6), (0x08, 2), (0x18, 4), (0x02, 0), (0x12, 6), (0xb8, 4)] {
        assert_eq!(tcp_frame(tos, 0, 0).priority(), priority, "tos {tos:#x}");
    }
}

#[test]
fn the_sequence_number_tells_the_offset_when_senders_agree() {
    let isn = 5 << 22;
    let mut first = tcp_frame(0, isn + 1, 1000);
    assert_eq!(first.stream_offset(), None, "nobody said that low bits are zero");
    first.set_isn_bits(22);
    assert_eq!(first.stream_offset(), Some(0));
    let mut later = tcp_frame(0, isn + 1 + 1_000_000, 1000);
    later.set_isn_bits(22);
    assert_eq!(later.stream_offset(), Some(1_000_000));
    let mut wrapped = tcp_frame(0, isn + 1 + (1 << 22), 1000);
    wrapped.set_isn_bits(22);
    assert_eq!(wrapped.stream_offset(), Some(0));
}

#[test]
fn turned_round_goes_back_with_ce() {
    let mut frame = tcp_frame(2, 99, 10);
    frame.change_v4_word(22, |w| (61 << 8) | (w & 0xff)); // three hops from a host that starts at 64
    let back = frame.turned_round().unwrap();
    let (there, here) = (frame.flow(), back.flow());
    assert_eq!(
        (here.src, here.src_port, here.dst, here.dst_port),
        (there.dst, there.dst_port, there.src, there.src_port)
    );
    assert_eq!(back.macs().unwrap(), {
        let (d, s) = frame.macs().unwrap();
        (s, d)
    });
    assert_eq!(back.ecn(), Ecn::Ce);
    assert_eq!(back.bytes()[14 + 8], 64);
    assert!(v4_checksum_holds(&back));
    let sum = |f: &Frame| {
        let ip = f.ip().unwrap();
        checksum(&[&ip[12..20], &ip[20..]])
    };
    assert_eq!(sum(&back), sum(&frame), "a swap leaves the transport checksum as it was");
    assert!(tcp_frame(0, 99, 10).turned_round().is_none(), "CE on a Not-ECT packet would be a lie");
}

#[test]
fn fragments_have_no_ports() {
    let mut bytes = tcp_frame(0, 7, 100).bytes().to_vec();
    bytes[14 + 6] = 0x20; // more fragments
    let frame = Frame::parse(&bytes);
    assert!(frame.is_fragment());
    assert_eq!((frame.flow().src_port, frame.flow().protocol), (0, 6));
}

#[test]
fn lies_about_length_make_it_malformed() {
    let good = tcp_frame(0, 7, 100).bytes().to_vec();
    for (at, value) in [(14, 0x44), (14, 0x4f), (16, 0xff), (14, 0x65)] {
        let mut bytes = good.clone();
        bytes[at] = value;
        let frame = Frame::parse(&bytes);
        let read_past_end = frame.kind() == Kind::Ipv4 && frame.ip().is_none();
        assert!(!read_past_end);
        if (at, value) != (14, 0x4f) {
            assert_eq!(frame.kind(), Kind::Malformed, "byte {at} = {value:#x}");
        }
    }
    for cut in 0..33 {
        assert_eq!(Frame::parse(&good[..cut]).kind(), Kind::Malformed, "cut at {cut}");
    }
    assert_eq!(Frame::parse(&good[..60]).kind(), Kind::Malformed, "total length beyond the frame");
}

#[test]
fn padding_is_not_part_of_the_packet() {
    let mut bytes = tcp_frame(0, 7, 0).bytes().to_vec();
    bytes.resize(60, 0);
    let frame = Frame::parse(&bytes);
    assert_eq!(frame.ip().unwrap().len(), 40);
    assert_eq!(frame.flow().dst_port, 80);
}

#[test]
fn ipv6_extension_headers_are_passed_over() {
    let mut payload = vec![17, 0, 1, 4, 0, 0, 0, 0]; // hop-by-hop, 8 bytes, next UDP
    payload.extend(udp(53, 54, 4));
    let frame = Frame::parse(&ethernet(0x86dd, &ipv6(0, 0, 1, 2, &payload)));
    assert_eq!((frame.flow().protocol, frame.flow().src_port), (17, 53));
    let mut payload = vec![6, 0, 0, 1, 0, 0, 0, 9]; // fragment header
    payload.extend(tcp(1, 2, 3, 4));
    let frame = Frame::parse(&ethernet(0x86dd, &ipv6(0, 44, 1, 2, &payload)));
    assert!(frame.is_fragment());
    assert_eq!((frame.flow().protocol, frame.flow().src_port), (6, 0));
}

#[test]
fn arp_and_strangers_pass_without_flow() {
    assert_eq!(Frame::parse(&ethernet(0x0806, &[0; 28])).kind(), Kind::Arp);
    assert_eq!(Frame::parse(&ethernet(0x88cc, &[0; 28])).kind(), Kind::Other);
    assert_eq!(Frame::parse(&ethernet(0x88cc, &[0; 28])).flow(), FlowKey::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        crate::testing::exercise_frame(&bytes);
    }
    #[test]
    fn no_damage_to_a_good_frame_makes_it_panic(
        v6 in any::<bool>(), tos in any::<u8>(), payload in 0usize..64, cut in 0usize..200,
        damage in proptest::collection::vec((0usize..120, any::<u8>()), 0..4),
    ) {
        let body = tcp(1, 2, 3, payload);
        let mut bytes = if v6 { ethernet(0x86dd, &ipv6(tos, 6, 1, 2, &body)) }
            else { ethernet(0x0800, &ipv4(tos, 6, [1; 4], [2; 4], &body)) };
        for (at, value) in damage {
            if let Some(byte) = bytes.get_mut(at) { *byte = value; }
        }
        bytes.truncate(cut.max(1));
        crate::testing::exercise_frame(&bytes);
    }
    #[test]
    fn incremental_checksum_is_the_full_one(tos in any::<u8>(), id in any::<u16>(), payload in 0usize..64) {
        let mut bytes = ipv4(tos, 17, [9, 8, 7, 6], [1, 2, 3, 4], &udp(1, 2, payload));
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
        bytes[10..12].fill(0);
        let sum = checksum(&[&bytes[..20]]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        let mut frame = Frame::parse(&ethernet(0x0800, &bytes));
        frame.set_ce();
        prop_assert!(v4_checksum_holds(&frame));
        if let Some(back) = frame.turned_round() {
            prop_assert!(v4_checksum_holds(&back));
        }
    }
}
