//! Our own TCP as a host on the wire: a [`Connection`] behind a port of the fabric, speaking real bytes to whoever is
//! at the other end, for example a Linux kernel behind an AF_PACKET port.
//!
//! The application is a script: send so many bytes of a known pattern, receive so many and compare, close.

use super::tcp_bytes::{End, decode, encode};
use haltere_transport::Connection;
use haltere_units::Time;
use haltere_wire::frame::Frame;
use haltere_wire::port::{Port, PortCounters};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

/// The byte at this place of the pattern: every place within a megabyte differs from its neighbours and repeats late.
pub fn pattern(place: u64) -> u8 {
    (place ^ (place >> 8).wrapping_mul(31) ^ (place >> 16).wrapping_mul(17)) as u8
}

/// What the application still has to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Task {
    /// Bytes to send.
    pub send: u64,
    /// Bytes to receive.
    pub receive: u64,
    /// Bytes received that were not the pattern's.
    pub wrong: u64,
}

/// A host with one connection.
#[derive(Debug)]
pub struct Stack {
    connection: Connection,
    here: End,
    there: End,
    task: Task,
    sent: u64,
    received: u64,
    closed: bool,
    /// Everything is sent, received, and closed on both sides.
    is_done: Rc<Cell<bool>>,
    /// Something came in or was written: there may be segments to send.
    stirred: bool,
    id: u16,
    counters: PortCounters,
    /// Frames for us that held no segment of this connection, or a wrong checksum.
    pub strangers: u64,
}

impl Stack {
    /// A client that opens a connection at `now` and then does its task.
    pub fn connect(mut connection: Connection, here: End, there: End, task: Task, now: Time) -> Stack {
        connection.open(now);
        Stack {
            connection,
            here,
            there,
            task,
            sent: 0,
            received: 0,
            closed: false,
            is_done: Rc::default(),
            stirred: true,
            id: 0,
            counters: PortCounters::default(),
            strangers: 0,
        }
    }
    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
    /// What is left of the task.
    pub fn left(&self) -> Task {
        Task { send: self.task.send - self.sent, receive: self.task.receive - self.received, wrong: self.task.wrong }
    }
    /// Tells whether everything is sent, received, and closed on both sides.
    pub fn is_closed(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.is_done)
    }
    /// The application's turn.
    fn work(&mut self) {
        let mut buffer = [0; 1 << 14];
        while self.sent < self.task.send && self.connection.is_established() {
            let most = (self.task.send - self.sent).min(buffer.len() as u64) as usize;
            for (i, byte) in buffer[..most].iter_mut().enumerate() {
                *byte = pattern(self.sent + i as u64);
            }
            let taken = self.connection.write_payload(&buffer[..most]);
            if taken == 0 {
                break;
            }
            self.sent += taken as u64;
        }
        loop {
            let count = self.connection.read_payload(&mut buffer);
            if count == 0 {
                break;
            }
            let wrong = (0..count).filter(|&i| buffer[i] != pattern(self.received + i as u64)).count();
            self.task.wrong += wrong as u64;
            self.received += count as u64;
        }
        if !self.closed && self.sent == self.task.send && self.received >= self.task.receive {
            self.closed = true;
            self.connection.close();
        }
    }
}

impl Port for Stack {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    fn receive(&mut self, now: Time, most: usize, each: &mut dyn FnMut(Frame)) -> io::Result<usize> {
        if self.connection.next_timeout().is_some_and(|at| at <= now) {
            self.connection.on_timeout(now);
        }
        self.work();
        let mut payload = [0; 1 << 16];
        for count in 0..most {
            let Some((segment, ecn)) = self.connection.poll_transmit(now) else {
                self.stirred = false;
                self.is_done.set(self.closed && self.connection.is_closed());
                return Ok(count);
            };
            let payload = &mut payload[..segment.len as usize];
            let copied = self.connection.copy_payload(&segment, payload);
            assert_eq!(copied, payload.len(), "the transport sends what it does not have: {segment:?}");
            self.id = self.id.wrapping_add(1);
            let frame = encode(&self.here, &self.there, &segment, ecn, payload, self.id);
            self.counters.received += 1;
            self.counters.received_bytes += frame.bytes().len() as u64;
            each(frame);
        }
        Ok(most)
    }
    fn send(&mut self, now: Time, frames: &mut VecDeque<(Time, Frame)>) -> io::Result<()> {
        for (_, frame) in frames.drain(..) {
            self.counters.sent += 1;
            self.counters.sent_bytes += frame.bytes().len() as u64;
            let (here, there) = ((self.here.address, self.here.port), (self.there.address, self.there.port));
            match decode(&frame).filter(|r| r.from == there && r.to == here) {
                Some(r) => {
                    self.connection.on_segment_with(now, &r.segment, r.ecn, r.payload);
                    self.stirred = true;
                }
                None => self.strangers += 1,
            }
        }
        Ok(())
    }
    fn next(&self) -> Option<Time> {
        if self.stirred { Some(Time::ZERO) } else { self.connection.next_timeout() }
    }
    fn counters(&mut self) -> PortCounters {
        self.counters
    }
}

/// A port of one kind or the other.
#[derive(Debug)]
pub enum Either<A, B> {
    /// The one.
    Left(A),
    /// The other.
    Right(B),
}

impl<A: Port, B: Port> Port for Either<A, B> {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Either::Left(p) => p.fd(),
            Either::Right(p) => p.fd(),
        }
    }
    fn receive(&mut self, now: Time, most: usize, each: &mut dyn FnMut(Frame)) -> io::Result<usize> {
        match self {
            Either::Left(p) => p.receive(now, most, each),
            Either::Right(p) => p.receive(now, most, each),
        }
    }
    fn send(&mut self, now: Time, frames: &mut VecDeque<(Time, Frame)>) -> io::Result<()> {
        match self {
            Either::Left(p) => p.send(now, frames),
            Either::Right(p) => p.send(now, frames),
        }
    }
    fn next(&self) -> Option<Time> {
        match self {
            Either::Left(p) => p.next(),
            Either::Right(p) => p.next(),
        }
    }
    fn counters(&mut self) -> PortCounters {
        match self {
            Either::Left(p) => p.counters(),
            Either::Right(p) => p.counters(),
        }
    }
}
