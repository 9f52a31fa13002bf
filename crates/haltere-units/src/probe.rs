//! Named values that a mechanism shows from inside; they become columns of the result tables.

use alloc::vec::Vec;

/// One row of named values with units.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Probe {
    values: Vec<(&'static str, &'static str, f64)>,
}

impl Probe {
    /// A row without values.
    pub fn new() -> Probe {
        Probe::default()
    }
    /// Adds a value: its name, its unit (`"s"`, `"B"`, `"bit/s"`, `""` for pure numbers) and the number. The unit of
    /// the number of a state is the names of the states from 0 on: `"startup|drain"`.
    pub fn push(&mut self, name: &'static str, unit: &'static str, value: f64) {
        self.values.push((name, unit, value));
    }
    /// The values in the order in which they were added: name, unit, number.
    pub fn values(&self) -> &[(&'static str, &'static str, f64)] {
        &self.values
    }
    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(n, _, _)| *n == name).map(|&(_, _, v)| v)
    }
    /// Empties the row for the next use.
    pub fn clear(&mut self) {
        self.values.clear();
    }
}
