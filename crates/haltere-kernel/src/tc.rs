//! What `tc` takes for a queue discipline, as the kernel takes it: netlink attributes.
//!
//! Source: `include/uapi/linux/pkt_sched.h` for attributes and structures; the manual pages tc-codel(8), tc-red(8), .. for words, units and defaults.
//! Model: a word, a value if it takes one, and so on; most disciplines are a table of words.
//! Known problems: disciplines with classes (`htb`, `prio`, ..) and filters are refused.

use haltere_units::Rate;

/// A discipline for the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discipline {
    /// Its name, such as `fq_codel`.
    pub kind: String,
    /// The payload of its options; `None`: it takes none.
    pub options: Option<Vec<u8>>,
    /// The payload is a list of attributes, and not one structure.
    pub nested: bool,
}

/// What a word does.
#[derive(Debug, Clone, Copy)]
enum Word {
    /// It takes a number.
    Number(u16),
    /// It takes a time, which the kernel takes in us.
    Micros(u16),
    /// It takes a size in bytes.
    Size(u16),
    /// It takes a rate, which the kernel takes in bytes a second.
    Rate(u16),
    /// It takes nothing, and gives the attribute that value.
    Flag(u16, u32),
}

use Word::{Flag, Micros, Number, Size};

/// The disciplines that are a table of words, each with the number of its attribute.
const TABLES: &[(&str, &[(&str, Word)])] = &[
    (
        "codel",
        &[
            ("target", Micros(1)),
            ("limit", Number(2)),
            ("interval", Micros(3)),
            ("ecn", Flag(4, 1)),
            ("noecn", Flag(4, 0)),
            ("ce_threshold", Micros(5)),
        ],
    ),
    (
        "fq_codel",
        &[
            ("target", Micros(1)),
            ("limit", Number(2)),
            ("interval", Micros(3)),
            ("ecn", Flag(4, 1)),
            ("noecn", Flag(4, 0)),
            ("flows", Number(5)),
            ("quantum", Size(6)),
            ("ce_threshold", Micros(7)),
            ("drop_batch", Number(8)),
            ("memory_limit", Size(9)),
        ],
    ),
    (
        "pie",
        &[
            ("target", Micros(1)),
            ("limit", Number(2)),
            ("tupdate", Micros(3)),
            ("alpha", Number(4)),
            ("beta", Number(5)),
            ("ecn", Flag(6, 1)),
            ("noecn", Flag(6, 0)),
            ("bytemode", Flag(7, 1)),
            ("nobytemode", Flag(7, 0)),
            ("dq_rate_estimator", Flag(8, 1)),
            ("no_dq_rate_estimator", Flag(8, 0)),
        ],
    ),
    (
        "fq_pie",
        &[
            ("limit", Number(1)),
            ("flows", Number(2)),
            ("target", Micros(3)),
            ("tupdate", Micros(4)),
            ("alpha", Number(5)),
            ("beta", Number(6)),
            ("quantum", Size(7)),
            ("memory_limit", Size(8)),
            ("ecn_prob", Number(9)),
            ("ecn", Flag(10, 1)),
            ("noecn", Flag(10, 0)),
            ("bytemode", Flag(11, 1)),
            ("dq_rate_estimator", Flag(12, 1)),
        ],
    ),
    (
        "fq",
        &[
            ("limit", Number(1)),
            ("flow_limit", Number(2)),
            ("quantum", Size(3)),
            ("initial_quantum", Size(4)),
            ("pacing", Flag(5, 1)),
            ("nopacing", Flag(5, 0)),
            ("maxrate", Word::Rate(7)),
            ("refill_delay", Micros(9)),
            ("low_rate_threshold", Word::Rate(10)),
            ("ce_threshold", Micros(12)),
        ],
    ),
];

/// Those that take a structure.
const OTHERS: &[&str] = &["pfifo", "bfifo", "pfifo_fast", "red", "choke", "sfb", "sfq", "tbf"];

/// Reads the words after `tc qdisc add dev DEV root`. An error says what they must be.
pub fn parse(text: &str) -> Result<Discipline, String> {
    let mut words = Words(text.split_whitespace().collect::<Vec<_>>().into_iter());
    let known = || {
        let names: Vec<String> =
            TABLES.iter().map(|(name, _)| *name).chain(OTHERS.iter().copied()).map(|n| format!("`{n}`")).collect();
        format!("one of {} with its words", names.join(", "))
    };
    let kind = words.0.next().ok_or_else(known)?;
    let options = match (kind, TABLES.iter().find(|(name, _)| *name == kind)) {
        (_, Some((_, table))) => Some(by_table(kind, table, &mut words)?),
        ("pfifo" | "bfifo", _) => fifo(kind, &mut words)?,
        ("pfifo_fast", _) => match words.0.next() {
            None => None,
            Some(_) => return Err("`pfifo_fast` without words".into()),
        },
        ("red" | "choke", _) => Some(red(kind, &mut words)?),
        ("sfb", _) => Some(sfb(&mut words)?),
        ("sfq", _) => Some(sfq(&mut words)?),
        ("tbf", _) => Some(tbf(&mut words)?),
        _ => return Err(known()),
    };
    let nested = !matches!(kind, "pfifo" | "bfifo" | "sfq");
    Ok(Discipline { kind: kind.into(), options, nested })
}

/// The words that are left.
struct Words<'t>(std::vec::IntoIter<&'t str>);

impl Words<'_> {
    fn value<T>(&mut self, word: &str, what: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        self.0.next().and_then(read).ok_or_else(|| format!("written with {what} after `{word}`"))
    }
    fn number(&mut self, word: &str) -> Result<u32, String> {
        self.value(word, "a whole number", |text| text.parse().ok())
    }
    fn probability(&mut self, word: &str) -> Result<f64, String> {
        self.value(word, "a number from 0 to 1", |text| text.parse().ok().filter(|p| (0.0..=1.0).contains(p)))
    }
    fn micros(&mut self, word: &str) -> Result<u32, String> {
        self.value(word, "a time, such as `5ms`", micros)
    }
    fn size(&mut self, word: &str) -> Result<u32, String> {
        self.value(word, "a size in bytes, such as `1514` or `32kb`", size)
    }
    /// Bytes a second.
    fn rate(&mut self, word: &str) -> Result<u64, String> {
        self.value(word, "a rate, such as `10mbit`", |text| {
            // Large and small letters are the same in tc.
            let lower = text.to_lowercase();
            let (number, prefix) = lower
                .strip_suffix("bit")
                .map(|rest| rest.split_at(rest.len() - usize::from(rest.ends_with(['k', 'm', 'g']))))?;
            let unit = match prefix {
                "" => "bit",
                "k" => "kbit",
                "m" => "Mbit",
                _ => "Gbit",
            };
            format!("{number}{unit}").parse::<Rate>().ok().map(|rate| rate.as_bps() / 8)
        })
    }
}

/// A time as tc reads it, in us. Without a unit it is in us.
fn micros(text: &str) -> Option<u32> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let unit = match &text[split..] {
        "s" | "sec" | "secs" => 1e6,
        "ms" | "msec" | "msecs" => 1e3,
        "" | "us" | "usec" | "usecs" => 1.0,
        _ => return None,
    };
    let us = text[..split].parse::<f64>().ok()? * unit;
    (0.0..=f64::from(u32::MAX)).contains(&us).then_some(us as u32)
}

/// A size as tc reads it, in bytes: a kilobyte has 1024.
fn size(text: &str) -> Option<u32> {
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
    (0.0..=f64::from(u32::MAX)).contains(&bytes).then_some(bytes as u32)
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

fn words_of<T>(kind: &str, table: &[(&str, T)]) -> String {
    let names: Vec<String> = table.iter().map(|(name, _)| format!("`{name}`")).collect();
    format!("`{kind}` with words among {}", names.join(", "))
}

fn by_table(kind: &str, table: &[(&str, Word)], words: &mut Words<'_>) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    while let Some(word) = words.0.next() {
        let Some((_, what)) = table.iter().find(|(name, _)| *name == word) else { return Err(words_of(kind, table)) };
        let (kind, value) = match *what {
            Number(kind) => (kind, words.number(word)?),
            Micros(kind) => (kind, words.micros(word)?),
            Size(kind) => (kind, words.size(word)?),
            Word::Rate(kind) => (kind, u32::try_from(words.rate(word)?).unwrap_or(u32::MAX)),
            Flag(kind, value) => (kind, value),
        };
        out.extend(attribute(kind, &value.to_ne_bytes()));
    }
    Ok(out)
}

/// `struct tc_fifo_qopt`.
fn fifo(kind: &str, words: &mut Words<'_>) -> Result<Option<Vec<u8>>, String> {
    match words.0.next() {
        None => Ok(None),
        Some("limit") if kind == "bfifo" => Ok(Some(words.size("limit")?.to_ne_bytes().to_vec())),
        Some("limit") => Ok(Some(words.number("limit")?.to_ne_bytes().to_vec())),
        Some(_) => Err(words_of(kind, &[("limit", ())])),
    }
}

/// Joins numbers into the bytes of a structure.
fn structure(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

/// `struct tc_red_qopt` or `tc_choke_qopt`, the table of idle damping, and the probability. RED's limits are bytes, CHOKe's packets.
fn red(kind: &str, words: &mut Words<'_>) -> Result<Vec<u8>, String> {
    let in_bytes = kind == "red";
    let (mut limit, mut min, mut max, mut burst, mut flags) = (0u32, 0u32, 0u32, 0u32, 0u8);
    let (mut avpkt, mut probability, mut bandwidth) = (1000u32, 0.02, 1_250_000u64);
    while let Some(word) = words.0.next() {
        let mut amount = || if in_bytes { words.size(word) } else { words.number(word) };
        match word {
            "limit" => limit = amount()?,
            "min" => min = amount()?,
            "max" => max = amount()?,
            "burst" => burst = words.number(word)?,
            "avpkt" => avpkt = words.size(word)?,
            "bandwidth" => bandwidth = words.rate(word)?,
            "probability" => probability = words.probability(word)?,
            "ecn" => flags |= 1,
            "harddrop" if in_bytes => flags |= 2,
            "adaptive" if in_bytes => flags |= 4,
            _ => {
                let all = [
                    "limit",
                    "min",
                    "max",
                    "burst",
                    "avpkt",
                    "bandwidth",
                    "probability",
                    "ecn",
                    "harddrop",
                    "adaptive",
                ];
                return Err(words_of(kind, &all.map(|name| (name, ()))));
            }
        }
    }
    let unit = if in_bytes { f64::from(avpkt) } else { 1.0 };
    if limit == 0 || min == 0 || max <= min || avpkt == 0 || bandwidth == 0 {
        return Err(format!("`{kind}` with `limit`, `min` and a greater `max`"));
    }
    if burst == 0 {
        burst = ((2.0 * f64::from(min) + f64::from(max)) / (3.0 * unit)) as u32;
    }
    let wlog = averaging(f64::from(min) / unit, f64::from(burst))
        .ok_or_else(|| format!("`{kind}` with a `burst` of at least `min` packets"))?;
    let plog = (0..32u8).find(|&log| probability / f64::from(max - min) * f64::from(log).exp2() > 1.0).unwrap_or(31);
    let (log, table) = idle_damping(wlog, f64::from(avpkt) / bandwidth as f64);
    let mut parameters = structure(&[limit, min, max]);
    parameters.extend([wlog, plog, log, flags]);
    let most = (probability * 4_294_967_296.0).min(f64::from(u32::MAX)) as u32;
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
    // The defaults of `tc`, not the kernel's own, which are twice and thrice as large; probabilities are in units of 1/65535.
    let [mut rehash, mut warmup, mut max, mut target] = [600_000, 60_000, 25, 20];
    let [mut increment, mut decrement, mut limit, mut penalty_rate, mut penalty_burst] = [33, 3, 0, 10, 20];
    let part = |p: f64| (p * 65_535.0).round() as u32;
    while let Some(word) = words.0.next() {
        match word {
            "rehash" => rehash = words.number(word)?,
            "db" => warmup = words.number(word)?,
            "max" => max = words.number(word)?,
            "target" => target = words.number(word)?,
            "increment" => increment = part(words.probability(word)?),
            "decrement" => decrement = part(words.probability(word)?),
            "limit" => limit = words.number(word)?,
            "penalty_rate" => penalty_rate = words.number(word)?,
            "penalty_burst" => penalty_burst = words.number(word)?,
            _ => {
                let all = [
                    "rehash",
                    "db",
                    "max",
                    "target",
                    "increment",
                    "decrement",
                    "limit",
                    "penalty_rate",
                    "penalty_burst",
                ];
                return Err(words_of("sfb", &all.map(|name| (name, ()))));
            }
        }
    }
    let all = [rehash, warmup, max, target, increment, decrement, limit, penalty_rate, penalty_burst];
    Ok(attribute(1, &structure(&all)))
}

/// `struct tc_sfq_qopt_v1` without RED. Zero leaves the kernel's default.
fn sfq(words: &mut Words<'_>) -> Result<Vec<u8>, String> {
    let [mut quantum, mut perturb, mut limit, mut divisor, mut flows, mut depth, mut head] = [0; 7];
    while let Some(word) = words.0.next() {
        match word {
            "quantum" => quantum = words.size(word)?,
            "perturb" => perturb = words.number(word)?,
            "limit" => limit = words.number(word)?,
            "divisor" => divisor = words.number(word)?,
            "flows" => flows = words.number(word)?,
            "depth" => depth = words.number(word)?,
            "headdrop" => head = 1,
            _ => {
                let all = ["quantum", "perturb", "limit", "divisor", "flows", "depth", "headdrop"];
                return Err(words_of("sfq", &all.map(|name| (name, ()))));
            }
        }
    }
    // quantum, perturb, limit, divisor, flows; depth, headdrop; of RED: limit, min, max, four bytes, probability, six counters.
    let mut all = vec![quantum, perturb, limit, divisor, flows, depth, head];
    all.extend([0; 3 + 1 + 1 + 6]);
    Ok(structure(&all))
}

/// `struct tc_tbf_qopt` and the sizes of the buckets.
fn tbf(words: &mut Words<'_>) -> Result<Vec<u8>, String> {
    let [mut rate, mut peak] = [0u64; 2];
    let [mut burst, mut mtu, mut limit, mut latency] = [0u32; 4];
    while let Some(word) = words.0.next() {
        match word {
            "rate" => rate = words.rate(word)?,
            "peakrate" => peak = words.rate(word)?,
            "burst" | "buffer" | "maxburst" => burst = words.size(word)?,
            "mtu" | "minburst" => mtu = words.size(word)?,
            "limit" => limit = words.size(word)?,
            "latency" => latency = words.micros(word)?,
            _ => {
                let all = ["rate", "peakrate", "burst", "mtu", "limit", "latency"];
                return Err(words_of("tbf", &all.map(|name| (name, ()))));
            }
        }
    }
    if latency > 0 {
        limit = (rate as f64 * f64::from(latency) * 1e-6) as u32 + burst;
    }
    if rate == 0 || burst == 0 || limit == 0 || (peak > 0 && mtu == 0) {
        return Err("`tbf` with `rate`, `burst`, and `limit` or `latency`; `mtu` with `peakrate`".into());
    }
    /// `struct tc_ratespec`: Ethernet, so that the kernel asks for no table.
    fn spec(rate: u64) -> Vec<u8> {
        let mut out = vec![0, 1, 0, 0, 0xff, 0xff, 0, 0];
        out.extend(u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
        out
    }
    let mut parameters = [spec(rate), spec(peak)].concat();
    if peak == 0 {
        parameters[12..24].fill(0);
    }
    parameters.extend(structure(&[limit, 0, 0]));
    let mut out = attribute(1, &parameters);
    out.extend(attribute(6, &burst.to_ne_bytes()));
    if peak > 0 {
        out.extend(attribute(7, &mtu.to_ne_bytes()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_attributes() {
        let made = parse("codel limit 100 target 5ms ecn").unwrap();
        let expected = [[8u16, 2].map(u16::to_ne_bytes).concat(), 100u32.to_ne_bytes().to_vec()].concat();
        assert_eq!(made.kind, "codel");
        let options = made.options.unwrap();
        assert_eq!(options[..8], expected[..]);
        assert_eq!(options[12..16], 5000u32.to_ne_bytes());
        assert_eq!(options[20..24], 1u32.to_ne_bytes());
        assert_eq!(parse("pfifo_fast").unwrap().options, None);
        assert_eq!(parse("bfifo limit 32kb").unwrap().options, Some(32_768u32.to_ne_bytes().to_vec()));
    }

    #[test]
    fn what_is_not_known_is_told() {
        let told = |text: &str| parse(text).unwrap_err();
        assert!(told("htb").starts_with("one of `codel`, `fq_codel`"), "{}", told("htb"));
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
            (Some(5000), Some(100), Some(1_500_000), None)
        );
        assert_eq!(
            (size("1514b"), size("2k"), size("1mbit"), size("x")),
            (Some(1514), Some(2048), Some(125_000), None)
        );
        let rate = |text: &'static str| Words(vec![text].into_iter()).rate("rate");
        assert_eq!((rate("10mbit"), rate("8Kbit")), (Ok(1_250_000), Ok(1000)));
        assert!(rate("fast").is_err());
    }

    /// By hand: min 5, burst 8, so at least 4 is needed. 1/2 gives (1 - 2^-8) * 2 = 1.99, 1/4 gives 3.60, 1/8 gives 5.25.
    #[test]
    fn the_weight_of_red_lets_a_burst_pass() {
        assert_eq!((averaging(5.0, 8.0), averaging(5.0, 3.0)), (Some(3), None));
    }

    /// As iproute2's `tc qdisc add dev lo root sfb` sends it, seen in its netlink message.
    #[test]
    fn what_is_left_out_of_sfb_is_as_tc_has_it() {
        let sent: [u32; 9] = [600_000, 60_000, 25, 20, 33, 3, 0, 10, 20];
        let bytes: Vec<u8> = sent.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let options = |text: &str| parse(text).unwrap().options.unwrap();
        assert_eq!(options("sfb")[4..], bytes[..]);
        assert_eq!(options("sfb increment 0.0005 decrement 0.00005"), options("sfb"));
    }

    #[test]
    fn the_structures_have_the_kernels_sizes() {
        let len = |text: &str| parse(text).unwrap().options.unwrap().len();
        // Attributes: 4 bytes before each.
        assert_eq!(len("red limit 60kb min 5kb max 15kb avpkt 1000 burst 8 probability 0.02"), 4 + 16 + 4 + 256 + 8);
        assert_eq!(len("sfb"), 4 + 36);
        assert_eq!(len("sfq limit 100"), 20 + 8 + 12 + 4 + 4 + 24);
        assert_eq!(len("tbf rate 1mbit burst 2kb latency 50ms"), 4 + 36 + 8);
    }
}
