//! Files that an input names. They are read here alone: regular files of limited size, never a pipe or a device.

use crate::error::{Fault, FaultKind, ScenarioError};
use crate::limits::FILE_BYTES;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Where a key that names a file is in an experiment, and what that file must be.
pub(crate) struct Key<'a> {
    /// The table of the key, such as `traffic[0]`.
    pub(crate) path: &'a str,
    pub(crate) name: &'a str,
    /// What the file must be, such as `a file of sizes`.
    pub(crate) rule: &'a str,
}

/// The text of the file of that name, which counts from `folder`.
pub(crate) fn read_text(key: &Key<'_>, folder: &Path, file: &str) -> std::result::Result<String, ScenarioError> {
    read_at_most(&folder.join(file), FILE_BYTES).map_err(|e| {
        let hint = "its name counts from the folder of the experiment file";
        Fault::new(key.path, key.name, key.rule, format!("`{file}`, {}", unreadable(&e))).hint(hint).out_of_range()
    })
}

/// Why a file was not read, as it follows its name in an error.
#[must_use]
pub fn unreadable(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "which does not exist".into(),
        ErrorKind::InvalidData => "which is no text".into(),
        ErrorKind::IsADirectory => "which is a directory".into(),
        ErrorKind::InvalidInput => "which is no regular file".into(),
        ErrorKind::FileTooLarge => format!("which has more than {} MiB", FILE_BYTES >> 20),
        _ => format!("which cannot be read: {error}"),
    }
}

/// Opens a regular file. A directory, a pipe and a device are errors; a pipe is not waited for.
pub fn open_regular(path: &Path) -> Result<File> {
    // Asked before it is opened: to open a pipe waits for its other end, and to open a device may do something.
    must_be_regular(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    must_be_regular(&file.metadata()?)?;
    Ok(file)
}

fn must_be_regular(found: &std::fs::Metadata) -> Result<()> {
    if found.is_dir() {
        Err(Error::new(ErrorKind::IsADirectory, "a directory"))
    } else if !found.is_file() {
        Err(Error::new(ErrorKind::InvalidInput, "a device or a pipe, no regular file"))
    } else {
        Ok(())
    }
}

/// The size is counted while the file is read: it may grow, and files of `/proc` say that they are empty.
fn read_at_most(path: &Path, most: u64) -> Result<String> {
    let file = open_regular(path)?;
    let mut text = String::new();
    let read = file.take(most + 1).read_to_string(&mut text)?;
    if read as u64 > most {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str, most: u64) -> ErrorKind {
        read_at_most(Path::new(path), most).expect_err("refused").kind()
    }

    #[test]
    fn regular_files_of_limited_size_alone_are_read() {
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let bytes = std::fs::metadata(own).expect("it is there").len();
        assert_eq!(read_at_most(Path::new(own), bytes).expect("text").len() as u64, bytes);
        assert_eq!(refused(own, bytes - 1), ErrorKind::FileTooLarge);
        assert_eq!(refused(env!("CARGO_MANIFEST_DIR"), bytes), ErrorKind::IsADirectory);
        assert_eq!(refused("/no/such/file", bytes), ErrorKind::NotFound);
        if cfg!(unix) {
            assert_eq!(refused("/dev/zero", bytes), ErrorKind::InvalidInput);
        }
    }
}
