//! What can go wrong with a capture, and how its reading is watched.

use haltere_units::ParamError;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// An error in reading a capture.
#[derive(Debug)]
pub enum CaptureError {
    /// It could not be read.
    Open(std::io::Error),
    /// It is not a capture.
    Format(String),
    /// The packet of that number, from 1, breaks off or contradicts itself.
    Packet(u64, String),
    /// The packet of that number came over a kind of link that is not read.
    LinkType(u64, u16),
    /// A parameter is wrong.
    Param(ParamError),
    /// The caller cancelled the reading.
    Cancelled,
    /// It has nothing to work on.
    Nothing(String),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Open(error) => write!(f, "file must be readable, got {error}"),
            CaptureError::Format(got) => write!(f, "file must be a pcap or pcapng capture, got {got}"),
            CaptureError::Packet(number, got) => {
                write!(f, "packet {number} must be whole, got {got}; the file is truncated or corrupt there")
            }
            CaptureError::LinkType(number, got) => {
                write!(f, "packet {number} must be Ethernet, IP, loopback or Linux cooked, got link type {got}")
            }
            CaptureError::Param(error) => error.fmt(f),
            CaptureError::Cancelled => write!(f, "ended by the caller"),
            CaptureError::Nothing(got) => f.write_str(got),
        }
    }
}

impl std::error::Error for CaptureError {}

impl From<ParamError> for CaptureError {
    fn from(error: ParamError) -> CaptureError {
        CaptureError::Param(error)
    }
}

/// How the caller watches and ends the reading. Both may be read and written from other threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watch<'a> {
    /// Bytes read so far.
    pub read: Option<&'a AtomicU64>,
    /// Set it to end the reading.
    pub cancel: Option<&'a AtomicBool>,
    /// Bytes of other files that were read before.
    pub before: u64,
}
