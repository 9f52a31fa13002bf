//! Packets of a link as pcapng files with real headers.

pub(crate) mod pcap;
pub mod wire_format;
