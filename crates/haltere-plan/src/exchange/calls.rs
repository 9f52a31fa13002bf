//! What is asked on one connection: which bytes of a stream belong to which request and response.

use crate::record::Completion;
use alloc::collections::VecDeque;
use haltere_units::{Bytes, Dur, Time};

/// The side that answers: the flow's sender.
pub const SERVER: usize = 0;
/// The side that asks.
pub const CLIENT: usize = 1;

/// A request and its response.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    asked: Time,
    request: u64,
    response: u64,
    /// Bytes of the request that the server has not read.
    request_left: u64,
    /// Bytes of the response that the client has not read.
    response_left: u64,
}

impl Call {
    /// Bytes of the response.
    pub fn response(&self) -> u64 {
        self.response
    }
    /// Its row, if it is not answered. What it takes at least is computed when the run is over. `from` and `to` are the
    /// nodes of the server and the client.
    pub fn completion(&self, flow: u32, (from, to): (u32, u32), retransmissions: u64) -> Completion {
        Completion {
            flow,
            from,
            to,
            retransmissions: retransmissions as u32,
            bytes: self.response,
            start: self.asked,
            end: Time::NEVER,
            ideal: Dur::ZERO,
        }
    }
}

/// What is asked on a connection and is not answered.
#[derive(Debug, Default)]
pub struct Calls {
    open: VecDeque<Call>,
    /// Of requests and of responses, what their writer's socket has not taken.
    unwritten: [u64; 2],
    /// Nothing more will be asked.
    closing: bool,
}

impl Calls {
    /// The client asks for `response` bytes with `request` bytes, one at least each.
    pub fn ask(&mut self, request: Bytes, response: Bytes, now: Time) {
        let (request, response) = (request.as_u64().max(1), response.as_u64().max(1));
        self.unwritten[CLIENT] += request;
        self.open.push_back(Call { asked: now, request, response, request_left: request, response_left: response });
    }
    /// Nothing more will be asked.
    pub fn close(&mut self) {
        self.closing = true;
    }
    /// What is not answered, the oldest first.
    pub fn open(&self) -> impl Iterator<Item = &Call> {
        self.open.iter()
    }
    /// Bytes that the socket of that side has not taken.
    pub fn unwritten(&self, side: usize) -> u64 {
        self.unwritten[side]
    }
    /// The socket of that side took so many bytes.
    pub fn wrote(&mut self, side: usize, bytes: u64) {
        self.unwritten[side] -= bytes;
    }
    /// The server has read so many bytes, and answers the requests that end in them.
    pub fn heard(&mut self, mut bytes: u64) {
        for call in self.open.iter_mut().filter(|call| call.request_left > 0) {
            let part = bytes.min(call.request_left);
            (call.request_left, bytes) = (call.request_left - part, bytes - part);
            if call.request_left > 0 {
                break;
            }
            self.unwritten[SERVER] += call.response;
        }
    }
    /// The client has read so many bytes. `done` is called for every response that ends in them.
    pub fn read(&mut self, mut bytes: u64, mut done: impl FnMut(Call)) {
        while let Some(call) = self.open.front_mut().filter(|_| bytes > 0) {
            let part = bytes.min(call.response_left);
            (call.response_left, bytes) = (call.response_left - part, bytes - part);
            if call.response_left > 0 {
                break;
            }
            done(*call);
            self.open.pop_front();
        }
    }
    /// The client has read all that it asked for, and asks for nothing more.
    pub fn is_over(&self) -> bool {
        self.closing && self.open.is_empty()
    }
    /// The same on a new connection: what is not answered is asked again.
    #[must_use]
    pub fn again(self) -> Calls {
        let again = |call: Call| Call { request_left: call.request, response_left: call.response, ..call };
        let open: VecDeque<Call> = self.open.into_iter().map(again).collect();
        let requests = open.iter().map(|call| call.request).sum();
        Calls { open, unwritten: [0, requests], closing: self.closing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn asked(sizes: &[(u64, u64)]) -> Calls {
        let mut calls = Calls::default();
        for &(request, response) in sizes {
            calls.ask(Bytes::new(request), Bytes::new(response), Time::from_ns(request));
        }
        calls
    }

    #[test]
    fn bytes_are_those_of_the_oldest_call_that_lacks_some() {
        let mut calls = asked(&[(100, 1000), (200, 5), (0, 7)]);
        assert_eq!((calls.unwritten(CLIENT), calls.unwritten(SERVER)), (301, 0), "a request has one byte at least");
        calls.wrote(CLIENT, 301);
        calls.heard(99);
        assert_eq!(calls.unwritten(SERVER), 0);
        calls.heard(1 + 150);
        assert_eq!(calls.unwritten(SERVER), 1000, "of the second request 50 bytes lack");
        calls.heard(51);
        assert_eq!(calls.unwritten(SERVER), 1012);
        let mut done = Vec::new();
        calls.read(999, |call| done.push(call.response()));
        assert!(done.is_empty());
        calls.read(6, |call| done.push(call.response()));
        assert_eq!(done, [1000, 5]);
        calls.close();
        assert!(!calls.is_over());
        calls.read(7, |call| done.push(call.response()));
        assert!(calls.is_over() && done == [1000, 5, 7]);
    }
    #[test]
    fn what_is_not_answered_is_asked_again() {
        let mut calls = asked(&[(100, 1000), (200, 50)]);
        calls.wrote(CLIENT, 300);
        calls.heard(300);
        calls.read(1020, |_| {});
        let again = calls.again();
        assert_eq!((again.unwritten(CLIENT), again.unwritten(SERVER)), (200, 0));
        let row = again.open().next().map(|call| call.completion(3, (1, 2), 0));
        assert_eq!(row.map(|row| (row.start, row.bytes, row.end)), Some((Time::from_ns(200), 50, Time::NEVER)));
    }
}
