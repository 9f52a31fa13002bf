//! What the world knows beyond the events of a sender: fields of `tcp_info`, `network` and of queues, and exact
//! counters.

use crate::fields::{QUEUE, Row};
use crate::path::ObservedPath;
use crate::window::{log2_ratio, share};
use haltere_plan::record::{FlowRecord, LinkCounters};
use haltere_queue::Backlog;
use haltere_sim::Live;
use haltere_transport::Info;
use haltere_units::{Bytes, Dur, Time};

/// The delay to which delays of a queue are related, in seconds.
const DELAY: f64 = 0.010;

/// Sets the fields that Linux's `tcp_info` has.
pub(crate) fn tcp_info(row: &mut Row, info: &Info) {
    let mss = info.mss.as_f64().max(1.0);
    let segments = |bytes: Bytes| (bytes.as_f64() / mss).ceil();
    let micros = |span: Dur| span.as_ns() as f64 / 1e3;
    let delivery_bps = row.values()[Row::DELIVERY_RATE];
    let limited = f64::from(u8::from(row.values()[Row::APP_LIMITED] > 0.5));
    for (field, value) in [
        (Row::TCPI_CA_STATE, f64::from(info.state as u8)),
        (Row::TCPI_RTO, micros(info.rto)),
        (Row::TCPI_SND_MSS, info.mss.as_f64()),
        (Row::TCPI_UNACKED, segments(info.unacked)),
        (Row::TCPI_SACKED, segments(info.sacked)),
        (Row::TCPI_LOST, segments(info.lost)),
        (Row::TCPI_RETRANS, segments(info.retransmitting)),
        (Row::TCPI_RTT, micros(info.srtt)),
        (Row::TCPI_RTTVAR, micros(info.rttvar)),
        (Row::TCPI_MIN_RTT, micros(info.min_rtt)),
        (Row::TCPI_SND_CWND, (info.cwnd.as_f64() / mss).floor()),
        (Row::TCPI_REORDERING, f64::from(info.reordering)),
        (Row::TCPI_TOTAL_RETRANS, info.retransmissions as f64),
        (Row::TCPI_PACING_RATE, info.pacing_rate.map_or(0.0, |rate| rate.as_bps_f64() / 8.0)),
        (Row::TCPI_BYTES_ACKED, info.acked as f64),
        (Row::TCPI_BYTES_RETRANS, info.bytes_retransmitted as f64),
        (Row::TCPI_DATA_SEGS_OUT, info.segments_sent as f64),
        (Row::TCPI_DELIVERED, info.delivered as f64),
        (Row::TCPI_DELIVERED_CE, info.delivered_ce as f64),
        (Row::TCPI_DELIVERY_RATE, delivery_bps / 8.0),
        (Row::TCPI_DELIVERY_RATE_APP_LIMITED, limited),
    ] {
        row.set(field, value);
    }
}

/// Sets what only the network knows. `received` bytes reached the application in the interval.
pub(crate) fn network(row: &mut Row, received: u64, (from, now): (Time, Time), path: &ObservedPath) {
    let duration = now.since(from).as_secs_f64();
    row.set(Row::TIME, now.as_secs_f64());
    row.set(Row::CAPACITY, share(path.capacity(from, now), duration));
    row.set(Row::PATH_RTT, path.rtt.as_secs_f64());
    row.set(Row::GOODPUT, share(received as f64 * 8.0, duration));
}

/// The counters of a sender after those of the run.
pub(crate) fn sender_counters(line: &FlowRecord) -> [u64; 8] {
    let info = line.sender.unwrap_or_default();
    [
        line.received,
        info.bytes_delivered,
        info.bytes_lost,
        info.bytes_delivered_ce,
        info.segments_sent,
        info.retransmissions,
        info.timeouts,
        info.recoveries,
    ]
}

/// The counters of a link at one instant.
#[derive(Debug, Default)]
pub(crate) struct LinkReading {
    counters: LinkCounters,
    backlog: Backlog,
}

impl LinkReading {
    pub(crate) fn of(live: &mut Live, link: usize) -> LinkReading {
        let (counters, backlog) = live.link_counters(link).unwrap_or_default();
        LinkReading { counters, backlog }
    }
    /// The counters of a queue after those of the run.
    pub(crate) fn counters(&self) -> [u64; 6] {
        let c = &self.counters;
        [c.arrived, c.sent, c.sent_bytes, c.dropped_overlimit + c.dropped_congestion, c.marked, c.lost]
    }
}

/// The fields of a queue for the interval between two readings.
pub(crate) fn link_row(
    before: &LinkReading,
    after: &LinkReading,
    decided: f64,
    (from, now): (Time, Time),
    path: &ObservedPath,
) -> Row {
    let mut row = Row::new(QUEUE);
    let (was, is) = (&before.counters, &after.counters);
    let duration = now.since(from).as_secs_f64();
    let since = |of: fn(&LinkCounters) -> u64| (of(is) - of(was)) as f64;
    let (arrivals, departures, departed) = (since(|c| c.arrived), since(|c| c.sent), since(|c| c.sent_bytes));
    let (overlimit, marked) = (since(|c| c.dropped_overlimit), since(|c| c.marked));
    let dropped = overlimit + since(|c| c.dropped_congestion);
    let backlog_mean = share((is.packet_ns - was.packet_ns) as f64 / 1e9, duration);
    let sojourn = share(backlog_mean * duration, departures);
    let bits = path.capacity(from, now);
    let wait = share(after.backlog.bytes as f64 * 8.0 * duration, bits);
    for (field, value) in [
        (Row::Q_DURATION, duration),
        (Row::Q_ARRIVALS, arrivals),
        (Row::Q_DEPARTURES, departures),
        (Row::Q_DEPARTED, departed),
        (Row::Q_DROPPED, dropped),
        (Row::Q_OVERLIMIT, overlimit),
        (Row::Q_MARKED, marked),
        (Row::Q_BACKLOG, after.backlog.bytes as f64),
        (Row::Q_BACKLOG_PACKETS, f64::from(after.backlog.packets)),
        (Row::Q_BACKLOG_MEAN, backlog_mean),
        (Row::Q_SOJOURN, sojourn),
        (Row::Q_DEPARTURE_RATE, share(departed * 8.0, duration)),
        (Row::Q_PROBABILITY, decided),
        (Row::Q_UTILISATION, share(departed * 8.0, bits)),
        (Row::Q_LOAD, log2_ratio(arrivals, departures)),
        (Row::Q_DELAY, log2_ratio(sojourn, DELAY)),
        (Row::Q_WAIT, log2_ratio(wait, DELAY)),
        (Row::Q_DROP_SHARE, share(dropped, arrivals)),
        (Row::Q_MARK_SHARE, share(marked, arrivals)),
        (Row::Q_PROBABILITY_SIZE, log2_ratio(decided, 1.0)),
        (Row::Q_TIME, now.as_secs_f64()),
        (Row::Q_CAPACITY, share(bits, duration)),
        (Row::Q_PATH_RTT, path.rtt.as_secs_f64()),
    ] {
        row.set(field, value);
    }
    row
}
