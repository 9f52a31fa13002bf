//! What a world writes down while it runs a plan.
//!
//! Plain columns of numbers, filled in order of time; [`crate::table`] turns them into Arrow tables.

mod delay;
mod sender;

pub use delay::{DelayOf, DelayRecord, PacketFate, PacketRecord, StateOf, StateSample};
pub use sender::{SenderEvent, SenderView, StackLog, sender_values};

use alloc::string::String;
use alloc::vec::Vec;
use haltere_transport::Info;
use haltere_transport::multipath::{Coefficient, PathInfo};
use haltere_units::{Dur, Time};
use serde::{Deserialize, Serialize};

/// One run, written down.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// One entry a flow, in the plan's order.
    pub flows: Vec<FlowRecord>,
    /// One entry a link, in the plan's order.
    pub links: Vec<LinkRecord>,
    /// Samples of flows, in order of time.
    pub flow_series: Vec<FlowSample>,
    /// Samples of watched queues, in order of time.
    pub queue_series: Vec<QueueSample>,
    /// Ping replies, in order of time.
    pub pings: Vec<PingSample>,
    /// FTP tasks, in order of their start.
    pub tasks: Vec<TaskRecord>,
    /// Flows that started during the run, in order of their end; at last those that did not end. Then the responses to
    /// requests of each flow of the plan.
    pub completions: Vec<Completion>,
    /// Web pages, each flow in order of time.
    pub pages: Vec<PageRecord>,
    /// Segments of video, each flow in order of time.
    pub segments: Vec<SegmentRecord>,
    /// Telephone calls, one a flow.
    pub voices: Vec<VoiceRecord>,
    /// Programs, each flow's server before its client.
    pub programs: Vec<ProgramRecord>,
    /// Connections of programs, as the network saw them.
    pub sockets: Vec<SocketRecord>,
    /// The end of the warm-up and the start of the cool-down. A row for a whole flow counts what happened between them.
    pub measured: (Time, Time),
    /// Samples of the paths of multipath connections, in order of time, the end included.
    pub path_series: Vec<PathSample>,
    /// What correlators said: flow and verdict, each flow in order of time.
    pub coefficients: Vec<(u32, Coefficient)>,
    /// Writes of multipath applications with a rate: when written, and how long until read at the other end.
    pub delays: Vec<PingSample>,
    // What follows is measured by the simulator alone, which runs in the caller's process: it is not written.
    /// Delays, if the plan asks for them: of links, then of flows, each in the plan's order.
    #[serde(skip)]
    pub delay_records: Vec<DelayRecord>,
    /// Inner variables, if the plan asks for them, in order of time.
    #[serde(skip)]
    pub state: Vec<StateSample>,
    /// Packets of logged links, each link in order of the time at which they left.
    #[serde(skip)]
    pub packets: Vec<PacketRecord>,
    /// What senders did, if the plan asks for it, in order of time.
    #[serde(skip)]
    pub sender_events: Vec<SenderEvent>,
    /// What stacks wrote, if the plan asks for it.
    #[serde(skip)]
    pub logs: Vec<StackLog>,
    /// Events that the world handled.
    pub events: u64,
    /// The most entries that the event queue held.
    pub peak_events: u64,
}

/// The result of one flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRecord {
    /// Payload bytes delivered to the receiving application, in order.
    pub received: u64,
    /// Of these, after warm-up and in the measured window.
    pub received_after_warmup: u64,
    /// Packets sent and received (UDP, ping).
    pub packets_sent: u64,
    /// Packets received (UDP, ping: replies).
    pub packets_received: u64,
    /// When the last byte of a limited flow was delivered.
    pub completed: Option<Time>,
    /// The sender's endpoint at the end (TCP).
    pub sender: Option<Info>,
    /// What the sender's endpoint had counted at the end of the warm-up (TCP).
    pub sender_at_warmup: Option<SenderCounts>,
    /// What it had counted at the end of the measured window, if that is before the end of the run (TCP).
    pub sender_at_until: Option<SenderCounts>,
}

/// What an endpoint counts of what it sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderCounts {
    /// Segments sent with payload, retransmissions included.
    pub segments_sent: u64,
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts that fired.
    pub timeouts: u64,
    /// Recovery episodes begun by loss.
    pub recoveries: u64,
    /// Reductions answering an ECN echo.
    pub ecn_reductions: u64,
    /// Segments that the receiver has acknowledged, cumulatively or selectively.
    pub delivered: u64,
    /// Segments delivered with a CE mark (as far as the echo tells).
    pub delivered_ce: u64,
}

impl From<&Info> for SenderCounts {
    fn from(info: &Info) -> SenderCounts {
        SenderCounts {
            segments_sent: info.segments_sent,
            retransmissions: info.retransmissions,
            timeouts: info.timeouts,
            recoveries: info.recoveries,
            ecn_reductions: info.ecn_reductions,
            delivered: info.delivered,
            delivered_ce: info.delivered_ce,
        }
    }
}

/// One FTP task: a file that is uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Index of its flow.
    pub flow: u32,
    /// Size of its file.
    pub bytes: haltere_units::Bytes,
    /// When its control connection began to open, for the first time.
    pub start: Time,
    /// When its data connection began to open, for the last time.
    pub data: Option<Time>,
    /// When the client heard that the file was stored; `None`: the run ended before.
    pub end: Option<Time>,
    /// How often a connection gave up and the task began again.
    pub failures: u32,
}

/// A web page that a user fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRecord {
    /// Index of its flow.
    pub flow: u32,
    /// When its first connection began to open.
    pub start: Time,
    /// When its last object was there; [`Time::NEVER`]: the run ended before.
    pub end: Time,
    /// How many objects it has.
    pub objects: u32,
    /// Bytes of those objects that are there.
    pub bytes: u64,
}

/// A segment of video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentRecord {
    /// Index of its flow.
    pub flow: u32,
    /// The bitrate at which it is encoded.
    pub bitrate: haltere_units::Rate,
    /// Bytes of the segment.
    pub bytes: u64,
    /// When it was asked for.
    pub start: Time,
    /// When its last byte was there; [`Time::NEVER`]: the run ended before.
    pub end: Time,
    /// Playing time in the buffer when it was asked for.
    pub buffered: Dur,
    /// How long the player stalled since the segment before was there.
    pub stalled: Dur,
}

/// One direction of a telephone call, after the warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct VoiceRecord {
    /// Index of its flow.
    pub flow: u32,
    /// Packets that were sent early enough to be heard before the end.
    pub sent: u64,
    /// Of these, packets that did not arrive.
    pub lost: u64,
    /// Packets that arrived after their time to be played.
    pub late: u64,
    /// Mean one-way delay of those that arrived.
    pub delay: Dur,
    /// Interarrival jitter of RFC 3550 at the end.
    pub jitter: Dur,
    /// From mouth to ear: the first packet's delay, the playout buffer and the codec.
    pub mouth_to_ear: Dur,
    /// The rating R of the E-model (ITU-T G.107).
    pub rating: f64,
    /// The mean opinion score that follows from it, from 1 to 4.5.
    pub mos: f64,
}

/// A program that ran as a flow's client or server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRecord {
    /// Index of its flow.
    pub flow: u32,
    /// It is the client.
    pub is_client: bool,
    /// Its name and its arguments, as it was started.
    pub command: String,
    /// When it started; a server starts before the run.
    pub start: Time,
    /// When it ended by itself, or at the flow's stop. `None`: it ran until the end of the run.
    pub end: Option<Time>,
    /// Its exit status; 128 and more: the signal that ended it, plus 128. `None`: it ran until the end of the run.
    pub status: Option<i32>,
    /// What it wrote: `stdout`, `stderr`, then each file in its folder, by name.
    pub outputs: Vec<(String, Output)>,
}

/// What a program wrote to one place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// All bytes that it wrote.
    pub bytes: u64,
    /// The last of them, as text.
    pub text: String,
}

/// The packets of one connection in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketRecord {
    /// Index of the node that sent. `u32::MAX`: the row counts all connections beyond the 4096 that have a row each.
    pub from: u32,
    /// Index of the node that received.
    pub to: u32,
    /// The IP protocol number.
    pub protocol: u8,
    /// Port of the host that sent, or 0.
    pub from_port: u16,
    /// Port of the host that received, or 0.
    pub to_port: u16,
    /// Packets that came from the sender.
    pub sent: u64,
    /// Packets that reached the receiver.
    pub delivered: u64,
    /// Of these, packets marked CE.
    pub marked: u64,
    /// Their payload: IPv4 packets less 52 bytes (TCP) or 28 bytes (UDP and others) of headers.
    pub payload: u64,
    /// Of this, payload after the warm-up.
    pub payload_after_warmup: u64,
    /// Delivered packets whose time in the network is known.
    pub timed: u64,
    /// Sum of their times in queues and in transmission: from host to host, less the delay of the links.
    pub sojourn_sum: Dur,
    /// The longest of these times.
    pub sojourn_max: Dur,
}

/// A flow that started during the run, or a response to a request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// Index of its entry in the plan.
    pub flow: u32,
    /// Index of the node that sent.
    pub from: u32,
    /// Index of the node that received.
    pub to: u32,
    /// Segments that were sent again.
    pub retransmissions: u32,
    /// Bytes of payload that it was to send.
    pub bytes: u64,
    /// When it began to open.
    pub start: Time,
    /// When its last byte was delivered to the application; [`Time::NEVER`]: not before the run ended.
    pub end: Time,
    /// The least time that it takes on its path without other traffic: the handshake and the propagation of its data,
    /// and the time of all its bytes, headers included, on the slowest link, of its first packet on the others. A
    /// response has the propagation of its request instead of the handshake.
    pub ideal: Dur,
}

/// What passed one link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Counters of the whole run.
    pub total: LinkCounters,
    /// After warm-up and in the measured window only.
    pub after_warmup: LinkCounters,
    /// The depths at dequeue after the warm-up, if the plan asks for them.
    pub depths: Depths,
}

/// How often a packet that left a queue left so many packets behind: the depth at dequeue, as switches report it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Depths(Vec<u64>);

impl Depths {
    /// A packet left and `packets` wait behind it.
    #[inline]
    pub fn count(&mut self, packets: u32) {
        let depth = packets as usize;
        if depth >= self.0.len() {
            self.0.resize(depth + 1, 0);
        }
        self.0[depth] += 1;
    }
    /// Counts by depth, from 0 packets on.
    pub fn counts(&self) -> &[u64] {
        &self.0
    }
}

impl LinkRecord {
    /// From the counters at the end of the warm-up and at the end of the run, between which the peak was reset.
    pub fn new(warmup: &LinkCounters, end: &LinkCounters) -> LinkRecord {
        let after_warmup = LinkCounters {
            arrived: end.arrived - warmup.arrived,
            sent: end.sent - warmup.sent,
            sent_bytes: end.sent_bytes - warmup.sent_bytes,
            dropped_overlimit: end.dropped_overlimit - warmup.dropped_overlimit,
            dropped_congestion: end.dropped_congestion - warmup.dropped_congestion,
            marked: end.marked - warmup.marked,
            emitted: end.emitted - warmup.emitted,
            lost: end.lost - warmup.lost,
            duplicated: end.duplicated - warmup.duplicated,
            packet_ns: end.packet_ns - warmup.packet_ns,
            peak_packets: end.peak_packets,
        };
        let total = LinkCounters { peak_packets: end.peak_packets.max(warmup.peak_packets), ..*end };
        LinkRecord { total, after_warmup, depths: Depths::default() }
    }
}

/// Counters of one link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkCounters {
    /// Packets that arrived at the queue.
    pub arrived: u64,
    /// Packets that the line took.
    pub sent: u64,
    /// Bytes that the line took, framing included.
    pub sent_bytes: u64,
    /// Packets dropped because the queue was full.
    pub dropped_overlimit: u64,
    /// Packets that the discipline dropped to signal congestion.
    pub dropped_congestion: u64,
    /// Packets marked CE by the discipline.
    pub marked: u64,
    /// Copies that the discipline emitted, to go back to their senders.
    pub emitted: u64,
    /// Packets lost on the line.
    pub lost: u64,
    /// Packets that the line delivered twice.
    pub duplicated: u64,
    /// Integral over time of the packets waiting in the queue, in packet-nanoseconds.
    pub packet_ns: u128,
    /// The most packets that waited.
    pub peak_packets: u32,
}

/// One flow at one instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowSample {
    /// When the sample was taken.
    pub at: Time,
    /// Which flow (index in the plan).
    pub flow: u32,
    /// Payload bytes delivered to the application so far.
    pub received: u64,
    /// What the sender's endpoint shows of itself.
    pub sender: Info,
    /// Inner variables of the congestion control: name and value.
    #[serde(with = "crate::written")]
    pub control: Vec<(&'static str, f64)>,
}

/// One queue at one instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueSample {
    /// When the sample was taken.
    pub at: Time,
    /// Which link (index in the plan).
    pub link: u32,
    /// Packets waiting in the discipline.
    pub packets: u32,
    /// Bytes waiting in the discipline.
    pub bytes: u64,
    /// Packets in the device ring below it.
    pub ring_packets: u32,
    /// Packets dropped so far.
    pub dropped: u64,
    /// Packets marked so far.
    pub marked: u64,
    /// Bytes sent so far.
    pub sent_bytes: u64,
    /// Inner variables of the discipline: name and value.
    #[serde(with = "crate::written")]
    pub vars: Vec<(&'static str, f64)>,
}

/// One path of a multipath connection at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathSample {
    /// When the sample was taken.
    pub at: Time,
    /// Which flow (index in the plan).
    pub flow: u32,
    /// Which path of it.
    pub path: u32,
    /// What it shows of itself.
    pub info: PathInfo,
}

/// An echo request that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PingSample {
    /// When the request left.
    pub at: Time,
    /// Which flow (index in the plan).
    pub flow: u32,
    /// Time from the request to its reply.
    pub rtt: Dur,
}
