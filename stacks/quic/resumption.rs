//! Connections that resume an earlier one, for 0-RTT (RFC 9001 section 4.6).
//!
//! rustls accepts early data only from sessions that the server keeps. A client's end makes its earlier connection
//! itself, without a network, and keeps the session as long as it lives. The name of a session follows from all that
//! makes the end, so two runs at a time use one session only if they are the same.

use crate::{End, Tls, random, tls};
use haltere_stack_adapter::{Config, Stack};
use proto::crypto::rustls::QuicClientConfig;
use rustls::server::StoresServerSessions;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Flights that a handshake with its ticket takes at most.
const MOST_FLIGHTS: usize = 10;

/// Each session by its name, with the number of clients that keep it.
type All = BTreeMap<Vec<u8>, (Vec<u8>, usize)>;

fn all() -> MutexGuard<'static, All> {
    static ALL: Mutex<All> = Mutex::new(BTreeMap::new());
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// The session that this thread stored last.
    static STORED: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// A session that servers keep for a client.
pub struct Kept(Vec<u8>);

impl Drop for Kept {
    fn drop(&mut self) {
        let mut all = all();
        let is_last = all.get_mut(&self.0).is_some_and(|(_, clients)| {
            *clients -= 1;
            *clients == 0
        });
        if is_last {
            all.remove(&self.0);
        }
    }
}

/// The sessions of all servers.
#[derive(Debug)]
pub struct Sessions;

impl StoresServerSessions for Sessions {
    fn put(&self, name: Vec<u8>, session: Vec<u8>) -> bool {
        all().entry(name.clone()).or_insert((session, 0)).1 += 1;
        STORED.replace(Some(Kept(name)));
        true
    }
    fn get(&self, name: &[u8]) -> Option<Vec<u8>> {
        all().get(name).map(|(session, _)| session.clone())
    }
    /// The client's end may be made again in another run: its session stays.
    fn take(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.get(name)
    }
    fn can_cache(&self) -> bool {
        true
    }
}

/// A seed of its own for the earlier connection.
fn seed(config: &Config<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (config.seed, config.max_datagram, config.options()).hash(&mut hasher);
    hasher.finish()
}

/// Makes the earlier connection of that client: what its TLS remembers, and the session.
pub fn earlier(config: &Config<'_>, now: u64) -> Result<(Arc<QuicClientConfig>, Kept), String> {
    let tls = tls::returning(config.secrets);
    random::set(seed(config));
    let mut client = End::of(config, now, Tls::Client(tls::client(tls.clone(), false)))?;
    client.random = random::get();
    random::set(!seed(config));
    let mut server = End::of(config, now, Tls::Server(tls::server(config.secrets, false, Some(1))))?;
    server.random = random::get();
    let mut buffer = vec![0; 1 << 16];
    for _ in 0..MOST_FLIGHTS {
        pass(&mut client, &mut server, now, &mut buffer)?;
        pass(&mut server, &mut client, now, &mut buffer)?;
    }
    let session = STORED.take().ok_or("the server must give a ticket for 0-RTT, got none")?;
    Ok((tls, session))
}

/// Passes on what one end sends.
fn pass(from: &mut End, to: &mut End, now: u64, buffer: &mut [u8]) -> Result<(), String> {
    while let Some(burst) = from.transmit(now, buffer) {
        buffer[..burst.len].chunks(burst.segment).try_for_each(|datagram| to.receive(now, burst.ecn, datagram))?;
    }
    Ok(())
}
