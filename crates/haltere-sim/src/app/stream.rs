//! A connection as the application of a flow writes to it: TCP's, or that of a stack from outside the tree.

use haltere_transport::Connection;
use haltere_units::Bytes;

/// One end of a connection of one stream.
pub(crate) trait Stream {
    /// Writes so many bytes. Returns those that were taken.
    fn write(&mut self, bytes: Bytes) -> Bytes;
    /// From now on there is always something to send.
    fn write_endless(&mut self);
    /// Bytes that a write would take now.
    fn writable(&self) -> Bytes;
    /// Bytes that were written and that the peer has not acknowledged.
    fn unacknowledged(&self) -> Bytes;
    /// Nothing more will be written.
    fn close(&mut self);
    /// The connection itself, if it is TCP.
    fn tcp(&mut self) -> Option<&mut Connection> {
        None
    }
}

impl Stream for Connection {
    fn write(&mut self, bytes: Bytes) -> Bytes {
        Connection::write(self, bytes)
    }
    fn write_endless(&mut self) {
        Connection::write_endless(self);
    }
    fn writable(&self) -> Bytes {
        Connection::writable(self)
    }
    fn unacknowledged(&self) -> Bytes {
        Connection::unacknowledged(self)
    }
    fn close(&mut self) {
        Connection::close(self);
    }
    fn tcp(&mut self) -> Option<&mut Connection> {
        Some(self)
    }
}
