//! Sliding windows of samples, one a path.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The last samples of each path.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    size: usize,
    paths: Vec<VecDeque<u64>>,
}

impl Windows {
    pub fn new(size: u32) -> Windows {
        Windows { size: size as usize, paths: Vec::new() }
    }
    pub fn push(&mut self, path: usize, sample: u64) {
        if self.paths.len() <= path {
            self.paths.resize_with(path + 1, VecDeque::new);
        }
        let window = &mut self.paths[path];
        if window.len() == self.size {
            window.pop_front();
        }
        window.push_back(sample);
    }
    /// The window of a path, oldest first, once it is full.
    pub fn full(&mut self, path: usize) -> Option<&[u64]> {
        let window = self.paths.get_mut(path).filter(|w| w.len() == self.size)?;
        Some(window.make_contiguous())
    }
}
