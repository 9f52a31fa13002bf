use super::*;
use proptest::prelude::*;

/// IPv4 and TCP with timestamps: 1000 bytes of payload, of which none was kept.
fn ipv4() -> Vec<u8> {
    let mut ip = vec![0x45, 0x28, 0x04, 0x1c, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ip.extend([0x13, 0x88, 0, 80, 0, 0, 0, 9, 0, 0, 0, 5, 0x80, 0x10, 0, 0, 0, 0, 0, 0]);
    ip.extend([1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 6]);
    ip
}

fn of(link: LinkType, bytes: &[u8], length: u32) -> Option<Packet> {
    Packet::of(&Record { at_ns: 0, link, bytes, length })
}

#[test]
fn a_cut_off_packet_tells_its_length_its_flow_and_tcp() {
    let packet = of(LinkType::Ip, &ipv4(), 1052).unwrap();
    assert_eq!((packet.len, packet.class >> 2, packet.ecn()), (1052 + 14, 10, Ecn::NotEct));
    assert_eq!((packet.flow.src, packet.flow.dst), (0x0a00_0001, 0x0a00_0002));
    assert_eq!((packet.flow.src_port, packet.flow.dst_port, packet.flow.protocol), (5000, 80, 6));
    let tcp = Tcp { seq: 9, ack: Some(5), syn: false, fin: false, payload: 1000, timestamps: Some((7, 6)) };
    assert_eq!(packet.tcp, Some(tcp));
    assert_eq!((packet.place(), packet.opens()), (Some(8), false));
}

#[test]
fn links_of_all_kinds_lead_to_the_same_packet() {
    let ip = ipv4();
    let tagged = [&[0u8; 12] as &[u8], &[0x81, 0, 0, 5, 0x08, 0], &ip].concat();
    let cooked = [&[0u8; 14] as &[u8], &[0x08, 0], &ip].concat();
    let cooked2 = [&[0x08u8, 0] as &[u8], &[0; 18], &ip].concat();
    let loopback = [&[2u8, 0, 0, 0] as &[u8], &ip].concat();
    let links = [
        (LinkType::Ethernet, tagged),
        (LinkType::Cooked, cooked),
        (LinkType::Cooked2, cooked2),
        (LinkType::Loopback, loopback),
    ];
    for (link, bytes) in links {
        let packet = of(link, &bytes, bytes.len() as u32 + 1000).unwrap();
        assert_eq!((packet.len, packet.flow.src_port), (1066, 5000), "{link:?}");
    }
    assert!(of(LinkType::Ethernet, &[0; 60], 60).is_none(), "no IP");
    assert!(of(LinkType::Ethernet, &[0; 3], 60).is_none());
}

#[test]
fn an_offloaded_packet_s_length_is_the_capture_s() {
    let mut ip = ipv4();
    ip[2..4].fill(0);
    let packet = of(LinkType::Ip, &ip, 64_052).unwrap();
    assert_eq!((packet.len, packet.tcp.unwrap().payload), (64_066, 64_000));
}

#[test]
fn fragments_have_no_ports() {
    let mut ip = ipv4();
    ip[6] = 0x20;
    let packet = of(LinkType::Ip, &ip, 1052).unwrap();
    assert_eq!((packet.flow.src_port, packet.tcp), (0, None));
}

#[test]
fn ipv6_with_an_extension_header() {
    let mut ip = vec![0x60, 0, 0, 0, 0, 8 + 20, 0, 64];
    ip.extend([0; 15]);
    ip.push(1);
    ip.extend([0; 15]);
    ip.push(2);
    ip.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    ip.extend([0x13, 0x88, 0, 80, 0, 0, 0, 9, 0, 0, 0, 5, 0x50, 0x02, 0, 0, 0, 0, 0, 0]);
    let packet = of(LinkType::Ip, &ip, 68).unwrap();
    assert_eq!((packet.flow.src, packet.flow.dst, packet.flow.dst_port), (1, 2, 80));
    assert!(packet.opens() && packet.v6);
    assert_eq!(packet.tcp.map(|tcp| (tcp.payload, tcp.ack)), Some((0, None)));
}

#[test]
fn the_other_direction() {
    let flow = FlowKey { src: 1, dst: 2, src_port: 3, dst_port: 4, protocol: 6 };
    assert_eq!(reversed(flow), FlowKey { src: 2, dst: 1, src_port: 4, dst_port: 3, protocol: 6 });
    assert_eq!(reversed(reversed(flow)), flow);
}

proptest! {
    #[test]
    fn any_bytes_make_a_packet_or_none(cut in 0..70usize, at in 0..52usize, value: u8, bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut changed = ipv4();
        changed[at] = value;
        changed.truncate(cut);
        for link in [LinkType::Ethernet, LinkType::Ip, LinkType::Loopback, LinkType::Cooked, LinkType::Cooked2] {
            let _ = of(link, &bytes, 80);
            let _ = of(link, &changed, 1052);
        }
    }
}
