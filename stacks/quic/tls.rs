//! TLS with a fixed certificate and seeded random numbers.

use crate::null;
use crate::random;
use crate::resumption::Sessions;
use proto::crypto;
use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup, ring,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{DigitallySignedStruct, Error, KeyLog, NamedGroup, SignatureScheme};
use std::cell::RefCell;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub const SERVER_NAME: &str = "haltere.example";
/// Of the laboratory: Ed25519, whose signatures have one length.
const CERTIFICATE: &[u8] = include_bytes!("cert.der");
const KEY: &[u8] = include_bytes!("key.der");

#[derive(Debug)]
struct Seeded;

impl SecureRandom for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        random::fill(bytes);
        Ok(())
    }
}

/// A key exchange with the lengths of X25519 and no secret: what both share is the exclusive or of what both sent.
#[derive(Debug)]
struct StandIn;

struct Started([u8; 32]);

impl SupportedKxGroup for StandIn {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut public = [0; 32];
        random::fill(&mut public);
        Ok(Box::new(Started(public)))
    }
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for Started {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let shared: Vec<u8> = self.0.iter().zip(peer).map(|(mine, theirs)| mine ^ theirs).collect();
        Ok(SharedSecret::from(&shared[..]))
    }
    fn pub_key(&self) -> &[u8] {
        &self.0
    }
    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// The certificate is that of the laboratory: there is nothing to verify.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

thread_local! {
    static SECRETS: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the secrets of the end that is being called, in the format of SSLKEYLOGFILE.
#[derive(Debug)]
struct Keeper;

impl KeyLog for Keeper {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        SECRETS.with_borrow_mut(|lines| {
            lines.push_str(label);
            for bytes in [client_random, secret] {
                lines.push(' ');
                bytes.iter().for_each(|byte| write!(lines, "{byte:02x}").expect("a string"));
            }
            lines.push('\n');
        });
    }
}

/// Moves the secrets that were kept to the end of `to`.
pub fn take_secrets(to: &mut Vec<u8>) {
    SECRETS.with_borrow_mut(|lines| {
        to.extend(lines.as_bytes());
        lines.clear();
    });
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![&StandIn],
        secure_random: &Seeded,
        ..ring::default_provider()
    })
}

/// A clock that always has the same time: a ticket is never old, whatever the clock of the machine says.
#[derive(Debug)]
struct Still;

impl TimeProvider for Still {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(1 << 30)))
    }
}

fn client_tls(secrets: bool, returns: bool) -> Arc<QuicClientConfig> {
    let versions =
        rustls::ClientConfig::builder_with_details(provider(), Arc::new(Still)).with_protocol_versions(&[&TLS13]);
    let trusting = versions.expect("TLS 1.3 is there").dangerous().with_custom_certificate_verifier(Arc::new(Trusting));
    let mut config = trusting.with_no_client_auth();
    config.alpn_protocols = vec![b"haltere".to_vec()];
    config.resumption = if returns { Resumption::in_memory_sessions(1) } else { Resumption::disabled() };
    config.enable_early_data = returns;
    if secrets {
        config.key_log = Arc::new(Keeper);
    }
    Arc::new(config.try_into().expect("the suite of initial packets is there"))
}

fn server_tls(secrets: bool, tickets: Option<usize>) -> Arc<QuicServerConfig> {
    let versions =
        rustls::ServerConfig::builder_with_details(provider(), Arc::new(Still)).with_protocol_versions(&[&TLS13]);
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let certificates = vec![CertificateDer::from(CERTIFICATE)];
    let builder = versions.expect("TLS 1.3 is there").with_no_client_auth();
    let mut config = builder.with_single_cert(certificates, key).expect("the laboratory's certificate");
    config.alpn_protocols = vec![b"haltere".to_vec()];
    config.send_tls13_tickets = tickets.unwrap_or(0);
    if tickets.is_some() {
        // The only value that QUIC knows (RFC 9001 section 4.6.1).
        config.max_early_data_size = u32::MAX;
        config.session_storage = Arc::new(Sessions);
    }
    if secrets {
        config.key_log = Arc::new(Keeper);
    }
    Arc::new(config.try_into().expect("the suite of initial packets is there"))
}

/// The TLS of a client that comes for the first time.
pub fn new(secrets: bool) -> Arc<QuicClientConfig> {
    static MADE: [OnceLock<Arc<QuicClientConfig>>; 2] = [OnceLock::new(), OnceLock::new()];
    MADE[usize::from(secrets)].get_or_init(|| client_tls(secrets, false)).clone()
}

/// The TLS of a client that keeps a ticket for its next connection.
pub fn returning(secrets: bool) -> Arc<QuicClientConfig> {
    client_tls(secrets, true)
}

/// A client with that TLS; with `null`, 1-RTT packets are not encrypted.
pub fn client(tls: Arc<QuicClientConfig>, null: bool) -> Arc<dyn crypto::ClientConfig> {
    if null { Arc::new(null::Client(tls)) } else { tls }
}

/// A server. With so many `tickets` for each connection, it also accepts early data.
pub fn server(secrets: bool, null: bool, tickets: Option<usize>) -> Arc<dyn crypto::ServerConfig> {
    static MADE: [OnceLock<Arc<QuicServerConfig>>; 6] = [const { OnceLock::new() }; 6];
    let place = 3 * usize::from(secrets) + tickets.map_or(0, |tickets| 1 + tickets);
    let made = MADE[place].get_or_init(|| server_tls(secrets, tickets)).clone();
    if null { Arc::new(null::Server(made)) } else { made }
}
