//! The sending half of an endpoint.
//!
//! [`Sender`] is made of parts, each in a file that does not know the sender: `buffer.rs` and `send_window.rs` (what
//! may be sent), `pacing.rs`, `window_usage.rs`, `scoreboard.rs`, `rtt.rs`, `rate_sample.rs` (what was measured),
//! `prr.rs`, `episode.rs` (what is repaired) and `timers.rs`. An acknowledgement (`incoming.rs`) comes in by `ack.rs`,
//! segments (`outgoing.rs`) leave by `output.rs`. `sack.rs`, `loss_detection.rs` with `rack.rs`, `recovery.rs`,
//! `undo.rs`, `frto.rs`, `tail_loss_probe.rs`, `offload.rs` and `timeout.rs` have what the sender does with several
//! parts at a time.

mod ack;
mod buffer;
pub(crate) mod episode;
mod frto;
pub(crate) mod incoming;
mod loss_detection;
mod offload;
pub(crate) mod outgoing;
mod output;
mod pacing;
pub(crate) mod prr;
mod pushes;
mod rack;
mod rate_sample;
mod recovery;
pub(crate) mod returned;
pub(crate) mod rtt;
mod sack;
mod scoreboard;
pub(crate) mod send_memory;
mod send_window;
mod tail_loss_probe;
mod timeout;
mod timers;
mod undo;
mod window_usage;

use crate::tcp::established::{Established, SynLoss};
use crate::tcp::params::TcpParams;
use crate::tcp::seq::Offset;
use crate::tcp::time::{Deadline, PosDur};
use buffer::SendBuffer;
use episode::{CaState, Frto, Recovery, Undo};
use haltere_congestion::{CongestionControl, Control, LossEvent, LossKind, RtoEvent};
use haltere_units::{Bytes, Dur, Time};
use loss_detection::LossDetection;
use offload::Units;
use outgoing::{Forced, Output};
use pacing::Pacing;
use prr::{Reduction, ReductionAck};
use rate_sample::Delivery;
use rtt::Rtt;
use sack::Sack;
use scoreboard::Scoreboard;
use send_window::SendWindow;
use tail_loss_probe::TailLossProbe;
use timers::Timers;
use window_usage::WindowUsage;

/// Windows for which a send buffer has room: BBR may begin a slow start while it recovers (Linux's `sndbuf_expand`).
const WINDOWS: u8 = 2;
const BBR_WINDOWS: u8 = 3;

const _: () = assert!(size_of::<Sender>() <= 1200, "a large control stands in a box");

/// The sending half of a connection, made when it is first needed (`connection/lazy.rs`). What an acknowledgement of a
/// steady flow needs comes first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    buffer: SendBuffer,
    window: SendWindow,
    pacing: Pacing,
    recovery: Recovery,
    output: Output,
    timers: Timers,
    board: Scoreboard,
    rtt: Rtt,
    /// The window in force: the control's, or that of proportional rate reduction.
    cwnd: u64,
    /// The control reduces the window in recovery by itself.
    owns_recovery: bool,
    restarts_after_idle: bool,
    units: Units,
    frto: Frto,
    usage: WindowUsage,
    delivery: Delivery,
    control: Control,
    detection: LossDetection,
    reduction: Reduction,
    undo: Undo,
    probe: TailLossProbe,
    sack: Sack,
}

impl Sender {
    pub(crate) fn new(p: &TcpParams, mss: u64, control: Control) -> Sender {
        Sender {
            buffer: SendBuffer::new(p, mss, if control.owns_recovery() { BBR_WINDOWS } else { WINDOWS }),
            window: SendWindow::new(),
            pacing: Pacing::new(),
            recovery: Recovery::new(),
            output: Output::new(),
            timers: Timers::new(p),
            board: Scoreboard::default(),
            rtt: Rtt::new(p),
            cwnd: control.cwnd().as_u64(),
            owns_recovery: control.owns_recovery(),
            restarts_after_idle: p.slow_start_after_idle,
            units: Units::new(p.offload),
            usage: WindowUsage::new(),
            delivery: Delivery::default(),
            control,
            detection: LossDetection::new(p),
            reduction: Reduction::new(p.prr),
            undo: Undo::new(p.undo),
            frto: Frto::new(p.frto),
            probe: TailLossProbe::default(),
            sack: Sack::new(),
        }
    }

    /// The handshake is over.
    pub(crate) fn on_established(&mut self, e: &Established) {
        self.on_syn_lost(e.at, e.lost);
        if let Some(rtt) = e.rtt.map(PosDur::dur) {
            self.rtt.sample_min(rtt, e.at, false);
            self.rtt.sample(rtt, Offset::FIRST, Offset::FIRST);
            self.control.on_established(e.at, rtt);
        } else {
            self.rtt.begin_without_sample();
        }
        self.refresh_cwnd();
    }
    /// The host remembers this round-trip time.
    pub(crate) fn recall_rtt(&mut self, rtt: Dur) {
        self.rtt.recall(rtt);
    }
    /// The host remembers this degree of reordering.
    pub(crate) fn recall_reordering(&mut self, degree: u32) {
        self.detection.recall(degree);
    }
    /// Linux: a timeout for the control, after which the initial window returns if it was the only one. A control that
    /// owns its recovery begins anew.
    fn on_syn_lost(&mut self, now: Time, lost: SynLoss) {
        if lost == SynLoss::None || self.owns_recovery {
            return;
        }
        let mut ev = RtoEvent::at(now);
        ev.first = true;
        if lost == SynLoss::One {
            // The loss window is one segment more than what counts as in flight.
            ev.still_in_flight = Bytes::new(self.control.cwnd().as_u64().saturating_sub(self.buffer.mss()));
        }
        self.control.on_rto(&ev);
    }
    /// The handshake agreed on SACK or not, and the peer's window ends at `window_end`.
    pub(crate) fn on_options(&mut self, sack: bool, window_end: Offset) {
        self.sack.enable(sack);
        self.window.open(window_end);
        self.buffer.on_first_window(self.window.largest());
    }
    /// The handshake agreed on segments of another size.
    pub(crate) fn on_agreed_mss(&mut self, mss: u64, control: Control) {
        self.buffer.set_mss(mss);
        self.control = control;
        self.refresh_cwnd();
    }
    /// What a lazy sender knew of the peer's window.
    pub(crate) fn restore_window(&mut self, end: Offset, seq: Offset) {
        self.window.restore(end, seq);
    }

    /// Takes the window from whatever sets it now.
    #[inline]
    pub(crate) fn refresh_cwnd(&mut self) {
        let reducing = self.recovery.is_reducing() && !self.owns_recovery;
        self.cwnd = if reducing { self.reduction.cwnd() } else { self.control.cwnd().as_u64() };
    }
    /// RFC 6937: an acknowledgement of a reduction sets the window. `good`: it advanced without news of loss.
    fn reduce(&mut self, delivered: u64, good: bool) {
        let (mss, ssthresh) = (self.buffer.mss(), self.control.ssthresh().as_u64());
        self.reduction.on_ack(&ReductionAck { mss, ssthresh, in_flight: self.in_flight(), delivered, good });
    }
    /// RFC 7661 as Linux has it: may the window grow?
    #[inline]
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        self.usage.was_limited()
            || (self.control.cwnd() < self.control.ssthresh()
                && self.cwnd < 2 * u64::from(self.usage.max_out()) * self.buffer.mss())
    }

    /// The application writes. Gives the bytes that the send buffer took.
    pub(crate) fn write(&mut self, bytes: u64, now: Time) -> u64 {
        if self.buffer.writable() > 0 && bytes > 0 {
            self.note_starvation(now);
        }
        self.buffer.write(bytes, self.window.largest())
    }
    /// More is about to be written. If the window is not full for want of data, samples of this flight show the
    /// application, not the path.
    fn note_starvation(&mut self, now: Time) {
        self.note_starvation_of(self.in_flight(), self.may_leave_soon(now));
    }
    /// The same with so many bytes in flight, and so many that leave before.
    fn note_starvation_of(&mut self, in_flight: u64, leaves: u64) {
        let starved = self.buffer.unsent() < self.buffer.mss() + leaves;
        if starved && in_flight + leaves < self.cwnd && !self.board.has_unrepaired() {
            self.delivery.set_app_limited(in_flight + leaves);
        }
    }
    /// Bytes written before that leave now, in whole segments.
    fn may_leave_soon(&self, now: Time) -> u64 {
        let room = self.cwnd.saturating_sub(self.in_flight()).min(self.window.end().since(self.buffer.nxt()));
        let unsent = self.buffer.unsent().min(room);
        if self.control.pacing_rate().is_some() {
            return unsent.min(self.pacing.sendable(now, self.output.segments()) * self.buffer.mss());
        }
        unsent - unsent % self.buffer.mss()
    }
    /// Bytes that [`write`](Sender::write) would take.
    pub(crate) fn writable(&self) -> u64 {
        self.buffer.writable()
    }
    /// An acknowledgement has come: there may be room for an application that waits. Linux: the buffer is tuned if the
    /// window is not full after one segment more has left, or after all that was written has.
    #[inline]
    fn make_room(&mut self, now: Time) {
        let mss = self.buffer.mss();
        let lost = self.board.lost().bytes.saturating_sub(self.board.retrans().bytes);
        let out = self.in_flight() + lost + mss;
        if out <= self.cwnd && out + self.may_leave_soon(now).min(mss) <= self.cwnd {
            self.buffer.tune((self.cwnd / mss).max(u64::from(self.detection.reordering()) + 1));
        }
        self.buffer.set_merged(u64::from(self.board.joined()));
        if self.buffer.wakes_writer(now) {
            self.note_starvation(now);
            self.buffer.refill(self.window.largest());
        }
    }
    /// Writes bytes whatever the size of the send buffer.
    pub(crate) fn append(&mut self, bytes: u64) {
        self.buffer.append(bytes);
    }
    pub(crate) fn write_endless(&mut self) {
        self.buffer.write_endless(self.window.largest());
    }
    pub(crate) fn close(&mut self) {
        self.buffer.close();
    }
    /// The connection was reset.
    pub(crate) fn stop(&mut self) {
        self.timers.clear();
    }
    /// Asks the peer for an acknowledgement, with data if its window lets it.
    pub(crate) fn force_window_probe(&mut self) {
        self.output.force(Forced::WindowProbe);
    }
    /// True if this segment carries CWR (RFC 3168 section 6.1.2).
    #[inline]
    pub(crate) fn take_cwr(&mut self) -> bool {
        self.recovery.take_cwr()
    }
    /// True if pacing lets a segment leave now; else the sender wakes up when it does.
    pub(crate) fn may_pace(&mut self, now: Time) -> bool {
        self.pacing.may_send(now)
    }
    /// For events that come from outside the connection.
    pub(crate) fn control_mut(&mut self) -> &mut Control {
        &mut self.control
    }
    /// Reduces the window though nothing was lost and nothing is to be taken back, if the sender is in no episode.
    pub(crate) fn penalise(&mut self, now: Time) -> bool {
        if self.recovery.state() != CaState::Open {
            return false;
        }
        let mut ev = LossEvent::at(now, LossKind::Ecn);
        ev.in_flight = Bytes::new(self.in_flight());
        ev.snd_nxt = self.buffer.nxt().get();
        self.control.on_loss(&ev);
        self.refresh_cwnd();
        true
    }
}

/// What others may know.
impl Sender {
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.board.in_flight()
    }
    /// True if nothing was sent that is not acknowledged.
    pub(crate) fn is_all_acked(&self) -> bool {
        self.board.is_empty()
    }
    #[inline]
    pub(crate) fn buffer(&self) -> &SendBuffer {
        &self.buffer
    }
    #[inline]
    pub(crate) fn una(&self) -> Offset {
        self.buffer.una()
    }
    #[inline]
    pub(crate) fn nxt(&self) -> Offset {
        self.buffer.nxt()
    }
    #[inline]
    pub(crate) fn mss(&self) -> u64 {
        self.buffer.mss()
    }
    /// The first offset that the peer does not take.
    pub(crate) fn window_end(&self) -> Offset {
        self.window.end()
    }
    /// The window in force.
    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }
    #[inline]
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }
    #[inline]
    pub(crate) fn srtt(&self) -> Option<PosDur> {
        self.rtt.srtt()
    }
    #[inline]
    pub(crate) fn rtt(&self) -> &Rtt {
        &self.rtt
    }
    #[inline]
    pub(crate) fn output(&self) -> &Output {
        &self.output
    }
    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }
    pub(crate) fn board(&self) -> &Scoreboard {
        &self.board
    }
    pub(crate) fn delivery(&self) -> &Delivery {
        &self.delivery
    }
    pub(crate) fn recovery(&self) -> &Recovery {
        &self.recovery
    }
    /// Degree of reordering in segments.
    pub(crate) fn reordering(&self) -> u32 {
        self.detection.reordering()
    }
    pub(crate) fn undone(&self) -> u64 {
        self.undo.undone()
    }
    /// Segments that the peer reported as received twice.
    pub(crate) fn duplicates(&self) -> u64 {
        self.sack.duplicates()
    }
    /// When [`on_timeout`](Sender::on_timeout) has something to do.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Deadline {
        self.timers.due().earliest(self.pacing.wake())
    }
    /// The record of the oldest segment that is not acknowledged: what an acknowledgement reads first.
    #[inline(always)]
    pub(crate) fn oldest_record(&self) -> Option<&impl Sized> {
        self.board.front()
    }
    /// Bytes of memory with the heap.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Sender>() + self.board.heap() + self.buffer.heap()
    }
}
