use super::*;
use proptest::prelude::*;

/// A pcap file of microseconds, Ethernet, with these packets: seconds, microseconds, bytes, length on the line.
fn pcap(big_endian: bool, packets: &[(u32, u32, &[u8], u32)]) -> Vec<u8> {
    let word = |value: u32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut out = word(0xa1b2_c3d4).to_vec();
    out.extend(if big_endian { [0, 2, 0, 4] } else { [2, 0, 4, 0] });
    out.extend([0, 0, 96, 1].into_iter().flat_map(word));
    for (seconds, us, bytes, length) in packets {
        out.extend([*seconds, *us, bytes.len() as u32, *length].into_iter().flat_map(word));
        out.extend(*bytes);
    }
    out
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len().next_multiple_of(4)) as u32;
    let mut out = [kind.to_le_bytes(), length.to_le_bytes()].concat();
    out.extend(body);
    out.resize(length as usize - 4, 0);
    out.extend(length.to_le_bytes());
    out
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn section() -> Vec<u8> {
    block(SECTION, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]))
}

/// Time, kind of link, bytes kept, length on the line.
type Packet = (u64, LinkType, Vec<u8>, u32);

fn read(bytes: &[u8]) -> Result<Vec<Packet>, CaptureError> {
    let mut reader = Reader::new(bytes, Watch::default())?;
    let mut out = vec![];
    while let Some(Record { at_ns, link, bytes, length }) = reader.next_record()? {
        out.push((at_ns, link, bytes.to_vec(), length));
    }
    Ok(out)
}

#[test]
fn pcap_of_both_byte_orders_and_cut_off_packets() {
    for big_endian in [false, true] {
        let got = read(&pcap(big_endian, &[(1, 5, &[1, 2, 3], 3), (2, 0, &[9; 96], 1514)])).unwrap();
        let second = (2_000_000_000, LinkType::Ethernet, vec![9; 96], 1514);
        assert_eq!(got, [(1_000_005_000, LinkType::Ethernet, vec![1, 2, 3], 3), second]);
    }
}

#[test]
fn pcapng_times_follow_the_interface_s_unit() {
    // Interface 0 says nothing: microseconds. Interface 1: 10^-9. Interface 2: 2^-10, raw IP.
    let unit = |code: u8| [&words(&[1, 0]) as &[u8], &[9, 0, 1, 0, code, 0, 0, 0], &[0; 4]].concat();
    let mut raw = unit(0x8a);
    raw[0] = 101;
    let packet = |interface| block(6, &[&words(&[interface, 1, 4096, 2, 60]) as &[u8], &[7, 8]].concat());
    let file =
        [section(), block(1, &words(&[1, 0])), block(1, &unit(9)), block(1, &raw), packet(0), packet(1), packet(2)];
    let got = read(&file.concat()).unwrap();
    let ticks = (1u64 << 32) + 4096;
    assert_eq!(got[0], (ticks * 1000, LinkType::Ethernet, vec![7, 8], 60));
    assert_eq!(
        (got[1].0, got[2].0, got[2].1),
        (ticks, ((ticks >> 10) * 1_000_000_000) + (ticks & 1023) * 1_000_000_000 / 1024, LinkType::Ip)
    );
}

#[test]
fn unknown_blocks_simple_packets_and_a_second_section() {
    let file = [section(), block(1, &words(&[1, 0])), block(0xbad, &[1; 8]), block(3, &words(&[3, 0x0003_0201]))];
    let twice = [file.concat(), file.concat()].concat();
    let got = read(&twice).unwrap();
    assert_eq!(got, vec![(0, LinkType::Ethernet, vec![1, 2, 3], 3); 2]);
}

#[test]
fn what_breaks_off_is_an_error_with_the_packet_s_number() {
    let whole = pcap(false, &[(1, 0, &[1; 60], 60), (2, 0, &[2; 60], 60), (3, 0, &[3; 60], 60)]);
    for cut in 0..whole.len() {
        let got = read(&whole[..cut]);
        match cut {
            0..24 => assert!(matches!(got, Err(CaptureError::Format(_))), "cut at {cut}"),
            24 | 100 | 176 => assert_eq!(got.unwrap().len(), (cut - 24) / 76, "it ends between two packets"),
            _ => {
                let text = got.unwrap_err().to_string();
                let number = (cut - 24) / 76 + 1;
                assert!(text.starts_with(&format!("packet {number} must be whole, got ")), "cut at {cut}: {text}");
                assert!(text.ends_with("truncated or corrupt there"), "{text}");
            }
        }
    }
}

#[test]
fn what_contradicts_itself_is_an_error() {
    let mut wrong = pcap(false, &[(1, 0, &[1; 4], 4), (2, 0, &[1; 4], 4)]);
    wrong[52..56].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(
        read(&wrong).unwrap_err().to_string(),
        "packet 2 must be whole, got a length of 4294967295 bytes; the file is truncated or corrupt there"
    );
    let late = pcap(false, &[(1, 1_000_000, &[1; 4], 4)]);
    assert!(read(&late).unwrap_err().to_string().contains("1000000 parts of a second"));
    // A packet of an interface that was not described; one that is longer than its block; two lengths that differ.
    let packet = block(6, &words(&[0, 0, 0, 0, 0]));
    assert!(
        read(&[section(), packet.clone()].concat())
            .unwrap_err()
            .to_string()
            .contains("interface 0, which is not described")
    );
    let long = block(6, &words(&[0, 0, 0, 5, 5, 0]));
    assert!(
        read(&[section(), block(1, &words(&[1, 0])), long].concat()).unwrap_err().to_string().contains("room for 4")
    );
    let mut two = [section(), block(1, &words(&[1, 0]))].concat();
    let end = two.len() - 4;
    two[end] += 4;
    assert!(read(&two).unwrap_err().to_string().contains("whose end says"));
}

#[test]
fn what_is_no_capture_says_what_it_may_be() {
    let text = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert!(text(b"\x1f\x8b\x08\x00rest").contains("gzip"));
    assert!(text(b"GET / HTTP/1.1").contains("must be a pcap or pcapng capture"));
    assert!(text(b"").contains("less than four bytes"));
    let mut radio = pcap(false, &[(0, 0, &[1], 1)]);
    radio[20] = 127;
    assert!(text(&radio).contains("packet 1 must be Ethernet, IP, loopback or Linux cooked, got link type 127"));
}

#[test]
fn a_caller_may_end_it_and_hears_how_far_it_came() {
    use std::sync::atomic::{AtomicBool, AtomicU64};
    let file = pcap(false, &[(1, 0, &[1; 60], 60)]);
    let (read, cancel) = (AtomicU64::new(0), AtomicBool::new(false));
    let watch = Watch { read: Some(&read), cancel: Some(&cancel), before: 1000 };
    let mut reader = Reader::new(&file[..], watch).unwrap();
    while reader.next_record().unwrap().is_some() {}
    assert_eq!(read.load(Ordering::Relaxed), 1000 + file.len() as u64);
    cancel.store(true, Ordering::Relaxed);
    let mut reader = Reader::new(&file[..], watch).unwrap();
    assert!(matches!(reader.next_record(), Err(CaptureError::Cancelled)));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(kind in 0..4usize, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let head = [pcap(false, &[]), pcap(true, &[]), [section(), block(1, &words(&[1, 0]))].concat(), vec![]];
        let file = [head[kind].clone(), bytes].concat();
        let _ = read(&file);
        // Also as blocks whose lengths agree.
        if let Some((first, rest)) = file.get(head[kind].len()..).and_then(<[u8]>::split_first) {
            let _ = read(&[head[2].clone(), block(u32::from(first % 8), rest)].concat());
        }
    }
}
