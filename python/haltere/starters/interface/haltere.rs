//! Haltere's interface for WebAssembly modules, version 1. This file stays as it is: write the mechanism in `lib.rs`.
//!
//! A time is in nanoseconds, a size in bytes, a rate in bits a second, a truth value 0 or 1. What is not there is -1.

#![allow(dead_code, unused_imports, unused_macros)]

use std::ffi::CStr;

/// The version of the interface.
pub const VERSION: i32 = 1;
/// A window or a time without a limit.
pub const UNLIMITED: i64 = i64::MAX;

/// Declares an event: every field has 8 bytes, in this order.
macro_rules! event {
    ($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $field:ident,)+ }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$what])* pub $field: i64,)+
        }
    };
}

// The table of the interface begins here.

event! {
    /// `start`: A control is made, before any other event.
    Start {
        /// Payload of a full segment. Unit: B.
        mss,
        /// The initial congestion window. Unit: B.
        initial_window,
        /// Differs between flows and not between repetitions of a run.
        seed,
    }
}

event! {
    /// `on_established`: The connection is established.
    Established {
        /// Now. Unit: ns.
        now,
        /// The round-trip time of the handshake. Unit: ns.
        rtt,
    }
}

event! {
    /// `on_cached_ssthresh`: Before anything is sent: the host remembers this threshold of an earlier connection.
    CachedSsthresh {
        /// The slow-start threshold. Unit: B.
        ssthresh,
    }
}

event! {
    /// `on_ack`: Data was newly acknowledged, cumulatively or selectively.
    Ack {
        /// Now. Unit: ns.
        now,
        /// By how much the cumulative acknowledgement advanced. Unit: B.
        acked,
        /// What is newly known to be delivered. Unit: B.
        delivered,
        /// What is newly marked lost. Unit: B.
        lost,
        /// What of `delivered` arrived with CE, as the receiver says. Unit: B.
        ce,
        /// The ECN echo was set, or counted marks grew. Unit: 0/1.
        ece,
        /// The receiver counts marks (RFC 9768): `ce` is exact. Unit: 0/1.
        accurate,
        /// A round-trip time measured by this acknowledgement; -1: none. Unit: ns.
        rtt,
        /// The smoothed round-trip time; 0 before the first sample. Unit: ns.
        srtt,
        /// The least round-trip time so far; 0 before the first sample. Unit: ns.
        min_rtt,
        /// In flight before this acknowledgement. Unit: B.
        prior_in_flight,
        /// In flight after it. Unit: B.
        in_flight,
        /// Stream offset of the first byte not yet acknowledged cumulatively. Unit: B.
        snd_una,
        /// Stream offset of the first byte not yet sent. Unit: B.
        snd_nxt,
        /// Round trips, counted by delivery.
        round,
        /// This acknowledgement begins a round. Unit: 0/1.
        round_start,
        /// The window limited the sender: only then may it grow. Unit: 0/1.
        cwnd_limited,
        /// In recovery, or reducing after an ECN echo: no growth. Unit: 0/1.
        in_recovery,
        /// Repairs after a timeout: slow start is allowed. Unit: 0/1.
        in_rto_recovery,
        /// The earliest time at which pacing lets a segment leave; 0 without pacing. Unit: ns.
        next_departure,
        /// Delivery rate sample: delivered over `rate_interval`; -1: no sample. Unit: B.
        rate_delivered,
        /// Delivery rate sample: the interval. Unit: ns.
        rate_interval,
        /// Delivered in all when the sampled segment was sent. Unit: B.
        rate_prior_delivered,
        /// Delivered in all now. Unit: B.
        rate_total_delivered,
        /// Marked lost over the sample's flight. Unit: B.
        rate_lost,
        /// Marked lost in all. Unit: B.
        rate_total_lost,
        /// In flight when the sampled segment was sent. Unit: B.
        rate_tx_in_flight,
        /// Delivered with CE over the sample's flight. Unit: B.
        rate_delivered_ce,
        /// The application had nothing more to send when the sampled segment was sent. Unit: 0/1.
        rate_app_limited,
    }
}

event! {
    /// `on_segment_lost`: A segment was marked lost; before the event of the acknowledgement or timeout that marked it.
    SegmentLost {
        /// Stream offset of its first byte. Unit: B.
        seq,
        /// Its payload. Unit: B.
        bytes,
        /// In flight when it was sent, itself included. Unit: B.
        tx_in_flight,
        /// Marked lost since it was sent, itself included. Unit: B.
        lost,
        /// Delivered in all when it was sent. Unit: B.
        prior_delivered,
        /// Delivered in all now. Unit: B.
        total_delivered,
        /// The application had nothing more to send when it was sent. Unit: 0/1.
        app_limited,
    }
}

event! {
    /// `on_loss`: A recovery episode begins: reduce once.
    Loss {
        /// Now. Unit: ns.
        now,
        /// An ECN echo began it, not a lost segment. Unit: 0/1.
        ecn,
        /// In flight, lost segments left out. Unit: B.
        in_flight,
        /// Marked lost so far in this episode. Unit: B.
        lost,
        /// Stream offset of the first byte not yet sent: the episode ends when it is acknowledged. Unit: B.
        snd_nxt,
        /// The control asked for it by `ask_reduction`. Unit: 0/1.
        asked,
    }
}

event! {
    /// `on_recovered`: The recovery episode is over.
    Recovered {
        /// Now. Unit: ns.
        now,
    }
}

event! {
    /// `on_rto`: The retransmission timer fired.
    Rto {
        /// Now. Unit: ns.
        now,
        /// In flight before everything was marked lost. Unit: B.
        in_flight,
        /// The first timeout of this episode: only then is the threshold lowered. Unit: 0/1.
        first,
        /// What still counts as in flight. Unit: B.
        still_in_flight,
        /// Stream offset of the first byte not yet sent. Unit: B.
        snd_nxt,
    }
}

event! {
    /// `on_spurious`: The last reduction was spurious: restore the window.
    Spurious {
        /// Now. Unit: ns.
        now,
    }
}

event! {
    /// `on_restart`: A transmission while nothing is outstanding, before it is sent: after an idle time, or with a pace below a segment a round trip.
    Restart {
        /// Now. Unit: ns.
        now,
        /// How long nothing was in flight. Unit: ns.
        idle,
        /// The current retransmission timeout. Unit: ns.
        rto,
        /// The application had nothing more to send. Unit: 0/1.
        app_limited,
    }
}

event! {
    /// `on_flight_start`: A transmission while nothing is in flight, before it is sent: after an idle time, or when all that is outstanding was lost.
    FlightStart {
        /// Now. Unit: ns.
        now,
    }
}

event! {
    /// `haltere_answer`: What a control answers: read after each event.
    ControlAnswer {
        /// The congestion window, at least 1. Unit: B.
        cwnd,
        /// The slow-start threshold; the largest value: none yet. Unit: B.
        ssthresh,
        /// The rate at which payload leaves; -1: as soon as the window allows. Unit: bit/s.
        pacing_rate,
    }
}

event! {
    /// `start`: A queue discipline is made, before any other event.
    Link {
        /// The rate of the link; -1: packets take no time. Unit: bit/s.
        rate,
        /// The round-trip time without queues of the flows that cross the link; -1: unknown. Unit: ns.
        rtt,
        /// The length of a full packet on this link. Unit: B.
        packet,
        /// Differs between runs.
        seed,
    }
}

event! {
    /// `enqueue`: A packet arrives. It waits from now on, unless it is dropped.
    Enqueue {
        /// Now. Unit: ns.
        now,
        /// The number of the packet: 0, 1, 2 ... in order of arrival.
        id,
        /// Its length on the link. Unit: B.
        len,
        /// Its ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE.
        ecn,
        /// A hash of its flow.
        flow,
        /// Its priority, 0 to 15.
        priority,
        /// Its DSCP.
        dscp,
        /// Offset of its first payload byte in its stream; -1: unknown. Unit: B.
        stream_offset,
        /// Packets that wait, this one included.
        backlog_packets,
        /// Bytes that wait, this packet included. Unit: B.
        backlog_bytes,
    }
}

event! {
    /// `dequeue`: The link can send: the answer names the next packet.
    Dequeue {
        /// Now. Unit: ns.
        now,
        /// Packets that wait.
        backlog_packets,
        /// Bytes that wait. Unit: B.
        backlog_bytes,
    }
}

event! {
    /// `on_timer`: The time of `next_timer` has come.
    Timer {
        /// Now. Unit: ns.
        now,
    }
}

event! {
    /// `haltere_answer`: What a queue discipline answers: read after each event.
    QueueAnswer {
        /// After `dequeue`: the number of the packet that leaves; -1: none.
        next,
        /// When `on_timer` is to be called; -1, from the start: never. Unit: ns.
        next_timer,
        /// When the next packet may leave, of a shaper; -1, from the start: at once. Unit: ns.
        ready_at,
    }
}

// The table of the interface ends here.

/// A congestion control. What it does not have does nothing.
pub trait Control: Sized {
    /// The description: a JSON text.
    const ABOUT: &'static CStr;
    /// A sender at its initial window. The parameters are in the order of the description.
    fn start(sender: &Start, parameters: &[f64]) -> Self;
    /// See [`Established`].
    fn on_established(&mut self, _: &Established) {}
    /// See [`CachedSsthresh`].
    fn on_cached_ssthresh(&mut self, _: &CachedSsthresh) {}
    /// See [`Ack`].
    fn on_ack(&mut self, ev: &Ack);
    /// After `on_ack`: true asks for a reduction without loss or echo. If none goes on, one begins, and `on_loss` follows with `asked`.
    fn wants_reduction(&self) -> bool {
        false
    }
    /// See [`SegmentLost`].
    fn on_segment_lost(&mut self, _: &SegmentLost) {}
    /// See [`Loss`].
    fn on_loss(&mut self, ev: &Loss);
    /// See [`Recovered`].
    fn on_recovered(&mut self, _: &Recovered) {}
    /// See [`Rto`].
    fn on_rto(&mut self, ev: &Rto);
    /// See [`Spurious`].
    fn on_spurious(&mut self, _: &Spurious) {}
    /// See [`Restart`].
    fn on_restart(&mut self, _: &Restart) {}
    /// See [`FlightStart`].
    fn on_flight_start(&mut self, _: &FlightStart) {}
    /// Window, threshold and pacing rate now.
    fn answer(&self) -> ControlAnswer;
    /// Writes the values of the state variables, in the order of the description.
    fn state(&self, _values: &mut [f64]) {}
}

/// A queue discipline. It names packets by their numbers; the host has the packets.
pub trait Queue: Sized {
    /// The description: a JSON text.
    const ABOUT: &'static CStr;
    /// An empty queue on that link. The parameters are in the order of the description.
    fn start(link: &Link, parameters: &[f64]) -> Self;
    /// See [`Enqueue`].
    fn enqueue(&mut self, packet: &Enqueue, host: &mut impl Host);
    /// See [`Dequeue`]: the number of the packet that leaves.
    fn dequeue(&mut self, ev: &Dequeue, host: &mut impl Host) -> Option<i64>;
    /// Writes the values of the state variables, in the order of the description.
    fn state(&self, _values: &mut [f64]) {}
}

/// What a queue discipline may ask for.
pub trait Host {
    /// Drops a packet that waits: the queue is full.
    fn drop_overlimit(&mut self, id: i64);
    /// Drops a packet that waits, to signal congestion.
    fn drop_congestion(&mut self, id: i64);
    /// Marks a packet that waits. False if it is not ECN-capable: drop it instead.
    fn mark(&mut self, id: i64) -> bool;
    /// 64 random bits.
    fn random(&mut self) -> u64;
}

/// Exports the functions that every module has; `$tell` is called at each event.
macro_rules! export_events {
    ($tell:ident, $mechanism:ty, $($event:ident),+) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $event() {
                $tell(<$mechanism>::$event);
            }
        )+
    };
}

/// Exports a congestion control.
macro_rules! export_control {
    ($control:ty) => {
        #[cfg(target_arch = "wasm32")]
        mod exports {
            use super::*;
            use crate::haltere::{Control, export_events, room};

            static mut CONTROL: Option<$control> = None;

            #[unsafe(no_mangle)]
            extern "C" fn haltere_about() -> i32 {
                <$control as Control>::ABOUT.as_ptr() as i32
            }
            #[unsafe(no_mangle)]
            extern "C" fn start() {
                room::report_panics();
                let control = <$control as Control>::start(room::event(), room::parameters());
                answer(&control);
                // SAFETY: a module has one thread, and no call of the host comes within another.
                unsafe { CONTROL = Some(control) };
            }
            fn answer(control: &$control) {
                let to = control.answer();
                room::answer([to.cwnd, to.ssthresh, to.pacing_rate], |values| control.state(values));
            }
            fn tell<E: 'static>(handle: fn(&mut $control, &E)) {
                // SAFETY: as above; `start` is called first.
                let control = unsafe { (*&raw mut CONTROL).as_mut() }.expect("started");
                handle(control, room::event());
                answer(control);
            }
            #[unsafe(no_mangle)]
            extern "C" fn on_ack() {
                tell(<$control>::on_ack);
                // SAFETY: as above.
                if unsafe { (*&raw const CONTROL).as_ref() }.is_some_and(<$control>::wants_reduction) {
                    room::ask_reduction();
                }
            }
            export_events!(tell, $control, on_established, on_cached_ssthresh, on_segment_lost, on_loss);
            export_events!(tell, $control, on_recovered, on_rto, on_spurious, on_restart, on_flight_start);
        }
    };
}

/// Exports a queue discipline.
macro_rules! export_queue {
    ($queue:ty) => {
        #[cfg(target_arch = "wasm32")]
        mod exports {
            use super::*;
            use crate::haltere::{Queue, room};

            static mut QUEUE: Option<$queue> = None;

            #[unsafe(no_mangle)]
            extern "C" fn haltere_about() -> i32 {
                <$queue as Queue>::ABOUT.as_ptr() as i32
            }
            #[unsafe(no_mangle)]
            extern "C" fn start() {
                room::report_panics();
                let queue = <$queue as Queue>::start(room::event(), room::parameters());
                room::answer([-1; 3], |values| queue.state(values));
                // SAFETY: a module has one thread, and no call of the host comes within another.
                unsafe { QUEUE = Some(queue) };
            }
            fn queue() -> &'static mut $queue {
                // SAFETY: as above; `start` is called first.
                unsafe { (*&raw mut QUEUE).as_mut() }.expect("started")
            }
            #[unsafe(no_mangle)]
            extern "C" fn enqueue() {
                let queue = queue();
                queue.enqueue(room::event(), &mut room::Haltere);
                room::state(|values| queue.state(values));
            }
            #[unsafe(no_mangle)]
            extern "C" fn dequeue() {
                let queue = queue();
                room::next(queue.dequeue(room::event(), &mut room::Haltere).unwrap_or(-1));
                room::state(|values| queue.state(values));
            }
        }
    };
}

pub(crate) use {export_control, export_events, export_queue};

/// The memory that the host reads and writes, and what it offers.
#[cfg(target_arch = "wasm32")]
pub mod room {
    #[repr(C, align(8))]
    struct Event([u8; 512]);
    #[repr(C)]
    struct Answer([i64; 3], [f64; 32]);

    static mut EVENT: Event = Event([0; 512]);
    static mut PARAMETERS: [f64; 64] = [0.0; 64];
    static mut ANSWER: Answer = Answer([-1; 3], [0.0; 32]);

    #[unsafe(no_mangle)]
    extern "C" fn haltere_abi() -> i32 {
        super::VERSION
    }
    #[unsafe(no_mangle)]
    extern "C" fn haltere_event() -> i32 {
        &raw const EVENT as i32
    }
    #[unsafe(no_mangle)]
    extern "C" fn haltere_params() -> i32 {
        &raw const PARAMETERS as i32
    }
    #[unsafe(no_mangle)]
    extern "C" fn haltere_answer() -> i32 {
        &raw const ANSWER as i32
    }

    /// The event that the host wrote. It is valid until the handler returns.
    pub fn event<E>() -> &'static E {
        const { assert!(size_of::<E>() <= 512 && align_of::<E>() <= 8) };
        // SAFETY: every event is a sequence of 8-byte integers, for which any bytes are valid.
        unsafe { &*(&raw const EVENT).cast() }
    }
    /// The values of the parameters.
    pub fn parameters() -> &'static [f64] {
        // SAFETY: the host writes them before `start`, and never again.
        unsafe { &*(&raw const PARAMETERS) }
    }
    /// Writes the answer, and has the state variables written.
    pub fn answer(answer: [i64; 3], state: impl FnOnce(&mut [f64])) {
        // SAFETY: a module has one thread, and the host reads after the call.
        unsafe { (&raw mut ANSWER.0).write(answer) };
        self::state(state);
    }
    /// Writes the first field of the answer. The others stay as they are.
    pub fn next(next: i64) {
        // SAFETY: as above.
        unsafe { (&raw mut ANSWER.0).cast::<i64>().write(next) };
    }
    /// Has the state variables written.
    pub fn state(state: impl FnOnce(&mut [f64])) {
        // SAFETY: as above; nothing else refers to them meanwhile.
        state(unsafe { &mut *(&raw mut ANSWER.1) });
    }

    #[link(wasm_import_module = "haltere")]
    unsafe extern "C" {
        fn fail(address: i32, length: i32);
        safe fn random() -> i64;
        #[link_name = "ask_reduction"]
        safe fn host_ask_reduction();
        #[link_name = "drop"]
        safe fn drop_packet(id: i64, reason: i32);
        safe fn mark(id: i64, reason: i32) -> i32;
    }

    /// The host of a queue discipline.
    pub struct Haltere;

    impl super::Host for Haltere {
        fn drop_overlimit(&mut self, id: i64) {
            drop_packet(id, 0);
        }
        fn drop_congestion(&mut self, id: i64) {
            drop_packet(id, 1);
        }
        fn mark(&mut self, id: i64) -> bool {
            mark(id, 0) != 0
        }
        fn random(&mut self) -> u64 {
            random() as u64
        }
    }

    /// 64 random bits for a congestion control.
    pub fn random_bits() -> u64 {
        random() as u64
    }
    /// Asks for a reduction: [`wants_reduction`](super::Control::wants_reduction).
    pub fn ask_reduction() {
        host_ask_reduction();
    }
    /// A panic ends the run with its message.
    pub fn report_panics() {
        std::panic::set_hook(Box::new(|info| {
            let message = info.to_string();
            // SAFETY: the host reads the message in place.
            unsafe { fail(message.as_ptr() as i32, message.len() as i32) };
        }));
    }
}
