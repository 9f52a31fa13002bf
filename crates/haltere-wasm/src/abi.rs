//! The interface between Haltere and a module: one table, which the code writes by and the documents print.
//!
//! Every field is 8 bytes, little endian, signed, without gaps: field `i` is at offset `8 * i`. A time or a span is in
//! nanoseconds, a size in bytes, a rate in bits a second, a truth value 0 or 1. A value that is not there is -1. A
//! window without a limit is [`UNLIMITED`].
//!
//! A later version of Haltere may add fields at the end of an event, within [`EVENT_BYTES`], and imports; it then keeps
//! [`VERSION`]. Whatever else changes raises it.

use haltere_congestion::{
    AckEvent, LossEvent, LossKind, LostSegment, RateSample, RestartEvent, RtoEvent, SenderContext,
};
use haltere_queue::outside::PacketView;
use haltere_queue::{Backlog, Ecn, LinkContext};
use haltere_units::{Bytes, Dur, Time};

/// The version of the interface, which `haltere_abi` returns.
pub const VERSION: i32 = 1;
/// Room for an event at the address that `haltere_event` returns.
pub const EVENT_BYTES: usize = 512;
/// The most of a size or a threshold: no limit.
pub const UNLIMITED: i64 = i64::MAX;
/// The most state variables that a mechanism may show.
pub const STATE_VARIABLES: usize = 32;
/// The most parameters of a mechanism.
pub const PARAMETERS: usize = 64;

/// One field of an event or of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Field {
    /// Its name, as the templates have it.
    pub name: &'static str,
    /// Its unit: `ns`, `B`, `bit/s`, `0/1` or empty.
    pub unit: &'static str,
    /// What the field means, in a sentence.
    pub meaning: &'static str,
}

/// An event or an answer: what calls it, and its fields in order.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Layout {
    /// Its name in Rust and in AssemblyScript; in C it is in snake case.
    pub name: &'static str,
    /// The export that is called with it, or that returns its address.
    pub export: &'static str,
    /// When it is called, or what it is.
    pub meaning: &'static str,
    /// The fields, in the order of their offsets.
    pub fields: &'static [Field],
}

/// Declares an event: its layout, and the function that lays it out.
macro_rules! event {
    ($table:ident, $write:ident, $type:ident, $export:literal, $meaning:literal, ($($arg:ident: $ty:ty),+) {
        $($name:ident $unit:literal $what:literal = $value:expr;)+
    }) => {
        #[doc = $meaning]
        pub const $table: Layout = Layout {
            name: stringify!($type),
            export: $export,
            meaning: $meaning,
            fields: &[$(Field { name: stringify!($name), unit: $unit, meaning: $what }),+],
        };
        #[doc = concat!("The fields of `", $export, "` in order.")]
        #[inline]
        pub(crate) fn $write($($arg: $ty),+) -> [i64; $table.fields.len()] {
            [$($value),+]
        }
    };
}

fn ns(time: Time) -> i64 {
    i64::try_from(time.as_ns()).unwrap_or(UNLIMITED)
}
fn span(span: Dur) -> i64 {
    i64::try_from(span.as_ns()).unwrap_or(UNLIMITED)
}
pub(crate) fn bytes(bytes: Bytes) -> i64 {
    whole(bytes.as_u64())
}
pub(crate) fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(UNLIMITED)
}

event! { START, start, Start, "start", "A control is made, before any other event.", (sender: &SenderContext) {
    mss "B" "Payload of a full segment." = bytes(sender.mss);
    initial_window "B" "The initial congestion window." = bytes(sender.initial_window);
    seed "" "Differs between flows and not between repetitions of a run." = sender.seed as i64;
} }

event! { ACK, ack, Ack, "on_ack", "Data was newly acknowledged, cumulatively or selectively.", (ev: &AckEvent) {
    now "ns" "Now." = ns(ev.now);
    acked "B" "By how much the cumulative acknowledgement advanced." = bytes(ev.acked);
    delivered "B" "What is newly known to be delivered." = bytes(ev.delivered);
    lost "B" "What is newly marked lost." = bytes(ev.lost);
    ce "B" "What of `delivered` arrived with CE, as the receiver says." = bytes(ev.ce);
    ece "0/1" "The ECN echo was set, or counted marks grew." = i64::from(ev.ece);
    accurate "0/1" "The receiver counts marks (RFC 9768): `ce` is exact." = i64::from(ev.accurate);
    rtt "ns" "A round-trip time measured by this acknowledgement; -1: none." = ev.rtt.map_or(-1, span);
    srtt "ns" "The smoothed round-trip time; 0 before the first sample." = span(ev.srtt);
    min_rtt "ns" "The least round-trip time so far; 0 before the first sample." = span(ev.min_rtt);
    prior_in_flight "B" "In flight before this acknowledgement." = bytes(ev.prior_in_flight);
    in_flight "B" "In flight after it." = bytes(ev.in_flight);
    snd_una "B" "Stream offset of the first byte not yet acknowledged cumulatively." = whole(ev.snd_una);
    snd_nxt "B" "Stream offset of the first byte not yet sent." = whole(ev.snd_nxt);
    round "" "Round trips, counted by delivery." = whole(ev.round);
    round_start "0/1" "This acknowledgement begins a round." = i64::from(ev.round_start);
    cwnd_limited "0/1" "The window limited the sender: only then may it grow." = i64::from(ev.cwnd_limited);
    in_recovery "0/1" "In recovery, or reducing after an ECN echo: no growth." = i64::from(ev.in_recovery);
    in_rto_recovery "0/1" "Repairs after a timeout: slow start is allowed." = i64::from(ev.in_rto_recovery);
    next_departure "ns" "The earliest time at which pacing lets a segment leave; 0 without pacing."
        = ns(ev.next_departure);
    rate_delivered "B" "Delivery rate sample: delivered over `rate_interval`; -1: no sample."
        = sample(ev, |r| bytes(r.delivered));
    rate_interval "ns" "Delivery rate sample: the interval." = sample(ev, |r| span(r.interval));
    rate_prior_delivered "B" "Delivered in all when the sampled segment was sent."
        = sample(ev, |r| whole(r.prior_delivered));
    rate_total_delivered "B" "Delivered in all now." = sample(ev, |r| whole(r.total_delivered));
    rate_lost "B" "Marked lost over the sample's flight." = sample(ev, |r| bytes(r.lost));
    rate_total_lost "B" "Marked lost in all." = sample(ev, |r| whole(r.total_lost));
    rate_tx_in_flight "B" "In flight when the sampled segment was sent." = sample(ev, |r| bytes(r.tx_in_flight));
    rate_delivered_ce "B" "Delivered with CE over the sample's flight." = sample(ev, |r| bytes(r.delivered_ce));
    rate_app_limited "0/1" "The application had nothing more to send when the sampled segment was sent."
        = sample(ev, |r| i64::from(r.app_limited));
} }

fn sample(ev: &AckEvent, value: impl FnOnce(&RateSample) -> i64) -> i64 {
    ev.rate.as_ref().map_or(-1, value)
}

event! { LOSS, loss, Loss, "on_loss", "A recovery episode begins: reduce once.", (ev: &LossEvent) {
    now "ns" "Now." = ns(ev.now);
    ecn "0/1" "An ECN echo began it, not a lost segment." = i64::from(ev.kind == LossKind::Ecn);
    in_flight "B" "In flight, lost segments left out." = bytes(ev.in_flight);
    lost "B" "Marked lost so far in this episode." = bytes(ev.lost);
    snd_nxt "B" "Stream offset of the first byte not yet sent: the episode ends when it is acknowledged."
        = whole(ev.snd_nxt);
    asked "0/1" "The control asked for it by `ask_reduction`." = i64::from(ev.kind == LossKind::Asked);
} }

event! { RTO, rto, Rto, "on_rto", "The retransmission timer fired.", (ev: &RtoEvent) {
    now "ns" "Now." = ns(ev.now);
    in_flight "B" "In flight before everything was marked lost." = bytes(ev.in_flight);
    first "0/1" "The first timeout of this episode: only then is the threshold lowered." = i64::from(ev.first);
    still_in_flight "B" "What still counts as in flight." = bytes(ev.still_in_flight);
    snd_nxt "B" "Stream offset of the first byte not yet sent." = whole(ev.snd_nxt);
} }

event! { SEGMENT_LOST, segment_lost, SegmentLost, "on_segment_lost",
    "A segment was marked lost; before the event of the acknowledgement or timeout that marked it.",
    (lost: &LostSegment) {
    seq "B" "Stream offset of its first byte." = whole(lost.seq);
    bytes "B" "Its payload." = bytes(lost.bytes);
    tx_in_flight "B" "In flight when it was sent, itself included." = bytes(lost.tx_in_flight);
    lost "B" "Marked lost since it was sent, itself included." = bytes(lost.lost);
    prior_delivered "B" "Delivered in all when it was sent." = whole(lost.prior_delivered);
    total_delivered "B" "Delivered in all now." = whole(lost.total_delivered);
    app_limited "0/1" "The application had nothing more to send when it was sent." = i64::from(lost.app_limited);
} }

event! { RECOVERED, recovered, Recovered, "on_recovered", "The recovery episode is over.", (now: Time) {
    now "ns" "Now." = ns(now);
} }

event! { ESTABLISHED, established, Established, "on_established",
    "The connection is established.", (now: Time, rtt: Dur) {
    now "ns" "Now." = ns(now);
    rtt "ns" "The round-trip time of the handshake." = span(rtt);
} }

event! { CACHED, cached_ssthresh, CachedSsthresh, "on_cached_ssthresh",
    "Before anything is sent: the host remembers this threshold of an earlier connection.", (ssthresh: Bytes) {
    ssthresh "B" "The slow-start threshold." = bytes(ssthresh);
} }

event! { SPURIOUS, spurious, Spurious, "on_spurious",
    "The last reduction was spurious: restore the window.", (now: Time) {
    now "ns" "Now." = ns(now);
} }

event! { RESTART, restart, Restart, "on_restart",
    "A transmission while nothing is outstanding, before it is sent: after an idle time, or with a pace below a segment a round trip.",
    (ev: &RestartEvent) {
    now "ns" "Now." = ns(ev.now);
    idle "ns" "How long nothing was in flight." = span(ev.idle);
    rto "ns" "The current retransmission timeout." = span(ev.rto);
    app_limited "0/1" "The application had nothing more to send." = i64::from(ev.app_limited);
} }

event! { FLIGHT_START, flight_start, FlightStart, "on_flight_start",
    "A transmission while nothing is in flight, before it is sent: after an idle time, or when all that is outstanding was lost.",
    (now: Time) {
    now "ns" "Now." = ns(now);
} }

/// What a control answers after each event, at the address that `haltere_answer` returns.
pub const CONTROL_ANSWER: Layout = Layout {
    name: "ControlAnswer",
    export: "haltere_answer",
    meaning: "What a control answers: read after each event.",
    fields: &[
        Field { name: "cwnd", unit: "B", meaning: "The congestion window, at least 1." },
        Field { name: "ssthresh", unit: "B", meaning: "The slow-start threshold; the largest value: none yet." },
        Field {
            name: "pacing_rate",
            unit: "bit/s",
            meaning: "The rate at which payload leaves; -1: as soon as the window allows.",
        },
    ],
};

/// The events of a control in the order in which a connection meets them.
pub const CONTROL: &[Layout] =
    &[START, ESTABLISHED, CACHED, ACK, SEGMENT_LOST, LOSS, RECOVERED, RTO, SPURIOUS, RESTART, FLIGHT_START];

event! { LINK, link, Link, "start", "A queue discipline is made, before any other event.", (link: &LinkContext) {
    rate "bit/s" "The rate of the link; -1: packets take no time." = link.rate.map_or(-1, |rate| whole(rate.as_bps()));
    rtt "ns" "The round-trip time without queues of the flows that cross the link; -1: unknown."
        = link.rtt.map_or(-1, span);
    packet "B" "The length of a full packet on this link." = bytes(link.packet);
    seed "" "Differs between runs." = link.seed as i64;
} }

event! { ENQUEUE, enqueue, Enqueue, "enqueue",
    "A packet arrives. It waits from now on, unless it is dropped.",
    (now: Time, packet: &PacketView, backlog: Backlog, seed: u64) {
    now "ns" "Now." = ns(now);
    id "" "The number of the packet: 0, 1, 2 ... in order of arrival." = whole(packet.id);
    len "B" "Its length on the link." = i64::from(packet.len);
    ecn "" "Its ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE." = ecn(packet.ecn);
    flow "" "A hash of its flow." = packet.flow.hash(seed) as i64;
    priority "" "Its priority, 0 to 15." = i64::from(packet.priority);
    dscp "" "Its DSCP." = i64::from(packet.dscp);
    stream_offset "B" "Offset of its first payload byte in its stream; -1: unknown."
        = packet.stream_offset.map_or(-1, whole);
    backlog_packets "" "Packets that wait, this one included." = i64::from(backlog.packets);
    backlog_bytes "B" "Bytes that wait, this packet included." = whole(backlog.bytes);
} }

fn ecn(ecn: Ecn) -> i64 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

event! { DEQUEUE, dequeue, Dequeue, "dequeue",
    "The link can send: the answer names the next packet.", (now: Time, backlog: Backlog) {
    now "ns" "Now." = ns(now);
    backlog_packets "" "Packets that wait." = i64::from(backlog.packets);
    backlog_bytes "B" "Bytes that wait." = whole(backlog.bytes);
} }

event! { TIMER, timer, Timer, "on_timer", "The time of `next_timer` has come.", (now: Time) {
    now "ns" "Now." = ns(now);
} }

/// What a queue discipline answers, at the address that `haltere_answer` returns.
pub const QUEUE_ANSWER: Layout = Layout {
    name: "QueueAnswer",
    export: "haltere_answer",
    meaning: "What a queue discipline answers: read after each event.",
    fields: &[
        Field { name: "next", unit: "", meaning: "After `dequeue`: the number of the packet that leaves; -1: none." },
        Field {
            name: "next_timer",
            unit: "ns",
            meaning: "When `on_timer` is to be called; -1, from the start: never.",
        },
        Field {
            name: "ready_at",
            unit: "ns",
            meaning: "When the next packet may leave, of a shaper; -1, from the start: at once.",
        },
    ],
};

/// The events of a queue discipline.
pub const QUEUE: &[Layout] = &[LINK, ENQUEUE, DEQUEUE, TIMER];

/// What a module may import from `haltere`: its name and type, and what it does.
pub const IMPORTS: &[(&str, &str, &str)] = &[
    ("random", "() -> i64", "64 random bits: of this flow for a control, of this queue for a queue discipline."),
    (
        "ask_reduction",
        "()",
        "A control asks for a reduction without loss or echo, in `on_ack`. If none goes on, one begins, and `on_loss` \
         follows with `asked`.",
    ),
    ("fail", "(address: i32, length: i32)", "Ends the run with this message, in UTF-8."),
    (
        "drop",
        "(id: i64, reason: i32)",
        "A queue discipline drops a packet that waits. The reason is 0, the queue is full, or 1, to signal congestion.",
    ),
    (
        "mark",
        "(id: i64, reason: i32) -> i32",
        "A queue discipline marks a packet that waits. The reason is 0, congestion, or 1, a threshold. Returns 0 if \
         the packet is not ECN-capable: drop it instead.",
    ),
];
