//! A transport stack as a shared library that Haltere loads: implement [`Stack`] and write [`export!`].
//!
//! ```text
//! struct Mine { .. }
//! impl haltere_stack_adapter::Stack for Mine { .. }
//! haltere_stack_adapter::export!(Mine);
//! ```
//!
//! A panic of the stack is caught, and ends the run with its message.
#![expect(unsafe_code, reason = "the border to C: pointers of the host become references here and nowhere else")]

pub mod abi;

pub use abi::{Ack, Info};

use abi::{CConfig, CControls, CPaths, CStack, End};
use core::ffi::{CStr, c_char, c_void};
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;

/// What an end is made with.
pub struct Config<'a> {
    /// All random numbers follow from it.
    pub seed: u64,
    /// It is the end that waits for the client's first datagram.
    pub is_server: bool,
    /// The largest UDP payload that the path carries.
    pub max_datagram: u16,
    /// Use ECN.
    pub ecn: bool,
    /// Keep the TLS secrets.
    pub secrets: bool,
    /// Write a log.
    pub log: bool,
    /// Disjoint paths to the peer.
    pub paths: u32,
    /// The congestion control.
    pub control: Which<'a>,
    options: Vec<(&'a str, &'a str)>,
}

impl Config<'_> {
    /// The stack's own parameters with their values.
    pub fn options(&self) -> &[(&str, &str)] {
        &self.options
    }
    /// The value of one of them.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
    /// The same as a number or a truth value, or the default. Durations are in ns, rates in bit/s, sizes in bytes.
    pub fn number<T: FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        let Some(value) = self.option(name) else { return Ok(default) };
        let rule = core::any::type_name::<T>();
        value.parse().map_err(|_| format!("{name} must be a value of the type {rule}, got {value}"))
    }
}

/// A congestion control of the stack's own, by name, or Haltere's.
pub enum Which<'a> {
    /// A control of the stack.
    Own(&'a str),
    /// Haltere's.
    Ours(Controls),
}

/// A burst that an end sends.
pub struct Burst {
    /// Bytes of all its datagrams.
    pub len: usize,
    /// Bytes of each datagram but the last.
    pub segment: usize,
    /// The ECN field.
    pub ecn: u8,
}

/// What an application reads from a stream.
pub struct Read {
    /// The stream, counted from 0.
    pub stream: u64,
    /// Bytes that were there.
    pub bytes: u64,
    /// It ends here.
    pub fin: bool,
}

/// One end of a connection of a stack without I/O. `include/haltere_stack.h` says when Haltere calls what.
pub trait Stack: Sized {
    /// The JSON of `about`, with a NUL at its end.
    const ABOUT: &'static CStr;
    /// It takes several paths: then it has the functions on paths below.
    const PATHS: bool = false;
    /// A new end.
    fn open(config: &Config<'_>, now: u64) -> Result<Self, String>;
    /// A datagram arrived.
    fn receive(&mut self, now: u64, ecn: u8, data: &[u8]) -> Result<(), String>;
    /// The time that `next_timeout` named has come.
    fn timeout(&mut self, now: u64) -> Result<(), String>;
    /// When the end wants to be called.
    fn next_timeout(&mut self) -> Option<u64>;
    /// Datagrams that are to leave now.
    fn transmit(&mut self, now: u64, buffer: &mut [u8]) -> Option<Burst>;
    /// The application writes. The end of a stream counts as one byte.
    fn write(&mut self, stream: u64, bytes: u64, fin: bool) -> Result<u64, String>;
    /// The application reads.
    fn read(&mut self) -> Result<Option<Read>, String>;
    /// The application closes the connection.
    fn close(&mut self, now: u64);
    /// What the end shows of itself.
    fn info(&mut self) -> Info;
    /// The next datagram came over that path.
    fn arrives(&mut self, _path: u32) {}
    /// The path over which the datagrams of the last `transmit` go.
    fn leaves(&self) -> u32 {
        0
    }
    /// What the end shows of one path.
    fn path_info(&mut self, _path: u32) -> Info {
        self.info()
    }
    /// New TLS secrets, whole lines of SSLKEYLOGFILE.
    fn secrets(&mut self) -> Vec<u8> {
        Vec::new()
    }
    /// Writes the next part of the log into `buffer`, and returns its bytes.
    fn log(&mut self, _buffer: &mut [u8]) -> usize {
        0
    }
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

fn fail(why: &str) {
    let line = CString::new(why.replace(['\0', '\n'], " ")).unwrap_or_default();
    ERROR.with_borrow_mut(|error| *error = line);
}

extern "C" fn error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

/// What `call` returns; if it fails or panics, the error is kept and `failed` is returned.
fn guarded<T>(failed: T, call: impl FnOnce() -> Result<T, String>) -> T {
    let caught = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(format!("the stack panicked: {text}"))
    });
    caught.unwrap_or_else(|why| {
        fail(&why);
        failed
    })
}

/// The same for an end.
fn with<S: Stack, T>(end: *mut End, failed: T, call: impl FnOnce(&mut S) -> Result<T, String>) -> T {
    guarded(failed, || {
        // SAFETY: `open` made the pointer of a box of this type, and the host calls an end from one thread at a time.
        call(unsafe { &mut *end.cast::<S>() })
    })
}

/// Text of the host.
fn text<'a>(at: *const c_char) -> Result<&'a str, String> {
    // SAFETY: the host passes a text that ends in NUL and lives until the end is freed.
    unsafe { CStr::from_ptr(at) }.to_str().map_err(|_| "a text must be UTF-8".into())
}

extern "C" fn open<S: Stack>(config: *const CConfig, now: u64) -> *mut End {
    guarded(core::ptr::null_mut(), || {
        // SAFETY: the host passes a config that lives until the end is freed.
        let config = unsafe { &*config };
        let options = match config.options_len {
            0 => &[][..],
            // SAFETY: so many options are there.
            len => unsafe { core::slice::from_raw_parts(config.options, len) },
        };
        let options = options.iter().map(|one| Ok((text(one.name)?, text(one.value)?)));
        let control = match config.control.is_null() {
            false => Which::Own(text(config.control)?),
            // SAFETY: without a name the table is there.
            true => Which::Ours(Controls(unsafe { *config.ours })),
        };
        let config = Config {
            seed: config.seed,
            is_server: config.is_server != 0,
            max_datagram: u16::try_from(config.max_datagram).unwrap_or(u16::MAX),
            ecn: config.ecn != 0,
            secrets: config.secrets != 0,
            log: config.log != 0,
            paths: config.paths,
            control,
            options: options.collect::<Result<_, String>>()?,
        };
        S::open(&config, now).map(|end| Box::into_raw(Box::new(end)).cast())
    })
}

extern "C" fn free<S: Stack>(end: *mut End) {
    guarded((), || {
        // SAFETY: the pointer is that of the box that `open` made, and the host does not use it again.
        drop(unsafe { Box::from_raw(end.cast::<S>()) });
        Ok(())
    });
}

extern "C" fn receive<S: Stack>(end: *mut End, now: u64, ecn: u8, data: *const u8, len: usize) -> i32 {
    // SAFETY: so many bytes are there.
    let data = unsafe { core::slice::from_raw_parts(data, len) };
    with::<S, _>(end, -1, |end| end.receive(now, ecn, data).map(|()| 0))
}

extern "C" fn timeout<S: Stack>(end: *mut End, now: u64) -> i32 {
    with::<S, _>(end, -1, |end| end.timeout(now).map(|()| 0))
}

extern "C" fn next_timeout<S: Stack>(end: *mut End) -> u64 {
    with::<S, _>(end, abi::NEVER, |end| Ok(end.next_timeout().unwrap_or(abi::NEVER)))
}

extern "C" fn transmit<S: Stack>(
    end: *mut End,
    now: u64,
    buffer: *mut u8,
    capacity: usize,
    segment: *mut usize,
    ecn: *mut u8,
) -> i64 {
    with::<S, _>(end, -1, |end| {
        // SAFETY: the host's buffer has so many bytes, all of them initialised.
        let buffer = unsafe { core::slice::from_raw_parts_mut(buffer, capacity) };
        let Some(burst) = end.transmit(now, buffer) else { return Ok(0) };
        // SAFETY: both are places of the host.
        unsafe { (*segment, *ecn) = (burst.segment, burst.ecn) };
        Ok(burst.len as i64)
    })
}

extern "C" fn write<S: Stack>(end: *mut End, stream: u64, bytes: u64, fin: u8) -> i64 {
    with::<S, _>(end, -1, |end| end.write(stream, bytes, fin != 0).map(|bytes| bytes as i64))
}

extern "C" fn read<S: Stack>(end: *mut End, stream: *mut u64, fin: *mut u8) -> i64 {
    with::<S, _>(end, -1, |end| {
        let read = end.read()?.unwrap_or(Read { stream: 0, bytes: 0, fin: false });
        // SAFETY: both are places of the host.
        unsafe { (*stream, *fin) = (read.stream, u8::from(read.fin)) };
        Ok(read.bytes as i64)
    })
}

extern "C" fn close<S: Stack>(end: *mut End, now: u64) -> i32 {
    with::<S, _>(end, -1, |end| {
        end.close(now);
        Ok(0)
    })
}

extern "C" fn info<S: Stack>(end: *mut End, info: *mut Info) -> i32 {
    with::<S, _>(end, -1, |end| {
        // SAFETY: it is a place of the host.
        unsafe { *info = end.info() };
        Ok(0)
    })
}

extern "C" fn arrives<S: Stack>(end: *mut End, path: u32) {
    with::<S, _>(end, (), |end| {
        end.arrives(path);
        Ok(())
    });
}

extern "C" fn leaves<S: Stack>(end: *mut End) -> u32 {
    with::<S, _>(end, 0, |end| Ok(end.leaves()))
}

extern "C" fn path_info<S: Stack>(end: *mut End, path: u32, info: *mut Info) -> i32 {
    with::<S, _>(end, -1, |end| {
        // SAFETY: it is a place of the host.
        unsafe { *info = end.path_info(path) };
        Ok(0)
    })
}

extern "C" fn secrets<S: Stack>(end: *mut End, buffer: *mut u8, capacity: usize) -> i64 {
    with::<S, _>(end, -1, |end| {
        let lines = end.secrets();
        let len = lines.len().min(capacity);
        // SAFETY: the host's buffer has so many bytes.
        unsafe { core::ptr::copy_nonoverlapping(lines.as_ptr(), buffer, len) };
        Ok(len as i64)
    })
}

extern "C" fn log<S: Stack>(end: *mut End, buffer: *mut u8, capacity: usize) -> i64 {
    with::<S, _>(end, -1, |end| {
        // SAFETY: the host's buffer has so many bytes, all of them initialised.
        Ok(end.log(unsafe { core::slice::from_raw_parts_mut(buffer, capacity) }) as i64)
    })
}

/// A table that any thread may read: it holds functions and a constant text.
#[doc(hidden)]
pub struct Table(pub CStack);
// SAFETY: nothing in it is ever changed.
unsafe impl Sync for Table {}

struct Paths<S>(core::marker::PhantomData<S>);

impl<S: Stack> Paths<S> {
    const TABLE: &'static CPaths = &CPaths { arrives: arrives::<S>, leaves: leaves::<S>, info: path_info::<S> };
}

/// The table of a stack.
#[doc(hidden)]
pub const fn table<S: Stack>() -> Table {
    Table(CStack {
        abi: abi::ABI,
        about: S::ABOUT.as_ptr(),
        error,
        open: open::<S>,
        free: free::<S>,
        receive: receive::<S>,
        timeout: timeout::<S>,
        next_timeout: next_timeout::<S>,
        transmit: transmit::<S>,
        write: write::<S>,
        read: read::<S>,
        close: close::<S>,
        info: info::<S>,
        secrets: Some(secrets::<S>),
        log: Some(log::<S>),
        paths: if S::PATHS { Paths::<S>::TABLE } else { core::ptr::null() },
    })
}

/// Makes a library of a [`Stack`]: defines the symbol that Haltere looks for.
#[macro_export]
macro_rules! export {
    ($stack:ty) => {
        static TABLE: $crate::Table = $crate::table::<$stack>();
        #[unsafe(no_mangle)]
        extern "C" fn haltere_stack_v1() -> *const $crate::abi::CStack {
            &TABLE.0
        }
    };
}

/// Makes Haltere's congestion controls.
#[derive(Clone, Copy)]
pub struct Controls(CControls);
// SAFETY: the host's functions may be called from any thread, and the context is only read.
unsafe impl Send for Controls {}
// SAFETY: as above.
unsafe impl Sync for Controls {}

impl core::fmt::Debug for Controls {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Controls")
    }
}

impl Controls {
    /// A control at its initial window, for datagrams of so many bytes.
    pub fn make(self, max_datagram: u64) -> Control {
        Control { of: self, control: (self.0.make)(self.0.context, max_datagram) }
    }
}

/// One of Haltere's congestion controls.
#[derive(Debug)]
pub struct Control {
    of: Controls,
    control: *mut c_void,
}
// SAFETY: the host's controls move between threads with their run.
unsafe impl Send for Control {}
// SAFETY: what changes it takes `&mut self`.
unsafe impl Sync for Control {}

impl Control {
    /// Bytes were sent.
    pub fn on_sent(&mut self, now: u64, bytes: u64) {
        (self.of.0.on_sent)(self.control, now, bytes);
    }
    /// A packet is acknowledged.
    pub fn on_ack(&mut self, packet: &Ack) {
        (self.of.0.on_ack)(self.control, packet);
    }
    /// That was the last packet of an ACK frame.
    pub fn on_acks(&mut self, now: u64, in_flight: u64) {
        (self.of.0.on_acks)(self.control, now, in_flight);
    }
    /// Packets are lost or marked.
    pub fn on_loss(&mut self, batch: &Ack) {
        (self.of.0.on_loss)(self.control, batch);
    }
    /// The congestion window in bytes.
    pub fn window(&self) -> u64 {
        (self.of.0.window)(self.control)
    }
    /// The pacing rate in bytes a second, if the control sets one.
    pub fn pacing_rate(&self) -> Option<u64> {
        Some((self.of.0.pacing_rate)(self.control)).filter(|rate| *rate > 0)
    }
    /// The slow-start threshold in bytes, if there is one yet.
    pub fn ssthresh(&self) -> Option<u64> {
        Some((self.of.0.ssthresh)(self.control)).filter(|bytes| *bytes < u64::MAX)
    }
}

impl Clone for Control {
    fn clone(&self) -> Control {
        Control { of: self.of, control: (self.of.0.copy)(self.control) }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        (self.of.0.free)(self.control);
    }
}
