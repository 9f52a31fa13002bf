//! What a router tells of itself while it runs: a line, JSON, Prometheus text.

use crate::fabric::Unread;
use crate::port::PortCounters;
use crate::schedule::Schedule;
use haltere_plan::Histogram;
use haltere_plan::fabric::{Counters, LinkNow};
use haltere_plan::record::LinkCounters;
use haltere_units::{Dur, Time};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// How late things happened: the mean, the median, the 99th percentile and the most.
pub fn lateness(late: &Histogram) -> [Dur; 4] {
    [late.mean(), late.quantile(0.5), late.quantile(0.99), late.max()].map(Option::unwrap_or_default)
}

/// The same in microseconds, for manifests and statistics.
pub fn late_us(late: &Histogram) -> Value {
    let [mean, p50, p99, max] = lateness(late).map(|span| span.as_ns() as f64 * 1e-3);
    json!({ "mean": mean, "p50": p50, "p99": p99, "max": max })
}

/// Everything that a router has counted, at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// When the counters were read.
    pub at: Time,
    /// What came in and went out.
    pub fabric: Counters,
    /// Frames that could not be read.
    pub unread: Unread,
    /// Packets in queues, on lines and in outboxes.
    pub holds: u64,
    /// The counters of each port.
    pub ports: Vec<PortCounters>,
    /// The links.
    pub links: Vec<LinkNow>,
    /// How late frames left.
    pub lateness: Histogram,
    /// Processor time of the router's thread.
    pub cpu: Dur,
    /// How the router's thread is scheduled: says how late they may be.
    pub schedule: Schedule,
    /// Turns of the loop.
    pub turns: u64,
    /// Turns of the loop that slept.
    pub sleeps: u64,
}

impl Snapshot {
    /// Frames that came in or were made, less those that went out, were dropped, were lost or are inside. The
    /// conservation check requires 0.
    pub fn unaccounted(&self) -> i64 {
        let links = |of: fn(&LinkCounters) -> u64| self.links.iter().map(|link| of(&link.counters)).sum::<u64>();
        let gone = links(|c| c.dropped_overlimit + c.dropped_congestion + c.lost);
        let waiting_outside = self.holds;
        let came = self.fabric.arrived + self.fabric.emitted + links(|c| c.duplicated);
        let sent: u64 = self.ports.iter().map(|p| p.sent + p.refused).sum();
        came as i64 - (sent + gone + self.fabric.unroutable + waiting_outside) as i64
    }
    /// The part of a core that the router used.
    pub fn cpu_share(&self) -> f64 {
        self.cpu.as_secs_f64() / self.at.as_secs_f64().max(1e-9)
    }
    /// One line: the rates since `before`.
    pub fn line(&self, before: &Snapshot) -> String {
        let span = self.at.since(before.at).as_secs_f64().max(1e-9);
        let mut line = format!("{:8.1} s", self.at.as_secs_f64());
        for (LinkNow { name, waiting, counters: now, .. }, before) in self.links.iter().zip(&before.links) {
            let then = &before.counters;
            let mbps = (now.sent_bytes - then.sent_bytes) as f64 * 8e-6 / span;
            let drops = |c: &LinkCounters| c.dropped_overlimit + c.dropped_congestion;
            let _ = write!(
                line,
                "  {name}: {mbps:.3} Mbit/s, {} waiting, {} dropped, {} marked",
                waiting.packets,
                drops(now) - drops(then),
                now.marked - then.marked
            );
        }
        line
    }
    /// Everything for people, a few lines.
    pub fn text(&self) -> String {
        let fabric = &self.fabric;
        let mut text = format!(
            "{:.3} s: {} frames came, {} left, {} inside, {} unaccounted for; {} malformed, {} fragments, {} not IP\n",
            self.at.as_secs_f64(),
            fabric.arrived,
            fabric.departed,
            self.holds,
            self.unaccounted(),
            self.unread.malformed,
            self.unread.fragments,
            self.unread.not_ip,
        );
        for LinkNow { name, waiting, counters: c, .. } in &self.links {
            let LinkCounters { sent, sent_bytes, marked, emitted, lost, peak_packets, .. } = c;
            let (full, congestion, waiting) = (c.dropped_overlimit, c.dropped_congestion, waiting.packets);
            let _ = writeln!(
                text,
                "to the {name}: {sent} packets, {sent_bytes} bytes sent; {full} dropped (queue full), {congestion} dropped \
                 (congestion), {marked} marked, {emitted} emitted, {lost} lost on the line; {waiting} waiting, at most \
                 {peak_packets}",
            );
        }
        for (name, port) in ["left", "right"].into_iter().zip(&self.ports) {
            let PortCounters { received, sent, overrun, oversize, refused, segmented, unhandled, .. } = port;
            let finished = port.unfinished_checksum;
            let _ = writeln!(
                text,
                "{name} interface: {received} received, {sent} sent; {overrun} came too fast, {oversize} too long, {refused} \
                 refused; offloads of senders: {finished} checksums finished, {segmented} frames cut into packets, \
                 {unhandled} not understood",
            );
        }
        let [mean, _, p99, most] = lateness(&self.lateness);
        let _ = writeln!(
            text,
            "frames left {mean} late on average, {p99} at the 99th percentile, {most} at most; the router used {:.1} % of \
             a core; scheduling: {}",
            100.0 * self.cpu_share(),
            self.schedule.name()
        );
        text
    }
    /// The same as JSON.
    pub fn json(&self) -> Value {
        json!({
            "time_s": self.at.as_secs_f64(),
            "arrived": self.fabric.arrived, "departed": self.fabric.departed, "emitted": self.fabric.emitted,
            "unroutable": self.fabric.unroutable, "malformed": self.unread.malformed, "not_ip": self.unread.not_ip,
            "fragments": self.unread.fragments, "inside": self.holds, "unaccounted": self.unaccounted(),
            "links": self.links, "ports": self.ports, "turns": self.turns, "sleeps": self.sleeps,
            "schedule": self.schedule.name(), "cpu": self.cpu_share(), "late_us": late_us(&self.lateness),
        })
    }
    /// The same as Prometheus text (exposition format 0.0.4).
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, label: &str, values: &[(String, f64)]| {
            let _ = write!(text, "# HELP haltere_{name} {help}\n# TYPE haltere_{name} {kind}\n");
            for (which, value) in values {
                let _ = writeln!(text, "haltere_{name}{{{label}=\"{which}\"}} {value}");
            }
        };
        let links = self.links.iter().map(|link| (escape(&link.name), link));
        for (name, help, of) in OF_LINKS {
            let values: Vec<_> = links.clone().map(|(name, link)| (name, of(&link.counters) as f64)).collect();
            metric(&format!("link_{name}_total"), "counter", help, "link", &values);
        }
        let waiting: Vec<_> = links.map(|(name, link)| (name, f64::from(link.waiting.packets))).collect();
        metric("link_waiting_packets", "gauge", "Packets waiting.", "link", &waiting);
        for (name, help, of) in OF_PORTS {
            let values: Vec<_> = self.ports.iter().enumerate().map(|(i, p)| (i.to_string(), of(p) as f64)).collect();
            metric(&format!("port_{name}_packets_total"), "counter", help, "port", &values);
        }
        let [_, p50, p99, most] = lateness(&self.lateness).map(Dur::as_secs_f64);
        let late = [("0.5", p50), ("0.99", p99), ("1", most)].map(|(which, span)| (which.to_owned(), span));
        metric("late_seconds", "gauge", "How late frames left.", "quantile", &late);
        let cpu = [(self.schedule.name().to_string(), self.cpu.as_secs_f64())];
        metric("cpu_seconds_total", "counter", "Processor time of the router's thread.", "schedule", &cpu);
        text
    }
}

/// Name, explanation and value of a counter in Prometheus.
type Metric<T> = (&'static str, &'static str, fn(&T) -> u64);

const OF_LINKS: [Metric<LinkCounters>; 7] = [
    ("arrived_packets", "Packets that arrived at the queue.", |c| c.arrived),
    ("sent_packets", "Packets that the line took.", |c| c.sent),
    ("sent_bytes", "Bytes that the line took.", |c| c.sent_bytes),
    ("overlimit_packets", "Packets dropped: queue full.", |c| c.dropped_overlimit),
    ("congestion_packets", "Packets dropped to signal congestion.", |c| c.dropped_congestion),
    ("marked_packets", "Packets marked CE.", |c| c.marked),
    ("lost_packets", "Packets lost on the line.", |c| c.lost),
];

const OF_PORTS: [Metric<PortCounters>; 5] = [
    ("received", "Frames received.", |p| p.received),
    ("sent", "Frames sent.", |p| p.sent),
    ("overrun", "Frames dropped before the router saw them.", |p| p.overrun),
    ("refused", "Frames that the interface refused.", |p| p.refused),
    ("unhandled", "Frames dropped: too long, or left by an offload in a state that cannot be finished.", |p| {
        p.oversize + p.unhandled
    }),
];

fn escape(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
