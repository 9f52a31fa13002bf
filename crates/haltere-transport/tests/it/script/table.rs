//! Scripts: one endpoint, whose peer is a table of times and segments.
//!
//! ```text
//! # ms   what
//!   0    app write 3000
//!   0    >  .  1:3001               we send bytes 1 to 3000, in as many segments as it takes
//!   100  <  .  ack 3001             the peer's segment arrives
//!   100  is cwnd 13 state Open
//!   500  quiet                      nothing was sent until then
//! ```
//!
//! Times are in ms since the end of the handshake (see [`Script::established`]), which took 100 ms. Sequence numbers
//! count from the SYN, which is 0: the first byte of data is 1, in both directions.
//!
//! A segment is: flags (`S F R P . E W A`, `.` for ACK), payload `start:end`, then `ack N`, `win BYTES`,
//! `sack a:b,c:d`, `mss N`, `wscale N`, `sackOK`, `ts`, `ecr MS` (our clock at that time), `val MS`, `[ect0]` or `[ce]`,
//! `counts ECT0,CE,ECT1` or `counts none` (the AccECN option). Of a segment that is expected, flags (but for P),
//! payload and what the line names are compared. Every segment that we send must be expected, at its time.

use haltere_congestion::CongestionParams;
use haltere_transport::{Connection, EcnCounts, Flags, Info, Role, SackBlocks, Segment, TcpParams, Timestamps};
use haltere_units::{Bytes, Dur, Ecn, Time};
use std::collections::VecDeque;
use std::fmt::Write;

/// The peer's initial sequence number.
const IRS: u32 = 5000;
/// The window that the peer advertises if the line does not say.
const WINDOW: u64 = 64_000;
/// Times agree to this.
const EXACT: Dur = Dur::from_us(10);

/// What the peer offers in its SYN or SYN-ACK.
#[derive(Clone, Copy)]
pub struct Peer {
    pub wscale: Option<u8>,
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
}

pub struct Script {
    role: Role,
    c: Connection,
    peer: Peer,
    clock: Time,
    origin: Time,
    /// Sent, and not yet expected by a line.
    out: VecDeque<(Time, Segment, Ecn)>,
    iss: u32,
    ts_offset: u32,
    log: String,
    line: String,
}

fn ms(text: &str) -> Dur {
    let value: f64 = text.parse().unwrap_or_else(|_| panic!("`{text}` is no time in ms"));
    Dur::from_ns((value * 1e6).round() as u64)
}

fn range(text: &str) -> (u32, u32) {
    let (start, end) = text.split_once(':').unwrap_or_else(|| panic!("`{text}` is no range"));
    (start.parse().unwrap(), end.parse().unwrap())
}

fn is_range(text: &str) -> bool {
    text.split_once(':').is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok())
}

fn flags(text: &str) -> Flags {
    text.chars().fold(Flags(0), |all, c| {
        all.with(match c {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            'A' => Flags::AE,
            _ => panic!("`{text}`: flags are S F R P . E W A"),
        })
    })
}

fn counts(text: &str) -> Option<EcnCounts> {
    if text == "none" {
        return None;
    }
    let mut fields = text.split(',').map(|n| n.parse().unwrap_or_else(|_| panic!("`{text}` is no three counts")));
    let mut next = || fields.next().expect("three counts");
    Some(EcnCounts { ect0: next(), ce: next(), ect1: next() })
}

/// A segment as a line has it: what it does not name is `None`.
#[derive(Default)]
struct Line<'a> {
    flags: Flags,
    payload: Option<(u32, u32)>,
    ack: Option<u32>,
    win: Option<u64>,
    sack: Option<Vec<(u32, u32)>>,
    mss: Option<u16>,
    wscale: Option<u8>,
    sack_ok: bool,
    ts: bool,
    no_ts: bool,
    no_wscale: bool,
    ecr: Option<&'a str>,
    val: Option<&'a str>,
    ecn: Option<Ecn>,
    /// Of the AccECN option; `Some(None)`: there is none.
    counts: Option<Option<EcnCounts>>,
}

impl<'a> Line<'a> {
    fn read(words: &[&'a str]) -> Line<'a> {
        let mut line = Line { flags: flags(words[0]), ..Line::default() };
        let mut rest = words[1..].iter().copied();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().unwrap_or_else(|| panic!("`{word}` wants a value"));
            match word {
                "ack" => line.ack = Some(value().parse().unwrap()),
                "win" => line.win = Some(value().parse().unwrap()),
                "sack" => {
                    let text = value();
                    line.sack = Some(if text == "none" { Vec::new() } else { text.split(',').map(range).collect() });
                }
                "mss" => line.mss = Some(value().parse().unwrap()),
                "wscale" => line.wscale = Some(value().parse().unwrap()),
                "sackOK" => line.sack_ok = true,
                "ts" => line.ts = true,
                "no-ts" => line.no_ts = true,
                "no-wscale" => line.no_wscale = true,
                "ecr" => line.ecr = Some(value()),
                "val" => line.val = Some(value()),
                "counts" => line.counts = Some(counts(value())),
                "[ect0]" => line.ecn = Some(Ecn::Ect0),
                "[ect1]" => line.ecn = Some(Ecn::Ect1),
                "[ce]" => line.ecn = Some(Ecn::Ce),
                "[not-ect]" => line.ecn = Some(Ecn::NotEct),
                _ if is_range(word) => line.payload = Some(range(word)),
                _ => panic!("`{word}` is no part of a segment"),
            }
        }
        line
    }
}

impl Script {
    /// An endpoint that has not begun, whose peer offers window scaling by 7 and SACK.
    pub fn new(role: Role, control: &str, change: impl FnOnce(&mut TcpParams)) -> Script {
        let mut tcp = TcpParams::default();
        change(&mut tcp);
        let control = CongestionParams::default_of(control).unwrap();
        let mut script = Script {
            role,
            c: Connection::new(role, tcp, control, 7).unwrap(),
            peer: Peer { wscale: Some(7), sack: true, timestamps: false, ecn: false },
            clock: Time::ZERO,
            origin: Time::ZERO,
            out: VecDeque::new(),
            iss: 0,
            ts_offset: 0,
            log: String::new(),
            line: String::new(),
        };
        script.learn_numbers();
        script
    }
    pub fn client(control: &str) -> Script {
        Script::new(Role::Client, control, |_| {})
    }
    pub fn server(control: &str) -> Script {
        Script::new(Role::Server, control, |_| {})
    }
    /// What the peer offers.
    pub fn peer(mut self, change: impl FnOnce(&mut Peer)) -> Script {
        change(&mut self.peer);
        self
    }
    /// The peer has timestamps.
    pub fn with_timestamps(self) -> Script {
        self.peer(|p| p.timestamps = true)
    }

    /// The initial sequence number and the clock's offset depend on the seed alone: a copy that opens shows them.
    fn learn_numbers(&mut self) {
        let control = CongestionParams::default_of("reno").unwrap();
        let mut copy = Connection::new(Role::Client, TcpParams::default(), control, 7).unwrap();
        copy.open(Time::ZERO);
        let (syn, _) = copy.poll_transmit(Time::ZERO).unwrap();
        (self.iss, self.ts_offset) = (syn.seq, syn.timestamps.unwrap().val);
    }

    /// The handshake, which takes 100 ms; times count from its end. The peer's MSS makes ours 1000 bytes.
    pub fn established(mut self) -> Script {
        let Peer { wscale, sack, timestamps, ecn } = self.peer;
        let mut options = format!("mss {}", if timestamps { 1012 } else { 1000 });
        if let Some(scale) = wscale {
            let _ = write!(options, " wscale {scale}");
        }
        options += if sack { " sackOK" } else { "" };
        options += if timestamps { " ts ecr 0" } else { "" };
        if self.role == Role::Client {
            self.do_line("0 app open");
            self.out.clear();
            self.do_line(&format!("100 < {} ack 1 win 64000 {options}", if ecn { "S.E" } else { "S." }));
        } else {
            self.do_line(&format!("0 < {} win 64000 {options}", if ecn { "SEW" } else { "S" }));
            self.out.clear();
            self.do_line("100 < . ack 1");
        }
        self.out.clear();
        self.origin = Time::ZERO + Dur::from_ms(100);
        self.clock = self.origin;
        self
    }

    /// Carries out the table; afterwards nothing may be left that no line expects.
    pub fn run(mut self, table: &str) -> Info {
        for line in table.lines() {
            let line = line.split('#').next().unwrap().trim();
            if !line.is_empty() {
                self.do_line(line);
            }
        }
        self.line = "(end of the script)".into();
        self.no_more();
        self.c.info()
    }

    fn do_line(&mut self, line: &str) {
        self.line = line.into();
        let _ = writeln!(self.log, "    {line}");
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = self.origin + ms(words[0]);
        if words[1] != ">" {
            self.advance(at);
        }
        match words[1] {
            ">" => self.expect(at, &words[2..]),
            "<" => {
                self.no_more();
                let (segment, ecn) = self.peer_segment(&words[2..]);
                self.c.on_segment(at, &segment, ecn);
                self.flush();
            }
            "app" => {
                self.no_more();
                self.application(&words[2..]);
                self.flush();
            }
            "is" => {
                for pair in words[2..].chunks(2) {
                    self.check(pair[0], pair[1]);
                }
            }
            "quiet" => {
                self.no_more();
                self.timers(at);
                self.no_more();
            }
            other => panic!("`{other}`: a line has `>`, `<`, `app`, `is` or `quiet`"),
        }
    }

    /// Timers before `at`.
    fn advance(&mut self, at: Time) {
        assert!(self.clock <= at, "time runs backwards at `{}`", self.line);
        while self.c.next_timeout().is_some_and(|due| due < at) {
            self.fire();
        }
        self.clock = at;
    }
    /// Timers up to and with `at`.
    fn timers(&mut self, at: Time) {
        while self.c.next_timeout().is_some_and(|due| due <= at) {
            self.fire();
        }
        self.clock = self.clock.max(at);
    }
    fn fire(&mut self) {
        let due = self.c.next_timeout().unwrap();
        self.clock = self.clock.max(due);
        self.c.on_timeout(self.clock);
        self.flush();
    }
    fn flush(&mut self) {
        while let Some((segment, ecn)) = self.c.poll_transmit(self.clock) {
            let _ = writeln!(self.log, "        sent {}", self.show(self.clock, &segment, ecn));
            self.out.push_back((self.clock, segment, ecn));
        }
    }

    fn application(&mut self, words: &[&str]) {
        match words {
            ["open"] => self.c.open(self.clock),
            ["write", "endless"] => self.c.write_endless(),
            ["write", bytes] => {
                let bytes = Bytes::new(bytes.parse().unwrap());
                assert_eq!(self.c.write(bytes), bytes, "the send buffer takes it");
            }
            ["write", bytes, "close"] => {
                self.c.write(Bytes::new(bytes.parse().unwrap()));
                self.c.close();
            }
            ["read", "endless"] => self.c.read_endless(),
            ["read", bytes] => {
                let bytes = bytes.parse().unwrap();
                assert_eq!(self.c.read(bytes), bytes, "so much was there to read");
            }
            ["close"] => self.c.close(),
            ["abort"] => self.c.abort(),
            _ => panic!("`{words:?}`: the application can open, write, read, close, abort"),
        }
    }

    /// A segment of the peer, with a timestamp if that was agreed: it echoes our clock of now, or of `ecr`.
    fn peer_segment(&self, words: &[&str]) -> (Segment, Ecn) {
        let line = Line::read(words);
        let (start, end) = line.payload.unwrap_or(if line.flags.contains(Flags::SYN) { (0, 0) } else { (1, 1) });
        let syn = line.flags.contains(Flags::SYN);
        let scale = if syn { 0 } else { self.peer.wscale.unwrap_or(0) };
        let window = line.win.unwrap_or(WINDOW) >> scale;
        let mut sack = SackBlocks::default();
        for (a, b) in line.sack.unwrap_or_default() {
            sack.push(self.iss.wrapping_add(a), self.iss.wrapping_add(b));
        }
        let stamped = line.ts || (self.peer.timestamps && !syn && !line.no_ts);
        let clock = |text: Option<&str>| text.map_or(self.clock, |text| self.origin + ms(text)).as_ns() / 1_000_000;
        let segment = Segment {
            seq: IRS.wrapping_add(start),
            ack: line.ack.map_or(0, |ack| self.iss.wrapping_add(ack)),
            len: end - start,
            window: window.min(65_535) as u16,
            flags: line.flags,
            timestamps: stamped.then(|| Timestamps {
                val: clock(line.val) as u32 + 1000,
                ecr: self.ts_offset.wrapping_add(clock(line.ecr) as u32),
            }),
            sack,
            mss: line.mss,
            window_scale: line.wscale,
            sack_permitted: line.sack_ok,
            ecn_counts: line.counts.flatten(),
        };
        (segment, line.ecn.unwrap_or(Ecn::NotEct))
    }

    fn expect(&mut self, at: Time, words: &[&str]) {
        let line = Line::read(words);
        let Some((start, end)) = line.payload.filter(|(start, end)| end > start) else {
            return self.expect_one(at, &line, None);
        };
        let mut from = start;
        while from < end {
            from = self.expect_data(at, &line, from, end);
        }
    }

    fn expect_data(&mut self, at: Time, line: &Line<'_>, from: u32, end: u32) -> u32 {
        self.wait_for_segment(at);
        let Some((_, segment, _)) = self.out.front() else { self.fail("nothing was sent") };
        let len = segment.len;
        self.expect_one(at, line, Some((from, end)));
        from + len
    }

    fn wait_for_segment(&mut self, at: Time) {
        while self.out.is_empty() && self.c.next_timeout().is_some_and(|due| due <= at + EXACT) {
            self.fire();
        }
    }

    /// `part`: the bytes of which the segment carries the first ones.
    fn expect_one(&mut self, at: Time, line: &Line<'_>, part: Option<(u32, u32)>) {
        self.wait_for_segment(at);
        let Some((sent, segment, ecn)) = self.out.pop_front() else { self.fail("nothing was sent") };
        self.clock = self.clock.max(sent);
        let seq = segment.seq.wrapping_sub(self.iss);
        let last = part.is_none_or(|(_, end)| seq + segment.len == end);
        let mut wanted = line.flags.0;
        if !last {
            wanted &= !(Flags::FIN.0 | Flags::PSH.0);
        }
        let ignored = Flags::PSH.0 & !wanted;
        let mut wrong = Vec::new();
        let mut want = |what: &'static str, right: bool| {
            if !right {
                wrong.push(what);
            }
        };
        want("time", sent.since(at) <= EXACT && at.since(sent) <= EXACT);
        want("flags", segment.flags.0 & !ignored == wanted);
        match (part, line.payload) {
            (Some((from, end)), _) => want("payload", seq == from && segment.len > 0 && seq + segment.len <= end),
            (None, Some((start, _))) => want("payload", segment.len == 0 && seq == start),
            (None, None) => want("payload", segment.len == 0),
        }
        let back = |number: u32| number.wrapping_sub(IRS);
        want("ack", line.ack.is_none_or(|ack| back(segment.ack) == ack));
        want("win", line.win.is_none_or(|win| u64::from(segment.window) == win));
        let blocks: Vec<_> = segment.sack.as_slice().iter().map(|&(a, b)| (back(a), back(b))).collect();
        want("sack", line.sack.as_ref().is_none_or(|sack| *sack == blocks));
        want("mss", line.mss.is_none() || line.mss == segment.mss);
        want("wscale", line.wscale.is_none() || line.wscale == segment.window_scale);
        want("no-wscale", !line.no_wscale || segment.window_scale.is_none());
        want("sackOK", !line.sack_ok || segment.sack_permitted);
        want("ts", !line.ts || segment.timestamps.is_some());
        want("no-ts", !line.no_ts || segment.timestamps.is_none());
        let echo = |at: &str| (self.origin + ms(at)).as_ns() as u32 / 1_000_000 + 1000;
        want("ecr", line.ecr.is_none_or(|ecr| segment.timestamps.is_some_and(|ts| ts.ecr == echo(ecr))));
        want("counts", line.counts.is_none_or(|wanted| wanted == segment.ecn_counts));
        want("ecn", line.ecn.is_none_or(|wanted| wanted == ecn));
        if !wrong.is_empty() {
            self.fail(&format!("{wrong:?} differ: sent {}", self.show(sent, &segment, ecn)));
        }
    }

    fn no_more(&mut self) {
        if let Some((at, segment, ecn)) = self.out.front().copied() {
            self.fail(&format!("not expected: {}", self.show(at, &segment, ecn)));
        }
    }

    fn fail(&self, why: &str) -> ! {
        panic!("at `{}`: {why}\n{}", self.line, self.log)
    }

    /// A segment as a line has it.
    fn show(&self, at: Time, s: &Segment, ecn: Ecn) -> String {
        let mut text = format!("{} > ", (at.as_ns() as f64 - self.origin.as_ns() as f64) / 1e6);
        text.extend("SFRP.EWA".chars().filter(|&c| s.flags.contains(flags(&c.to_string()))));
        let seq = s.seq.wrapping_sub(self.iss);
        let _ = write!(text, " {seq}:{} ack {} win {}", seq.wrapping_add(s.len), s.ack.wrapping_sub(IRS), s.window);
        for (a, b) in s.sack.as_slice() {
            let _ = write!(text, " sack {}:{}", a.wrapping_sub(IRS), b.wrapping_sub(IRS));
        }
        if let Some(counts) = s.ecn_counts {
            let _ = write!(text, " counts {},{},{}", counts.ect0, counts.ce, counts.ect1);
        }
        let _ = write!(text, " {:?} {:?} {:?} {ecn:?}", s.mss, s.window_scale, s.timestamps.map(|ts| ts.ecr));
        text
    }

    /// Sizes in whole segments, times in ms.
    fn check(&mut self, name: &str, wanted: &str) {
        let i = self.c.info();
        let segments = |bytes: Bytes| (bytes.as_u64() / i.mss.as_u64()).to_string();
        let time = |span: Dur| (span.as_ns() as f64 / 1e6).to_string();
        let got = match name {
            "cwnd" => segments(i.cwnd),
            "ssthresh" if i.ssthresh > Bytes::new(1 << 40) => "inf".into(),
            "ssthresh" => segments(i.ssthresh),
            "in_flight" => segments(i.in_flight),
            "unacked" => segments(i.unacked),
            "lost" => segments(i.lost),
            "sacked" => segments(i.sacked),
            "retransmitting" => segments(i.retransmitting),
            "mss" => i.mss.as_u64().to_string(),
            "state" => format!("{:?}", i.state),
            "rto" => time(i.rto),
            "srtt" => time(i.srtt),
            "min_rtt" => time(i.min_rtt),
            "reordering" => i.reordering.to_string(),
            "acked" => i.acked.to_string(),
            "received" => i.received.to_string(),
            "timeouts" => i.timeouts.to_string(),
            "recoveries" => i.recoveries.to_string(),
            "retransmissions" => i.retransmissions.to_string(),
            "undone" => i.undone.to_string(),
            "dsacks" => i.dsacks.to_string(),
            "delivered" => i.delivered.to_string(),
            "delivered_ce" => i.delivered_ce.to_string(),
            "ecn_reductions" => i.ecn_reductions.to_string(),
            "ecn" => i.ecn.to_string(),
            "established" => self.c.is_established().to_string(),
            "closed" => self.c.is_closed().to_string(),
            "peer_closed" => self.c.is_peer_closed().to_string(),
            "reset" => i.reset.to_string(),
            "readable" => self.c.readable().to_string(),
            _ => panic!("`{name}`: nothing of that name is shown"),
        };
        if got != wanted {
            self.fail(&format!("{name} is {got}, not {wanted}: {i:?}"));
        }
    }
}
