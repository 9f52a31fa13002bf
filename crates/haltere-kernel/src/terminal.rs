//! The person's end of a guest's terminal: the messages that `kernel/line.h` lists.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The longest text that a guest may send, in bytes.
const LONGEST: u32 = 16 << 20;

/// A message of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Its kind and its text.
    Message(u8, Vec<u8>),
    /// None came in time.
    Nothing,
    /// The guest has ended.
    End,
}

/// The person's end.
#[derive(Debug)]
pub struct Terminal(UnixStream);

impl Terminal {
    /// A terminal, and the guest's end of it.
    pub fn new() -> io::Result<(Terminal, OwnedFd)> {
        let (person, guest) = UnixStream::pair()?;
        Ok((Terminal(person), guest.into()))
    }
    /// The next message, if one comes within that time.
    pub fn hear(&self, within: Duration) -> io::Result<Heard> {
        let (mut line, mut kind, mut len) = (&self.0, [0], [0; 4]);
        line.set_read_timeout(Some(within))?;
        let begun = line.read(&mut kind);
        line.set_read_timeout(None)?;
        match begun {
            Ok(0) => return Ok(Heard::End),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => return Ok(Heard::End),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                return Ok(Heard::Nothing);
            }
            begun => begun?,
        };
        let mut rest = || -> io::Result<Vec<u8>> {
            line.read_exact(&mut len)?;
            let len = u32::from_le_bytes(len);
            if len > LONGEST {
                return Err(io::Error::other(format!("a message of {len} bytes is too long")));
            }
            let mut text = vec![0; len as usize];
            line.read_exact(&mut text)?;
            Ok(text)
        };
        match rest() {
            // It ended in the middle of a message.
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(Heard::End),
            text => Ok(Heard::Message(kind[0], text?)),
        }
    }
    /// Sends a message.
    pub fn say(&self, kind: u8, text: &[u8]) -> io::Result<()> {
        let len = u32::try_from(text.len()).map_err(io::Error::other)?;
        let head = [&[kind][..], &len.to_le_bytes()].concat();
        (&self.0).write_all(&[&head, text].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(1);

    #[test]
    fn messages_pass_and_an_end_in_the_middle_of_one_is_the_end() {
        let (person, guest) = Terminal::new().unwrap();
        let guest = Terminal(guest.into());
        assert_eq!(person.hear(SOON).unwrap(), Heard::Nothing);
        guest.say(b'o', b"one\n").unwrap();
        guest.say(b'r', b"").unwrap();
        assert_eq!(person.hear(SOON).unwrap(), Heard::Message(b'o', b"one\n".into()));
        assert_eq!(person.hear(SOON).unwrap(), Heard::Message(b'r', Vec::new()));
        (&guest.0).write_all(b"o\x05\0").unwrap();
        drop(guest);
        assert_eq!(person.hear(SOON).unwrap(), Heard::End);
        assert_eq!(person.hear(SOON).unwrap(), Heard::End);
    }

    #[test]
    fn a_message_that_is_too_long_is_refused() {
        let (person, guest) = Terminal::new().unwrap();
        let mut guest = UnixStream::from(guest);
        guest.write_all(b"o\xff\xff\xff\xff").unwrap();
        let error = person.hear(SOON).unwrap_err().to_string();
        assert_eq!(error, "a message of 4294967295 bytes is too long");
    }
}
