//! A packet and a fate for tests: what was dropped, marked and emitted is recorded; random numbers are seeded.
#![allow(dead_code, missing_docs, reason = "each test binary uses a part")]
extern crate alloc;

use alloc::vec::Vec;
use haltere_queue::{DropReason, Ecn, Fate, FlowKey, LinkContext, MarkReason, Pkt, PureAck};
use haltere_units::{Bytes, Dur, Rate};

#[derive(Debug, Clone, PartialEq)]
pub struct TestPkt {
    pub id: u64,
    pub len: u32,
    pub ecn: Ecn,
    pub flow: u16,
    pub priority: u8,
    pub dscp: u8,
    pub offset: Option<u64>,
    pub data_segment: bool,
    pub src: u8,
    pub dst: u8,
    pub ack: Option<PureAck>,
}

/// 10.0.0.N.
fn address(host: u8) -> u128 {
    0x0a00_0000 + u128::from(host)
}

impl TestPkt {
    pub fn new(id: u64, len: u32) -> TestPkt {
        TestPkt {
            id,
            len,
            ecn: Ecn::NotEct,
            flow: 0,
            priority: 0,
            dscp: 0,
            offset: None,
            data_segment: true,
            src: 1,
            dst: 2,
            ack: None,
        }
    }
    pub fn ecn(self, ecn: Ecn) -> TestPkt {
        TestPkt { ecn, ..self }
    }
    pub fn flow(self, flow: u16) -> TestPkt {
        TestPkt { flow, ..self }
    }
    pub fn priority(self, priority: u8) -> TestPkt {
        TestPkt { priority, ..self }
    }
}

impl Pkt for TestPkt {
    fn len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        assert!(self.ecn.is_capable(), "set_ce on a packet that is not ECN-capable: {self:?}");
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowKey {
        FlowKey { src: address(self.src), dst: address(self.dst), src_port: self.flow, dst_port: 5001, protocol: 6 }
    }
    fn priority(&self) -> u8 {
        self.priority
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn set_dscp(&mut self, dscp: u8) {
        self.dscp = dscp;
    }
    fn reflected(&self) -> Option<TestPkt> {
        let (priority, src, dst) = (haltere_queue::CONTROL, self.dst, self.src);
        let capable = self.data_segment && self.ecn.is_capable();
        capable.then(|| TestPkt { ecn: Ecn::Ce, priority, src, dst, ..self.clone() })
    }
    fn pure_ack(&self) -> Option<PureAck> {
        self.ack
    }
    fn stream_offset(&self) -> Option<u64> {
        self.offset
    }
}

/// Records every fate. `forced` replaces the random numbers while it lasts (the last value first).
#[derive(Debug, Clone)]
pub struct Recorder {
    pub dropped: Vec<(TestPkt, DropReason)>,
    pub marked: Vec<(TestPkt, MarkReason)>,
    pub emitted: Vec<TestPkt>,
    pub forced: Vec<f64>,
    state: u64,
}

impl Recorder {
    pub fn new(seed: u64) -> Recorder {
        Recorder { dropped: Vec::new(), marked: Vec::new(), emitted: Vec::new(), forced: Vec::new(), state: seed }
    }
    pub fn dropped_ids(&self) -> Vec<u64> {
        self.dropped.iter().map(|(p, _)| p.id).collect()
    }
    pub fn marked_ids(&self) -> Vec<u64> {
        self.marked.iter().map(|(p, _)| p.id).collect()
    }
    pub fn emitted_ids(&self) -> Vec<u64> {
        self.emitted.iter().map(|p| p.id).collect()
    }
}

impl Fate<TestPkt> for Recorder {
    fn dropped(&mut self, pkt: TestPkt, reason: DropReason) {
        self.dropped.push((pkt, reason));
    }
    fn marked(&mut self, pkt: &TestPkt, reason: MarkReason) {
        assert_eq!(pkt.ecn, Ecn::Ce, "marked without CE: {pkt:?}");
        self.marked.push((pkt.clone(), reason));
    }
    fn emit(&mut self, copy: TestPkt) {
        self.emitted.push(copy);
    }
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn uniform(&mut self) -> f64 {
        self.forced.pop().unwrap_or_else(|| (self.random() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// A link of 10 Mbit/s and 10 ms with packets of 1500 bytes.
pub fn link() -> LinkContext {
    LinkContext {
        rate: Some(Rate::from_mbps(10)),
        rtt: Some(Dur::from_ms(10)),
        packet: Bytes::new(1500),
        seed: 7,
        ..Default::default()
    }
}
