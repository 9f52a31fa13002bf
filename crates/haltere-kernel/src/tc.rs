//! What `tc` takes for a queue discipline, as the kernel takes it: netlink attributes.
//!
//! Source: `include/uapi/linux/pkt_sched.h` for attributes and structures; the manual pages tc-codel(8), tc-red(8), ..
//! for words, units and defaults.
//! Model: a word, a value if it takes one, and so on; most disciplines are a table of words. Without filters a packet
//! goes to the default class, so `htb` has that one only. After a `;` comes the discipline inside of it, or of `tbf`.
//! Known problems: filters, and disciplines that need them (`drr`, `hfsc`, ..), are refused.

use haltere_units::Rate;
use haltere_wire::namespace::Discipline;

/// The value that a word takes.
#[derive(Debug, Clone, Copy)]
enum Take {
    Number,
    /// A time, which the kernel takes in us.
    Micros,
    /// A size in bytes.
    Size,
    /// A rate, which the kernel takes in bytes a second.
    Rate,
    /// From 0 to 1.
    Probability,
    /// None: the word itself stands for this value.
    Set(u32),
    /// A whole number, or a word that stands for one, in one byte.
    Byte,
    SetByte(u8),
    /// A rate, which the kernel takes in eight bytes.
    LongRate,
    /// The word itself stands for no rate, in eight bytes.
    NoRate,
    /// A twentieth of a time, in us.
    Twentieth,
    /// A number, which the kernel takes in parts of 256.
    In256,
}

use Take::{
    Byte, In256, LongRate, Micros, NoRate, Number, Probability, Rate as PerSecond, Set, SetByte, Size, Twentieth,
};

impl Take {
    /// A value as the payload of an attribute.
    fn payload(self, value: f64) -> Vec<u8> {
        match self {
            Byte | SetByte(_) => vec![value as u8],
            LongRate | NoRate => (value as u64).to_ne_bytes().into(),
            _ => (value as u32).to_ne_bytes().into(),
        }
    }
}

/// A discipline, and its words, each with the number of its attribute.
type Table = (&'static str, &'static [(&'static str, u16, Take)]);

/// The disciplines that take a list of attributes.
#[rustfmt::skip]
const TABLES: &[Table] = &[
    ("codel", &[
        ("target", 1, Micros), ("limit", 2, Number), ("interval", 3, Micros), ("ecn", 4, Set(1)),
        ("noecn", 4, Set(0)), ("ce_threshold", 5, Micros),
    ]),
    ("fq_codel", &[
        ("target", 1, Micros), ("limit", 2, Number), ("interval", 3, Micros), ("ecn", 4, Set(1)),
        ("noecn", 4, Set(0)), ("flows", 5, Number), ("quantum", 6, Size), ("ce_threshold", 7, Micros),
        ("drop_batch", 8, Number), ("memory_limit", 9, Size),
    ]),
    ("pie", &[
        ("target", 1, Micros), ("limit", 2, Number), ("tupdate", 3, Micros), ("alpha", 4, Number),
        ("beta", 5, Number), ("ecn", 6, Set(1)), ("noecn", 6, Set(0)), ("bytemode", 7, Set(1)),
        ("nobytemode", 7, Set(0)), ("dq_rate_estimator", 8, Set(1)), ("no_dq_rate_estimator", 8, Set(0)),
    ]),
    ("fq_pie", &[
        ("limit", 1, Number), ("flows", 2, Number), ("target", 3, Micros), ("tupdate", 4, Micros),
        ("alpha", 5, Number), ("beta", 6, Number), ("quantum", 7, Size), ("memory_limit", 8, Size),
        ("ecn_prob", 9, Number), ("ecn", 10, Set(1)), ("noecn", 10, Set(0)), ("bytemode", 11, Set(1)),
        ("dq_rate_estimator", 12, Set(1)),
    ]),
    ("fq", &[
        ("limit", 1, Number), ("flow_limit", 2, Number), ("quantum", 3, Size), ("initial_quantum", 4, Size),
        ("pacing", 5, Set(1)), ("nopacing", 5, Set(0)), ("maxrate", 7, PerSecond), ("refill_delay", 9, Micros),
        ("low_rate_threshold", 10, PerSecond), ("ce_threshold", 12, Micros),
    ]),
    ("cake", &[
        ("bandwidth", 2, LongRate), ("unlimited", 2, NoRate), ("diffserv3", 3, Set(0)), ("diffserv4", 3, Set(1)),
        ("diffserv8", 3, Set(2)), ("besteffort", 3, Set(3)), ("precedence", 3, Set(4)), ("flowblind", 5, Set(0)),
        ("srchost", 5, Set(1)), ("dsthost", 5, Set(2)), ("hosts", 5, Set(3)), ("flows", 5, Set(4)),
        ("dual-srchost", 5, Set(5)), ("dual-dsthost", 5, Set(6)), ("triple-isolate", 5, Set(7)),
        ("overhead", 6, Number), ("rtt", 7, Micros), ("rtt", 8, Twentieth), ("memlimit", 10, Size), ("raw", 12, Set(0)),
        ("nowash", 13, Set(0)), ("wash", 13, Set(1)), ("mpu", 14, Number), ("egress", 15, Set(0)), ("ingress", 15, Set(1)),
        ("no-ack-filter", 16, Set(0)), ("ack-filter", 16, Set(1)), ("ack-filter-aggressive", 16, Set(2)),
        ("no-split-gso", 17, Set(0)), ("split-gso", 17, Set(1)),
    ]),
    ("dualpi2", &[
        ("limit", 1, Number), ("memlimit", 2, Size), ("target", 3, Micros), ("tupdate", 4, Micros), ("alpha", 5, In256),
        ("beta", 6, In256), ("step_thresh", 8, Micros), ("min_qlen_step", 9, Number), ("coupling_factor", 10, Byte),
        ("overflow", 11, SetByte(0)), ("drop_on_overload", 11, SetByte(1)), ("drop_dequeue", 12, SetByte(0)),
        ("drop_enqueue", 12, SetByte(1)), ("classic_protection", 13, Byte), ("l4s_ect", 14, SetByte(1)),
        ("any_ect", 14, SetByte(3)), ("no_split_gso", 15, SetByte(0)), ("split_gso", 15, SetByte(1)),
    ]),
];

/// Those that take a structure.
const OTHERS: &[&str] = &["pfifo", "bfifo", "pfifo_fast", "prio", "red", "choke", "sfb", "sfq", "tbf", "htb"];

/// `TC_H_ROOT`.
const ROOT: u32 = u32::MAX;
/// The discipline of the link, `1:`.
const TOP: u32 = 1 << 16;
/// Its class, `1:1`.
const CLASS: u32 = TOP + 1;
/// The discipline inside, `2:`.
const INNER: u32 = 2 << 16;

/// Reads the words after `tc qdisc add dev DEV root`, of `htb` those of its class, and after a `;` those of the
/// discipline inside. Returned: what is made, in this order. An error says what the words must be.
pub fn parse(text: &str) -> Result<Vec<Discipline>, String> {
    let (outer, inner) = text.split_once(';').map_or((text, None), |(outer, inner)| (outer, Some(inner)));
    let mut words = Words::of(outer);
    let mut made = match words.0.next() {
        Some("htb") => htb(&mut words)?,
        kind => vec![discipline(kind, &mut words, ROOT, TOP)?],
    };
    if let Some(inner) = inner {
        if !matches!(made[0].kind.as_str(), "htb" | "tbf") {
            return Err("`htb` or `tbf`, where another discipline follows after `;`".into());
        }
        let mut words = Words::of(inner);
        made.push(discipline(words.0.next(), &mut words, CLASS, INNER)?);
    }
    Ok(made)
}

/// A discipline of that kind, with these words.
fn discipline(kind: Option<&str>, words: &mut Words<'_>, parent: u32, handle: u32) -> Result<Discipline, String> {
    let known = || {
        let names: Vec<String> =
            TABLES.iter().map(|(name, _)| *name).chain(OTHERS.iter().copied()).map(|n| format!("`{n}`")).collect();
        format!("one of {} with its words", names.join(", "))
    };
    let kind = kind.ok_or_else(known)?;
    let options = match (kind, TABLES.iter().find(|(name, _)| *name == kind)) {
        (_, Some((_, table))) => Some(by_table(kind, table, words)?),
        ("pfifo" | "bfifo", _) => fifo(kind, words)?,
        ("pfifo_fast", _) => match words.0.next() {
            None => None,
            Some(_) => return Err("`pfifo_fast` without words".into()),
        },
        ("prio", _) => Some(prio(words)?),
        ("red" | "choke", _) => Some(red(kind, words)?),
        ("sfb", _) => Some(sfb(words)?),
        ("sfq", _) => Some(sfq(words)?),
        ("tbf", _) => Some(tbf(words)?),
        ("htb", _) => return Err("before the `;`, if it is `htb`".into()),
        _ => return Err(known()),
    };
    let nested = !matches!(kind, "pfifo" | "bfifo" | "prio" | "sfq");
    Ok(Discipline { parent, handle, is_class: false, kind: kind.into(), options, nested })
}

/// The words that are left.
struct Words<'t>(std::vec::IntoIter<&'t str>);

impl<'t> Words<'t> {
    fn of(text: &'t str) -> Words<'t> {
        Words(text.split_whitespace().collect::<Vec<_>>().into_iter())
    }
    fn value(&mut self, word: &str, what: &str, read: impl Fn(&str) -> Option<f64>) -> Result<f64, String> {
        self.0.next().and_then(read).ok_or_else(|| format!("written with {what} after `{word}`"))
    }
    fn take(&mut self, word: &str, take: Take) -> Result<f64, String> {
        match take {
            Number => self.value(word, "a whole number", |text| text.parse::<u32>().ok().map(f64::from)),
            Byte => self.value(word, "a whole number below 256", |text| text.parse::<u8>().ok().map(f64::from)),
            Micros => self.value(word, "a time, such as `5ms`", micros),
            Twentieth => self.value(word, "a time, such as `5ms`", micros).map(|us| (us / 20.0).trunc().max(1.0)),
            In256 => self
                .value(word, "a number below 256", |text| text.parse().ok().filter(|n| (0.0..256.0).contains(n)))
                .map(|number| (number * 256.0).round()),
            Size => self.value(word, "a size in bytes, such as `1514` or `32kb`", size),
            PerSecond | LongRate => self.value(word, "a rate, such as `10mbit`", rate),
            Probability => {
                self.value(word, "a number from 0 to 1", |text| text.parse().ok().filter(|p| (0.0..=1.0).contains(p)))
            }
            Set(value) => Ok(f64::from(value)),
            SetByte(value) => Ok(f64::from(value)),
            NoRate => Ok(0.0),
        }
    }
    /// The values of the words of a discipline that takes a structure, each with its default. It has the first `known`
    /// of these words; other names of a word follow a `|`.
    fn all<const N: usize>(
        &mut self,
        kind: &str,
        table: [(&str, Take, f64); N],
        known: usize,
    ) -> Result<[f64; N], String> {
        let mut values = table.map(|(_, _, default)| default);
        while let Some(word) = self.0.next() {
            let place = table[..known].iter().position(|(names, ..)| names.split('|').any(|name| name == word));
            let Some(place) = place else {
                return Err(words_of(kind, table[..known].iter().filter_map(|(names, ..)| names.split('|').next())));
            };
            values[place] = self.take(word, table[place].1)?;
        }
        Ok(values)
    }
}

/// A rate as tc reads it, in bytes a second. Large and small letters are the same.
fn rate(text: &str) -> Option<f64> {
    let lower = text.to_lowercase();
    let rest = lower.strip_suffix("bit")?;
    let (number, prefix) = rest.split_at(rest.len() - usize::from(rest.ends_with(['k', 'm', 'g'])));
    let unit = match prefix {
        "" => "bit",
        "k" => "kbit",
        "m" => "Mbit",
        _ => "Gbit",
    };
    format!("{number}{unit}").parse::<Rate>().ok().map(|rate| (rate.as_bps() / 8) as f64)
}

/// A time as tc reads it, in us. Without a unit it is in us.
fn micros(text: &str) -> Option<f64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let unit = match &text[split..] {
        "s" | "sec" | "secs" => 1e6,
        "ms" | "msec" | "msecs" => 1e3,
        "" | "us" | "usec" | "usecs" => 1.0,
        _ => return None,
    };
    let us = text[..split].parse::<f64>().ok()? * unit;
    (0.0..=f64::from(u32::MAX)).contains(&us).then_some(us.trunc())
}

/// A size as tc reads it, in bytes: a kilobyte has 1024.
fn size(text: &str) -> Option<f64> {
    let lower = text.to_lowercase();
    let split = lower.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(lower.len());
    let unit = match &lower[split..] {
        "" | "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024.0 * 1024.0,
        "kbit" => 1000.0 / 8.0,
        "mbit" => 1e6 / 8.0,
        _ => return None,
    };
    let bytes = lower[..split].parse::<f64>().ok()? * unit;
    (0.0..=f64::from(u32::MAX)).contains(&bytes).then_some(bytes.trunc())
}

/// One netlink attribute.
fn attribute(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 8);
    out.extend((payload.len() as u16 + 4).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(payload);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn words_of<'t>(kind: &str, words: impl Iterator<Item = &'t str>) -> String {
    let mut names: Vec<String> = words.map(|name| format!("`{name}`")).collect();
    names.dedup();
    format!("`{kind}` with words among {}", names.join(", "))
}

fn by_table(kind: &str, table: &[(&str, u16, Take)], words: &mut Words<'_>) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    while let Some(word) = words.0.next() {
        let mut found = table.iter().filter(|(name, ..)| *name == word).peekable();
        if found.peek().is_none() {
            return Err(words_of(kind, table.iter().map(|(name, ..)| *name)));
        }
        // A word may stand for two attributes, which both read its value.
        let values = words.0.clone();
        for (_, number, take) in found {
            words.0 = values.clone();
            out.extend(attribute(*number, &take.payload(words.take(word, *take)?)));
        }
    }
    Ok(out)
}

/// `struct tc_fifo_qopt`.
fn fifo(kind: &str, words: &mut Words<'_>) -> Result<Option<Vec<u8>>, String> {
    let take = if kind == "bfifo" { Size } else { Number };
    let [limit] = words.all(kind, [("limit", take, f64::NAN)], 1)?;
    Ok((!limit.is_nan()).then(|| structure(&[limit])))
}

/// `struct tc_prio_qopt`: bands, each a FIFO, and the band of each priority.
fn prio(words: &mut Words<'_>) -> Result<Vec<u8>, String> {
    let (mut bands, mut map) = (3, [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
    while let Some(word) = words.0.next() {
        match word {
            "bands" => bands = words.take(word, Number)? as u32,
            "priomap" => {
                for band in &mut map {
                    *band = words.take(word, Byte)? as u8;
                }
            }
            _ => return Err(words_of("prio", ["bands", "priomap"].into_iter())),
        }
    }
    if !(2..=16).contains(&bands) || map.iter().any(|&band| u32::from(band) >= bands) {
        return Err("`prio` with 2 to 16 `bands`, and a `priomap` of 16 of them, counted from 0".into());
    }
    Ok([&bands.to_ne_bytes()[..], &map].concat())
}

/// Joins numbers into the bytes of a structure.
fn structure(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| (*n as u32).to_ne_bytes()).collect()
}

/// `struct tc_red_qopt` or `tc_choke_qopt`, the table of idle damping, and the probability. RED's limits are bytes,
/// CHOKe's packets.
fn red(kind: &str, words: &mut Words<'_>) -> Result<Vec<u8>, String> {
    let in_bytes = kind == "red";
    let amount = if in_bytes { Size } else { Number };
    #[rustfmt::skip]
    let table = [
        ("limit", amount, 0.0), ("min", amount, 0.0), ("max", amount, 0.0), ("burst", Number, 0.0), ("avpkt", Size, 1000.0),
        ("bandwidth", PerSecond, 1_250_000.0), ("probability", Probability, 0.02), ("ecn", Set(1), 0.0),
        ("harddrop", Set(2), 0.0), ("adaptive", Set(4), 0.0),
    ];
    let [limit, min, max, mut burst, avpkt, bandwidth, probability, ecn, harddrop, adaptive] =
        words.all(kind, table, if in_bytes { 10 } else { 8 })?;
    let unit = if in_bytes { avpkt } else { 1.0 };
    if limit == 0.0 || min == 0.0 || max <= min || avpkt == 0.0 || bandwidth == 0.0 {
        return Err(format!("`{kind}` with `limit`, `min` and a greater `max`"));
    }
    if burst == 0.0 {
        burst = ((2.0 * min + max) / (3.0 * unit)).trunc();
    }
    let wlog =
        averaging(min / unit, burst).ok_or_else(|| format!("`{kind}` with a `burst` of at least `min` packets"))?;
    let plog = (0..32u8).find(|&log| probability / (max - min) * f64::from(log).exp2() > 1.0).unwrap_or(31);
    let (log, table) = idle_damping(wlog, avpkt / bandwidth);
    let mut parameters = structure(&[limit, min, max]);
    parameters.extend([wlog, plog, log, (ecn + harddrop + adaptive) as u8]);
    let most = (probability * 4_294_967_296.0) as u32;
    Ok([attribute(1, &parameters), attribute(2, &table), attribute(3, &most.to_ne_bytes())].concat())
}

/// The weight of the average as a power of two: the smallest that lets such a burst pass before the average is at `min`
/// (Floyd and Jacobson 1993, section 11).
fn averaging(min: f64, burst: f64) -> Option<u8> {
    let a = burst + 1.0 - min;
    if a < 1.0 {
        return None;
    }
    (1..32u8).find(|&log| {
        let weight = (-f64::from(log)).exp2();
        a <= (1.0 - (1.0 - weight).powf(burst)) / weight
    })
}

/// How the average decays over idle time: steps of 64 ns as a power of two, and for each step the shift.
fn idle_damping(wlog: u8, packet_s: f64) -> (u8, Vec<u8>) {
    let ticks = packet_s * 1e9 / 64.0;
    let decay = -(1.0 - (-f64::from(wlog)).exp2()).ln() / ticks;
    let longest = 31.0 / decay;
    let log = (0..32u8).find(|&log| longest / f64::from(log).exp2() < 512.0).unwrap_or(31);
    let shift = |place: u32| (f64::from(place) * f64::from(log).exp2() * decay).min(31.0).round() as u8;
    let mut table: Vec<u8> = (0..255).map(shift).collect();
    table.push(31);
    (log, table)
}

/// `struct tc_sfb_qopt`.
fn sfb(words: &mut Words<'_>) -> Result<Vec<u8>, String> {
    // The defaults of `tc`, not the kernel's own, which are twice and thrice as large; probabilities are in units of
    // 1/65535.
    const PART: f64 = 65_535.0;
    #[rustfmt::skip]
    let table = [
        ("rehash", Number, 600_000.0), ("db", Number, 60_000.0), ("max", Number, 25.0), ("target", Number, 20.0),
        ("increment", Probability, 33.0 / PART), ("decrement", Probability, 3.0 / PART), ("limit", Number, 0.0),
        ("penalty_rate", Number, 10.0), ("penalty_burst", Number, 20.0),
    ];
    let mut all = words.all("sfb", table, table.len())?;
    all[4..6].iter_mut().for_each(|p| *p = (*p * PART).round());
    Ok(attribute(1, &structure(&all)))
}

/// `struct tc_sfq_qopt_v1` without RED. Zero leaves the kernel's default.
fn sfq(words: &mut Words<'_>) -> Result<Vec<u8>, String> {
    #[rustfmt::skip]
    let table = [
        ("quantum", Size, 0.0), ("perturb", Number, 0.0), ("limit", Number, 0.0), ("divisor", Number, 0.0),
        ("flows", Number, 0.0), ("depth", Number, 0.0), ("headdrop", Set(1), 0.0),
    ];
    // Then of RED: limit, min, max, four bytes, probability, six counters.
    let mut all = words.all("sfq", table, table.len())?.to_vec();
    all.extend([0.0; 3 + 1 + 1 + 6]);
    Ok(structure(&all))
}

/// `struct tc_ratespec`: Ethernet, so that the kernel asks for no table.
fn spec(rate: f64) -> Vec<u8> {
    [&[0, 1, 0, 0, 0xff, 0xff, 0, 0][..], &(rate as u32).to_ne_bytes()].concat()
}

/// `htb` with one class: `struct tc_htb_glob`, whose default is that class, and `struct tc_htb_opt`.
fn htb(words: &mut Words<'_>) -> Result<Vec<Discipline>, String> {
    // Of `tc`: what one tick of a kernel with high-resolution timers sends, and a full packet.
    const BURST: f64 = 1600.0;
    // Units of 64 ns.
    const TICKS_PER_S: f64 = 1e9 / 64.0;
    #[rustfmt::skip]
    let table = [
        ("rate", PerSecond, 0.0), ("ceil", PerSecond, 0.0), ("burst|buffer|maxburst", Size, BURST),
        ("cburst|cbuffer|cmaxburst", Size, BURST), ("quantum", Size, 0.0), ("prio", Number, 0.0),
    ];
    let [rate, ceil, burst, cburst, quantum, prio] = words.all("htb", table, table.len())?;
    if rate == 0.0 {
        return Err("`htb` with `rate`".into());
    }
    let ceil = if ceil == 0.0 { rate } else { ceil };
    let ticks = |bytes: f64, rate: f64| bytes / rate * TICKS_PER_S;
    let mut class = [spec(rate), spec(ceil)].concat();
    class.extend(structure(&[ticks(burst, rate), ticks(cburst, ceil), quantum, 0.0, prio]));
    let global = structure(&[3.0, 10.0, 1.0, 0.0, 0.0]); // version, rate over quantum, default class
    let part = |parent, handle, is_class, options| Discipline {
        parent,
        handle,
        is_class,
        kind: "htb".into(),
        options: Some(options),
        nested: true,
    };
    Ok(vec![part(ROOT, TOP, false, attribute(2, &global)), part(TOP, CLASS, true, attribute(1, &class))])
}

/// `struct tc_tbf_qopt` and the sizes of the buckets.
fn tbf(words: &mut Words<'_>) -> Result<Vec<u8>, String> {
    #[rustfmt::skip]
    let table = [
        ("rate", PerSecond, 0.0), ("peakrate", PerSecond, 0.0), ("burst|buffer|maxburst", Size, 0.0),
        ("mtu|minburst", Size, 0.0), ("limit", Size, 0.0), ("latency", Micros, 0.0),
    ];
    let [rate, peak, burst, mtu, mut limit, latency] = words.all("tbf", table, table.len())?;
    if latency > 0.0 {
        limit = (rate * latency * 1e-6).trunc() + burst;
    }
    if rate == 0.0 || burst == 0.0 || limit == 0.0 || (peak > 0.0 && mtu == 0.0) {
        return Err("`tbf` with `rate`, `burst`, and `limit` or `latency`; `mtu` with `peakrate`".into());
    }
    let mut parameters = [spec(rate), spec(peak)].concat();
    if peak == 0.0 {
        parameters[12..24].fill(0);
    }
    parameters.extend(structure(&[limit, 0.0, 0.0]));
    let mut out = attribute(1, &parameters);
    out.extend(attribute(6, &structure(&[burst])));
    if peak > 0.0 {
        out.extend(attribute(7, &structure(&[mtu])));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Discipline {
        let [one] = <[Discipline; 1]>::try_from(parse(text).unwrap()).unwrap();
        one
    }

    #[test]
    fn words_become_attributes() {
        let made = only("codel limit 100 target 5ms ecn");
        let expected = [[8u16, 2].map(u16::to_ne_bytes).concat(), 100u32.to_ne_bytes().to_vec()].concat();
        assert_eq!(made.kind, "codel");
        let options = made.options.unwrap();
        assert_eq!(options[..8], expected[..]);
        assert_eq!(options[12..16], 5000u32.to_ne_bytes());
        assert_eq!(options[20..24], 1u32.to_ne_bytes());
        assert_eq!(only("pfifo_fast").options, None);
        assert_eq!(only("bfifo limit 32kb").options, Some(32_768u32.to_ne_bytes().to_vec()));
    }

    /// Attribute numbers, lengths and values are those of `include/uapi/linux/pkt_sched.h`.
    #[test]
    fn words_of_cake_dualpi2_and_prio_become_what_the_kernel_reads() {
        let options = |text: &str| only(text).options.unwrap();
        let rate = attribute(2, &1_250_000u64.to_ne_bytes());
        let rtt = [attribute(7, &20_000u32.to_ne_bytes()), attribute(8, &1000u32.to_ne_bytes())].concat();
        let flows = attribute(5, &4u32.to_ne_bytes());
        assert_eq!(options("cake bandwidth 10mbit rtt 20ms flows"), [rate, rtt, flows].concat());
        assert_eq!(options("cake unlimited"), attribute(2, &0u64.to_ne_bytes()));
        let target = attribute(3, &15_000u32.to_ne_bytes());
        let made = options("dualpi2 target 15ms coupling_factor 2 alpha 0.16 any_ect");
        let rest = [attribute(10, &[2]), attribute(5, &41u32.to_ne_bytes()), attribute(14, &[3])].concat();
        assert_eq!(made, [target, rest].concat());
        let prio = only("prio bands 4 priomap 3 2 1 0 0 0 0 0 0 0 0 0 0 0 0 0");
        assert_eq!((prio.nested, prio.options.unwrap()[..8].to_vec()), (false, vec![4, 0, 0, 0, 3, 2, 1, 0]));
        assert!(parse("prio bands 2").unwrap_err().starts_with("`prio` with 2 to 16 `bands`"));
        assert_eq!(
            parse("dualpi2 coupling_factor 300").unwrap_err(),
            "written with a whole number below 256 after `coupling_factor`"
        );
    }

    /// By hand: at 1.25 MB/s, 1600 bytes take 1280 us, which are 20,000 ticks of 64 ns; 15 kB at twice that 6144 us.
    #[test]
    fn htb_has_its_default_class_and_a_discipline_inside() {
        let made = parse("htb rate 10mbit ceil 20mbit cburst 15k; fq_codel limit 100").unwrap();
        let places: Vec<_> = made.iter().map(|one| (one.kind.as_str(), one.parent, one.handle, one.is_class)).collect();
        assert_eq!(places, [("htb", ROOT, TOP, false), ("htb", TOP, CLASS, true), ("fq_codel", CLASS, INNER, false)]);
        let class = made[1].options.as_ref().unwrap();
        let words: Vec<u32> = class[4..].chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
        assert_eq!((words[2], words[5]), (1_250_000, 2_500_000));
        assert_eq!(words[6..], [20_000, 96_000, 0, 0, 0]);
    }

    #[test]
    fn what_is_not_known_is_told() {
        let told = |text: &str| parse(text).unwrap_err();
        assert!(told("drr").starts_with("one of `codel`, `fq_codel`"), "{}", told("drr"));
        assert_eq!(told("htb burst 15k"), "`htb` with `rate`");
        assert_eq!(told("codel; pfifo"), "`htb` or `tbf`, where another discipline follows after `;`");
        assert!(told("htb rate 1mbit;").starts_with("one of `codel`"));
        assert!(told("htb rate 1mbit; htb rate 1mbit").starts_with("before"));
        assert!(told("").starts_with("one of `codel`"));
        assert!(told("codel limits 3").starts_with("`codel` with words among `target`, `limit`"));
        assert_eq!(told("codel limit"), "written with a whole number after `limit`");
        assert_eq!(told("pie target 5parsecs"), "written with a time, such as `5ms` after `target`");
        assert_eq!(told("red limit 60kb"), "`red` with `limit`, `min` and a greater `max`");
        assert_eq!(
            told("tbf rate 1mbit"),
            "`tbf` with `rate`, `burst`, and `limit` or `latency`; `mtu` with `peakrate`"
        );
    }

    #[test]
    fn units_are_those_of_tc() {
        assert_eq!(
            (micros("5ms"), micros("100"), micros("1.5s"), micros("2h")),
            (Some(5000.0), Some(100.0), Some(1_500_000.0), None)
        );
        assert_eq!(
            (size("1514b"), size("2k"), size("1mbit"), size("x")),
            (Some(1514.0), Some(2048.0), Some(125_000.0), None)
        );
        assert_eq!((rate("10mbit"), rate("8Kbit"), rate("fast")), (Some(1_250_000.0), Some(1000.0), None));
    }

    /// By hand: min 5, burst 8, so at least 4 is needed. 1/2 gives (1 - 2^-8) * 2 = 1.99, 1/4 gives 3.60, 1/8 gives
    /// 5.25.
    #[test]
    fn the_weight_of_red_lets_a_burst_pass() {
        assert_eq!((averaging(5.0, 8.0), averaging(5.0, 3.0)), (Some(3), None));
    }

    /// As iproute2's `tc qdisc add dev lo root sfb` sends it, seen in its netlink message.
    #[test]
    fn what_is_left_out_of_sfb_is_as_tc_has_it() {
        let sent: [u32; 9] = [600_000, 60_000, 25, 20, 33, 3, 0, 10, 20];
        let bytes: Vec<u8> = sent.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let options = |text: &str| only(text).options.unwrap();
        assert_eq!(options("sfb")[4..], bytes[..]);
        assert_eq!(options("sfb increment 0.0005 decrement 0.00005"), options("sfb"));
    }

    #[test]
    fn the_structures_have_the_kernels_sizes() {
        let len = |text: &str| only(text).options.unwrap().len();
        // Attributes: 4 bytes before each.
        assert_eq!(len("red limit 60kb min 5kb max 15kb avpkt 1000 burst 8 probability 0.02"), 4 + 16 + 4 + 256 + 8);
        assert_eq!(len("sfb"), 4 + 36);
        assert_eq!(len("sfq limit 100"), 20 + 8 + 12 + 4 + 4 + 24);
        assert_eq!(len("tbf rate 1mbit burst 2kb latency 50ms"), 4 + 36 + 8);
    }
}
