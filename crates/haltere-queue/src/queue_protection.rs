//! Queue protection: finds the flows that build the queue of a low-latency service.
//! Source: RFC 9957 (pseudocode of section 4). Deviations: times are in ns and not in units of T_RES; the hash of a flow
//! is the world's.
//! Model: each flow has a bucket that fills by its bytes times the probability `p` with which the queue would mark, and
//! drains at AGING. Its level as a time is the flow's score. A packet is sanctioned if the queue delay is above
//! `critical_delay`, and delay times score above `critical_delay` times `critical_score`.
//!
//! ```text
//!   t_exp <- max(t_exp, now) + p * bytes / AGING,   score = t_exp - now,   AGING = 2^19 B/s
//! ```
//!
//! Buckets: 32, of which a flow may have two by its hash; one more is for flows that find both taken.
//! Units: time ns. Cost: O(1) a packet.

use haltere_units::{Dur, Time};

const BUCKETS: usize = 32;
const ATTEMPTS: u32 = 2;
/// Bits of the hash for one attempt.
const INDEX_BITS: u32 = 5;
/// RFC 9957 section 4.1: LG_AGING = 19.
const AGING: f64 = (1 << 19) as f64;
/// CRITICALqLSCORE, 4000 us.
const CRITICAL_SCORE: Dur = Dur::from_us(4000);

/// The bucket of a flow.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    id: u32,
    /// When it will be empty.
    expires: Time,
}

/// The buckets of one queue.
#[derive(Debug, Clone)]
pub(crate) struct QueueProtection {
    buckets: [Bucket; BUCKETS + 1],
    /// CRITICALqL, MAXTH of the queue: from this delay on every packet is marked.
    critical_delay: Dur,
}

impl QueueProtection {
    /// Buckets for a queue that marks every packet from that delay on.
    pub fn new(critical_delay: Dur) -> QueueProtection {
        QueueProtection { buckets: [Bucket { id: 0, expires: Time::ZERO }; BUCKETS + 1], critical_delay }
    }
    /// True if a packet of the flow with that hash is to leave the queue, which has that delay and would mark with that
    /// probability.
    pub fn sanctions(&mut self, now: Time, hash: u32, bytes: u32, delay: Dur, probability: f64) -> bool {
        let bucket = &mut self.buckets[self.pick(now, hash)];
        if bucket.id != hash || bucket.expires < now {
            bucket.expires = bucket.expires.max(now);
            bucket.id = hash;
        }
        bucket.expires += Dur::from_secs_f64(probability * f64::from(bytes) / AGING);
        let score = bucket.expires.since(now);
        let product = |a: Dur, b: Dur| u128::from(a.as_ns()) * u128::from(b.as_ns());
        delay > self.critical_delay && product(delay, score) > product(self.critical_delay, CRITICAL_SCORE)
    }
    /// RFC 9957 section 4.2.1, `pick_bucket`: the flow's own, or the first that is empty, or the common one.
    fn pick(&self, now: Time, hash: u32) -> usize {
        let places = (0..ATTEMPTS).map(|attempt| (hash >> (INDEX_BITS * attempt)) as usize % BUCKETS);
        let mut free = None;
        for place in places {
            if self.buckets[place].id == hash {
                return place;
            }
            if free.is_none() && self.buckets[place].expires <= now {
                free = Some(place);
            }
        }
        free.unwrap_or(BUCKETS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_ns(1000 * us)
    }

    #[test]
    fn a_flow_that_builds_the_queue_is_sanctioned_by_its_score() {
        // 1500 bytes at p = 1 take 1500 / 2^19 s = 2861 us. With 1.5 ms of delay a score above 4000 us / 1.5 = 2667 us
        // is too much, with 1.2 ms one above 3333 us.
        let mut protection = QueueProtection::new(Dur::from_us(1000));
        assert!(!protection.sanctions(at(0), 1, 1500, Dur::from_us(1000), 1.0), "at most the critical delay");
        let mut protection = QueueProtection::new(Dur::from_us(1000));
        assert!(!protection.sanctions(at(0), 1, 1500, Dur::from_us(1200), 1.0));
        assert!(protection.sanctions(at(100), 1, 1500, Dur::from_us(1200), 1.0), "a score of 5622 us");
        assert!(protection.sanctions(at(0), 2, 1500, Dur::from_us(1500), 1.0), "another flow's bucket");
    }
    #[test]
    fn a_bucket_drains_at_the_aging_rate() {
        let mut protection = QueueProtection::new(Dur::from_us(1000));
        for packet in 0..100 {
            // 1500 bytes each 3 ms are less than 2^19 B/s: the score stays at 2861 us.
            assert!(!protection.sanctions(at(3000 * packet), 7, 1500, Dur::from_us(1300), 1.0), "{packet}");
        }
    }
    #[test]
    fn flows_that_find_no_bucket_share_one() {
        let mut protection = QueueProtection::new(Dur::from_us(1000));
        // Both places of these hashes are 0.
        for hash in [1 << 10, 2 << 10, 3 << 10, 4 << 10] {
            let _ = protection.sanctions(at(0), hash, 1500, Dur::from_us(1200), 1.0);
        }
        assert_eq!(protection.buckets[0].id, 1 << 10);
        // Three times 2,861,023 ns.
        let expires = protection.buckets[BUCKETS].expires.as_ns();
        assert!(expires.abs_diff(8_583_069) <= 3, "{expires}");
    }
}
