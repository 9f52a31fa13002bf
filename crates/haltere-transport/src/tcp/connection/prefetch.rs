//! Which memory an endpoint will read, for a world that has thousands of them and knows whose turn is next.

use super::Connection;

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// How far ahead of its event an endpoint is prefetched. Each stage reads what the one before it has fetched; the first
/// one reads the [`Connection`] itself, which the caller has fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefetchStage {
    /// The parts of the endpoint that lie elsewhere on the heap.
    Parts,
    /// The record of the oldest segment in flight: an acknowledgement reads it first.
    OldestRecord,
}

/// Calls `fetch` for each line of a value.
#[inline(always)]
fn lines<T>(value: &T, fetch: &mut impl FnMut(*const u8)) {
    let start: *const u8 = (&raw const *value).cast();
    for line in 0..size_of::<T>() / LINE {
        fetch(start.wrapping_add(line * LINE));
    }
    fetch(start.wrapping_add(size_of::<T>() - 1));
}

impl Connection {
    /// Calls `fetch` with an address in each line of memory that the next event of this endpoint will probably read, as
    /// far as `stage` has it. The addresses are hints for a prefetch instruction. They are not to be read through.
    #[inline(always)]
    pub fn prefetch_lines(&self, stage: PrefetchStage, mut fetch: impl FnMut(*const u8)) {
        match stage {
            PrefetchStage::Parts => {
                if let Some(tx) = self.tx.as_deref() {
                    lines(tx, &mut fetch);
                }
                if let Some(disorder) = self.rx.kept_of_disorder() {
                    lines(disorder, &mut fetch);
                }
            }
            PrefetchStage::OldestRecord => {
                if let Some(record) = self.tx.as_deref().and_then(|tx| tx.oldest_record()) {
                    lines(record, &mut fetch);
                }
            }
        }
    }
}
