//! Uploads by FTP: each task a control connection with its dialogue, and a data connection when the dialogue says so.
//! Source: RFC 959 (replies as worded in its section 4.2.2, order as in its appendix II), passive mode. Deviations:
//! none in the bytes; the lines that depend on names are those of `ANONYMOUS` below.
//! Model: one line of the dialogue is in flight at a time, and its listener answers when it has read the last byte:
//!
//! ```text
//!   client                                   server
//!     | SYN ----------- control -------------> |
//!     | <------------------------------- 220   |
//!     | USER -------> 331   PASS -------> 230  |
//!     | TYPE -------> 200   PASV -------> 227  |
//!     | SYN ------------- data --------------> |
//!     | STOR (data connection open) ---------> |
//!     | <------------------------------- 150   |
//!     | ============ the file, FIN ==========> |
//!     | <------------------------------- 226   |  the task ends here
//!     | QUIT -------> 221, FIN                 |
//! ```
//!
//! A connection that gives up (too many retransmissions) fails the task, which starts again at once with new
//! connections. A flow does one task, or in a closed loop one after the other with a file drawn each time. All packets
//! of a task carry its mark: the DSCP for short where its file is at most `short`, otherwise that for long.
//! Units: bytes, ns. Known problems: when the next task of a loop begins, what is left of the last one's closing (the
//! last acknowledgements) is forgotten, and packets of old connections are not answered with RST.

use super::sockets::{self, Peers, Sockets, is_dead};
use super::{App, CLIENT, Place, SERVER, is_over};
use crate::net::fabric::Fabric;
use crate::net::packet::Packet;
use haltere_plan::Record;
use haltere_plan::plan::{FlowPlan, FtpPlan, Work};
use haltere_plan::record::TaskRecord;
use haltere_plan::rng::Rng;
use haltere_queue::classify::{DSCP_LONG, DSCP_SHORT};
use haltere_transport::Connection;
use haltere_units::{Bytes, ParamError, Time};

/// Which connection of a task.
const CONTROL: usize = 0;
const DATA: usize = 1;

/// The dialogue: who speaks, and what (RFC 959 section 4.2.2 words the replies).
const DIALOGUE: [(usize, &str); 15] = [
    (SERVER, "220 Service ready for new user.\r\n"),
    (CLIENT, "USER anonymous\r\n"),
    (SERVER, "331 User name okay, need password.\r\n"),
    (CLIENT, "PASS anonymous@\r\n"),
    (SERVER, "230 User logged in, proceed.\r\n"),
    (CLIENT, "TYPE I\r\n"),
    (SERVER, "200 Command okay.\r\n"),
    (CLIENT, "PASV\r\n"),
    (SERVER, "227 Entering Passive Mode (10,0,0,4,195,80).\r\n"),
    (CLIENT, "STOR file0001\r\n"),
    (SERVER, "150 File status okay; about to open data connection.\r\n"),
    (SERVER, "226 Closing data connection.\r\n"),
    (CLIENT, "QUIT\r\n"),
    (SERVER, "221 Service closing control connection.\r\n"),
    (CLIENT, ""), // nothing more to say
];
/// Lines before which something else must have happened.
const STOR: usize = 9;
const START_DATA: usize = 10;
const DONE: usize = 11;
const QUIT: usize = 12;
const BYE: usize = 13;
const END: usize = 14;

/// The port on which an FTP server listens.
const FTP_PORT: u16 = 21;

#[derive(Debug)]
struct Task {
    record: TaskRecord,
    /// The control connection and, once it is opened, the data connection.
    pairs: [Option<Peers>; 2],
    /// The line of the dialogue that is to be said next, or is in flight.
    line: usize,
    /// Bytes of the line in flight that its listener has not read; `None`: not said yet.
    unread: Option<u64>,
    /// Bytes of the file not yet written.
    unwritten: u64,
}

/// A flow of tasks, one after the other.
#[derive(Debug)]
pub(crate) struct Ftp {
    sockets: Sockets,
    work: Work,
    short: Bytes,
    /// Draws files.
    files: Rng,
    stop: Option<Time>,
    task: Option<Task>,
    done: Vec<TaskRecord>,
    /// File bytes delivered to the server.
    received: u64,
}

impl Ftp {
    pub fn new(plan: &FlowPlan, ftp: &FtpPlan, place: Place) -> Result<Ftp, ParamError> {
        if let Work::Loop(files) = &ftp.work
            && files.is_empty()
        {
            return Err(ParamError::new("files", "at least one file", 0));
        }
        Ok(Ftp {
            work: ftp.work.clone(),
            short: ftp.short,
            files: Rng::new(place.origin.seed, &format!("{}/files", plan.name)),
            sockets: Sockets::new(plan, &ftp.tcp, CLIENT, place)?,
            stop: plan.stop,
            task: None,
            done: Vec::new(),
            received: 0,
        })
    }
    /// Opens the control connection of a task.
    fn begin(&mut self, record: TaskRecord, fabric: &mut Fabric) {
        let control = self.connect(FTP_PORT, record.bytes, fabric);
        let unwritten = record.bytes.as_u64();
        self.task = Some(Task { record, pairs: [Some(control), None], line: 0, unread: None, unwritten });
    }
    /// A new connection to that port of the server, for a file of that size.
    fn connect(&mut self, server_port: u16, bytes: Bytes, fabric: &mut Fabric) -> Peers {
        let dscp = if bytes <= self.short { DSCP_SHORT } else { DSCP_LONG };
        self.sockets.open(server_port, Some(dscp), fabric)
    }
    /// Does all that can be done now, and sends the result.
    fn go_on(&mut self, fabric: &mut Fabric) {
        while self.step(fabric) {}
        self.transmit(fabric);
        if self.task.as_ref().is_some_and(|task| task.line == END) && self.is_loop() {
            self.done.extend(self.task.take().map(|task| task.record));
            if !is_over(self.stop, fabric.now) {
                self.start(fabric);
            }
        }
    }
    fn is_loop(&self) -> bool {
        matches!(self.work, Work::Loop(_))
    }
    /// One step of the task; false where there is none to do now.
    fn step(&mut self, fabric: &mut Fabric) -> bool {
        let Some(task) = &mut self.task else { return false };
        if task.line < END && task.pairs.iter().flatten().any(is_dead) {
            let record = TaskRecord { failures: task.record.failures + 1, ..task.record };
            self.begin(record, fabric);
            return true;
        }
        self.received += task.move_file();
        let Some(unread) = task.unread else {
            if task.line == STOR && task.pairs[DATA].is_none() {
                task.record.data = Some(fabric.now);
                let bytes = task.record.bytes;
                let data = self.connect(fabric.hosts.ephemeral_port(), bytes, fabric);
                self.task.as_mut().expect("it is there").pairs[DATA] = Some(data);
                return true;
            }
            return task.say();
        };
        let listener = 1 - DIALOGUE[task.line].0;
        let heard = task.pairs[CONTROL].as_mut().map_or(0, |control| control[listener].socket.read(unread));
        task.unread = Some(unread - heard);
        if unread > heard {
            return false;
        }
        task.heard(fabric.now);
        true
    }
    /// Sends what may be sent now, and sets the timers.
    fn transmit(&mut self, fabric: &mut Fabric) {
        for side in [CLIENT, SERVER] {
            pairs(&mut self.task).for_each(|ends| ends[side].transmit(fabric));
            self.sockets.set_timer(side, pairs(&mut self.task).map(|ends| &*ends), fabric);
        }
    }
}

/// The connections of a task.
fn pairs(task: &mut Option<Task>) -> impl Iterator<Item = &mut Peers> {
    task.iter_mut().flat_map(|task| task.pairs.iter_mut().flatten())
}

impl App for Ftp {
    fn start(&mut self, fabric: &mut Fabric) {
        let bytes = match &self.work {
            Work::One(bytes) => *bytes,
            Work::Loop(files) => files[self.files.below(files.len() as u64) as usize],
        };
        let record = TaskRecord {
            flow: self.sockets.index as u32,
            bytes,
            start: fabric.now,
            data: None,
            end: None,
            failures: 0,
        };
        self.begin(record, fabric);
        self.go_on(fabric);
    }
    fn set_stop(&mut self, at: Time, _fabric: &mut Fabric) {
        self.stop = Some(at);
    }
    fn on_timer(&mut self, side: usize, fabric: &mut Fabric) {
        if self.sockets.on_timer(side, fabric.now, pairs(&mut self.task)) {
            self.go_on(fabric);
        }
    }
    fn receive(&mut self, side: usize, packet: Packet, fabric: &mut Fabric) {
        sockets::receive(side, &packet, pairs(&mut self.task), fabric);
        self.go_on(fabric);
    }
    fn received(&self) -> u64 {
        self.received
    }
    /// The tasks, the one that did not end as the last.
    fn finish(&mut self, _at: Time, record: &mut Record) {
        record.tasks.extend(self.done.iter().copied().chain(self.task.as_ref().map(|task| task.record)));
    }
}

impl Task {
    /// Says the next line, where it is time for it. False where it is not.
    fn say(&mut self) -> bool {
        let [control, data] = &mut self.pairs;
        let Some(control) = control else { return false };
        let (speaker, text) = DIALOGUE[self.line];
        let data = |side: usize| data.as_ref().map(|pair| &pair[side].socket);
        let ready = match self.line {
            STOR => data(CLIENT).is_some_and(Connection::is_established),
            START_DATA => data(SERVER).is_some_and(Connection::is_established),
            DONE => data(SERVER).is_some_and(|s| s.is_peer_closed() && s.readable() == 0),
            END => false,
            _ => control[speaker].socket.is_established(),
        };
        if ready {
            let socket = &mut control[speaker].socket;
            let taken = socket.write(Bytes::new(text.len() as u64));
            assert_eq!(taken.as_u64(), text.len() as u64, "a line fits into the buffer");
            self.unread = Some(text.len() as u64);
            if self.line == BYE {
                socket.close();
            }
        }
        ready
    }
    /// The line in flight was read to its end.
    fn heard(&mut self, now: Time) {
        self.line += 1;
        self.unread = None;
        if self.line == QUIT {
            self.record.end = Some(now);
        }
        if self.line == END
            && let Some(control) = &mut self.pairs[CONTROL]
        {
            control[CLIENT].socket.close();
        }
    }
    /// The client writes what the data connection takes, the server reads what has come: that many bytes.
    fn move_file(&mut self) -> u64 {
        let Some([client, server]) = &mut self.pairs[DATA] else { return 0 };
        // The client has heard the 150.
        if self.line > START_DATA && self.unwritten > 0 {
            self.unwritten -= client.socket.write(Bytes::new(self.unwritten)).as_u64();
            if self.unwritten == 0 {
                client.socket.close();
            }
        }
        let read = server.socket.read(u64::MAX);
        if self.line >= DONE && server.socket.is_peer_closed() && server.socket.readable() == 0 {
            server.socket.close();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialogue_alternates_but_for_the_reply_to_the_file() {
        let speakers: Vec<usize> = DIALOGUE.iter().map(|(speaker, _)| *speaker).collect();
        let repeated: Vec<usize> = (1..END).filter(|&i| speakers[i] == speakers[i - 1]).collect();
        assert_eq!(repeated, [DONE]);
        assert!(DIALOGUE[..END].iter().all(|(_, text)| text.ends_with("\r\n")));
    }
    #[test]
    fn the_named_lines_are_where_they_are_said_to_be() {
        let starts = [(STOR, "STOR"), (START_DATA, "150"), (DONE, "226"), (QUIT, "QUIT"), (BYE, "221")];
        assert!(starts.iter().all(|&(line, text)| DIALOGUE[line].1.starts_with(text)));
    }
}
