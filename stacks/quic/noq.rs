//! What is noq-proto's alone.

use crate::Log;
use crate::control::{Ours, Watched};
use bytes::BytesMut;
use haltere_stack_adapter::Info;
use proto::congestion::{Bbr3Config, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};
use proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, PathError,
    PathId, PathStatus, QlogConfig, QlogFactory, RttEstimator, ServerConfig, Side, Transmit, TransportConfig,
};
use std::any::Any;
use std::ffi::CStr;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const ABOUT: &CStr = about!("noq", r#"["reno","cubic","bbr3"]"#);

pub fn own(name: &str) -> Option<Arc<dyn ControllerFactory + Send + Sync>> {
    Some(match name {
        "reno" => Arc::new(NewRenoConfig::default()),
        "cubic" => Arc::new(CubicConfig::default()),
        "bbr3" => Arc::new(Bbr3Config::default()),
        _ => return None,
    })
}

/// Makes the logs of the connections.
impl QlogFactory for Log {
    fn for_connection(
        &self,
        side: Side,
        _remote: SocketAddr,
        _initial_dst_cid: proto::ConnectionId,
        _now: Instant,
    ) -> Option<QlogConfig> {
        let mut log = QlogConfig::new(Box::new(self.clone()));
        log.title(Some(format!("noq, {side:?}"))).start_time(crate::epoch());
        Some(log)
    }
}

pub fn log(transport: &mut TransportConfig, to: Log) {
    transport.qlog_factory(Arc::new(to));
}

pub fn cid_generator(config: &mut EndpointConfig, make: fn() -> Box<dyn ConnectionIdGenerator>) {
    config.cid_generator(Arc::new(make));
}

pub fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(config, server, true)
}

pub fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    peer: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    reply: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, peer.into(), ecn, data, reply)
}

pub fn poll_transmit(of: &mut Connection, now: Instant, segments: usize, buffer: &mut Vec<u8>) -> Option<Transmit> {
    of.poll_transmit(now, NonZeroUsize::new(segments)?, buffer)
}

pub const PATHS: bool = true;

pub fn take_paths(transport: &mut TransportConfig, paths: u32) {
    if paths > 1 {
        transport.max_concurrent_multipath_paths(paths);
    }
}

/// Opens one more path. False: not yet, because the peer has given no connection id for it.
pub fn open_path(of: &mut Connection, peer: SocketAddr, now: Instant) -> Result<bool, String> {
    match of.open_path(FourTuple::from_remote(peer), PathStatus::Available, now) {
        Ok(_) => Ok(true),
        Err(PathError::RemoteCidsExhausted | PathError::MaxPathIdReached) => Ok(false),
        Err(error) => Err(format!("a path cannot be opened: {error}")),
    }
}

/// Paths have their numbers in the order of opening. Counters are of all.
pub fn info(of: &mut Connection, paths: u32) -> Info {
    let first = path_info(of, 0);
    (1..paths).map(|path| path_info(of, path)).fold(first, |sum, one| Info {
        packets_sent: sum.packets_sent + one.packets_sent,
        packets_lost: sum.packets_lost + one.packets_lost,
        bytes_lost: sum.bytes_lost + one.bytes_lost,
        congestion_events: sum.congestion_events + one.congestion_events,
        ..sum
    })
}

pub fn path_info(of: &mut Connection, path: u32) -> Info {
    let Some(path) = of.path_stats(PathId::from(path)) else { return Info::default() };
    Info {
        cwnd: path.cwnd,
        srtt: path.rtt.as_nanos() as u64,
        mtu: u64::from(path.current_mtu),
        packets_sent: path.udp_tx.datagrams,
        packets_lost: path.lost_packets,
        bytes_lost: path.lost_bytes,
        congestion_events: path.congestion_events,
        ..Info::default()
    }
}

/// Bytes a second.
pub fn pacing_rate(metrics: &ControllerMetrics) -> Option<u64> {
    metrics.pacing_rate
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.sent(bytes);
        self.of.on_sent(now, bytes, last_packet_number);
    }
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.of.on_packet_sent(now, bytes, pn);
    }
    #[cfg(cwnd_limited)]
    fn on_cwnd_limited(&mut self) {
        self.of.on_cwnd_limited();
    }
    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.of.on_packet_lost(lost_bytes, pn, now);
    }
    fn on_spurious_congestion_event(&mut self) {
        self.of.on_spurious_congestion_event();
    }
    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Duration) {
        self.of.on_ack_frequency_update(threshold, max_ack_delay);
    }
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        self.acked(bytes, rtt);
        self.of.on_ack(now, sent, bytes, pn, app_limited, rtt);
    }
    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.of.on_end_acks(now, in_flight, app_limited, largest);
        self.in_flight(in_flight);
    }
    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        self.of.on_congestion_event(now, sent, persistent, is_ecn, lost_bytes, largest_lost_pn);
    }
    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.of.on_mtu_update(new_mtu);
    }
    fn window(&self) -> u64 {
        self.of.window()
    }
    fn metrics(&self) -> ControllerMetrics {
        self.of.metrics()
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Watched { of: self.of.clone_box(), watch: self.watch.clone() })
    }
    fn initial_window(&self) -> u64 {
        self.of.initial_window()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.of.into_any()
    }
}

impl Controller for Ours {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        self.control.on_sent(crate::nanos(now), bytes);
    }
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _pn: u64, app_limited: bool, rtt: &RttEstimator) {
        self.acked(now, sent, bytes, app_limited, rtt);
    }
    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
        self.control.on_acks(crate::nanos(now), in_flight);
    }
    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        is_ecn: bool,
        lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        self.lost(now, sent, persistent, is_ecn, lost_bytes);
    }
    fn on_mtu_update(&mut self, _new_mtu: u16) {}
    fn window(&self) -> u64 {
        self.control.window()
    }
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.control.window();
        metrics.ssthresh = self.control.ssthresh();
        metrics.pacing_rate = self.control.pacing_rate();
        metrics
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        self.initial_window
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

pub type Cid<'a> = proto::ConnectionId;

/// The implementations of keys and sessions without encryption whose signatures differ between the stacks.
macro_rules! plain_packets {
    () => {
        impl PacketKey for Plain {
            fn encrypt(&self, _path: proto::PathId, _packet: u64, _buf: &mut [u8], _header_len: usize) {}
            fn decrypt(
                &self,
                _path: proto::PathId,
                _packet: u64,
                _header: &[u8],
                payload: &mut BytesMut,
            ) -> Result<(), CryptoError> {
                untagged(payload)
            }
            fn tag_len(&self) -> usize {
                TAG
            }
            fn confidentiality_limit(&self) -> u64 {
                u64::MAX
            }
            fn integrity_limit(&self) -> u64 {
                u64::MAX
            }
        }
        impl ClientConfig for Client {
            fn start_session(
                &self,
                version: u32,
                server_name: &str,
                params: &TransportParameters,
            ) -> Result<Box<dyn Session>, ConnectError> {
                self.0.start_session(version, server_name, params).map(session)
            }
        }
        impl ServerConfig for Server {
            fn initial_keys(&self, version: u32, dst_cid: proto::ConnectionId) -> Result<Keys, UnsupportedVersion> {
                self.0.initial_keys(version, dst_cid)
            }
            fn retry_tag(&self, version: u32, orig_dst_cid: proto::ConnectionId, packet: &[u8]) -> [u8; 16] {
                self.0.retry_tag(version, orig_dst_cid, packet)
            }
            fn start_session(&self, version: u32, params: &TransportParameters) -> Box<dyn Session> {
                session(self.0.start_session(version, params))
            }
        }
    };
}
pub(crate) use plain_packets;
