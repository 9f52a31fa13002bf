//! The C types of `include/haltere_stack.h`, which says what they mean.
#![expect(missing_docs, reason = "the header has the text")]

use core::ffi::{c_char, c_void};

pub const ABI: u32 = 3;
pub const NEVER: u64 = u64::MAX;

/// One end of a connection, which only the stack looks into.
#[repr(C)]
pub struct End {
    _hidden: [u8; 0],
}

#[repr(C)]
pub struct COption {
    pub name: *const c_char,
    pub value: *const c_char,
}

/// What a stack tells a congestion control of a packet, or of a batch of losses.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Ack {
    pub now: u64,
    pub sent: u64,
    pub bytes: u64,
    pub srtt: u64,
    pub min_rtt: u64,
    pub app_limited: u8,
    pub persistent: u8,
    pub ecn: u8,
}

/// Congestion controls of Haltere.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CControls {
    pub context: *mut c_void,
    pub make: extern "C" fn(*mut c_void, u64) -> *mut c_void,
    pub copy: extern "C" fn(*mut c_void) -> *mut c_void,
    pub free: extern "C" fn(*mut c_void),
    pub on_sent: extern "C" fn(*mut c_void, u64, u64),
    pub on_ack: extern "C" fn(*mut c_void, *const Ack),
    pub on_acks: extern "C" fn(*mut c_void, u64, u64),
    pub on_loss: extern "C" fn(*mut c_void, *const Ack),
    pub window: extern "C" fn(*mut c_void) -> u64,
    pub pacing_rate: extern "C" fn(*mut c_void) -> u64,
    pub ssthresh: extern "C" fn(*mut c_void) -> u64,
}

#[repr(C)]
pub struct CConfig {
    pub seed: u64,
    pub is_server: u32,
    pub max_datagram: u32,
    pub ecn: u32,
    pub secrets: u32,
    pub log: u32,
    pub control: *const c_char,
    pub ours: *const CControls,
    pub options: *const COption,
    pub options_len: usize,
    pub paths: u32,
}

/// What an end shows of itself. Zero where the stack does not know.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Info {
    pub cwnd: u64,
    pub ssthresh: u64,
    pub in_flight: u64,
    pub srtt: u64,
    pub rttvar: u64,
    pub min_rtt: u64,
    pub pacing_rate: u64,
    pub mtu: u64,
    pub packets_sent: u64,
    pub packets_lost: u64,
    pub bytes_lost: u64,
    pub congestion_events: u64,
    pub timeouts: u64,
    pub bytes_acked: u64,
    pub packets_acked: u64,
    pub is_established: u32,
    pub is_closed: u32,
}

#[repr(C)]
pub struct CPaths {
    pub arrives: extern "C" fn(*mut End, u32),
    pub leaves: extern "C" fn(*mut End) -> u32,
    pub info: extern "C" fn(*mut End, u32, *mut Info) -> i32,
}

#[repr(C)]
pub struct CStack {
    pub abi: u32,
    pub about: *const c_char,
    pub error: extern "C" fn() -> *const c_char,
    pub open: extern "C" fn(*const CConfig, u64) -> *mut End,
    pub free: extern "C" fn(*mut End),
    pub receive: extern "C" fn(*mut End, u64, u8, *const u8, usize) -> i32,
    pub timeout: extern "C" fn(*mut End, u64) -> i32,
    pub next_timeout: extern "C" fn(*mut End) -> u64,
    pub transmit: extern "C" fn(*mut End, u64, *mut u8, usize, *mut usize, *mut u8) -> i64,
    pub write: extern "C" fn(*mut End, u64, u64, u8) -> i64,
    pub read: extern "C" fn(*mut End, *mut u64, *mut u8) -> i64,
    pub close: extern "C" fn(*mut End, u64) -> i32,
    pub info: extern "C" fn(*mut End, *mut Info) -> i32,
    pub secrets: Option<extern "C" fn(*mut End, *mut u8, usize) -> i64>,
    pub log: Option<extern "C" fn(*mut End, *mut u8, usize) -> i64>,
    pub paths: *const CPaths,
}
