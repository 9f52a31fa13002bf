//! The ECN field, which queues set and transports read.

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// Not ECN-capable: congestion is signalled by dropping.
    #[default]
    NotEct,
    /// ECN-capable, L4S (RFC 9331).
    Ect1,
    /// ECN-capable, classic (RFC 3168).
    Ect0,
    /// CE: the packet experienced congestion.
    Ce,
}

impl Ecn {
    /// True for every codepoint but Not-ECT: the packet may be marked instead of dropped.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}
