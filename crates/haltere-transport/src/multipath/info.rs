//! What a multipath connection shows of itself.

use crate::tcp::info::Info;
use haltere_units::{Dur, Time};

/// One path of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct PathInfo {
    /// The subflow's endpoint.
    pub subflow: Info,
    /// Segments that the scheduler gave to this path.
    pub segments: u64,
    /// Bytes that it gave.
    pub bytes: u64,
    /// Of the segments, those that another path had carried or carried later.
    pub replicas: u64,
    /// Segments sent on this path because another one had timed out, left, or held up the window.
    pub reinjected: u64,
    /// Duplicate acknowledgements that arrived.
    pub dup_acks: u64,
    /// Smoothed one-way delay as the peer reports it; zero before the first report.
    pub delay: Dur,
}

/// What a correlator reports of two paths.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Coefficient {
    /// When the correlator reported it.
    pub at: Time,
    /// Which correlator: its place in the parameters.
    pub correlator: usize,
    /// The two paths.
    pub paths: (usize, usize),
    /// The coefficient, if the correlator has one.
    pub coefficient: Option<f64>,
    /// True if the correlator reports that the paths share a bottleneck.
    pub shares: bool,
}
