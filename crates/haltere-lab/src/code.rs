//! Code that parameters name by a file: what a process made of the files that it read, by their digests.

use haltere_units::ParamError;
use haltere_units::outside::Params;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The most files whose code is kept. One more, as in a day at the playground, empties the table.
const KEPT: usize = 64;

/// Code in use. Each file is made into code once, and the runs of a study share it.
#[derive(Default)]
pub struct Code<T>(Mutex<BTreeMap<String, T>>);

impl<T: Clone> Code<T> {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }
    /// What `make` makes of a file with these bytes and their digest; and the digest.
    pub fn of<E>(&self, bytes: &[u8], make: impl FnOnce(&str) -> Result<T, E>) -> Result<(T, String), E> {
        let digest = format!("{:x}", Sha256::digest(bytes));
        if let Some(known) = self.known(&digest) {
            return Ok((known, digest));
        }
        let made = make(&digest)?;
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= KEPT {
            table.clear();
        }
        Ok((table.entry(digest.clone()).or_insert(made).clone(), digest))
    }
    /// The code that these parameters name. `read` reads it if this process has not.
    pub fn get<R>(&self, params: &Params, read: R) -> Result<T, ParamError>
    where
        R: FnOnce() -> Result<(T, String), ParamError>,
    {
        if let Some(known) = self.known(&params.digest) {
            return Ok(known);
        }
        let (code, digest) = read()?;
        params.check_digest(&digest)?;
        Ok(code)
    }
    fn known(&self, digest: &str) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }
}
