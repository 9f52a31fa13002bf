//! TCP with an endless supply of data, or with a number of bytes.

use super::stream::{Stream, Transfer};
use super::{Opened, Opening};
use haltere_plan::plan::BulkPlan;

/// Opens a flow of the kind.
pub(super) fn open<'p>(plan: &'p BulkPlan, at: Opening<'p>) -> Opened<'p> {
    Ok(Box::new(Transfer::open(&at, Stream { tcp: &plan.tcp, bytes: plan.bytes, source: None, multipath: false })?))
}
