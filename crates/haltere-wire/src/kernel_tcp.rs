//! The kernel's TCP: how a plan's parameters are set, and how a socket's state is read.
//!
//! A parameter that cannot be set in the kernel must have the kernel's value; anything else is an error.

use crate::error::WireError;
use crate::namespace::HostSettings;
use crate::sys;
use haltere_congestion::CongestionParams;
use haltere_transport::{AccurateEcn, Info, TcpParams};
use haltere_units::{Bytes, Dur, Rate};
use netlink_packet_route::route::RouteMetric;
use serde_json::json;
use std::io;
use std::os::fd::BorrowedFd;

/// IP and TCP headers with timestamps: MTU less payload of a full segment.
const HEADERS: u64 = 52;

/// What a namespace needs so that its sockets behave as these parameters say.
pub fn settings(place: &str, tcp: &TcpParams, ecn: bool) -> Result<HostSettings, WireError> {
    only_what_the_kernel_has(place, tcp)?;
    let default = TcpParams::default();
    let flag = |on: bool| if on { "1" } else { "0" }.to_string();
    let feedback = if tcp.accurate_ecn == AccurateEcn::Off { "1" } else { "3" };
    let mut sysctls = vec![
        // 1: ask for ECN and accept it; 3: so with accurate ECN; 0: neither.
        ("ipv4/tcp_ecn".to_string(), if ecn { feedback } else { "0" }.to_string()),
        // A SYN that was lost is sent again without ECN (RFC 3168 section 6.1.1.1), as in the plan.
        ("ipv4/tcp_ecn_fallback".to_string(), "1".to_string()),
        // One run must not learn from another through cached metrics.
        ("ipv4/tcp_no_metrics_save".to_string(), "1".to_string()),
        // A server's packets carry the mark of the client's.
        ("ipv4/tcp_reflect_tos".to_string(), "1".to_string()),
    ];
    let mut set = |name: &str, value: String, differs: bool| {
        if differs {
            sysctls.push((format!("ipv4/{name}"), value));
        }
    };
    set("tcp_ecn_option", "0".into(), tcp.accurate_ecn == AccurateEcn::Ace);
    set("tcp_sack", flag(tcp.sack), !tcp.sack);
    set("tcp_timestamps", flag(tcp.timestamps), !tcp.timestamps);
    set("tcp_window_scaling", flag(tcp.window_scaling), !tcp.window_scaling);
    set("tcp_recovery", flag(tcp.rack), !tcp.rack);
    set("tcp_early_retrans", if tcp.tlp { "3" } else { "0" }.to_string(), !tcp.tlp);
    set("tcp_frto", if tcp.frto { "2" } else { "0" }.to_string(), !tcp.frto);
    set("tcp_reordering", tcp.reordering.to_string(), tcp.reordering != default.reordering);
    set("tcp_slow_start_after_idle", flag(tcp.slow_start_after_idle), !tcp.slow_start_after_idle);
    set("tcp_syn_retries", tcp.syn_retries.to_string(), tcp.syn_retries != default.syn_retries);
    set("tcp_retries2", tcp.max_retries.to_string(), tcp.max_retries != default.max_retries);
    let sack_delay = (tcp.sack_delay, tcp.sack_delay_segments);
    let differs = sack_delay != (default.sack_delay, default.sack_delay_segments);
    set("tcp_comp_sack_delay_ns", tcp.sack_delay.as_ns().to_string(), differs);
    set("tcp_comp_sack_nr", tcp.sack_delay_segments.to_string(), differs);
    // Half of tcp_rmem is window where tcp_adv_win_scale is 1, the kernel's default.
    let rmem = format!("4096 {} {}", 2 * tcp.recv_buffer_initial.as_u64(), 2 * tcp.recv_buffer_max.as_u64());
    set("tcp_rmem", rmem, true);
    set("tcp_wmem", format!("4096 16384 {}", tcp.send_buffer_max.as_u64()), true);
    let mut metrics = Vec::new();
    if tcp.initial_window != default.initial_window {
        metrics.push(RouteMetric::InitCwnd(tcp.initial_window));
    }
    if tcp.min_rto != default.min_rto {
        metrics.push(RouteMetric::RtoMin(tcp.min_rto.as_us().div_ceil(1000) as u32));
    }
    let headers = if tcp.timestamps { HEADERS } else { HEADERS - 12 };
    Ok(HostSettings { mtu: (tcp.mss.as_u64() + headers) as u32, sysctls, metrics })
}

fn only_what_the_kernel_has(place: &str, tcp: &TcpParams) -> Result<(), WireError> {
    let default = TcpParams::default();
    let fixed = [
        ("l4s", !tcp.l4s),
        ("ect_acks", tcp.ect_acks == default.ect_acks),
        ("header_room", tcp.header_room == default.header_room),
        ("max_rto", tcp.max_rto == default.max_rto),
        ("initial_rto", tcp.initial_rto == default.initial_rto),
        ("rto_rule", tcp.rto_rule == default.rto_rule),
        ("tick", tcp.tick == default.tick),
        ("prr", tcp.prr),
        ("undo", tcp.undo),
        ("delayed_ack", tcp.delayed_ack == default.delayed_ack),
        ("delayed_ack_min", tcp.delayed_ack_min == default.delayed_ack_min),
        ("ack_every", tcp.ack_every == default.ack_every),
        ("quick_acks", tcp.quick_acks == default.quick_acks),
        ("offload", tcp.offload == default.offload),
        ("tcp_metrics", tcp.tcp_metrics == default.tcp_metrics),
    ];
    let hint = "the kernel's TCP has it built in; the simulator takes others";
    match fixed.into_iter().find(|(_, same)| !same) {
        Some((name, _)) => Err(WireError::refused(place, name, "the default", "another value", hint)),
        None => Ok(()),
    }
}

/// This kernel's TCP has accurate ECN (Linux 7.0).
pub fn has_accurate_ecn() -> bool {
    std::path::Path::new("/proc/sys/net/ipv4/tcp_ecn_option").exists()
}

/// The kernel's name for a control, tried in this order; the second is our own, loaded as BPF.
pub fn congestion_names(place: &str, control: &CongestionParams) -> Result<[String; 2], WireError> {
    let kind = control.kind();
    if let Some(outside) = control.outside() {
        let hint = "our own transport and the simulator take it";
        return Err(WireError::refused(place, "congestion", "a control that the kernel has", outside.kind(), hint));
    }
    if CongestionParams::default_of(kind).as_ref() != Some(control) && !is_as_linux_has_it(control) {
        let rule = format!("`{kind}` with its defaults");
        let hint = "the kernel's takes no parameters; those that it has itself may stand: for cubic `reno_friendly = \
                    \"linux\", hystart = \"linux_6_13\"` (or linux_5_16)";
        return Err(WireError::refused(place, "congestion", &rule, "other parameters", hint));
    }
    Ok([kind.to_string(), crate::bpf::control_name(kind)])
}

/// The variant of our control that is the kernel's: on the wire it is what runs.
fn is_as_linux_has_it(control: &CongestionParams) -> bool {
    // 717/1024 is its beta, which it writes as 0.7.
    let cubic = [0.7, 717.0 / 1024.0].into_iter().flat_map(|beta| {
        ["linux_5_16", "linux_6_13"]
            .map(|hystart| json!({ "kind": "cubic", "reno_friendly": "linux", "hystart": hystart, "beta": beta }))
    });
    // 724/1024, and 42 for 1/G over a sum of eight changes, in 1e6 / us.
    let cdg = json!({ "kind": "cdg", "beta": 724.0 / 1024.0, "scale": "2976us" });
    cubic.chain([cdg]).any(|linux| serde_json::from_value(linux).is_ok_and(|linux: CongestionParams| linux == *control))
}

/// The kernel's `struct tcp_info` as bytes: longer than any kernel's so far; what a kernel lacks reads as zero.
#[derive(Debug, Clone, Copy)]
pub struct TcpInfo([u8; TcpInfo::SIZE]);

impl TcpInfo {
    /// Bytes that are read of it.
    pub const SIZE: usize = 384;
    /// These bytes, as the kernel wrote them; what is missing is zero.
    pub fn from_bytes(bytes: &[u8]) -> TcpInfo {
        let mut info = [0; TcpInfo::SIZE];
        info.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        TcpInfo(info)
    }
    /// The socket's current state.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
        sys::get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO).map(TcpInfo)
    }
    fn u32(&self, at: usize) -> u64 {
        self.0.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from(u32::from_ne_bytes(*b)))
    }
    fn u64(&self, at: usize) -> u64 {
        self.0.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_ne_bytes(*b))
    }
    /// In the form of the transport's own endpoints. Offsets are those of `linux/tcp.h`, which never change.
    pub fn info(&self) -> Info {
        let mss = self.u32(16);
        // Eight flag bytes, then u32s from 8 (rto) to 104, u64s from 104 on.
        let (unacked, sacked, lost, retrans) = (self.u32(24), self.u32(28), self.u32(32), self.u32(36));
        let packets = (unacked + retrans).saturating_sub(sacked + lost);
        let ssthresh = match self.u32(76) {
            // TCP_INFINITE_SSTHRESH
            0x7fff_ffff => Bytes::MAX,
            segments => Bytes::new(segments * mss),
        };
        let min_rtt = match self.u32(148) {
            0xffff_ffff => 0,
            us => us,
        };
        let pacing = self.u64(104);
        let mut info = Info::default();
        info.cwnd = Bytes::new(self.u32(80) * mss);
        info.ssthresh = ssthresh;
        info.in_flight = Bytes::new(packets * mss);
        info.srtt = Dur::from_us(self.u32(68));
        info.rttvar = Dur::from_us(self.u32(72));
        info.min_rtt = Dur::from_us(min_rtt);
        info.pacing_rate = (pacing != u64::MAX && pacing != 0).then(|| Rate::from_bps(pacing.saturating_mul(8)));
        info.acked = self.u64(120).saturating_sub(1); // the SYN counts as one byte there
        info.received = self.u64(128);
        info.segments_sent = self.u32(156);
        info.retransmissions = self.u32(100);
        info.delivered = self.u32(192);
        info.delivered_ce = self.u32(196);
        info.timeouts = self.u16(240);
        info
    }
    /// The sender is in recovery, after a fast retransmission or a timeout.
    pub fn in_recovery(&self) -> bool {
        const RECOVERY: u8 = 3; // the state after it is Loss
        self.0[1] >= RECOVERY
    }
    /// Payload bytes received in order.
    pub fn payload_received(&self) -> u64 {
        const CLOSE_WAIT: u8 = 8;
        // The sequence number of the FIN counts as a byte there.
        self.u64(128).saturating_sub(u64::from(self.0[0] == CLOSE_WAIT))
    }
    fn u16(&self, at: usize) -> u64 {
        self.0.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from(u16::from_ne_bytes(*b)))
    }
    /// The latest delivery rate, in bit/s.
    pub fn delivery_rate(&self) -> u64 {
        self.u64(160).saturating_mul(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_become_sysctls_or_an_error() {
        let tcp = TcpParams { sack: false, initial_window: 4, ..TcpParams::default() };
        let settings = settings("traffic", &tcp, true).unwrap();
        let has = |name: &str, value: &str| settings.sysctls.contains(&(name.to_string(), value.to_string()));
        assert!(has("ipv4/tcp_sack", "0") && has("ipv4/tcp_ecn", "1") && has("ipv4/tcp_rmem", "4096 131072 6291456"));
        assert_eq!((settings.mtu, settings.metrics), (1500, vec![RouteMetric::InitCwnd(4)]));
        let tcp = TcpParams { ack_every: 1, ..TcpParams::default() };
        let error = super::settings("traffic[0]", &tcp, false).unwrap_err().to_string();
        assert!(error.starts_with("traffic[0]: ack_every must be the default on the wire"), "{error}");
    }

    #[test]
    fn parameters_that_the_kernel_s_control_has_itself_may_stand() {
        let named = |control: serde_json::Value| {
            congestion_names("traffic[0]", &serde_json::from_value(control).unwrap()).map(|[name, _]| name)
        };
        assert_eq!(named(json!({ "kind": "cdg", "beta": 724.0 / 1024.0, "scale": "2976us" })).unwrap(), "cdg");
        assert_eq!(
            named(json!({ "kind": "cubic", "reno_friendly": "linux", "hystart": "linux_6_13" })).unwrap(),
            "cubic"
        );
        let error = named(json!({ "kind": "cdg", "beta": 0.5 })).unwrap_err().to_string();
        assert!(error.starts_with("traffic[0]: congestion must be `cdg` with its defaults on the wire"), "{error}");
    }

    #[test]
    fn a_fresh_loopback_connection_tells_of_itself() {
        use std::io::{Read, Write};
        use std::os::fd::AsFd;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[0; 10_000]).unwrap();
        server.read_exact(&mut [0; 10_000]).unwrap();
        server.write_all(&[0; 7]).unwrap();
        client.read_exact(&mut [0; 7]).unwrap();
        let info = TcpInfo::of(client.as_fd()).unwrap().info();
        assert_eq!((info.received, info.in_flight, info.retransmissions), (7, Bytes::ZERO, 0));
        assert_eq!(info.acked, 10_000);
        assert!(info.cwnd >= Bytes::new(10 * 500) && info.ssthresh == Bytes::MAX, "{info:?}");
        assert!(info.srtt > Dur::ZERO && info.srtt < Dur::from_secs(1) && info.min_rtt <= info.srtt * 2, "{info:?}");
        assert!(info.segments_sent >= 1 && info.delivered >= info.segments_sent, "{info:?}");
    }
}
