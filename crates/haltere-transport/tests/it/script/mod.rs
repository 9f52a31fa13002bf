//! Short scripts of one TCP endpoint: a segment comes in, a segment is expected. Each states what an RFC says, or what
//! Linux 6.1 does if the comment says so. `table.rs` has the form of a script.

mod accurate_ecn;
mod close;
mod congestion;
mod data;
mod ecn;
mod handshake;
mod receiver;
mod recovery;
mod table;
mod tail;
mod timeout;
mod undo;
