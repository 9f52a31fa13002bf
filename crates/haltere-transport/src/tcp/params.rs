//! Parameters of a TCP endpoint, with Linux's defaults.

use alloc::format;
use haltere_units::{Bytes, Dur, ParamError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the retransmission timeout follows from the estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RtoRule {
    /// SRTT + max(4 RTTVAR, min RTO), the variation falling slowly: Linux.
    #[default]
    Linux,
    /// max(SRTT + 4 RTTVAR, min RTO): RFC 6298, ns-3.
    Rfc6298,
}

/// What a host passes to its link at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Offload {
    /// Single segments.
    #[default]
    Off,
    /// Packets of up to 64 kB. A queue counts, drops and marks each as one packet. Linux hosts joined by virtual
    /// links (Mininet, containers) send so, because nothing divides the packets.
    Packet,
    /// As many segments in one burst. A network card that divides large packets sends so.
    Burst,
}

/// What a host remembers of a destination when a connection ends, for later ones (Linux's `tcp_metrics`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CachedMetrics {
    /// Nothing: `tcp_no_metrics_save` = 1.
    #[default]
    Off,
    /// Round-trip time, its variation, window and reordering; not the threshold. Linux's default since 5.6
    /// (`tcp_no_ssthresh_metrics_save` = 1).
    WithoutSsthresh,
    /// The slow-start threshold, too: Linux before 5.6, or `tcp_no_ssthresh_metrics_save` = 0.
    WithSsthresh,
}

/// Whether the receiver counts marks (RFC 9768).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccurateEcn {
    /// One bit (RFC 3168).
    #[default]
    Off,
    /// Packets, in the ACE field of the header.
    Ace,
    /// Packets, and bytes in the AccECN option.
    Option,
}

/// Parameters of a TCP endpoint. The defaults are Linux's (6.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TcpParams {
    /// Payload bytes of a full segment. Default 1448B: 1500 less IPv4, TCP and timestamps. Range 16B to 65483B.
    pub mss: Bytes,
    /// Initial congestion window in segments (RFC 6928). Default 10. Range 1 to 1000.
    pub initial_window: u32,
    /// ECN: negotiate it and use it (RFC 3168). Default false: no host requests it, as in Linux (`tcp_ecn` = 2), and a
    /// queue that marks drops instead. A control that counts marks (DCTCP) negotiates it in any case.
    pub ecn: bool,
    /// ECN-capable packets carry ECT(1) instead of ECT(0) (RFC 9331). It selects the L4S queue of `dualpi2`, and is for
    /// scalable controls such as DCTCP alone. A control for L4S (Prague) does it in any case. Default false.
    pub l4s: bool,
    /// Accurate ECN feedback (RFC 9768): negotiate it, which implies `ecn`: `off`, `ace` (packets with CE, in the
    /// header) or `option` (bytes too). Default off, as in Linux. A control for L4S (Prague) negotiates it in any case,
    /// with the option if this is off. The same SYN requests RFC 3168's feedback from a peer that does not know it.
    pub accurate_ecn: AccurateEcn,
    /// With accurate ECN feedback acknowledgements without data are ECN-capable too, as Linux sends them. RFC 3168
    /// forbids it, RFC 9768 counts their marks. Default true.
    pub ect_acks: bool,

    /// Receive window, fixed (`SO_RCVBUF`); the whole of it is advertised from the start. Default: none, auto-tuned. At
    /// least one MSS.
    pub recv_buffer: Option<Bytes>,
    /// Receive window at the start if auto-tuned. Default 64KiB (half of Linux's `tcp_rmem[1]`, 131072).
    pub recv_buffer_initial: Bytes,
    /// Receive window at most if auto-tuned. Default 3MiB (half of Linux's `tcp_rmem[2]`, 6291456, with
    /// `tcp_adv_win_scale` 1).
    pub recv_buffer_max: Bytes,
    /// Send buffer, fixed (`SO_SNDBUF`): payload bytes not yet acknowledged or not yet sent. Default: none, auto-tuned.
    /// At least one MSS.
    pub send_buffer: Option<Bytes>,
    /// Send buffer at most if auto-tuned. Default 4MiB (Linux's `tcp_wmem[2]`). Like Linux it counts memory: payload,
    /// and of each segment 1280 B more (see `header_room`). It has room for two windows, of BBR for three.
    pub send_buffer_max: Bytes,
    /// Room that the host leaves in front of each segment for headers (Linux's `MAX_TCP_HEADER`). It determines the
    /// memory of a segment, and so when a writing program must wait and which segments are pushed. Default 256B: a
    /// kernel without wireless devices, as the one with which this TCP is compared. Kernels of distributions have 320B.
    /// Range 64B to 1024B.
    pub header_room: Bytes,

    /// Least retransmission timeout (see `rto_rule`). Default 200ms (Linux; RFC 6298 says 1 s). Range 1ms to `max_rto`.
    pub min_rto: Dur,
    /// Largest retransmission timeout. Default 120s (Linux). At least `initial_rto`.
    pub max_rto: Dur,
    /// Retransmission timeout before the first sample, also of the SYN. Default 1s (RFC 6298; Linux since 3.1, before
    /// it 3s). If the handshake gave no sample, because a SYN was repeated and there are no timestamps, data begins
    /// with at least 3 s (RFC 6298 section 5.7).
    pub initial_rto: Dur,
    /// How the timeout follows from the estimates: `linux` or `rfc6298`. Default linux.
    pub rto_rule: RtoRule,
    /// SYN and SYN-ACK retransmissions before giving up. Default 6 (Linux's `tcp_syn_retries`).
    pub syn_retries: u32,
    /// Retransmission timeouts in a row before giving up. Default 15 (Linux's `tcp_retries2`).
    pub max_retries: u32,
    /// Granularity of the kernel's timers, which RACK and TLP add twice as a margin. An adaptive delay of
    /// acknowledgements ends with a tick. Default 4ms (HZ = 250).
    pub tick: Dur,

    /// Low bits of the initial sequence number that are zero, so that routers can read the offset in the stream (RuN2C;
    /// Avrachenkov et al., INFOCOM 2004: 22). Default 0: all are random (RFC 6528). Range 0 to 24.
    pub isn_zero_bits: u32,
    /// Selective acknowledgements (RFC 2018, 2883). Default true.
    pub sack: bool,
    /// Timestamps (RFC 7323). Default true.
    pub timestamps: bool,
    /// Window scaling (RFC 7323). Default true; without it windows end at 65535 bytes.
    pub window_scaling: bool,
    /// Loss detection by time (RACK, RFC 8985) if SACK is on; else by counting duplicate acknowledgements. Default
    /// true.
    pub rack: bool,
    /// Tail loss probes (RFC 8985) if SACK is on. Default true.
    pub tlp: bool,
    /// Proportional rate reduction in recovery (RFC 6937). Default true; else the window falls at once.
    pub prr: bool,
    /// Detection of spurious timeouts (F-RTO, RFC 5682). Default true.
    pub frto: bool,
    /// Undo of reductions that answered no loss (Eifel RFC 4015, DSACK RFC 3708). Default true.
    pub undo: bool,
    /// Duplicate acknowledgements that mean a loss, at first (RFC 5681). Default 3. Range 1 to 300.
    pub reordering: u32,
    /// True: segments that a switch returns to this sender change nothing, as in a kernel that knows nothing of them.
    /// False: DCTCP counts them as marked. Default false.
    pub ignore_returned: bool,
    /// Shrink the window after an idle time (RFC 5681 section 4.1, RFC 2861). Default true.
    pub slow_start_after_idle: bool,
    /// Hold small segments back while one is in flight (RFC 896, in Minshall's variant). Default true.
    pub nagle: bool,
    /// Segmentation offload. The size of a unit follows from the pacing rate and the least round-trip time, as in
    /// Linux, and small units are deferred. A subflow of Multipath TCP sends single segments in any case. Default off,
    /// as in the measurements with which this TCP is compared.
    pub offload: Offload,
    /// What this host remembers of the other one for later connections between them. Default off, as in the
    /// measurements with which this TCP is compared, although Linux remembers. A flow over several paths neither
    /// remembers nor uses it.
    pub tcp_metrics: CachedMetrics,

    /// Longest delay of an acknowledgement. Default 200ms (Linux; the delay adapts between `delayed_ack_min` and this).
    /// 0: none is delayed.
    pub delayed_ack: Dur,
    /// Least delay of an acknowledgement. Default 40ms (Linux), which lasts to the end of a `tick`. Set it to
    /// `delayed_ack` for a fixed delay, which is exact.
    pub delayed_ack_min: Dur,
    /// Full segments that bring an acknowledgement at once. Default 2 (RFC 5681).
    pub ack_every: u32,
    /// Segments acknowledged one by one at the start and after a long silence. Default 16 (Linux). 0: none; then a
    /// pushed segment is not acknowledged at once when it is read, either, unlike in Linux.
    pub quick_acks: u32,
    /// Delay of acknowledgements that carry SACK blocks after the third (Linux's `tcp_comp_sack_delay_ns`), at most
    /// a twentieth of the round-trip time; its timer ends 100 us later. Default 1ms. 0: none.
    pub sack_delay: Dur,
    /// At most this many acknowledgements are merged by `sack_delay`. Default 44 (Linux).
    pub sack_delay_segments: u32,
}

impl Default for TcpParams {
    fn default() -> TcpParams {
        TcpParams {
            mss: Bytes::new(1448),
            initial_window: 10,
            ecn: false,
            l4s: false,
            accurate_ecn: AccurateEcn::Off,
            ect_acks: true,
            recv_buffer: None,
            recv_buffer_initial: Bytes::new(65_536),
            recv_buffer_max: Bytes::new(3_145_728),
            send_buffer: None,
            send_buffer_max: Bytes::new(4_194_304),
            header_room: Bytes::new(256),
            min_rto: Dur::from_ms(200),
            max_rto: Dur::from_secs(120),
            initial_rto: Dur::from_secs(1),
            rto_rule: RtoRule::Linux,
            syn_retries: 6,
            max_retries: 15,
            tick: Dur::from_ms(4),
            isn_zero_bits: 0,
            sack: true,
            timestamps: true,
            window_scaling: true,
            rack: true,
            tlp: true,
            prr: true,
            frto: true,
            undo: true,
            reordering: 3,
            ignore_returned: false,
            slow_start_after_idle: true,
            nagle: true,
            offload: Offload::Off,
            tcp_metrics: CachedMetrics::Off,
            delayed_ack: Dur::from_ms(200),
            delayed_ack_min: Dur::from_ms(40),
            ack_every: 2,
            quick_acks: 16,
            sack_delay: Dur::from_ms(1),
            sack_delay_segments: 44,
        }
    }
}

impl TcpParams {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        let mss = self.mss.as_u64();
        bound("mss", "16B to 65483B", (16..=65_483).contains(&mss), self.mss)?;
        bound("initial_window", "1 to 1000", (1..=1000).contains(&self.initial_window), self.initial_window)?;
        for (name, buffer) in [
            ("recv_buffer", self.recv_buffer),
            ("send_buffer", self.send_buffer),
            ("recv_buffer_initial", Some(self.recv_buffer_initial)),
            ("recv_buffer_max", Some(self.recv_buffer_max)),
            ("send_buffer_max", Some(self.send_buffer_max)),
        ] {
            if let Some(bytes) = buffer
                && !(mss..=1 << 30).contains(&bytes.as_u64())
            {
                return Err(ParamError::new(name, format!("one MSS ({}) to 1GiB", self.mss), bytes));
            }
        }
        let max_at_least = self.recv_buffer_max >= self.recv_buffer_initial;
        bound("recv_buffer_max", "at least `recv_buffer_initial`", max_at_least, self.recv_buffer_max)?;
        let header_room = (64..=1024).contains(&self.header_room.as_u64());
        bound("header_room", "64B to 1024B", header_room, self.header_room)?;
        let min_rto = Dur::from_ms(1) <= self.min_rto && self.min_rto <= self.max_rto;
        bound("min_rto", "1ms to `max_rto`", min_rto, self.min_rto)?;
        let initial = self.min_rto.min(Dur::from_secs(1)) <= self.initial_rto && self.initial_rto <= self.max_rto;
        bound("initial_rto", "1s (or `min_rto`, if less) to `max_rto`", initial, self.initial_rto)?;
        bound("max_rto", "at most 1h", self.max_rto <= Dur::from_secs(3600), self.max_rto)?;
        bound("syn_retries", "0 to 127", self.syn_retries <= 127, self.syn_retries)?;
        bound("max_retries", "1 to 127", (1..=127).contains(&self.max_retries), self.max_retries)?;
        bound("tick", "at most 100ms", self.tick <= Dur::from_ms(100), self.tick)?;
        bound("isn_zero_bits", "0 to 24", self.isn_zero_bits <= 24, self.isn_zero_bits)?;
        bound("reordering", "1 to 300", (1..=300).contains(&self.reordering), self.reordering)?;
        bound("delayed_ack", "at most 500ms (RFC 1122)", self.delayed_ack <= Dur::from_ms(500), self.delayed_ack)?;
        let least = self.delayed_ack.is_zero() || self.delayed_ack_min <= self.delayed_ack;
        bound("delayed_ack_min", "at most `delayed_ack`", least, self.delayed_ack_min)?;
        bound("ack_every", "1 to 255", (1..=255).contains(&self.ack_every), self.ack_every)?;
        bound("quick_acks", "0 to 65535", self.quick_acks <= 65_535, self.quick_acks)?;
        bound("sack_delay", "at most 100ms", self.sack_delay <= Dur::from_ms(100), self.sack_delay)?;
        bound("sack_delay_segments", "0 to 255", self.sack_delay_segments <= 255, self.sack_delay_segments)
    }
}

fn bound(name: &'static str, rule: &str, holds: bool, got: impl core::fmt::Display) -> Result<(), ParamError> {
    if holds { Ok(()) } else { Err(ParamError::new(name, rule, got)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_defaults_keep_their_own_rules() {
        TcpParams::default().check().unwrap();
    }

    #[test]
    fn an_error_names_the_parameter_the_rule_and_the_value() {
        let p = TcpParams { min_rto: Dur::ZERO, ..TcpParams::default() };
        assert_eq!(p.check().unwrap_err().to_string(), "min_rto must be 1ms to `max_rto`, got 0ns");
        let p = TcpParams { recv_buffer: Some(Bytes::new(10)), ..TcpParams::default() };
        assert_eq!(p.check().unwrap_err().to_string(), "recv_buffer must be one MSS (1.448kB) to 1GiB, got 10B");
    }
}
