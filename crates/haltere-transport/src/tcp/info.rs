//! What a connection shows of itself.

use crate::tcp::connection::Connection;
use crate::tcp::sender::Sender;
use crate::tcp::sender::episode::CaState;
use crate::tcp::sender::returned::Returned;
use crate::tcp::seq::Offset;
use crate::tcp::time::or_zero;
use haltere_congestion::CongestionControl;
use haltere_units::{Bytes, Dur, Rate};

/// What a connection shows of itself (Linux's `TCP_INFO`).
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Info {
    /// Congestion window in force (in recovery, that of proportional rate reduction).
    pub cwnd: Bytes,
    /// Slow-start threshold.
    pub ssthresh: Bytes,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Bytes sent and not acknowledged cumulatively.
    pub unacked: Bytes,
    /// Bytes that the receiver holds out of order.
    pub sacked: Bytes,
    /// Bytes marked lost now.
    pub lost: Bytes,
    /// Bytes of retransmissions in flight.
    pub retransmitting: Bytes,
    /// State of the sender.
    pub state: CaState,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// Mean deviation of the round-trip time (`RTTVAR`).
    pub rttvar: Dur,
    /// Least round-trip time; zero before the first sample.
    pub min_rtt: Dur,
    /// Retransmission timeout, backed off.
    pub rto: Dur,
    /// Pacing rate, if the control paces.
    pub pacing_rate: Option<Rate>,
    /// Window that the peer still leaves open.
    pub peer_window: Bytes,
    /// Receive window that this side can advertise at most now.
    pub recv_window: Bytes,
    /// Largest payload of a segment.
    pub mss: Bytes,
    /// Degree of reordering in segments.
    pub reordering: u32,
    /// The window is what limits the sender.
    pub cwnd_limited: bool,
    /// Payload bytes acknowledged by the peer, in order.
    pub acked: u64,
    /// Payload bytes received in order.
    pub received: u64,
    /// Segments sent with payload, retransmissions included.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Bytes retransmitted.
    pub bytes_retransmitted: u64,
    /// Bytes marked lost in all.
    pub bytes_lost: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Recovery episodes begun by loss.
    pub recoveries: u64,
    /// Reductions that answered an ECN echo.
    pub ecn_reductions: u64,
    /// Reductions taken back because nothing had been lost.
    pub undone: u64,
    /// Segments that the peer reported as received twice.
    pub dsacks: u64,
    /// Segments delivered in all.
    pub delivered: u64,
    /// Segments delivered with a CE mark (as far as the echo shows).
    pub delivered_ce: u64,
    /// Bytes delivered in all, and with a CE mark.
    pub bytes_delivered: u64,
    /// Bytes delivered with a CE mark.
    pub bytes_delivered_ce: u64,
    /// Data segments received more than once.
    pub duplicates: u64,
    /// Data segments received with CE.
    pub ce_received: u64,
    /// Segments of ours that the network returned with a mark, and that counted.
    pub returned: u64,
    /// Returned segments that were acknowledged, or counted, before.
    pub returned_late: u64,
    /// Rounds counted by delivery.
    pub rounds: u64,
    /// ECN was negotiated.
    pub ecn: bool,
    /// The connection was given up or reset.
    pub reset: bool,
}

impl Connection {
    /// What the connection shows of itself.
    pub fn info(&self) -> Info {
        self.with_sender(|tx| self.info_of(tx))
    }

    fn info_of(&self, tx: &Sender) -> Info {
        let rx = self.receiver();
        let (board, rtt, delivery, recovery) = (tx.board(), tx.rtt(), tx.delivery(), tx.recovery());
        let Returned { counted: returned, late: returned_late } = self.returned;
        Info {
            cwnd: Bytes::new(tx.cwnd()),
            ssthresh: tx.control().ssthresh(),
            in_flight: Bytes::new(tx.in_flight()),
            unacked: Bytes::new(tx.nxt() - tx.una()),
            sacked: Bytes::new(board.sacked().bytes),
            lost: Bytes::new(board.lost().bytes),
            retransmitting: Bytes::new(board.retrans().bytes),
            state: recovery.state(),
            srtt: or_zero(rtt.srtt()),
            rttvar: rtt.var(),
            min_rtt: or_zero(rtt.min()),
            rto: rtt.rto(),
            pacing_rate: tx.control().pacing_rate(),
            peer_window: Bytes::new(tx.window_end().since(tx.nxt())),
            recv_window: Bytes::new(rx.window().size()),
            mss: Bytes::new(tx.mss()),
            reordering: tx.reordering(),
            cwnd_limited: tx.is_cwnd_limited(),
            acked: tx.buffer().fin().bound(tx.una()).since(Offset::FIRST),
            received: rx.stream_end().since(Offset::FIRST),
            segments_sent: tx.output().segments(),
            retransmissions: tx.output().retransmissions(),
            bytes_retransmitted: tx.output().bytes_retransmitted(),
            bytes_lost: delivery.bytes_lost(),
            timeouts: tx.timers().timeouts(),
            recoveries: recovery.recoveries(),
            ecn_reductions: recovery.ecn_reductions(),
            undone: tx.undone(),
            dsacks: tx.duplicates(),
            delivered: delivery.segments(),
            delivered_ce: delivery.segments_ce(),
            bytes_delivered: delivery.bytes(),
            bytes_delivered_ce: delivery.bytes_ce(),
            duplicates: rx.duplicates(),
            ce_received: rx.echo().ce_segments(),
            returned,
            returned_late,
            rounds: delivery.rounds(),
            ecn: self.uses_ecn(),
            reset: self.is_reset(),
        }
    }
}
