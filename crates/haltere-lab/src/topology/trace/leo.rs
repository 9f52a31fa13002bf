//! A path over satellites in a low orbit, with a hand-over at fixed intervals. The default of each number has its
//! source in [`Leo`].

use crate::error::{Fault, FaultKind, ScenarioError};
use crate::keys::{defaults, kind};
use haltere_plan::rng::Rng;
use haltere_plan::varying::{Capacity, Steps, Varying};
use haltere_units::{Dur, Prob, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

kind! {
    /// The kind `leo`.
    LeoKind, Leo, "leo"
}

/// A path over satellites in a low orbit, drawn with the random seed: rate and delay are constant between hand-overs.
/// At each hand-over nothing leaves for a short time, packets may be lost for a longer one, and the path then has
/// another rate and delay. The two directions of a link have their hand-overs together, and the same delay. Between
/// hand-overs the link's `loss` holds; Huston saw 1 to 2 %. The defaults describe Starlink.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Leo {
    /// The kind.
    pub kind: LeoKind,
    /// Time from each hand-over to the next. Starlink: 15 s (Tanveer et al., CoNEXT Companion 2023; Mohan et al., WWW
    /// 2024).
    #[serde(default = "interval")]
    pub interval: Dur,
    /// The first hand-over. Starlink's come 12, 27, 42 and 57 s after each full minute (Tanveer et al.).
    #[serde(default = "first")]
    pub first: Dur,
    /// Least and greatest rate between two hand-overs, drawn uniformly. 100 to 200 Mbit/s is what Starlink promised for
    /// the download when Michel et al. measured it (IMC 2022; APNIC blog, 28 November 2022).
    #[serde(default = "rate")]
    pub rate: [Rate; 2],
    /// Least and greatest delay of one direction, drawn uniformly. Half of the quartiles, 40 ms and 60 ms, of the
    /// round-trip times that Michel et al. measured.
    #[serde(default = "delay")]
    pub delay: [Dur; 2],
    /// Least and greatest time for which nothing leaves at a hand-over, drawn uniformly. Huston saw 30 to 50 ms more
    /// delay then (APNIC blog, 17 May 2024).
    #[serde(default = "outage")]
    pub outage: [Dur; 2],
    /// How long after the beginning of a hand-over packets are lost. 140 ms is how long latency stays high (Casparsen
    /// et al., arXiv 2601.08439, 2026).
    #[serde(default = "handover")]
    pub handover: Dur,
    /// The greatest probability of loss during that time, drawn uniformly from zero, but not less than the link's
    /// `loss`. Kassem et al. saw losses of up to 50 % with hand-overs (IMC 2022).
    #[serde(default = "loss")]
    pub loss: Prob,
}

/// The least interval: with less the list of hand-overs of a long run would not fit into memory.
const LEAST_INTERVAL: Dur = Dur::from_ms(10);

defaults! {
    interval: Dur = Dur::from_secs(15);
    first: Dur = Dur::from_secs(12);
    rate: [Rate; 2] = [100, 200].map(Rate::from_mbps);
    delay: [Dur; 2] = [20, 30].map(Dur::from_ms);
    outage: [Dur; 2] = [30, 50].map(Dur::from_ms);
    handover: Dur = Dur::from_ms(140);
    loss: Prob = Prob::of(0.5);
}

impl Leo {
    /// Refuses what contradicts itself. It is in the table `path`.
    pub(crate) fn check(&self, path: &str) -> Result<(), ScenarioError> {
        let fault = |name: &str, rule: String, got: String| Err(Fault::new(path, name, rule, got).out_of_range());
        if self.interval < LEAST_INTERVAL {
            return fault("interval", format!("at least {LEAST_INTERVAL}"), self.interval.to_string());
        }
        let order = "the lesser value and then the greater";
        if self.rate[0] == Rate::ZERO {
            return fault("rate", "above zero".into(), self.rate[0].to_string());
        }
        if self.rate[0] > self.rate[1] {
            return fault("rate", order.into(), format!("{} and {}", self.rate[0], self.rate[1]));
        }
        for (name, [least, most]) in [("delay", self.delay), ("outage", self.outage)] {
            if least > most {
                return fault(name, order.into(), format!("{least} and {most}"));
            }
        }
        for (name, span) in [("outage", self.outage[1]), ("handover", self.handover)] {
            if span >= self.interval {
                return fault(name, format!("less than `interval`, which is {}", self.interval), span.to_string());
            }
        }
        Ok(())
    }
    /// The delay for which round-trip times count.
    pub(crate) fn mean_delay(&self) -> Dur {
        (self.delay[0] + self.delay[1]) / 2
    }
    /// A run of that length, drawn from the link's stream. Between hand-overs packets are lost with the probability
    /// `loss`.
    pub(crate) fn draw(&self, rng: &mut Rng, run: Dur, loss: Prob) -> Varying {
        let mut draw = || Stay {
            rate: self.rate[0]
                .mul_f64(1.0 + rng.uniform() * (self.rate[1].as_bps_f64() / self.rate[0].as_bps_f64() - 1.0)),
            delay: between(self.delay, rng.uniform()),
            outage: between(self.outage, rng.uniform()),
            loss: Prob::of(self.loss.as_f64() * rng.uniform()),
        };
        let start = draw();
        let (mut rates, mut delays, mut losses) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = self.first;
        while at <= run {
            let next = draw();
            if !next.outage.is_zero() {
                rates.push((at, Rate::ZERO));
            }
            rates.push((at + next.outage, next.rate));
            delays.push((at, next.delay));
            losses.extend([(at, if next.loss > loss { next.loss } else { loss }), (at + self.handover, loss)]);
            at += self.interval;
        }
        let lossy = self.loss > Prob::ZERO && !self.handover.is_zero();
        Varying {
            delay: Some(Steps { first: start.delay, steps: delays.into(), repeat: None }),
            loss: lossy.then(|| Steps { first: loss, steps: losses.into(), repeat: None }),
            ..Varying::of(Capacity::Schedule(Steps { first: start.rate, steps: rates.into(), repeat: None }))
        }
    }
}

/// What is drawn for the time from one hand-over to the next.
struct Stay {
    rate: Rate,
    delay: Dur,
    outage: Dur,
    loss: Prob,
}

fn between([least, most]: [Dur; 2], share: f64) -> Dur {
    least + most.saturating_sub(least).mul_f64(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn leo(more: &Value) -> Leo {
        let mut table = json!({ "kind": "leo" });
        table.as_object_mut().expect("a table").extend(more.as_object().expect("keys").clone());
        serde_json::from_value(table).expect("a trace")
    }
    fn drawn(leo: &Leo, seed: u64) -> (Steps<Rate>, Steps<Dur>, Option<Steps<Prob>>) {
        let varying = leo.draw(&mut Rng::new(seed, "x"), Dur::from_secs(60), Prob::of(0.01));
        let Capacity::Schedule(rates) = varying.capacity else { panic!("a schedule") };
        (rates, varying.delay.expect("delays"), varying.loss)
    }

    #[test]
    fn a_hand_over_comes_12_27_42_and_57_seconds_after_the_start() {
        let (rates, delays, losses) = drawn(&leo(&json!({})), 1);
        let seconds: Vec<u64> = delays.steps.iter().map(|(at, _)| at.as_ns() / 1_000_000_000).collect();
        assert_eq!(seconds, [12, 27, 42, 57]);
        for (i, pair) in rates.steps.chunks(2).enumerate() {
            let [(down, zero), (up, rate)] = pair else { panic!("two steps") };
            assert_eq!((*down, *zero), (delays.steps[i].0, Rate::ZERO));
            assert!((Dur::from_ms(30)..=Dur::from_ms(50)).contains(&up.saturating_sub(*down)));
            assert!((Rate::from_mbps(100)..=Rate::from_mbps(200)).contains(rate));
        }
        assert!(delays.steps.iter().all(|(_, delay)| (Dur::from_ms(20)..=Dur::from_ms(30)).contains(delay)));
        let losses = losses.expect("losses").steps;
        assert_eq!(losses.len(), 8);
        assert!(losses.chunks(2).all(|pair| pair[1].0 == pair[0].0 + Dur::from_ms(140) && pair[1].1 == Prob::of(0.01)));
        assert!(losses.iter().all(|(_, loss)| (Prob::of(0.01)..=Prob::of(0.5)).contains(loss)));
    }
    #[test]
    fn the_seed_decides_and_both_directions_share_what_is_drawn() {
        let (down, up) = (leo(&json!({})), leo(&json!({ "rate": ["10Mbit", "20Mbit"] })));
        assert_eq!(drawn(&down, 1), drawn(&down, 1));
        assert_ne!(drawn(&down, 1).1, drawn(&down, 2).1);
        let (there, back) = (drawn(&down, 3), drawn(&up, 3));
        assert_eq!(there.1, back.1);
        assert_eq!(there.0.first.as_bps() / 10_000, back.0.first.as_bps() / 1000, "a tenth of it");
    }
    #[test]
    fn a_link_without_outage_and_loss_changes_its_rate_and_delay_alone() {
        let (rates, _, losses) = drawn(&leo(&json!({ "outage": ["0s", "0s"], "loss": 0.0 })), 1);
        assert_eq!((rates.steps.len(), losses), (4, None));
    }
    #[test]
    fn what_contradicts_itself_is_refused() {
        let error = |more: Value| leo(&more).check("x").expect_err("refused").to_string();
        assert!(
            error(json!({ "interval": "40ms" }))
                .contains("outage must be less than `interval`, which is 40ms, got 50ms")
        );
        assert!(
            error(json!({ "delay": ["2ms", "1ms"] })).contains("delay must be the lesser value and then the greater")
        );
        assert!(error(json!({ "rate": ["0bit", "1Mbit"] })).contains("rate must be above zero, got 0bit"));
        assert!(leo(&json!({})).check("x").is_ok());
    }
}
