//! How a record's named values are written: the name, and the bits of the number, so that every number is read back as
//! it was.

use alloc::vec::Vec;
use serde::ser::{SerializeSeq, Serializer};

/// Named values as pairs of a name and 64 bits.
pub(crate) fn serialize<S: Serializer>(values: &Vec<(&'static str, f64)>, to: S) -> Result<S::Ok, S::Error> {
    let mut list = to.serialize_seq(Some(values.len()))?;
    for (name, value) in values {
        list.serialize_element(&(name, value.to_bits()))?;
    }
    list.end()
}

pub(crate) fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<(&'static str, f64)>, D::Error> {
    let pairs = <Vec<(alloc::string::String, u64)> as serde::Deserialize>::deserialize(from)?;
    Ok(pairs.into_iter().map(|(name, bits)| (kept(&name), f64::from_bits(bits))).collect())
}

#[cfg(not(feature = "std"))]
fn kept(name: &str) -> &'static str {
    alloc::boxed::Box::leak(name.into())
}

/// The text for as long as the program runs; each is kept once.
///
/// The names of inner variables are `&'static str`, because those of the tree's mechanisms are literals, which time series
/// hold by the million. A name that was read, or that a class in another language shows, has no owner that lives as long
/// as a record, so this set is the process's. It has one entry a name.
#[cfg(feature = "std")]
pub fn kept(name: &str) -> &'static str {
    use alloc::collections::BTreeSet;
    static NAMES: std::sync::Mutex<BTreeSet<&'static str>> = std::sync::Mutex::new(BTreeSet::new());
    // A panic elsewhere cannot leave the set half changed.
    let mut names = NAMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let new: &'static str = alloc::boxed::Box::leak(name.into());
    names.insert(new);
    new
}

#[cfg(test)]
mod tests {
    use crate::record::{LinkCounters, LinkRecord, QueueSample, Record};
    use haltere_units::Time;

    #[test]
    fn a_record_is_read_back_as_it_was_written() {
        let sample = QueueSample {
            at: Time::from_ns(7),
            link: 1,
            packets: 2,
            bytes: 3028,
            ring_packets: 0,
            dropped: 4,
            marked: 5,
            sent_bytes: 6,
            vars: vec![("average", 0.1 + 0.2), ("drop_next", f64::INFINITY)],
        };
        let counters = LinkCounters { packet_ns: u128::from(u64::MAX) * 3, ..LinkCounters::default() };
        let links = vec![LinkRecord { total: counters, ..LinkRecord::default() }];
        let record = Record { queue_series: vec![sample], links, events: 9, ..Record::default() };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    }
}
