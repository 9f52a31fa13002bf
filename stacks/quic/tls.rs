//! TLS with a fixed certificate and seeded random numbers.

use crate::null;
use crate::random;
use proto::crypto;
use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup, ring,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{DigitallySignedStruct, Error, KeyLog, NamedGroup, SignatureScheme};
use std::cell::RefCell;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

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

fn client_tls(secrets: bool) -> Arc<QuicClientConfig> {
    let versions = rustls::ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let trusting = versions.expect("TLS 1.3 is there").dangerous().with_custom_certificate_verifier(Arc::new(Trusting));
    let mut config = trusting.with_no_client_auth();
    config.alpn_protocols = vec![b"haltere".to_vec()];
    config.resumption = Resumption::disabled();
    if secrets {
        config.key_log = Arc::new(Keeper);
    }
    Arc::new(config.try_into().expect("the suite of initial packets is there"))
}

fn server_tls(secrets: bool) -> Arc<QuicServerConfig> {
    let versions = rustls::ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let certificates = vec![CertificateDer::from(CERTIFICATE)];
    let builder = versions.expect("TLS 1.3 is there").with_no_client_auth();
    let mut config = builder.with_single_cert(certificates, key).expect("the laboratory's certificate");
    config.alpn_protocols = vec![b"haltere".to_vec()];
    config.send_tls13_tickets = 0;
    if secrets {
        config.key_log = Arc::new(Keeper);
    }
    Arc::new(config.try_into().expect("the suite of initial packets is there"))
}

/// The client's TLS; with `null`, 1-RTT packets are not encrypted.
pub fn client(secrets: bool, null: bool) -> Arc<dyn crypto::ClientConfig> {
    static MADE: [OnceLock<Arc<QuicClientConfig>>; 2] = [OnceLock::new(), OnceLock::new()];
    let made = MADE[usize::from(secrets)].get_or_init(|| client_tls(secrets)).clone();
    if null { Arc::new(null::Client(made)) } else { made }
}

/// The server's.
pub fn server(secrets: bool, null: bool) -> Arc<dyn crypto::ServerConfig> {
    static MADE: [OnceLock<Arc<QuicServerConfig>>; 2] = [OnceLock::new(), OnceLock::new()];
    let made = MADE[usize::from(secrets)].get_or_init(|| server_tls(secrets)).clone();
    if null { Arc::new(null::Server(made)) } else { made }
}
