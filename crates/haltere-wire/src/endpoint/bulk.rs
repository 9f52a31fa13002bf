//! TCP with an endless supply of data, or with a number of bytes.

use super::stream::{Stream, Transfer};
use super::{Kind, Opening};
use crate::error::WireError;
use haltere_plan::plan::BulkPlan;

/// The kind.
pub(super) struct Bulk;

impl Kind for Bulk {
    type Plan = BulkPlan;
    type Endpoint<'p> = Transfer;
    fn open<'p>(plan: &'p BulkPlan, at: Opening<'p>) -> Result<Transfer, WireError> {
        Transfer::open(&at, Stream { tcp: &plan.tcp, bytes: plan.bytes, source: None, multipath: false })
    }
}
