//! Fields of observations: the one home of their names, units, meanings and ranges.
//!
//! A [`Row`] has the value of every field of a table for one interval. Observations, rewards and policies take columns
//! of it by name. Documentation, spaces and error messages follow from the tables.

/// What a field is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Its name in observations and policy files.
    pub name: &'static str,
    /// Its group: `window`, `scaled`, `tcp_info` or `network`.
    pub group: &'static str,
    /// Its unit; `1` if it has none, `log2` for the binary logarithm of a ratio.
    pub unit: &'static str,
    /// The least value that it takes.
    pub low: f64,
    /// The largest value; infinite if there is none.
    pub high: f64,
    /// What is measured, for the documents.
    pub meaning: &'static str,
}

impl Field {
    /// The value, in the field's range. A value that is no number becomes the least one.
    #[inline]
    fn limit(&self, value: f64) -> f64 {
        match value {
            value if value.is_nan() || value < self.low => self.low,
            value if value > self.high => self.high,
            value => value,
        }
    }
}

/// The values of all fields of a table, for one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    table: &'static [Field],
    values: Vec<f64>,
}

impl Row {
    /// A row of that table with nothing measured.
    pub fn new(table: &'static [Field]) -> Row {
        Row { table, values: table.iter().map(|spec| spec.limit(0.0)).collect() }
    }
    /// Sets the field with that number. The value is moved into the field's range.
    pub fn set(&mut self, field: usize, value: f64) {
        self.values[field] = self.table[field].limit(value);
    }
    /// The values in the table's order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// The number of the field of that name.
pub fn position(table: &[Field], name: &str) -> Option<usize> {
    table.iter().position(|spec| spec.name == name)
}

macro_rules! fields {
    (
        $(#[$doc:meta])* $table:ident, $numbers:ident;
        $($group:ident { $($constant:ident $name:ident $unit:literal $low:literal $high:expr, $meaning:literal;)+ })+
    ) => {
        $(#[$doc])*
        pub const $table: &[Field] = &[$($(Field {
            name: stringify!($name), group: stringify!($group), unit: $unit, low: $low, high: $high, meaning: $meaning,
        }),+),+];

        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "they become constants")]
        enum $numbers { $($($constant),+),+ }

        /// The number of each field in the table.
        impl Row { $($(pub const $constant: usize = $numbers::$constant as usize;)+)+ }
    };
}

const MOST: f64 = f64::INFINITY;

fields! {
    /// What a sender that decides observes.
    SENDER, SenderNumbers;
    window {
        DURATION duration "s" 0.0 MOST, "Length of the interval.";
        ACKED acked "B" 0.0 MOST, "Payload newly delivered, cumulatively or selectively.";
        LOST lost "B" 0.0 MOST, "Payload newly marked lost.";
        MARKED marked "B" 0.0 MOST, "Payload newly delivered with a CE mark.";
        SENT sent "B" 0.0 MOST, "Payload sent, retransmissions included, up to the last acknowledgement.";
        ACKS acks "1" 0.0 MOST, "Acknowledgements that delivered or lost something.";
        EPISODES episodes "1" 0.0 MOST, "Recovery episodes begun by a loss or by an ECN echo.";
        TIMEOUTS timeouts "1" 0.0 MOST, "Retransmission timeouts.";
        RTT_MIN rtt_min "s" 0.0 MOST, "Least round-trip time; that of the interval before without a sample.";
        RTT_MEAN rtt_mean "s" 0.0 MOST, "Mean round-trip time; that of the interval before without a sample.";
        RTT_MAX rtt_max "s" 0.0 MOST, "Largest round-trip time; that of the interval before without a sample.";
        RTT_LAST rtt_last "s" 0.0 MOST, "Round-trip time of the last sample.";
        BASE_RTT base_rtt "s" 0.0 MOST, "Least round-trip time of the connection.";
        THROUGHPUT throughput "bit/s" 0.0 MOST, "`acked` over `duration`.";
        SEND_RATE send_rate "bit/s" 0.0 MOST, "`sent` over `duration`.";
        MAX_THROUGHPUT max_throughput "bit/s" 0.0 MOST, "Largest `throughput` of this interval and the nine before it.";
        DELIVERY_RATE delivery_rate "bit/s" 0.0 MOST, "Last sample of the delivery rate (draft-ietf-ccwg-bbr).";
        APP_LIMITED app_limited "1" 0.0 1.0, "Share of the samples of the delivery rate that the application limited.";
        IN_FLIGHT in_flight "B" 0.0 MOST, "Bytes in flight after the last acknowledgement.";
        CWND cwnd "B" 0.0 MOST, "Congestion window.";
        PACING_RATE pacing_rate "bit/s" 0.0 MOST, "Pacing rate; 0 if the sender does not pace.";
        MSS mss "B" 0.0 MOST, "Payload of a full segment.";
    }
    scaled {
        RTT_RATIO rtt_ratio "log2" 0.0 10.0, "`rtt_mean` over `base_rtt`.";
        RTT_MIN_RATIO rtt_min_ratio "log2" 0.0 10.0, "`rtt_min` over `base_rtt`: the standing queue.";
        RTT_GRADIENT rtt_gradient "1" -2.0 2.0, "Slope of the round-trip time over the interval: seconds a second.";
        LOSS_SHARE loss_share "1" 0.0 1.0, "`lost` over `lost` and `acked`.";
        MARK_SHARE mark_share "1" 0.0 1.0, "`marked` over `acked`.";
        RATE_RATIO rate_ratio "log2" -10.0 0.0, "`throughput` over `max_throughput`.";
        SENT_RATIO sent_ratio "log2" -4.0 4.0, "`sent` over `acked`.";
        CWND_RATIO cwnd_ratio "log2" -10.0 10.0, "`cwnd` over the product of `max_throughput` and `base_rtt`.";
        PACING_RATIO pacing_ratio "log2" -10.0 10.0, "`pacing_rate` over `max_throughput`; 0 without pacing.";
        CWND_SIZE cwnd_size "log2" 0.0 24.0, "`cwnd` over `mss`.";
        SLOW_START slow_start "1" 0.0 1.0, "1 until the first loss or mark, then 0.";
        LAST_ACTION last_action "1" -1.0 1.0,
            "First value of the last decision in its range: -1 for the least, 1 for the most.";
    }
    tcp_info {
        TCPI_CA_STATE tcpi_ca_state "1" 0.0 4.0, "State of the sender: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.";
        TCPI_RTO tcpi_rto "us" 0.0 MOST, "Retransmission timeout, backed off.";
        TCPI_SND_MSS tcpi_snd_mss "B" 0.0 MOST, "Payload of a full segment.";
        TCPI_UNACKED tcpi_unacked "p" 0.0 MOST, "Segments sent and not acknowledged cumulatively.";
        TCPI_SACKED tcpi_sacked "p" 0.0 MOST, "Segments that the receiver holds out of order.";
        TCPI_LOST tcpi_lost "p" 0.0 MOST, "Segments marked lost.";
        TCPI_RETRANS tcpi_retrans "p" 0.0 MOST, "Retransmissions in flight.";
        TCPI_RTT tcpi_rtt "us" 0.0 MOST, "Smoothed round-trip time.";
        TCPI_RTTVAR tcpi_rttvar "us" 0.0 MOST, "Its variation.";
        TCPI_MIN_RTT tcpi_min_rtt "us" 0.0 MOST, "Least round-trip time.";
        TCPI_SND_CWND tcpi_snd_cwnd "p" 0.0 MOST, "Congestion window in force.";
        TCPI_REORDERING tcpi_reordering "p" 0.0 MOST, "Degree of reordering.";
        TCPI_TOTAL_RETRANS tcpi_total_retrans "p" 0.0 MOST, "Segments retransmitted since the start.";
        TCPI_PACING_RATE tcpi_pacing_rate "B/s" 0.0 MOST, "Pacing rate; 0 without pacing.";
        TCPI_BYTES_ACKED tcpi_bytes_acked "B" 0.0 MOST, "Payload acknowledged since the start.";
        TCPI_BYTES_RETRANS tcpi_bytes_retrans "B" 0.0 MOST, "Payload retransmitted since the start.";
        TCPI_DATA_SEGS_OUT tcpi_data_segs_out "p" 0.0 MOST, "Segments sent with payload since the start.";
        TCPI_DELIVERED tcpi_delivered "p" 0.0 MOST, "Segments delivered since the start.";
        TCPI_DELIVERED_CE tcpi_delivered_ce "p" 0.0 MOST, "Of these, with a CE mark.";
        TCPI_DELIVERY_RATE tcpi_delivery_rate "B/s" 0.0 MOST, "Last sample of the delivery rate.";
        TCPI_DELIVERY_RATE_APP_LIMITED tcpi_delivery_rate_app_limited "1" 0.0 1.0,
            "1 if the application limited that sample.";
    }
    network {
        TIME time "s" 0.0 MOST, "End of the interval, from the start of the run.";
        CAPACITY capacity "bit/s" 0.0 MOST,
            "What the slowest link of the path carries, mean over the interval, headers included.";
        PATH_RTT path_rtt "s" 0.0 MOST,
            "Round-trip time of a full segment and its acknowledgement through empty queues.";
        GOODPUT goodput "bit/s" 0.0 MOST, "Payload that the receiving application got over `duration`.";
    }
}

fields! {
    /// What a queue discipline that decides observes.
    QUEUE, QueueNumbers;
    window {
        Q_DURATION duration "s" 0.0 MOST, "Length of the interval.";
        Q_ARRIVALS arrivals "p" 0.0 MOST, "Packets that arrived, dropped ones included.";
        Q_DEPARTURES departures "p" 0.0 MOST, "Packets that left for the line.";
        Q_DEPARTED departed "B" 0.0 MOST, "Bytes of packets that left for the line, headers included.";
        Q_DROPPED dropped "p" 0.0 MOST, "Packets dropped, for want of room too.";
        Q_OVERLIMIT overlimit "p" 0.0 MOST, "Packets dropped for want of room.";
        Q_MARKED marked "p" 0.0 MOST, "Packets marked.";
        Q_BACKLOG backlog "B" 0.0 MOST, "Bytes that wait at the end of the interval.";
        Q_BACKLOG_PACKETS backlog_packets "p" 0.0 MOST, "Packets that wait at the end of the interval.";
        Q_BACKLOG_MEAN backlog_mean "p" 0.0 MOST, "Packets that waited, mean over the interval.";
        Q_SOJOURN sojourn "s" 0.0 MOST,
            "Mean sojourn time by Little's law: `backlog_mean` times `duration` over `departures`; 0 without departures.";
        Q_DEPARTURE_RATE departure_rate "bit/s" 0.0 MOST, "`departed` over `duration`.";
        Q_PROBABILITY probability "1" 0.0 1.0,
            "Probability of a drop or a mark that was decided; 0 if the discipline decides.";
    }
    scaled {
        Q_UTILISATION utilisation "1" 0.0 1.0, "`departed` over what the line could carry.";
        Q_LOAD load "log2" -10.0 10.0, "`arrivals` over `departures`.";
        Q_DELAY delay "log2" -10.0 10.0, "`sojourn` over 10 ms.";
        Q_WAIT wait "log2" -10.0 10.0, "Time that the line needs for `backlog`, over 10 ms.";
        Q_DROP_SHARE drop_share "1" 0.0 1.0, "`dropped` over `arrivals`.";
        Q_MARK_SHARE mark_share "1" 0.0 1.0, "`marked` over `arrivals`.";
        Q_PROBABILITY_SIZE probability_size "log2" -20.0 0.0, "`probability`.";
    }
    network {
        Q_TIME time "s" 0.0 MOST, "End of the interval, from the start of the run.";
        Q_CAPACITY capacity "bit/s" 0.0 MOST, "What the line carries, mean over the interval, headers included.";
        Q_PATH_RTT path_rtt "s" 0.0 MOST, "Median round-trip time, without queues, of the flows over the link.";
    }
}

/// Exact whole numbers of the run: which it is, its time, and counters since its start, of a sender that decides.
pub const SENDER_COUNTERS: &[&str] = &[
    "network",
    "seed",
    "time_ns",
    "decisions",
    "received_bytes",
    "delivered_bytes",
    "lost_bytes",
    "marked_bytes",
    "segments_sent",
    "retransmissions",
    "timeouts",
    "recoveries",
];

/// Exact whole numbers of the run: which it is, its time, and counters since its start, of a queue discipline that
/// decides.
pub const QUEUE_COUNTERS: &[&str] =
    &["network", "seed", "time_ns", "decisions", "arrived", "sent", "sent_bytes", "dropped", "marked", "lost"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_ranges_hold_what_is_set() {
        for table in [SENDER, QUEUE] {
            for (number, spec) in table.iter().enumerate() {
                assert_eq!(position(table, spec.name), Some(number), "{}", spec.name);
                assert!(spec.low < spec.high && spec.meaning.ends_with('.'), "{}", spec.name);
            }
        }
        let mut row = Row::new(SENDER);
        row.set(Row::LOSS_SHARE, 7.0);
        row.set(Row::RTT_RATIO, f64::NAN);
        assert_eq!((row.values()[Row::LOSS_SHARE], row.values()[Row::RTT_RATIO]), (1.0, 0.0));
        assert_eq!(SENDER[Row::GOODPUT].name, "goodput");
        assert_eq!(QUEUE[Row::Q_PATH_RTT].name, "path_rtt");
    }
}
