//! The border to C: loads a library, calls its functions, and is called for congestion controls.
//!
//! A library is code of the user's choice that runs in this process: what it does beyond its contract
//! (`haltere_stack.h`) nobody can hinder. What can be checked is: lengths, numbers of bytes, and that a stack does not
//! act for ever at one instant.
#![expect(unsafe_code, reason = "functions of a library that is loaded during the run have no safe wrapper")]

use crate::about::Told;
use crate::control::{Ours, OursMaker};
use haltere_plan::headers::MAX_DATAGRAM;
use haltere_plan::stack::{Burst, EndContext, Endpoint, Read};
use haltere_queue::Ecn;
use haltere_stack_adapter::abi::{self, Ack, CConfig, CControls, COption, CPaths, CStack, Info as CInfo};
use haltere_transport::Info;
use haltere_units::outside::Reporter;
use haltere_units::{Bytes, Dur, Rate, Time};
use std::cell::RefCell;
use std::env;
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::fs;
use std::process;
use std::ptr::null;

/// The symbol of a library.
const SYMBOL: &[u8] = b"haltere_stack_v1";
/// Bytes of one burst at most.
const MOST_BYTES: usize = 1 << 16;
/// The most calls of an end at one instant.
const MOST_CALLS: u32 = 1_000_000;

/// A library that is loaded.
pub(crate) struct Library {
    pub told: Told,
    table: &'static CStack,
    _library: libloading::Library,
}

// SAFETY: the table holds functions and a constant text, and nobody changes it or what the library told.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

thread_local! {
    /// Where a library writes a burst.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; MOST_BYTES]);
}

/// What an end is made with besides its context. The library may refer to it until the end is freed.
pub(crate) struct Made {
    /// A control of the stack's own.
    pub own: Option<String>,
    /// Or Haltere's.
    pub ours: Option<OursMaker>,
    /// The stack's own parameters.
    pub options: Vec<(String, String)>,
    pub reporter: Reporter,
}

/// Texts and tables in the form that C reads, and what they point to.
struct Config {
    control: Option<CString>,
    _texts: Vec<(CString, CString)>,
    options: Vec<COption>,
    controls: Option<Box<CControls>>,
    _ours: Option<Box<OursMaker>>,
}

/// One end of a connection.
pub(crate) struct End {
    table: &'static CStack,
    /// Of a connection over several paths.
    paths: Option<&'static CPaths>,
    count: u32,
    /// `None` after a fault.
    end: Option<*mut abi::End>,
    reporter: Reporter,
    /// Calls at this instant.
    calls: (Time, u32),
    _config: Config,
}

// SAFETY: the contract is that an end is called by one thread at a time, and `&mut` sees to it; it may be another one.
unsafe impl Send for End {}

impl Library {
    /// Loads a library of these bytes. They are copied to a file of their own, so that a library that is built again
    /// is loaded again.
    pub fn load(bytes: &[u8], digest: &str) -> Result<Library, String> {
        let path = env::temp_dir().join(format!("haltere-{}-{}.so", process::id(), &digest[..16]));
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        // SAFETY: initialisers of the library run now. The user named it to have its code run.
        let library = unsafe { libloading::Library::new(&path) };
        let _ = fs::remove_file(&path);
        let library = library.map_err(|error| plain(&error))?;
        // SAFETY: the header gives the symbol this type.
        let symbol = unsafe { library.get::<extern "C" fn() -> *const CStack>(SYMBOL) };
        let table = symbol.map_err(|_| "it has no symbol `haltere_stack_v1`")?();
        // SAFETY: the table lives as long as the library, which is never unloaded.
        let table = unsafe { table.as_ref() }.ok_or("`haltere_stack_v1` returned NULL")?;
        if table.abi != abi::ABI {
            let (its, ours) = (table.abi, abi::ABI);
            return Err(format!("its version of the interface is {its}, and Haltere's {ours}; build it again"));
        }
        let told = serde_json::from_str(&text(table.about)).map_err(|error| format!("`about`: {error}"))?;
        Ok(Library { told, table, _library: library })
    }
    /// A connection of it may have several paths.
    pub fn takes_paths(&self) -> bool {
        !self.table.paths.is_null()
    }
    /// An end of a connection.
    pub fn open(&'static self, made: Made, context: &EndContext) -> Result<End, String> {
        let Made { own, ours, options, reporter } = made;
        let config = Config::new(own, ours, options)?;
        let given = CConfig {
            seed: context.origin.seed,
            is_server: u32::from(context.is_server),
            max_datagram: context.max_datagram,
            ecn: u32::from(context.ecn),
            secrets: u32::from(context.keeps.secrets),
            log: u32::from(context.keeps.log),
            control: config.control.as_ref().map_or(null(), |name| name.as_ptr()),
            ours: config.controls.as_ref().map_or(null(), |controls| &raw const **controls),
            options: config.options.as_ptr(),
            options_len: config.options.len(),
            paths: context.paths,
        };
        let end = (self.table.open)(&given, context.now.as_ns());
        match end.is_null() {
            true => Err(last_error(self.table)),
            false => {
                // SAFETY: the sub-table lives as long as the library.
                let paths = unsafe { self.table.paths.as_ref() }.filter(|_| context.paths > 1);
                let (table, calls) = (self.table, (Time::ZERO, 0));
                Ok(End { table, paths, count: context.paths, end: Some(end), reporter, calls, _config: config })
            }
        }
    }
}

impl Config {
    fn new(own: Option<String>, ours: Option<OursMaker>, options: Vec<(String, String)>) -> Result<Config, String> {
        let c = |text: String| CString::new(text).map_err(|_| "a text holds a NUL".to_owned());
        let texts = options.into_iter().map(|(name, value)| Ok((c(name)?, c(value)?)));
        let texts: Vec<(CString, CString)> = texts.collect::<Result<_, String>>()?;
        let option = |(name, value): &(CString, CString)| COption { name: name.as_ptr(), value: value.as_ptr() };
        let mut ours = ours.map(Box::new);
        let controls = ours.as_mut().map(|ours| Box::new(controls(&raw mut **ours)));
        let (control, options) = (own.map(c).transpose()?, texts.iter().map(option).collect());
        Ok(Config { control, _texts: texts, options, controls, _ours: ours })
    }
}

/// An error of the loader in one line.
fn plain(error: &dyn std::error::Error) -> String {
    let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    text.lines().next().unwrap_or("it cannot be loaded").to_owned()
}

/// Text of a library.
fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: the contract is a text that ends in NUL and lives until the next call.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

fn last_error(table: &CStack) -> String {
    let line = text((table.error)());
    let first = line.lines().next().unwrap_or_default();
    if first.is_empty() { "it failed without saying why".into() } else { first.to_owned() }
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("End").field("is_usable", &self.end.is_some()).finish_non_exhaustive()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // After a fault the library is not called again: its memory is given up.
        if let Some(end) = self.end {
            (self.table.free)(end);
        }
    }
}

impl End {
    #[cold]
    fn fail(&mut self, call: &str, rule: &str, got: impl fmt::Display) {
        self.end = None;
        self.reporter.raise(call, rule, got);
    }
    /// The end, unless it has failed or is called without end at one instant.
    fn at(&mut self, call: &str, now: Time) -> Option<*mut abi::End> {
        if self.calls.0 != now {
            self.calls = (now, 0);
        }
        self.calls.1 += 1;
        if self.calls.1 == MOST_CALLS {
            self.fail(call, "let time go on", format!("{MOST_CALLS} calls at {now}"));
        }
        self.end
    }
    /// What the library answered, if it did not fail.
    fn answer(&mut self, call: &str, answer: i64) -> Option<u64> {
        let number = u64::try_from(answer).ok();
        if number.is_none() {
            let why = last_error(self.table);
            self.fail(call, "return without an error", why);
        }
        number
    }
    fn asked(&self) -> Option<CInfo> {
        let mut info = CInfo { ssthresh: u64::MAX, ..CInfo::default() };
        ((self.table.info)(self.end?, &mut info) == 0).then_some(info)
    }
    fn asked_of(&self, path: usize) -> Option<CInfo> {
        let Some(paths) = self.paths else { return self.asked() };
        let mut info = CInfo { ssthresh: u64::MAX, ..CInfo::default() };
        ((paths.info)(self.end?, path as u32, &mut info) == 0).then_some(info)
    }
}

/// What an end reported, in the form of a TCP sender.
fn shown(told: CInfo) -> Info {
    let rate = told.pacing_rate.saturating_mul(8);
    let mut info = Info::default();
    (info.cwnd, info.in_flight) = (Bytes::new(told.cwnd), Bytes::new(told.in_flight));
    info.unacked = info.in_flight;
    info.ssthresh = Bytes::new(told.ssthresh);
    (info.srtt, info.rttvar) = (Dur::from_ns(told.srtt), Dur::from_ns(told.rttvar));
    info.min_rtt = Dur::from_ns(told.min_rtt);
    info.pacing_rate = (rate > 0).then(|| Rate::from_bps(rate));
    info.mss = Bytes::new(told.mtu);
    (info.segments_sent, info.retransmissions) = (told.packets_sent, told.packets_lost);
    (info.bytes_lost, info.bytes_retransmitted) = (told.bytes_lost, told.bytes_lost);
    (info.recoveries, info.timeouts) = (told.congestion_events, told.timeouts);
    (info.acked, info.bytes_delivered) = (told.bytes_acked, told.bytes_acked);
    info.delivered = told.packets_acked;
    info
}

const fn ecn_of(bits: u8) -> Option<Ecn> {
    Some(match bits {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        3 => Ecn::Ce,
        _ => return None,
    })
}

const fn bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

impl Endpoint for End {
    fn on_datagram(&mut self, now: Time, path: usize, ecn: Ecn, payload: &[u8]) {
        let Some(end) = self.at("receive", now) else { return };
        if let Some(paths) = self.paths {
            (paths.arrives)(end, path as u32);
        }
        let answer = (self.table.receive)(end, now.as_ns(), bits(ecn), payload.as_ptr(), payload.len());
        self.answer("receive", answer.into());
    }
    fn on_timeout(&mut self, now: Time) {
        let Some(end) = self.at("timeout", now) else { return };
        let answer = (self.table.timeout)(end, now.as_ns());
        self.answer("timeout", answer.into());
    }
    fn next_timeout(&mut self) -> Option<Time> {
        let at = (self.table.next_timeout)(self.end?);
        (at != abi::NEVER).then(|| Time::from_ns(at))
    }
    fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Burst> {
        let end = self.at("transmit", now)?;
        let (mut segment, mut ecn) = (0, 0);
        let answer = BUFFER.with_borrow_mut(|buffer| {
            let to = buffer.as_mut_ptr();
            let answer = (self.table.transmit)(end, now.as_ns(), to, MOST_BYTES, &mut segment, &mut ecn);
            out.clear();
            out.extend_from_slice(&buffer[..usize::try_from(answer).unwrap_or(0).min(MOST_BYTES)]);
            answer
        });
        let len = self.answer("transmit", answer)? as usize;
        if len == 0 {
            return None;
        }
        let longest = segment.min(len);
        let Some(ecn) = ecn_of(ecn).filter(|_| len <= MOST_BYTES && (1..=MAX_DATAGRAM as usize).contains(&longest))
        else {
            let got = format!("{len} bytes in datagrams of {segment} with ECN {ecn}");
            self.fail("transmit", "return datagrams that fit into the buffer", got);
            return None;
        };
        let path = self.paths.map_or(0, |paths| (paths.leaves)(end));
        if path >= self.count {
            self.fail("leaves", &format!("name a path below {}", self.count), path);
            return None;
        }
        Some(Burst { segment: longest, ecn, path: path as usize })
    }
    fn write(&mut self, stream: u64, bytes: u64, fin: bool) -> u64 {
        let Some(end) = self.end else { return 0 };
        let answer = (self.table.write)(end, stream, bytes, u8::from(fin));
        let taken = self.answer("write", answer).unwrap_or(0);
        let most = bytes + u64::from(fin);
        if taken > most {
            self.fail("write", &format!("take at most {most} bytes"), taken);
            return 0;
        }
        taken
    }
    fn read(&mut self) -> Option<Read> {
        let (mut stream, mut fin) = (0, 0);
        let answer = (self.table.read)(self.end?, &mut stream, &mut fin);
        let bytes = self.answer("read", answer)?;
        (bytes > 0 || fin != 0).then_some(Read { stream, bytes, fin: fin != 0 })
    }
    fn close(&mut self, now: Time) {
        let Some(end) = self.at("close", now) else { return };
        let answer = (self.table.close)(end, now.as_ns());
        self.answer("close", answer.into());
    }
    fn is_closed(&mut self) -> bool {
        self.asked().is_none_or(|info| info.is_closed != 0)
    }
    fn info(&self) -> Info {
        shown(self.asked().unwrap_or_default())
    }
    fn path_info(&self, path: usize) -> Info {
        shown(self.asked_of(path).unwrap_or_default())
    }
    fn secrets(&mut self) -> String {
        let (Some(end), Some(secrets)) = (self.end, self.table.secrets) else { return String::new() };
        let mut lines = vec![0; 4096];
        let answer = secrets(end, lines.as_mut_ptr(), lines.len());
        let len = self.answer("secrets", answer).unwrap_or(0) as usize;
        lines.truncate(len);
        String::from_utf8_lossy(&lines).into_owned()
    }
    fn log(&mut self) -> Vec<u8> {
        let mut whole = Vec::new();
        let (Some(end), Some(log)) = (self.end, self.table.log) else { return whole };
        loop {
            let part = BUFFER.with_borrow_mut(|buffer| {
                let answer = log(end, buffer.as_mut_ptr(), MOST_BYTES);
                whole.extend_from_slice(&buffer[..usize::try_from(answer).unwrap_or(0).min(MOST_BYTES)]);
                answer
            });
            if self.answer("log", part).unwrap_or(0) == 0 {
                return whole;
            }
        }
    }
}

/// The table of Haltere's controls, which that maker makes.
fn controls(maker: *mut OursMaker) -> CControls {
    CControls {
        context: maker.cast(),
        make,
        copy,
        free,
        on_sent,
        on_ack,
        on_acks,
        on_loss,
        window,
        pacing_rate,
        ssthresh,
    }
}

extern "C" fn make(context: *mut c_void, max_datagram: u64) -> *mut c_void {
    // SAFETY: the context is the maker that lies in the end's `Config`, and lives until the end is freed.
    let maker = unsafe { &*context.cast::<OursMaker>() };
    Box::into_raw(Box::new(maker.make(max_datagram))).cast()
}

/// The control to which a library refers.
fn control<'a>(at: *mut c_void) -> &'a mut Ours {
    // SAFETY: the contract is a pointer that `make` or `copy` returned and that was not freed, used by one thread.
    unsafe { &mut *at.cast::<Ours>() }
}

extern "C" fn copy(at: *mut c_void) -> *mut c_void {
    Box::into_raw(Box::new(control(at).clone())).cast()
}

extern "C" fn free(at: *mut c_void) {
    // SAFETY: as for `control`, and the library does not use it again.
    drop(unsafe { Box::from_raw(at.cast::<Ours>()) });
}

extern "C" fn on_sent(at: *mut c_void, now: u64, bytes: u64) {
    control(at).on_sent(now, bytes);
}

extern "C" fn on_ack(at: *mut c_void, packet: *const Ack) {
    // SAFETY: the contract is a struct that is there during the call.
    control(at).on_ack(unsafe { &*packet });
}

extern "C" fn on_acks(at: *mut c_void, now: u64, in_flight: u64) {
    control(at).on_acks(now, in_flight);
}

extern "C" fn on_loss(at: *mut c_void, batch: *const Ack) {
    // SAFETY: as above.
    control(at).on_loss(unsafe { &*batch });
}

extern "C" fn window(at: *mut c_void) -> u64 {
    control(at).window()
}

extern "C" fn pacing_rate(at: *mut c_void) -> u64 {
    control(at).pacing_rate()
}

extern "C" fn ssthresh(at: *mut c_void) -> u64 {
    control(at).ssthresh()
}
