//! Segments of our transport as bytes, and back.

#[path = "transfer/tcp_bytes.rs"]
mod tcp_bytes;

use haltere_transport::{Flags, Segment, Timestamps};
use haltere_units::Ecn;
use haltere_wire::frame::Frame;
use proptest::prelude::*;
use std::net::Ipv4Addr;
use tcp_bytes::{End, decode, encode};

fn end(n: u8) -> End {
    End { mac: [2, 0, 0, 0, 0, n], address: Ipv4Addr::new(10, 0, 0, n), port: 1000 + u16::from(n) }
}

prop_compose! {
    fn any_segment()(
        seq in any::<u32>(), ack in any::<u32>(), window in any::<u16>(), flags in 0u16..0x1ff,
        stamps in proptest::option::of((any::<u32>(), any::<u32>())), sack in proptest::collection::vec(any::<(u32, u32)>(), 0..4),
        syn in proptest::option::of((any::<u16>(), 0u8..15, any::<bool>())), len in 0u32..1400,
    ) -> Segment {
        let mut segment = Segment { seq, ack, len, window, flags: Flags(flags), ..Segment::default() };
        segment.timestamps = stamps.map(|(val, ecr)| Timestamps { val, ecr });
        match syn {
            Some((mss, scale, permitted)) => {
                segment.mss = Some(mss);
                segment.window_scale = Some(scale);
                segment.sack_permitted = permitted;
            }
            None => sack.iter().take(3).for_each(|&(a, b)| segment.sack.push(a, b)),
        }
        segment
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(segment in any_segment(), ecn in 0usize..4, id in any::<u16>()) {
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][ecn];
        let payload: Vec<u8> = (0..segment.len).map(|i| i as u8).collect();
        let frame = encode(&end(1), &end(2), &segment, ecn, &payload, id);
        prop_assert_eq!(frame.bytes().len() as u32, 14 + 20 + segment.header_len() + segment.len);
        let back = decode(&frame).unwrap();
        prop_assert_eq!(back.segment, segment);
        prop_assert_eq!((back.ecn, back.payload), (ecn, &payload[..]));
        prop_assert_eq!((back.from, back.to), ((end(1).address, 1001), (end(2).address, 1002)));
    }
    #[test]
    fn a_flipped_bit_is_noticed(segment in any_segment(), at in 0usize..1000, bit in 0u8..8) {
        let payload = vec![7; segment.len as usize];
        let frame = encode(&end(1), &end(2), &segment, Ecn::Ect0, &payload, 1);
        let mut bytes = frame.bytes().to_vec();
        let at = 14 + at % (bytes.len() - 14);
        bytes[at] ^= 1 << bit;
        let damaged = Frame::parse(&bytes);
        prop_assert_eq!(decode(&damaged), None);
    }
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Some(received) = decode(&Frame::parse(&bytes)) {
            prop_assert_eq!(received.payload.len(), received.segment.len as usize);
        }
    }
}
