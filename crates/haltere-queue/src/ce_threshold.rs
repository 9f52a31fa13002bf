//! Which packets a `ce_threshold` marks: those whose DS field has a value under a mask.

use crate::{Ecn, Pkt};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use haltere_units::ParamError;
use serde::{Deserialize, Serialize};

/// A value and a mask for the DS field, the byte of DSCP and ECN: `0x1/0x3` is ECT(1), `0xb8/0xfc` is the DSCP EF. A
/// packet is selected if its byte under the mask has the value (tc-fq_codel(8)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Selector {
    value: u8,
    mask: u8,
}

impl Selector {
    /// The selector of all packets.
    pub const ALL: Selector = Selector { value: 0, mask: 0 };
    /// ECT(1), as L4S senders set it (RFC 9331).
    pub const ECT1: Selector = Selector { value: 1, mask: 3 };

    /// True if that packet is selected.
    #[inline]
    pub fn selects(self, pkt: &impl Pkt) -> bool {
        let ecn = match pkt.ecn() {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        (pkt.dscp() << 2 | ecn) & self.mask == self.value
    }
}

impl From<Selector> for String {
    fn from(selector: Selector) -> String {
        format!("{:#x}/{:#x}", selector.value, selector.mask)
    }
}

impl TryFrom<String> for Selector {
    type Error = ParamError;
    fn try_from(text: String) -> Result<Selector, ParamError> {
        let byte = |text: &str| match text.trim().strip_prefix("0x") {
            Some(digits) => u8::from_str_radix(digits, 16).ok(),
            None => text.trim().parse().ok(),
        };
        let parts = text.split_once('/').and_then(|(value, mask)| Some((byte(value)?, byte(mask)?)));
        match parts {
            Some((value, mask)) if value & !mask == 0 => Ok(Selector { value, mask }),
            _ => {
                Err(ParamError::new("ce_threshold_selector", "VALUE/MASK, two bytes, the value within the mask", &text)
                    .hint("ECT(1) is `0x1/0x3`"))
            }
        }
    }
}

impl schemars::JsonSchema for Selector {
    fn schema_name() -> Cow<'static, str> {
        "selector".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string", "format": "selector",
            "pattern": r"^\s*(0x[0-9a-fA-F]{1,2}|[0-9]{1,3})\s*/\s*(0x[0-9a-fA-F]{1,2}|[0-9]{1,3})\s*$",
            "description": "value and mask of the DS field: `0x1/0x3` is ECT(1)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPkt;

    fn of(text: &str) -> Selector {
        Selector::try_from(String::from(text)).expect("a selector")
    }

    #[test]
    fn the_byte_under_the_mask_decides() {
        let pkt = |dscp, ecn| TestPkt { dscp, ..TestPkt::new(0, 1500).ecn(ecn) };
        assert_eq!(of("1/3"), Selector::ECT1);
        assert!(Selector::ECT1.selects(&pkt(46, Ecn::Ect1)) && !Selector::ECT1.selects(&pkt(46, Ecn::Ect0)));
        assert!(of("0xb8/0xfc").selects(&pkt(46, Ecn::Ect0)) && !of("0xb8/0xfc").selects(&pkt(10, Ecn::Ect0)));
        assert!(Selector::ALL.selects(&pkt(46, Ecn::Ce)));
    }
    #[test]
    fn it_is_written_as_it_is_read_and_what_selects_nothing_is_refused() {
        assert_eq!(String::from(of("0x1/0x3")), "0x1/0x3");
        for wrong in ["1", "4/3", "256/256", "x/3"] {
            assert!(Selector::try_from(String::from(wrong)).is_err(), "{wrong}");
        }
    }
}
