//! The random streams of a link.

use crate::rng::Rng;
use alloc::format;

/// What a link draws random numbers for. Each has a stream of its own, so a change of one leaves the others as they
/// were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// The seed of the discipline's hashes: one draw when the link is made.
    Hash,
    /// What the discipline draws.
    Queue,
    /// Loss on the line: one draw a packet if the probability is above zero. The Gilbert-Elliott process draws two.
    Loss,
    /// Jitter: one draw a packet that was not lost, if the link has jitter or a delay that changes.
    Jitter,
    /// Duplication: one draw a packet that was not lost, if the probability is above zero.
    Duplicate,
    /// Reordering: one draw a packet that was not lost, if the probability is above zero.
    Reorder,
}

impl Stream {
    /// The seed of this stream of the link `link` in a run with that seed.
    pub fn seed(self, seed: u64, link: &str) -> u64 {
        let part = match self {
            Stream::Hash => "hash",
            Stream::Queue => "queue",
            Stream::Loss => "loss",
            Stream::Jitter => "jitter",
            Stream::Duplicate => "duplicate",
            Stream::Reorder => "reorder",
        };
        Rng::seed(seed, &format!("{link}/{part}"))
    }
    /// This stream of the link `link` in a run with that seed.
    pub fn rng(self, seed: u64, link: &str) -> Rng {
        Rng::from_seed(self.seed(seed, link))
    }
}

/// The streams from which a link draws while it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Streams {
    /// What [`Stream::Queue`] is drawn from.
    pub queue: Rng,
    /// What [`Stream::Loss`] is drawn from.
    pub loss: Rng,
    /// What [`Stream::Jitter`] is drawn from.
    pub jitter: Rng,
    /// What [`Stream::Duplicate`] is drawn from.
    pub duplicate: Rng,
    /// What [`Stream::Reorder`] is drawn from.
    pub reorder: Rng,
}

impl Streams {
    /// The streams of the link `link` in a run with that seed.
    pub fn new(seed: u64, link: &str) -> Streams {
        let rng = |stream: Stream| stream.rng(seed, link);
        Streams {
            queue: rng(Stream::Queue),
            loss: rng(Stream::Loss),
            jitter: rng(Stream::Jitter),
            duplicate: rng(Stream::Duplicate),
            reorder: rng(Stream::Reorder),
        }
    }
}
