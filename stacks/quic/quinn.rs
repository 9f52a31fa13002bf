//! What is quinn-proto's alone.

use crate::Log;
use crate::control::{Ours, Watched};
use bytes::BytesMut;
use haltere_stack_adapter::Info;
use proto::congestion::{BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};
use proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, QlogConfig, RttEstimator,
    ServerConfig, Transmit, TransportConfig,
};
use std::any::Any;
use std::ffi::CStr;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

pub const ABOUT: &CStr = about!("quinn", r#"["reno","cubic","bbr"]"#);

pub fn own(name: &str) -> Option<Arc<dyn ControllerFactory + Send + Sync>> {
    Some(match name {
        "reno" => Arc::new(NewRenoConfig::default()),
        "cubic" => Arc::new(CubicConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => return None,
    })
}

pub fn log(transport: &mut TransportConfig, to: Log) {
    let mut log = QlogConfig::default();
    log.writer(Box::new(to)).title(Some("quinn".into())).start_time(crate::epoch());
    transport.qlog_stream(log.into_stream());
}

pub fn cid_generator(config: &mut EndpointConfig, make: fn() -> Box<dyn ConnectionIdGenerator>) {
    config.cid_generator(make);
}

pub fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(config, server, true, None)
}

pub fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    peer: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    reply: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, peer, None, ecn, data, reply)
}

pub fn poll_transmit(of: &mut Connection, now: Instant, segments: usize, buffer: &mut Vec<u8>) -> Option<Transmit> {
    of.poll_transmit(now, segments, buffer)
}

pub const PATHS: bool = false;

pub fn take_paths(_transport: &mut TransportConfig, _paths: u32) {}

pub fn open_path(_of: &mut Connection, _peer: SocketAddr, _now: Instant) -> Result<bool, String> {
    Err("a connection has one path".into())
}

pub fn path_info(of: &mut Connection, _path: u32) -> Info {
    info(of, 1)
}

pub fn info(of: &mut Connection, _paths: u32) -> Info {
    let path = of.stats().path;
    Info {
        cwnd: path.cwnd,
        srtt: path.rtt.as_nanos() as u64,
        mtu: u64::from(path.current_mtu),
        packets_sent: path.sent_packets,
        packets_lost: path.lost_packets,
        bytes_lost: path.lost_bytes,
        congestion_events: path.congestion_events,
        ..Info::default()
    }
}

/// Bytes a second.
pub fn pacing_rate(metrics: &ControllerMetrics) -> Option<u64> {
    metrics.pacing_rate.map(|bits| bits / 8)
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.sent(bytes);
        self.of.on_sent(now, bytes, last_packet_number);
    }
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.acked(bytes, rtt);
        self.of.on_ack(now, sent, bytes, app_limited, rtt);
    }
    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.of.on_end_acks(now, in_flight, app_limited, largest);
        self.in_flight(in_flight);
    }
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        self.of.on_congestion_event(now, sent, persistent, lost_bytes);
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
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.acked(now, sent, bytes, app_limited, rtt);
    }
    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
        self.control.on_acks(crate::nanos(now), in_flight);
    }
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        self.lost(now, sent, persistent, lost_bytes == 0, lost_bytes);
    }
    fn on_mtu_update(&mut self, _new_mtu: u16) {}
    fn window(&self) -> u64 {
        self.control.window()
    }
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.control.window();
        metrics.ssthresh = self.control.ssthresh();
        metrics.pacing_rate = self.control.pacing_rate().map(|bytes| 8 * bytes);
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

pub type Cid<'a> = &'a proto::ConnectionId;

/// The implementations of keys and sessions without encryption whose signatures differ between the stacks.
macro_rules! plain_packets {
    () => {
        impl PacketKey for Plain {
            fn encrypt(&self, _packet: u64, _buf: &mut [u8], _header_len: usize) {}
            fn decrypt(&self, _packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
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
                self: Arc<Self>,
                version: u32,
                server_name: &str,
                params: &TransportParameters,
            ) -> Result<Box<dyn Session>, ConnectError> {
                ClientConfig::start_session(self.0.clone(), version, server_name, params).map(session)
            }
        }
        impl ServerConfig for Server {
            fn initial_keys(&self, version: u32, dst_cid: Cid<'_>) -> Result<Keys, UnsupportedVersion> {
                self.0.initial_keys(version, dst_cid)
            }
            fn retry_tag(&self, version: u32, orig_dst_cid: Cid<'_>, packet: &[u8]) -> [u8; 16] {
                self.0.retry_tag(version, orig_dst_cid, packet)
            }
            fn start_session(self: Arc<Self>, version: u32, params: &TransportParameters) -> Box<dyn Session> {
                session(ServerConfig::start_session(self.0.clone(), version, params))
            }
        }
    };
}
pub(crate) use plain_packets;
