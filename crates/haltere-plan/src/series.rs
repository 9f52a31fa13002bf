//! Values in order of time, in memory of small pieces.

use alloc::collections::LinkedList;
use alloc::vec::Vec;

/// A list that only grows at its end. No allocation is larger than [`CHUNK`] bytes, however long it is, because a
/// kernel gives no more than 4 MB in one piece and may refuse even much less.
#[derive(Debug, Clone, PartialEq)]
pub struct Series<T>(LinkedList<Vec<T>>);

/// Most bytes of one allocation; a value that is larger has one of its own.
pub const CHUNK: usize = 16 << 10;

impl<T> Default for Series<T> {
    fn default() -> Series<T> {
        Series(LinkedList::new())
    }
}

impl<T> Series<T> {
    /// Adds a value at the end.
    pub fn push(&mut self, value: T) {
        let room = (CHUNK / size_of::<T>().max(1)).max(1);
        match self.0.back_mut() {
            Some(last) if last.len() < room => last.push(value),
            _ => {
                let mut next = Vec::with_capacity(room);
                next.push(value);
                self.0.push_back(next);
            }
        }
    }
    /// Takes the first values out, as many as lie in one piece. `None`: there are no more.
    pub fn take_chunk(&mut self) -> Option<Vec<T>> {
        self.0.pop_front()
    }
    /// The values, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
    /// All values in one list.
    pub fn into_vec(self) -> Vec<T> {
        self.0.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_order_over_pieces_of_bounded_size() {
        let mut series = Series::default();
        (0..10_000_u64).for_each(|value| series.push(value));
        assert!(series.iter().copied().eq(0..10_000));
        assert!(series.0.iter().all(|chunk| chunk.capacity() * 8 <= CHUNK));
        let first = series.take_chunk().expect("values");
        assert_eq!((first.len(), series.iter().next()), (2048, Some(&2048)));
        assert_eq!(series.into_vec().len(), 10_000 - 2048);
    }
}
