//! The options of `haltere router`, checked before anything is opened.

use crate::error::{Doing, WireError};
use crate::sys;
use haltere_units::{Dur, Prob};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::{AccessFlags, access};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Received frames for which an interface may have room.
const SLOTS: RangeInclusive<u64> = 1..=262_144;
const SPIN_MOST: Dur = Dur::from_secs(1);

/// A capture: the option that asks for it, and its file.
pub(super) type CaptureFile = (&'static str, PathBuf);

/// Two interfaces and what joins them.
#[derive(Debug, Clone)]
pub(super) struct Options {
    /// The left and the right interface.
    pub(super) interfaces: [String; 2],
    pub(super) seed: u64,
    /// Low bits of senders' initial sequence numbers that are zero; 0: not known.
    pub(super) isn_bits: u8,
    pub(super) spin: Dur,
    /// For queue sizes in `bdp`.
    pub(super) rtt: Option<Dur>,
    pub(super) reorder: Prob,
    pub(super) reorder_by: Dur,
    /// Received frames that an interface can hold.
    pub(super) slots: usize,
    /// Of the left and the right interface.
    pub(super) captures: [Option<CaptureFile>; 2],
    pub(super) keep_privileges: bool,
    /// No line per second.
    pub(super) quiet: bool,
    /// Lines and statistics are JSON, on standard output.
    pub(super) json: bool,
    /// Address at which `/metrics` and `/stats` are served.
    pub(super) prometheus: Option<String>,
    /// It ends by itself after this.
    pub(super) duration: Option<Dur>,
}

impl Options {
    /// From a JSON object whose keys are the options of the command line without their dashes.
    pub(super) fn read(json: &str) -> Result<Options, WireError> {
        let map = serde_json::from_str(json).map_err(|e| refuse("options", "a JSON object", json, &e.to_string()))?;
        let mut given = Given(map);
        let interfaces = [given.text("left")?, given.text("right")?].map(Option::unwrap_or_default);
        let options = Options {
            interfaces,
            seed: given.count("seed", 0..=u64::MAX)?.unwrap_or(0),
            isn_bits: given.count("isn_bits", 0..=32)?.unwrap_or(0) as u8,
            spin: given.take("spin")?.unwrap_or(Dur::ZERO),
            rtt: given.take("rtt")?,
            reorder: given.take("reorder")?.unwrap_or(Prob::ZERO),
            reorder_by: given.take("reorder_by")?.unwrap_or(Dur::ZERO),
            slots: given.count("slots", SLOTS)?.unwrap_or(8192) as usize,
            captures: [given.capture("--pcap", "pcap_left")?, given.capture("--pcap-right", "pcap_right")?],
            keep_privileges: given.flag("keep_privileges")?,
            quiet: given.flag("quiet")?,
            json: given.flag("json")?,
            prometheus: given.text("prometheus")?,
            duration: given.take("duration")?,
        };
        options.check()?;
        Ok(options)
    }
    fn check(&self) -> Result<(), WireError> {
        if self.duration.is_some_and(Dur::is_zero) {
            return Err(refuse("--duration", "more than zero", "0s", "without it the router runs until a signal"));
        }
        if self.rtt.is_some_and(Dur::is_zero) {
            return Err(refuse("--rtt", "more than zero", "0s", "by default it is twice the delay"));
        }
        if self.spin > SPIN_MOST {
            let rule = format!("at most {SPIN_MOST}");
            return Err(refuse("--spin", &rule, &self.spin.to_string(), "some 25us are enough"));
        }
        let [left, right] = &self.interfaces;
        if left == right {
            return Err(twice(left));
        }
        if let [Some((_, one)), Some((option, other))] = &self.captures
            && one == other
        {
            return Err(not_a_capture(option, other, "it is that of --pcap"));
        }
        Ok(())
    }
    /// Whether the two interfaces exist, are two, and carry Ethernet frames.
    pub(super) fn check_interfaces(&self) -> Result<(), WireError> {
        let any = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
            .doing("asking for interfaces")?;
        let mut indices = Vec::new();
        for (option, name) in ["--left", "--right"].into_iter().zip(&self.interfaces) {
            let index = nix::net::if_::if_nametoindex(name.as_str());
            let rule = "an interface of this network namespace";
            indices.push(index.map_err(|_| refuse(option, rule, name, "`ip link` lists them"))?);
            if !sys::is_ethernet(any.as_fd(), name).doing(format!("asking what `{name}` is"))? {
                let hint = "loopback and tunnels have no frames that could go on; a veth pair has";
                return Err(refuse(option, "an Ethernet interface", name, hint));
            }
        }
        // One interface may have several names.
        if indices[0] == indices[1] { Err(twice(&self.interfaces[1])) } else { Ok(()) }
    }
}

/// `option` of the router must be `rule`.
fn refuse(option: &str, rule: &str, got: &str, hint: &str) -> WireError {
    WireError::plan("router", format!("{option} must be {rule}, got `{got}`; {hint}"))
}

fn twice(name: &str) -> WireError {
    refuse("--right", "another interface than --left", name, "a router joins two")
}

/// That file cannot hold a capture.
pub(super) fn not_a_capture(option: &str, path: &Path, why: &str) -> WireError {
    refuse(option, "a file that can be written", &path.display().to_string(), why)
}

/// The options that were not read yet.
struct Given(Map<String, Value>);

impl Given {
    fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, WireError> {
        let Some(value) = self.0.remove(name) else { return Ok(None) };
        // The unit's own error is `must be <rule>, got <value>`.
        let read = serde_json::from_value(value);
        read.map(Some).map_err(|e| WireError::plan("router", format!("{} {e}", dashed(name))))
    }
    fn text(&mut self, name: &str) -> Result<Option<String>, WireError> {
        self.take(name)
    }
    fn flag(&mut self, name: &str) -> Result<bool, WireError> {
        Ok(self.take(name)?.unwrap_or(false))
    }
    fn count(&mut self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, WireError> {
        let Some(value) = self.0.remove(name) else { return Ok(None) };
        match value.as_u64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let rule = format!("a whole number from {} to {}", range.start(), range.end());
                Err(WireError::plan("router", format!("{} must be {rule}, got `{value}`", dashed(name))))
            }
        }
    }
    /// A file to be written: a regular one, or none yet in a folder that is there. Nothing is written.
    fn capture(&mut self, option: &'static str, name: &str) -> Result<Option<CaptureFile>, WireError> {
        let Some(path) = self.take::<PathBuf>(name)? else { return Ok(None) };
        let refuse = |why: &str| Err(not_a_capture(option, &path, why));
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let checked = match fs::metadata(&path) {
            Ok(there) if !there.is_file() => return refuse("it is there and no regular file"),
            Ok(_) => access(&path, AccessFlags::W_OK),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return refuse(&e.to_string()),
            Err(_) if !folder.is_dir() => return refuse("its folder is not there"),
            Err(_) if path.file_name().is_none() => return refuse("it has no name"),
            Err(_) => access(folder, AccessFlags::W_OK),
        };
        match checked {
            Ok(()) => Ok(Some((option, path))),
            Err(e) => refuse(&io::Error::from(e).to_string()),
        }
    }
}

/// An option as it is typed.
fn dashed(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(more: &str) -> String {
        let json = format!(r#"{{ "left": "a", "right": "b"{more} }}"#);
        Options::read(&json).map_or_else(|e| e.to_string(), |_| String::new())
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_its_name() {
        assert_eq!(error_of(""), "");
        for (more, told) in [
            (r#", "isn_bits": 99"#, "router: --isn-bits must be a whole number from 0 to 32, got `99`"),
            (r#", "slots": -1"#, "router: --slots must be a whole number from 1 to 262144, got `-1`"),
            (r#", "duration": "0s""#, "router: --duration must be more than zero, got `0s`"),
            (r#", "duration": "5""#, "router: --duration must be a duration such as `5ms`, got `5`"),
            (r#", "rtt": "0s""#, "router: --rtt must be more than zero, got `0s`"),
            (r#", "spin": "2s""#, "router: --spin must be at most 1s, got `2s`"),
            (r#", "reorder": "2""#, "router: --reorder must be a probability from 0 to 1"),
        ] {
            let error = error_of(more);
            assert!(error.starts_with(told), "{error}");
        }
        let same = Options::read(r#"{ "left": "a", "right": "a" }"#).unwrap_err().to_string();
        assert_eq!(same, "router: --right must be another interface than --left, got `a`; a router joins two");
    }

    #[test]
    fn a_capture_goes_to_a_regular_file_in_a_folder_that_is_there() {
        for path in ["/nowhere/x", "/dev/null", "/tmp", "/tmp/.."] {
            let error = error_of(&format!(r#", "pcap_right": "{path}""#));
            let told = format!("router: --pcap-right must be a file that can be written, got `{path}`; ");
            assert!(error.starts_with(&told), "{error}");
        }
        let path = std::env::temp_dir().join(format!("haltere-capture-{}", std::process::id()));
        let json = format!(r#", "pcap_left": "{0}", "pcap_right": "{0}""#, path.display());
        assert!(error_of(&json).contains("it is that of --pcap"), "{}", error_of(&json));
        assert!(!path.exists(), "a check writes nothing");
    }
}
