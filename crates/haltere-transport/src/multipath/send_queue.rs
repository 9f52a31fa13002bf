//! The stream on its way out: what was written, cut into chunks, and which paths have carried each.
//! Units: bytes of the connection's stream from 0. Cost: O(log chunks) to find one, O(1) to add and to acknowledge.

use super::view::Paths;
use alloc::collections::VecDeque;

/// A piece of the stream that was given to a path at least once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chunk {
    pub start: u64,
    pub len: u32,
    pub carried: Paths,
}

impl Chunk {
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// What was written and is not yet acknowledged to the connection.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    chunks: VecDeque<Chunk>,
    /// First byte not acknowledged, first never sent, end of what was written.
    pub una: u64,
    pub nxt: u64,
    pub end: u64,
    /// The application has closed: the stream ends at `end`, and that takes a number of its own.
    pub closed: bool,
}

impl SendQueue {
    /// Everything is acknowledged, the end too.
    pub fn is_complete(&self) -> bool {
        self.closed && self.una > self.end
    }
    /// All bytes are acknowledged, but not the end.
    pub fn wants_end(&self) -> bool {
        self.closed && self.una == self.end
    }
    /// The connection's acknowledgement. True if it is new.
    pub fn acknowledge(&mut self, ack: u64) -> bool {
        let most = self.nxt + u64::from(self.closed && self.nxt == self.end);
        if ack <= self.una || ack > most {
            return false;
        }
        self.una = ack;
        while self.chunks.front().is_some_and(|c| c.end() <= ack) {
            self.chunks.pop_front();
        }
        true
    }
    /// Cuts the next chunk, of at most `len` bytes, and gives it to `path`.
    pub fn cut(&mut self, len: u64, path: usize) -> Chunk {
        let len = len.min(self.end - self.nxt) as u32;
        let chunk = Chunk { start: self.nxt, len, carried: Paths::one(path) };
        self.nxt += u64::from(len);
        self.chunks.push_back(chunk);
        chunk
    }
    /// Index of the first chunk that ends after `position`.
    pub fn index_of(&self, position: u64) -> usize {
        self.chunks.partition_point(|c| c.end() <= position)
    }
    pub fn get(&self, index: usize) -> Option<&Chunk> {
        self.chunks.get(index)
    }
    /// Another path takes that chunk: what it carries, and whether this is the chunk's first replica.
    pub fn carry(&mut self, index: usize, path: usize) -> Chunk {
        let chunk = &mut self.chunks[index];
        chunk.carried = chunk.carried.with(path);
        *chunk
    }
    pub fn front(&self) -> Option<&Chunk> {
        self.chunks.front()
    }
    pub fn iter(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.iter()
    }
    /// The path carries nothing any more.
    pub fn forget(&mut self, path: usize) {
        self.chunks.iter_mut().for_each(|c| c.carried = c.carried.without(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_takes_a_number_of_its_own() {
        let mut q = SendQueue { end: 1500, closed: true, ..SendQueue::default() };
        q.cut(1000, 0);
        assert!(!q.acknowledge(1001), "not sent yet");
        q.cut(1000, 1);
        assert!(q.acknowledge(1500) && q.wants_end() && !q.is_complete());
        assert!(q.acknowledge(1501) && q.is_complete());
    }

    #[test]
    fn a_chunk_is_found_by_any_of_its_bytes() {
        let mut q = SendQueue { end: 3000, ..SendQueue::default() };
        (0..3).for_each(|_| {
            q.cut(1000, 0);
        });
        assert_eq!([0, 999, 1000, 2999, 3000].map(|p| q.index_of(p)), [0, 0, 1, 2, 3]);
        q.acknowledge(1000);
        assert_eq!(q.front().unwrap().start, 1000);
    }
}
