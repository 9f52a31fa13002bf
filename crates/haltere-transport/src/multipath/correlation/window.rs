//! Sliding windows of samples, one a path.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The last samples of each path.
#[derive(Debug, Clone)]
pub(crate) struct Windows<T = u64> {
    size: usize,
    paths: Vec<VecDeque<T>>,
}

impl<T> Windows<T> {
    pub fn new(size: u32) -> Windows<T> {
        Windows { size: size as usize, paths: Vec::new() }
    }
    pub fn push(&mut self, path: usize, sample: T) {
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
    pub fn full(&mut self, path: usize) -> Option<&[T]> {
        let size = self.size;
        self.at_least(path, size)
    }
    /// What is in the window of a path, oldest first, once it has so many samples.
    pub fn at_least(&mut self, path: usize, samples: usize) -> Option<&[T]> {
        let window = self.paths.get_mut(path).filter(|w| w.len() >= samples)?;
        Some(window.make_contiguous())
    }
}
