//! TLS whose packets after the handshake are not encrypted, at the same lengths: what encryption costs is left out.

use crate::api::{Cid, plain_packets};
use bytes::BytesMut;
use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use proto::transport_parameters::TransportParameters;
use proto::{ConnectError, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

/// Bytes of the tag of AES-GCM, and of the sample of its header protection.
const TAG: usize = 16;

pub struct Client(pub Arc<QuicClientConfig>);
pub struct Server(pub Arc<QuicServerConfig>);

/// TLS that gives its keys for the handshake, and then [`Plain`].
struct Handshake {
    tls: Box<dyn Session>,
    /// The keys of the handshake were given.
    is_over: bool,
}

/// Keys that change nothing.
struct Plain;

fn session(tls: Box<dyn Session>) -> Box<dyn Session> {
    Box::new(Handshake { tls, is_over: false })
}

impl HeaderKey for Plain {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        TAG
    }
}

/// The payload without the place of the tag.
fn untagged(payload: &mut BytesMut) -> Result<(), CryptoError> {
    payload.truncate(payload.len().checked_sub(TAG).ok_or(CryptoError)?);
    Ok(())
}

plain_packets!();

impl Session for Handshake {
    fn initial_keys(&self, dst_cid: Cid<'_>, side: Side) -> Keys {
        self.tls.initial_keys(dst_cid, side)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.tls.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.tls.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.tls.early_crypto()
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.tls.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.tls.read_handshake(buf)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.tls.transport_parameters()
    }
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.tls.write_handshake(buf)?;
        if !std::mem::replace(&mut self.is_over, true) {
            return Some(keys);
        }
        let header = KeyPair::<Box<dyn HeaderKey>> { local: Box::new(Plain), remote: Box::new(Plain) };
        Some(Keys { header, packet: self.next_1rtt_keys()? })
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(KeyPair { local: Box::new(Plain), remote: Box::new(Plain) })
    }
    fn is_valid_retry(&self, orig_dst_cid: Cid<'_>, header: &[u8], payload: &[u8]) -> bool {
        self.tls.is_valid_retry(orig_dst_cid, header, payload)
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.tls.export_keying_material(output, label, context)
    }
}
