//! What the kernel's fabric counted, as it is written by the guest kernel and read by the program in the guest.
//!
//! The kernel gives the text in pieces: first [`Counted`], then lists of samples, each on a line. No piece needs more
//! memory than a kernel gives in one allocation, however long the run was.

use alloc::string::String;
use alloc::vec::Vec;
use haltere_plan::fabric::{Fabric, LinkNow, Routed, Totals};
use haltere_plan::plan::LinkPlan;
use haltere_plan::{LinkQueue, WorldQueue};
use haltere_units::Time;
use serde::{Deserialize, Serialize};

/// The queues of links that are the kernel's own: index of the link, and the `tc` words.
pub fn kernel_queues(links: &[LinkPlan]) -> impl Iterator<Item = (usize, &str)> {
    links.iter().enumerate().filter_map(|(index, link)| match &link.queue {
        LinkQueue::World(WorldQueue::Kernel(params)) => Some((index, params.tc.as_str())),
        _ => None,
    })
}

/// What a fabric counted until the end of the run, samples aside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Its counters.
    pub totals: Totals,
    /// Requests for memory that the kernel refused, and that a reserve served.
    pub refused: u64,
}

/// The first piece of the text: the counters. `refused`: see [`Counted`].
pub fn first_piece<P: Routed>(fabric: &mut Fabric<P>, refused: u64) -> String {
    line(&Counted { totals: fabric.totals().clone(), refused })
}

/// The next piece: samples, which the fabric then forgets. Empty: there are no more.
pub fn next_piece<P: Routed>(fabric: &mut Fabric<P>) -> String {
    fabric.samples().take_chunk().map_or_else(String::new, |samples| line(&samples))
}

/// The links at one instant.
#[derive(Serialize)]
struct Now {
    time_s: f64,
    links: Vec<LinkNow>,
}

/// The links as they are, for a person.
pub fn links_now<P: Routed>(fabric: &mut Fabric<P>, now: Time) -> String {
    line(&Now { time_s: now.as_secs_f64(), links: fabric.links_now(now) })
}

fn line(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

/// Reads all pieces.
#[cfg(feature = "host")]
pub fn read(text: &[u8]) -> serde_json::Result<(Counted, Vec<haltere_plan::record::QueueSample>)> {
    let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let counted = serde_json::from_slice(lines.next().unwrap_or_default())?;
    let mut samples = Vec::new();
    for line in lines {
        samples.append(&mut serde_json::from_slice(line)?);
    }
    Ok((counted, samples))
}
