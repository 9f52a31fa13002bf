//! The stacks of quinn-proto's family as one adapter: [`api`] has what differs between quinn and noq.
//!
//! Everything random follows from the seed of an end: the stack's own generator, connection ids, TLS, and what the
//! stack draws from the system (`random`). The key exchange of TLS is a stand-in with the lengths of X25519
//! (`tls`), because both ends are in one process and nobody is to be kept out. So a run's bytes repeat.

/// What the adapter says of a stack with these congestion controls, as JSON.
macro_rules! about {
    ($name:literal, $controls:literal) => {
        match CStr::from_bytes_with_nul(
            concat!(
                r#"{"name":""#,
                $name,
                r#"","version":""#,
                env!("HALTERE_STACK_VERSION"),
                r#"","summary":"QUIC by "#,
                $name,
                r#"-proto.","controls":"#,
                $controls,
                r#","ours":true,"parameters":"#,
                include_str!("parameters.json"),
                "}\0"
            )
            .as_bytes(),
        ) {
            Ok(text) => text,
            Err(_) => panic!("one NUL, at the end"),
        }
    };
}

#[cfg_attr(feature = "noq", path = "noq.rs")]
#[cfg_attr(feature = "quinn", path = "quinn.rs")]
mod api;
mod control;
mod null;
mod random;
mod resumption;
mod tls;

use control::{Factory, Watch};
use haltere_stack_adapter::{Burst, Config, Info, Read, Stack};
use proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, MtuDiscoveryConfig, ServerConfig, Side, StreamEvent, StreamId,
    Transmit, TransportConfig, ValidationTokenConfig, VarInt, WriteError,
};
use resumption::Kept;
use std::collections::VecDeque;
use std::ffi::CStr;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The stacks' own connection-id length.
const CID_LEN: usize = 8;
/// Datagrams of one burst, as in the stacks' own loops over sockets.
const MAX_SEGMENTS: usize = 10;
/// The largest UDP payload that the stacks accept unless they are told otherwise.
const USUAL_PAYLOAD: u16 = 1472;
/// What an end takes from the application at a time.
static ZEROS: [u8; 65536] = [0; 65536];

/// The peer's address on a path; links do not look at it.
fn peer(path: u32) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, path as u8, 1)), 443)
}

/// The path to that address.
fn path_to(peer: SocketAddr) -> u32 {
    let IpAddr::V4(address) = peer.ip() else { return 0 };
    address.octets()[2].into()
}

/// The instant of virtual time zero. Stacks look at differences only.
#[expect(clippy::disallowed_methods, reason = "an `Instant` cannot be made from a number")]
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

fn instant(now: u64) -> Instant {
    epoch() + Duration::from_nanos(now)
}

fn nanos(at: Instant) -> u64 {
    at.saturating_duration_since(epoch()).as_nanos() as u64
}

/// The TLS of an end.
enum Tls {
    Client(Arc<dyn proto::crypto::ClientConfig>),
    Server(Arc<dyn proto::crypto::ServerConfig>),
}

/// One end of a connection.
struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Of a client that resumes: the session that its server looks for.
    session: Option<Kept>,
    log: Log,
    /// Datagrams of one burst.
    segments: usize,
    is_server: bool,
    /// Without ECN, packets leave unmarked, and the stack finds that the path does not carry ECN.
    uses_ecn: bool,
    /// All paths of the connection, and those that the client has opened.
    paths: u32,
    open_paths: u32,
    /// The path of the next datagram that arrives, and of those that left last.
    arriving: u32,
    leaving: u32,
    /// Packets that the endpoint sends without a connection.
    replies: VecDeque<(Vec<u8>, Option<EcnCodepoint>)>,
    readable: VecDeque<StreamId>,
    /// Streams that this end has opened.
    opened: u64,
    buffer: Vec<u8>,
    random: u64,
    secrets: Vec<u8>,
    watch: Arc<Watch>,
    is_established: bool,
    failure: Option<String>,
}

/// Connection ids of a fixed length that follow from the seed.
struct Cids;

impl ConnectionIdGenerator for Cids {
    fn generate_cid(&mut self) -> ConnectionId {
        cid(CID_LEN)
    }
    fn cid_len(&self) -> usize {
        CID_LEN
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

fn cid(len: usize) -> ConnectionId {
    let mut bytes = [0; 20];
    random::fill(&mut bytes[..len]);
    ConnectionId::new(&bytes[..len])
}

/// A log in memory, which the stack writes and Haltere takes.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<VecDeque<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn varint(value: u64) -> Result<VarInt, String> {
    VarInt::from_u64(value).map_err(|error| error.to_string())
}

/// The UDP payload with which a connection begins, and the largest that it looks for.
fn mtus(config: &Config<'_>) -> Result<(u16, u16), String> {
    let (initial, upper) = (config.number("initial_mtu", 1200)?, config.number("mtu", 1452)?);
    if initial > config.max_datagram {
        let most = config.max_datagram;
        return Err(format!("initial_mtu must be at most {most}, which the path carries, got {initial}"));
    }
    if initial > upper {
        return Err(format!("mtu must be at least initial_mtu, which is {initial}, got {upper}"));
    }
    Ok((initial, upper.min(config.max_datagram)))
}

fn transport(config: &Config<'_>, watch: &Arc<Watch>, log: &Log) -> Result<TransportConfig, String> {
    let mut transport = TransportConfig::default();
    let window = varint(config.number("receive_window", 16_000_000)?)?;
    let (initial_mtu, largest_mtu) = mtus(config)?;
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(largest_mtu);
    transport
        .congestion_controller_factory(Arc::new(Factory::new(config, watch.clone())?))
        .stream_receive_window(window)
        .receive_window(window)
        .send_window(config.number("send_window", 16_000_000)?)
        .initial_mtu(initial_mtu)
        .mtu_discovery_config(Some(discovery))
        .packet_threshold(config.number("packet_threshold", 3)?)
        .time_threshold(config.number("time_threshold", 1.125)?)
        .initial_rtt(Duration::from_nanos(config.number("initial_rtt", 333_000_000)?))
        .persistent_congestion_threshold(config.number("persistent_congestion_threshold", 3)?)
        .max_idle_timeout(None)
        .max_concurrent_bidi_streams(VarInt::from_u32(1000));
    if let Some(threshold) = Some(config.number("ack_threshold", 0)?).filter(|n| *n > 0) {
        let mut acks = proto::AckFrequencyConfig::default();
        acks.ack_eliciting_threshold(varint(threshold)?);
        transport.ack_frequency_config(Some(acks));
    }
    api::take_paths(&mut transport, config.paths);
    if config.log {
        api::log(&mut transport, log.clone());
    }
    Ok(transport)
}

impl End {
    /// Calls `act` with this end's random numbers and secrets in place.
    fn enter<T>(&mut self, act: impl FnOnce(&mut End) -> T) -> T {
        random::set(self.random);
        let result = act(self);
        self.random = random::get();
        tls::take_secrets(&mut self.secrets);
        result
    }
    fn made(config: &Config<'_>, now: u64) -> Result<End, String> {
        let null = match config.option("crypto") {
            None | Some("tls") => false,
            Some("null") => true,
            Some(other) => return Err(format!("crypto must be tls or null, got {other}")),
        };
        let returns = config.number("early_data", false)?;
        if config.is_server {
            return End::of(config, now, Tls::Server(tls::server(config.secrets, null, returns.then_some(0))));
        }
        if !returns {
            return End::of(config, now, Tls::Client(tls::client(tls::new(config.secrets), null)));
        }
        let (tls, session) = resumption::earlier(config, now)?;
        random::set(config.seed);
        let mut end = End::of(config, now, Tls::Client(tls::client(tls, null)))?;
        if !end.connection().is_some_and(|connection| connection.has_0rtt()) {
            return Err("a connection that resumes must have 0-RTT, got none".into());
        }
        end.session = Some(session);
        Ok(end)
    }
    fn of(config: &Config<'_>, now: u64, tls: Tls) -> Result<End, String> {
        let (watch, log) = (Arc::new(Watch::default()), Log::default());
        let transport = Arc::new(transport(config, &watch, &log)?);
        let mut reset_key = [0; 64];
        random::fill(&mut reset_key);
        let mut own = EndpointConfig::new(Arc::new(ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &reset_key)));
        let mut seed = [0; 32];
        random::fill(&mut seed);
        own.rng_seed(Some(seed));
        let (_, largest_mtu) = mtus(config)?;
        own.max_udp_payload_size(largest_mtu.max(USUAL_PAYLOAD)).map_err(|e| e.to_string())?;
        api::cid_generator(&mut own, || Box::new(Cids));
        let own = Arc::new(own);
        let is_server = matches!(tls, Tls::Server(_));
        let (endpoint, connection) = match tls {
            Tls::Server(tls) => {
                let mut server = ServerConfig::with_crypto(tls);
                let mut tokens = ValidationTokenConfig::default();
                tokens.sent(0);
                server.transport_config(transport).migration(config.paths > 1).validation_token_config(tokens);
                (api::endpoint(own, Some(Arc::new(server))), None)
            }
            Tls::Client(tls) => {
                let mut client = ClientConfig::new(tls);
                client.transport_config(transport).initial_dst_cid_provider(Arc::new(|| cid(CID_LEN)));
                let mut endpoint = api::endpoint(own, None);
                let made = endpoint.connect(instant(now), client, peer(0), tls::SERVER_NAME);
                (endpoint, Some(made.map_err(|e| e.to_string())?))
            }
        };
        Ok(End {
            endpoint,
            connection,
            session: None,
            log,
            segments: MAX_SEGMENTS.min(usize::from(u16::MAX) / usize::from(largest_mtu)),
            is_server,
            uses_ecn: config.ecn,
            paths: config.paths,
            open_paths: 1,
            arriving: 0,
            leaving: 0,
            replies: VecDeque::new(),
            readable: VecDeque::new(),
            opened: 0,
            buffer: Vec::with_capacity(65536),
            random: 0,
            secrets: Vec::new(),
            watch,
            is_established: false,
            failure: None,
        })
    }
    fn bits(&self, ecn: Option<EcnCodepoint>) -> u8 {
        ecn.filter(|_| self.uses_ecn).map_or(0, |ecn| ecn as u8)
    }
    fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }
    /// Passes events between the endpoint and its connection, and keeps those for the application.
    fn settle(&mut self, now: Instant) -> Result<(), String> {
        let Some((handle, connection)) = &mut self.connection else { return Ok(()) };
        loop {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            let Some(event) = connection.poll() else { break };
            match event {
                Event::Connected => self.is_established = true,
                Event::Stream(StreamEvent::Opened { .. }) => {
                    while let Some(id) = connection.streams().accept(Dir::Bi) {
                        self.readable.push_back(id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) if !self.readable.contains(&id) => {
                    self.readable.push_back(id);
                }
                Event::ConnectionLost { reason } => match reason {
                    ConnectionError::ApplicationClosed(_)
                    | ConnectionError::ConnectionClosed(_)
                    | ConnectionError::LocallyClosed
                    | ConnectionError::Reset
                    | ConnectionError::TimedOut => {}
                    fault => self.failure = Some(fault.to_string()),
                },
                _ => {}
            }
        }
        while self.is_established
            && !self.is_server
            && self.open_paths < self.paths
            && api::open_path(connection, peer(self.open_paths), now)?
        {
            self.open_paths += 1;
        }
        self.failure.take().map_or(Ok(()), Err)
    }
    fn arrived(&mut self, now: u64, ecn: u8, data: &[u8]) -> Result<(), String> {
        let (now, ecn) = (instant(now), EcnCodepoint::from_bits(ecn));
        let mut reply = Vec::new();
        match api::handle(&mut self.endpoint, now, peer(self.arriving), ecn, data.into(), &mut reply) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                let made = self.endpoint.accept(incoming, now, &mut reply, None);
                self.connection = Some(made.map_err(|e| e.cause.to_string())?);
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            Some(DatagramEvent::Response(transmit)) => {
                let Transmit { ecn, size, .. } = transmit;
                self.replies.push_back((reply[..size].to_vec(), ecn));
            }
            None => {}
        }
        self.settle(now)
    }
    fn written(&mut self, stream: u64, bytes: u64, fin: bool) -> Result<u64, String> {
        let is_server = self.is_server;
        let opened = self.opened;
        let Some(connection) = self.connection() else { return Ok(0) };
        if !is_server && stream >= opened {
            if connection.streams().open(Dir::Bi).is_none() {
                return Ok(0);
            }
            self.opened += 1;
        }
        let connection = self.connection().expect("it was there");
        let mut send = connection.send_stream(StreamId::new(Side::Client, Dir::Bi, stream));
        let mut taken = 0;
        while taken < bytes {
            match send.write(&ZEROS[..ZEROS.len().min((bytes - taken) as usize)]) {
                Ok(some) => taken += some as u64,
                Err(WriteError::Blocked | WriteError::ClosedStream) => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        if fin && taken == bytes {
            // It fails if the peer stopped the stream or the connection is closing: then nobody waits for its end.
            let _ = send.finish();
            return Ok(taken + 1);
        }
        Ok(taken)
    }
    fn taken(&mut self) -> Result<Option<Read>, String> {
        while let Some(id) = self.readable.pop_front() {
            let Some((_, connection)) = &mut self.connection else { return Ok(None) };
            let mut receive = connection.recv_stream(id);
            let Ok(mut chunks) = receive.read(true) else { continue };
            let (mut bytes, mut fin) = (0, false);
            loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
                    Ok(None) => {
                        fin = true;
                        break;
                    }
                    Err(_) => break,
                }
            }
            let _ = chunks.finalize();
            if bytes > 0 || fin {
                return Ok(Some(Read { stream: id.index(), bytes, fin }));
            }
        }
        Ok(None)
    }
}

impl Stack for End {
    const ABOUT: &'static CStr = api::ABOUT;
    const PATHS: bool = api::PATHS;

    fn open(config: &Config<'_>, now: u64) -> Result<End, String> {
        random::set(config.seed);
        let mut end = End::made(config, now)?;
        end.random = random::get();
        tls::take_secrets(&mut end.secrets);
        Ok(end)
    }
    fn receive(&mut self, now: u64, ecn: u8, data: &[u8]) -> Result<(), String> {
        self.enter(|end| end.arrived(now, ecn, data))
    }
    fn timeout(&mut self, now: u64) -> Result<(), String> {
        self.enter(|end| {
            if let Some(connection) = end.connection() {
                connection.handle_timeout(instant(now));
            }
            end.settle(instant(now))
        })
    }
    fn next_timeout(&mut self) -> Option<u64> {
        self.connection()?.poll_timeout().map(nanos)
    }
    fn transmit(&mut self, now: u64, buffer: &mut [u8]) -> Option<Burst> {
        self.enter(|end| {
            if let Some((reply, ecn)) = end.replies.pop_front() {
                end.leaving = 0;
                buffer[..reply.len()].copy_from_slice(&reply);
                return Some(Burst { len: reply.len(), segment: reply.len(), ecn: end.bits(ecn) });
            }
            end.buffer.clear();
            let (_, connection) = end.connection.as_mut()?;
            let sent = api::poll_transmit(connection, instant(now), end.segments, &mut end.buffer)?;
            buffer[..sent.size].copy_from_slice(&end.buffer[..sent.size]);
            let segment = sent.segment_size.unwrap_or(sent.size);
            end.leaving = path_to(sent.destination);
            Some(Burst { len: sent.size, segment, ecn: end.bits(sent.ecn) })
        })
    }
    fn write(&mut self, stream: u64, bytes: u64, fin: bool) -> Result<u64, String> {
        self.enter(|end| end.written(stream, bytes, fin))
    }
    fn read(&mut self) -> Result<Option<Read>, String> {
        self.enter(End::taken)
    }
    fn close(&mut self, now: u64) {
        self.enter(|end| {
            if let Some(connection) = end.connection() {
                connection.close(instant(now), VarInt::from_u32(0), Default::default());
            }
        });
    }
    fn arrives(&mut self, path: u32) {
        self.arriving = path;
    }
    fn leaves(&self) -> u32 {
        self.leaving
    }
    fn path_info(&mut self, path: u32) -> Info {
        let info = self.connection().map_or_else(Info::default, |connection| api::path_info(connection, path));
        Info { ssthresh: u64::MAX, ..info }
    }
    fn info(&mut self) -> Info {
        let (is_established, watch, paths) = (self.is_established, self.watch.clone(), self.open_paths);
        let Some(connection) = self.connection() else { return Info { ssthresh: u64::MAX, ..Info::default() } };
        let info = Info {
            is_established: u32::from(is_established),
            is_closed: u32::from(connection.is_closed()),
            ssthresh: u64::MAX,
            ..api::info(connection, paths)
        };
        watch.fill(info)
    }
    fn secrets(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.secrets)
    }
    fn log(&mut self, buffer: &mut [u8]) -> usize {
        let mut text = self.log.0.lock().unwrap_or_else(PoisonError::into_inner);
        io::Read::read(&mut *text, buffer).unwrap_or(0)
    }
}

haltere_stack_adapter::export!(End);
