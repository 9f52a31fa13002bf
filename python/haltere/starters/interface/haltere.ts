// Haltere's interface for WebAssembly modules, version 1. This file stays as it is: write the mechanism in `index.ts`.
//
// A time is in nanoseconds, a size in bytes, a rate in bits a second, a truth value 0 or 1. What is not there is -1.

/** A window or a time without a limit. */
export const UNLIMITED: i64 = 0x7fffffffffffffff;

// The table of the interface begins here.

/** `start`: A control is made, before any other event. */
@unmanaged
export class Start {
  /** Payload of a full segment. Unit: B. */
  mss: i64;
  /** The initial congestion window. Unit: B. */
  initial_window: i64;
  /** Differs between flows and not between repetitions of a run. */
  seed: i64;
}

/** `on_established`: The connection is established. */
@unmanaged
export class Established {
  /** Now. Unit: ns. */
  now: i64;
  /** The round-trip time of the handshake. Unit: ns. */
  rtt: i64;
}

/** `on_cached_ssthresh`: Before anything is sent: the host remembers this threshold of an earlier connection. */
@unmanaged
export class CachedSsthresh {
  /** The slow-start threshold. Unit: B. */
  ssthresh: i64;
}

/** `on_ack`: Data was newly acknowledged, cumulatively or selectively. */
@unmanaged
export class Ack {
  /** Now. Unit: ns. */
  now: i64;
  /** By how much the cumulative acknowledgement advanced. Unit: B. */
  acked: i64;
  /** What is newly known to be delivered. Unit: B. */
  delivered: i64;
  /** What is newly marked lost. Unit: B. */
  lost: i64;
  /** What of `delivered` arrived with CE, as the receiver says. Unit: B. */
  ce: i64;
  /** The ECN echo was set, or counted marks grew. Unit: 0/1. */
  ece: i64;
  /** The receiver counts marks (RFC 9768): `ce` is exact. Unit: 0/1. */
  accurate: i64;
  /** A round-trip time measured by this acknowledgement; -1: none. Unit: ns. */
  rtt: i64;
  /** The smoothed round-trip time; 0 before the first sample. Unit: ns. */
  srtt: i64;
  /** The least round-trip time so far; 0 before the first sample. Unit: ns. */
  min_rtt: i64;
  /** In flight before this acknowledgement. Unit: B. */
  prior_in_flight: i64;
  /** In flight after it. Unit: B. */
  in_flight: i64;
  /** Stream offset of the first byte not yet acknowledged cumulatively. Unit: B. */
  snd_una: i64;
  /** Stream offset of the first byte not yet sent. Unit: B. */
  snd_nxt: i64;
  /** Round trips, counted by delivery. */
  round: i64;
  /** This acknowledgement begins a round. Unit: 0/1. */
  round_start: i64;
  /** The window limited the sender: only then may it grow. Unit: 0/1. */
  cwnd_limited: i64;
  /** In recovery, or reducing after an ECN echo: no growth. Unit: 0/1. */
  in_recovery: i64;
  /** Repairs after a timeout: slow start is allowed. Unit: 0/1. */
  in_rto_recovery: i64;
  /** The earliest time at which pacing lets a segment leave; 0 without pacing. Unit: ns. */
  next_departure: i64;
  /** Delivery rate sample: delivered over `rate_interval`; -1: no sample. Unit: B. */
  rate_delivered: i64;
  /** Delivery rate sample: the interval. Unit: ns. */
  rate_interval: i64;
  /** Delivered in all when the sampled segment was sent. Unit: B. */
  rate_prior_delivered: i64;
  /** Delivered in all now. Unit: B. */
  rate_total_delivered: i64;
  /** Marked lost over the sample's flight. Unit: B. */
  rate_lost: i64;
  /** Marked lost in all. Unit: B. */
  rate_total_lost: i64;
  /** In flight when the sampled segment was sent. Unit: B. */
  rate_tx_in_flight: i64;
  /** Delivered with CE over the sample's flight. Unit: B. */
  rate_delivered_ce: i64;
  /** The application had nothing more to send when the sampled segment was sent. Unit: 0/1. */
  rate_app_limited: i64;
}

/** `on_segment_lost`: A segment was marked lost; before the event of the acknowledgement or timeout that marked it. */
@unmanaged
export class SegmentLost {
  /** Stream offset of its first byte. Unit: B. */
  seq: i64;
  /** Its payload. Unit: B. */
  bytes: i64;
  /** In flight when it was sent, itself included. Unit: B. */
  tx_in_flight: i64;
  /** Marked lost since it was sent, itself included. Unit: B. */
  lost: i64;
  /** Delivered in all when it was sent. Unit: B. */
  prior_delivered: i64;
  /** Delivered in all now. Unit: B. */
  total_delivered: i64;
  /** The application had nothing more to send when it was sent. Unit: 0/1. */
  app_limited: i64;
}

/** `on_loss`: A recovery episode begins: reduce once. */
@unmanaged
export class Loss {
  /** Now. Unit: ns. */
  now: i64;
  /** An ECN echo began it, not a lost segment. Unit: 0/1. */
  ecn: i64;
  /** In flight, lost segments left out. Unit: B. */
  in_flight: i64;
  /** Marked lost so far in this episode. Unit: B. */
  lost: i64;
  /** Stream offset of the first byte not yet sent: the episode ends when it is acknowledged. Unit: B. */
  snd_nxt: i64;
  /** The control asked for it by `ask_reduction`. Unit: 0/1. */
  asked: i64;
}

/** `on_recovered`: The recovery episode is over. */
@unmanaged
export class Recovered {
  /** Now. Unit: ns. */
  now: i64;
}

/** `on_rto`: The retransmission timer fired. */
@unmanaged
export class Rto {
  /** Now. Unit: ns. */
  now: i64;
  /** In flight before everything was marked lost. Unit: B. */
  in_flight: i64;
  /** The first timeout of this episode: only then is the threshold lowered. Unit: 0/1. */
  first: i64;
  /** What still counts as in flight. Unit: B. */
  still_in_flight: i64;
  /** Stream offset of the first byte not yet sent. Unit: B. */
  snd_nxt: i64;
}

/** `on_spurious`: The last reduction was spurious: restore the window. */
@unmanaged
export class Spurious {
  /** Now. Unit: ns. */
  now: i64;
}

/** `on_restart`: A transmission while nothing is outstanding, before it is sent: after an idle time, or with a pace below a segment a round trip. */
@unmanaged
export class Restart {
  /** Now. Unit: ns. */
  now: i64;
  /** How long nothing was in flight. Unit: ns. */
  idle: i64;
  /** The current retransmission timeout. Unit: ns. */
  rto: i64;
  /** The application had nothing more to send. Unit: 0/1. */
  app_limited: i64;
}

/** `on_flight_start`: A transmission while nothing is in flight, before it is sent: after an idle time, or when all that is outstanding was lost. */
@unmanaged
export class FlightStart {
  /** Now. Unit: ns. */
  now: i64;
}

/** `haltere_answer`: What a control answers: read after each event. */
@unmanaged
export class ControlAnswer {
  /** The congestion window, at least 1. Unit: B. */
  cwnd: i64;
  /** The slow-start threshold; the largest value: none yet. Unit: B. */
  ssthresh: i64;
  /** The rate at which payload leaves; -1: as soon as the window allows. Unit: bit/s. */
  pacing_rate: i64;
}

/** `start`: A queue discipline is made, before any other event. */
@unmanaged
export class Link {
  /** The rate of the link; -1: packets take no time. Unit: bit/s. */
  rate: i64;
  /** The round-trip time without queues of the flows that cross the link; -1: unknown. Unit: ns. */
  rtt: i64;
  /** The length of a full packet on this link. Unit: B. */
  packet: i64;
  /** Differs between runs. */
  seed: i64;
}

/** `enqueue`: A packet arrives. It waits from now on, unless it is dropped. */
@unmanaged
export class Enqueue {
  /** Now. Unit: ns. */
  now: i64;
  /** The number of the packet: 0, 1, 2 ... in order of arrival. */
  id: i64;
  /** Its length on the link. Unit: B. */
  len: i64;
  /** Its ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE. */
  ecn: i64;
  /** A hash of its flow. */
  flow: i64;
  /** Its priority, 0 to 15. */
  priority: i64;
  /** Its DSCP. */
  dscp: i64;
  /** Offset of its first payload byte in its stream; -1: unknown. Unit: B. */
  stream_offset: i64;
  /** Packets that wait, this one included. */
  backlog_packets: i64;
  /** Bytes that wait, this packet included. Unit: B. */
  backlog_bytes: i64;
}

/** `dequeue`: The link can send: the answer names the next packet. */
@unmanaged
export class Dequeue {
  /** Now. Unit: ns. */
  now: i64;
  /** Packets that wait. */
  backlog_packets: i64;
  /** Bytes that wait. Unit: B. */
  backlog_bytes: i64;
}

/** `on_timer`: The time of `next_timer` has come. */
@unmanaged
export class Timer {
  /** Now. Unit: ns. */
  now: i64;
}

/** `haltere_answer`: What a queue discipline answers: read after each event. */
@unmanaged
export class QueueAnswer {
  /** After `dequeue`: the number of the packet that leaves; -1: none. */
  next: i64;
  /** When `on_timer` is to be called; -1, from the start: never. Unit: ns. */
  next_timer: i64;
  /** When the next packet may leave, of a shaper; -1, from the start: at once. Unit: ns. */
  ready_at: i64;
}

// The table of the interface ends here.

/** What the host wrote before a call: `changetype<Ack>(EVENT)`. */
export const EVENT: usize = memory.data(512, 8);
const PARAMETERS: usize = memory.data(512, 8);
/** What the host reads after a call. */
export const ANSWER: usize = memory.data(280, 8);

export function haltere_abi(): i32 {
  return 1;
}
export function haltere_event(): usize {
  return EVENT;
}
export function haltere_params(): usize {
  return PARAMETERS;
}
export function haltere_answer(): usize {
  return ANSWER;
}

/** The value of a parameter, by its place in the description. */
export function parameter(i: i32): f64 {
  return load<f64>(PARAMETERS + (<usize>i << 3));
}
/** Sets a state variable, by its place in the description. */
export function setState(i: i32, value: f64): void {
  store<f64>(ANSWER + 24 + (<usize>i << 3), value);
}
/** The description in the host's encoding. */
export function encoded(about: string): usize {
  return changetype<usize>(String.UTF8.encode(about, true));
}

/** Ends the run with a message in UTF-8. */
@external("haltere", "fail")
export declare function fail(address: usize, length: i32): void;
/** 64 random bits. */
@external("haltere", "random")
export declare function random(): i64;
/** A control, in `on_ack`: asks for a reduction without loss or echo. If none goes on, one begins, and `on_loss` follows with `asked`. */
@external("haltere", "ask_reduction")
export declare function askReduction(): void;
/** Drops a packet that waits: reason 0, the queue is full; 1, to signal congestion. */
@external("haltere", "drop")
export declare function drop(id: i64, reason: i32): void;
/** Marks a packet that waits: reason 0, congestion; 1, a threshold. 0 if it is not ECN-capable: drop it instead. */
@external("haltere", "mark")
export declare function mark(id: i64, reason: i32): i32;

/** What `throw` and a failed `assert` do: the run ends with the message. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const text = String.UTF8.encode(message === null ? "abort" : message);
  fail(changetype<usize>(text), text.byteLength);
}
