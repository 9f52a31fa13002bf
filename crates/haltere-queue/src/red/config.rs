//! RED's parameters, checked and completed: thresholds, weight, decay.

use super::tc::{self, DecayTable};
use super::{IdleDecay, Params};
use crate::LinkContext;
use alloc::boxed::Box;
use alloc::format;
use haltere_units::{ParamError, Rate, Size};

/// The bandwidth that tc assumes if none is known.
const DEFAULT_BANDWIDTH: Rate = Rate::from_mbps(10);

/// The thresholds, and the unit in which the queue is averaged.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Thresholds {
    min: f64,
    max: f64,
    in_bytes: bool,
    automatic: bool,
}

impl Thresholds {
    fn new(params: &Params, link: &LinkContext) -> Result<Thresholds, ParamError> {
        let amount = |name, size: Size| match link.resolve(size) {
            Size::Packets(n) => Ok((n as f64, false)),
            Size::Bytes(n) => Ok((n as f64, true)),
            Size::MilliBdp(_) => Err(ParamError::new(name, "in packets or bytes if the link has no rate or RTT", size)),
        };
        let (limit, limit_in_bytes) = amount("limit", params.base.limit)?;
        let given = |name, size: Option<Size>| size.map(|size| amount(name, size)).transpose();
        let (min, max) = (given("min", params.base.min)?, given("max", params.base.max)?);
        let in_bytes = max.or(min).map_or(limit_in_bytes, |(_, bytes)| bytes);
        if let (Some((_, a)), Some((_, b)), Some(size)) = (min, max, params.base.min)
            && a != b
        {
            return Err(
                ParamError::new("min", "in the same unit as max", size).hint("write both in packets or both in bytes")
            );
        }
        let automatic = params.adaptive && min.is_none() && max.is_none();
        if let (true, Some(rate)) = (automatic, link.rate) {
            let unit = if in_bytes { params.avpkt.as_f64() } else { 1.0 };
            let delay = rate.as_bps_f64() / 8.0 / params.avpkt.as_f64() * params.target_delay.as_secs_f64();
            let min = (delay / 2.0).max(5.0) * unit;
            return Ok(Thresholds { min, max: 3.0 * min, in_bytes, automatic });
        }
        let max = match max {
            Some((max, _)) => max,
            None if limit_in_bytes == in_bytes => libm::floor(limit / 4.0),
            None => return Err(ParamError::new("max", "given if min and limit have different units", "nothing")),
        };
        let min = min.map_or(libm::floor(max / 3.0), |(min, _)| min);
        Ok(Thresholds { min, max, in_bytes, automatic: false })
    }

    fn check(self, params: &Params) -> Result<Thresholds, ParamError> {
        let size = |n: f64| if self.in_bytes { Size::Bytes(n as u64) } else { Size::Packets(n as u64) };
        let hint = |what: Option<Size>, rule: &str| {
            if what.is_none() { format!("it is not given: {rule}") } else { "".into() }
        };
        if self.min <= 0.0 {
            return Err(ParamError::new("min", "above 0", size(self.min)).hint(hint(params.base.min, "a third of max")));
        }
        if self.min >= self.max {
            let got = format!("min {} and max {}", size(self.min), size(self.max));
            return Err(
                ParamError::new("min", "below max", got).hint(hint(params.base.max, "max is a quarter of limit"))
            );
        }
        Ok(self)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) in_bytes: bool,
    pub(super) fixed_point: bool,
    pub(super) weight: f64,
    pub(super) idle: Idle,
    pub(super) avpkt: f64,
    pub(super) params: Params,
}

/// How the average decays while nothing waits, with its constants computed.
#[derive(Debug, Clone)]
pub(super) enum Idle {
    Linux(Box<DecayTable>),
    /// The natural logarithm of what is left of the average after one second.
    Paper(f64),
}

impl Config {
    /// The parameters, checked and completed for that link.
    pub(super) fn new(params: &Params, link: &LinkContext) -> Result<Config, ParamError> {
        params.check()?;
        params.base.check()?;
        let bandwidth = params.base.bandwidth.or(link.rate).unwrap_or(DEFAULT_BANDWIDTH);
        if bandwidth == Rate::ZERO {
            return Err(ParamError::new("bandwidth", "above 0", bandwidth).hint("write the link's rate"));
        }
        let thresholds = Thresholds::new(params, link)?.check(params)?;
        let (weight, wlog) = weight(params, &thresholds, link)?;
        let idle = match params.idle {
            IdleDecay::Linux => Idle::Linux(Box::new(DecayTable::new(wlog, params.avpkt, bandwidth))),
            IdleDecay::Paper => {
                Idle::Paper(libm::log1p(-weight) * bandwidth.as_bps_f64() / 8.0 / params.avpkt.as_f64())
            }
        };
        let Thresholds { min, max, in_bytes, .. } = thresholds;
        let avpkt = params.avpkt.as_f64();
        Ok(Config { min, max, in_bytes, fixed_point: false, weight, idle, avpkt, params: params.clone() })
    }
}

/// The weight of the average, and the power of one half nearest to it (exact if it comes from `burst`).
fn weight(params: &Params, thresholds: &Thresholds, link: &LinkContext) -> Result<(f64, i32), ParamError> {
    let near = |w: f64| (w, (libm::round(-libm::log2(w)) as i32).clamp(1, 31));
    if let Some(w) = params.weight {
        if params.base.burst.is_some() {
            return Err(ParamError::new("weight", "given without burst", w).hint("remove one of them"));
        }
        if !(w > 0.0 && w <= 1.0) {
            return Err(ParamError::new("weight", "above 0 and at most 1", w).hint("the paper's is 0.002"));
        }
        return Ok(near(w));
    }
    let unit = if thresholds.in_bytes { params.avpkt.as_f64() } else { 1.0 };
    if let (true, None, Some(rate)) = (thresholds.automatic, params.base.burst, link.rate) {
        let packets_per_s = rate.as_bps_f64() / 8.0 / params.avpkt.as_f64();
        return Ok(near(-libm::expm1(-1.0 / packets_per_s)));
    }
    let burst =
        params.base.burst.unwrap_or((libm::floor((2.0 * thresholds.min + thresholds.max) / (3.0 * unit))) as u32);
    let wlog = tc::wlog(burst, thresholds.min / unit)?;
    Ok((libm::exp2(-f64::from(wlog)), wlog))
}
