//! A source with always something to send, or with a limited number of bytes and then the end of the stream.

use haltere_transport::Connection;
use haltere_units::Bytes;

/// A bulk source.
#[derive(Debug)]
pub(crate) struct Bulk {
    /// Bytes not yet written; `None`: endless.
    remaining: Option<u64>,
    closed: bool,
}

impl Bulk {
    pub fn new(bytes: Option<Bytes>) -> Bulk {
        Bulk { remaining: bytes.map(Bytes::as_u64), closed: false }
    }
    pub fn start(&mut self, socket: &mut Connection) {
        if self.remaining.is_none() {
            socket.write_endless();
        }
        self.fill(socket);
    }
    /// Writes what the send buffer takes, and the end of the stream after the last byte.
    #[inline]
    pub fn fill(&mut self, socket: &mut Connection) {
        if let (Some(remaining), false) = (&mut self.remaining, self.closed) {
            *remaining -= socket.write(Bytes::new(*remaining)).as_u64();
            if *remaining == 0 {
                self.stop(socket);
            }
        }
    }
    pub fn stop(&mut self, socket: &mut Connection) {
        if !self.closed {
            self.closed = true;
            socket.close();
        }
    }
}
