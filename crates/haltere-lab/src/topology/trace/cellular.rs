//! A cellular link, drawn: delivery opportunities of a Poisson process whose rate varies.
//!
//! Source: Winstein, Sivaraman and Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over
//! Cellular Networks", NSDI 2013, section 3.1: the model with which Sprout forecasts LTE and 3G links. Deviations: the
//! rate is a real number, where Sprout's inference has 256 values; it may have a floor; and outages come by themselves.
//! In Sprout the rate sticks at zero for a second. Drawn so, a link would be out for a third of the time, which
//! recorded links are not.
//! Model: each 20 ms the rate takes a step of Brownian motion and is reflected at its bounds. Packets can leave at the
//! instants of a Poisson process of that rate. Outages are another Poisson process, and last for an exponential time.

use crate::error::{Fault, FaultKind, ScenarioError};
use crate::keys::{defaults, kind};
use crate::limits::OPPORTUNITIES;
use haltere_plan::rng::Rng;
use haltere_plan::varying::{Capacity, Trace, Varying};
use haltere_units::{Bytes, Dur, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

kind! {
    /// The kind `cellular`.
    CellularKind, Cellular, "cellular"
}

/// A cellular link, drawn with the random seed: packets of 1500 bytes can leave at the instants of a Poisson process
/// whose rate varies between two bounds (Brownian motion), and from time to time the link is out. It is the model with
/// which Sprout forecasts LTE and 3G links on the move (Winstein et al., NSDI 2013, section 3.1), with outages of their
/// own. The two directions of a link are drawn independently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cellular {
    /// The kind.
    pub kind: CellularKind,
    /// Greatest rate. Sprout's bound is 1000 packets of 1500 bytes a second.
    #[serde(default = "most")]
    pub most: Rate,
    /// Least rate.
    #[serde(default = "least")]
    pub least: Rate,
    /// Standard deviation of the change of the rate in a second. Sprout has 200 packets a second.
    #[serde(default = "change")]
    pub change: Rate,
    /// Mean time of an outage; zero: there are none. In Sprout's model an outage ends at a rate of 1 a second.
    #[serde(default = "outage")]
    pub outage: Dur,
    /// Mean time from the end of an outage to the next. The default is a guess.
    #[serde(default = "every")]
    pub every: Dur,
}

defaults! {
    most: Rate = Rate::from_mbps(12);
    least: Rate = Rate::ZERO;
    change: Rate = Rate::from_bps(2_400_000);
    outage: Dur = Dur::from_secs(1);
    every: Dur = Dur::from_secs(30);
}

/// Time between two steps of the rate: Sprout's tick.
const TICK: Dur = Dur::from_ms(20);
/// Bits that an opportunity stands for.
const PACKET_BITS: f64 = 12_000.0;

impl Cellular {
    /// Refuses what contradicts itself. It is in the table `path`.
    pub(crate) fn check(&self, path: &str) -> Result<(), ScenarioError> {
        let fault = |name: &str, rule: &str, got: String| Err(Fault::new(path, name, rule, got).out_of_range());
        if self.most <= self.least {
            return fault("most", "above `least`", format!("{} and {}", self.most, self.least));
        }
        if self.change == Rate::ZERO {
            return fault("change", "above zero", self.change.to_string());
        }
        if self.every.is_zero() {
            return fault("every", "above zero", self.every.to_string());
        }
        Ok(())
    }
    /// A run of that length, drawn from the stream of one direction of a link.
    pub(crate) fn draw(&self, rng: &mut Rng, run: Dur, path: &str) -> Result<Varying, ScenarioError> {
        let [least, most, change] = [self.least, self.most, self.change].map(|rate| rate.as_bps_f64() / PACKET_BITS);
        if most * run.as_secs_f64() > OPPORTUNITIES as f64 {
            let rule = format!("so low that a run has at most {OPPORTUNITIES} opportunities");
            return Err(Fault::new(path, "most", rule, self.most).out_of_range());
        }
        let tick = TICK.as_secs_f64();
        let step = change * libm::sqrt(tick);
        let exponential = |rng: &mut Rng, mean: f64| -libm::log(1.0 - rng.uniform()) * mean;
        let mut rate = least + (most - least) * rng.uniform();
        // Outages begin and end with a step.
        let (mut start, mut instants) = (0.0, Vec::new());
        let (mut out, mut next) = (0.0, exponential(rng, self.every.as_secs_f64()));
        while start < run.as_secs_f64() {
            if start >= next && !self.outage.is_zero() {
                out = start + exponential(rng, self.outage.as_secs_f64());
                next = out + exponential(rng, self.every.as_secs_f64());
            }
            let mut at = start;
            if start >= out && rate > 0.0 {
                loop {
                    at += exponential(rng, 1.0 / rate);
                    if at >= start + tick {
                        break;
                    }
                    instants.push(Dur::from_ns((at * 1e9) as u64));
                }
            }
            start += tick;
            rate = reflected(rate + step * rng.normal(), least, most);
        }
        // The trace begins again after its last instant, which is behind the run.
        instants.push(run + TICK);
        let trace = Trace { instants: instants.into(), opportunity: Bytes::ZERO, offset: Dur::ZERO };
        Ok(Varying::of(Capacity::Trace(trace)))
    }
}

/// A rate reflected at its bounds.
fn reflected(rate: f64, least: f64, most: f64) -> f64 {
    let below = if rate > most { 2.0 * most - rate } else { rate };
    let inside = if below < least { 2.0 * least - below } else { below };
    inside.clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cellular(more: &str) -> Cellular {
        serde_json::from_str(&format!("{{ \"kind\": \"cellular\" {more} }}")).expect("a trace")
    }
    fn instants(cellular: &Cellular, seed: u64) -> Vec<u64> {
        let run = Dur::from_secs(600);
        let drawn = cellular.draw(&mut Rng::new(seed, "x"), run, "x").expect("a trace").capacity;
        let Capacity::Trace(trace) = drawn else { panic!("a trace") };
        trace.instants.iter().map(|at| at.as_ns()).collect()
    }

    #[test]
    fn the_rate_varies_between_its_bounds_and_has_outages_of_a_second() {
        let some: Vec<Vec<u64>> = (1..=8).map(|seed| instants(&cellular(""), seed)).collect();
        assert_ne!(some[0], some[1]);
        for one in &some {
            assert!(one.is_sorted());
            let most = one.windows(1001).map(|w| 1000.0 / ((w[1000] - w[0]) as f64 / 1e9)).fold(0.0, f64::max);
            assert!((900.0..1200.0).contains(&most), "{most} packets a second over 1000 packets");
        }
        // 80 minutes of which 30 of 31 seconds are no outage. Of exponential outages of a mean of 1 s, 82 % last 200 ms;
        // such a one then lasts 1.2 s on average. A rate near zero makes a few more gaps.
        let gaps = some.iter().flat_map(|one| one.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e9));
        let out: Vec<f64> = gaps.filter(|gap| *gap > 0.2).collect();
        let mean = out.iter().sum::<f64>() / out.len() as f64;
        assert!((100..260).contains(&out.len()) && (0.7..1.5).contains(&mean), "{} outages of {mean} s", out.len());
        assert_eq!(instants(&cellular(""), 3), some[2]);
    }
    #[test]
    fn a_link_without_outages_has_a_floor() {
        let still = cellular(r#", "least": "60Mbit", "most": "240Mbit", "change": "20Mbit", "outage": "0s""#);
        let gap = instants(&still, 1).windows(2).map(|w| w[1] - w[0]).max().expect("gaps");
        assert!(gap < 30_000_000, "{gap} ns");
    }
    #[test]
    fn what_contradicts_itself_is_refused() {
        let error = |more: &str| cellular(more).check("x").expect_err(more).to_string();
        assert!(error(r#", "least": "20Mbit""#).contains("most must be above `least`, got 12Mbit and 20Mbit"));
        assert!(error(r#", "change": "0bit""#).contains("change must be above zero"));
        let long = cellular(r#", "most": "10Gbit""#).draw(&mut Rng::new(1, "x"), Dur::from_secs(60), "x");
        assert!(long.expect_err("too many").to_string().contains("most must be so low"));
    }
}
