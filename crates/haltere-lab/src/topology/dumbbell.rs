//! Pairs of hosts on both sides of one bottleneck.

use super::prelude::*;
use haltere_plan::rng::Rng;
use haltere_units::{Dur, Prob};

/// Pairs of hosts, `c1` .. `cN` and `s1` .. `sN`, on both sides of one bottleneck between the switches `left` and
/// `right`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dumbbell {
    /// Number of pairs.
    #[schemars(range(min = 1, max = 100_000))]
    pub pairs: u32,
    /// The link of each host to its switch. `reverse` is the direction from the switch to the host.
    pub access: LinkSpec,
    /// The link from `left` to `right`. `reverse` is the direction from `right` to `left`.
    pub bottleneck: LinkSpec,
    /// Round-trip times without queues are spread evenly over plus and minus this part of the middle one. The delay of
    /// the access links makes the difference. Which pair gets which is drawn with the random seed.
    #[serde(default)]
    pub rtt_spread: Prob,
    /// The delay of each pair's access links, each way, instead of that of `access`: `["1ms", "20ms"]`. Fewer than
    /// there are pairs are assigned round-robin. Data of a pair crosses two access links. Not together with
    /// `rtt_spread`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100_000))]
    pub access_delays: Vec<Dur>,
}

impl TopologyKind for Dumbbell {
    /// The bottleneck is the first link; pair `i` has nodes 2 `i` and 2 `i` + 1.
    fn build(&self, network: &mut NetworkDraft, context: &Context<'_>) -> Result<(), ScenarioError> {
        let (left, right) = (network.add("left"), network.add("right"));
        network.show(left, Hint::switch("left", 1));
        network.show(right, Hint::switch("right", 2));
        let core = both(&self.bottleneck, &context.below("bottleneck"))?;
        let access = both(&self.access, &context.below("access"))?;
        self.check_delays(context)?;
        network.join(left, right, &core, |link| link.watch.unwrap_or(true));
        for (i, shift) in self.shifts(&core, &access, context)?.into_iter().enumerate() {
            let mut mine = access.clone();
            let own = i.checked_rem(self.access_delays.len()).map(|at| self.access_delays[at]);
            for direction in &mut mine {
                let shifted = Dur::from_ns((direction.link.delay.as_ns() as i128 + shift) as u64);
                direction.link.delay = own.unwrap_or(shifted);
            }
            let (client, server) = (network.add(&format!("c{}", i + 1)), network.add(&format!("s{}", i + 1)));
            network.show(client, Hint::host("c", 0));
            network.show(server, Hint::host("s", 3));
            network.join(client, left, &mine, |link| link.watch.unwrap_or(false));
            network.join(server, right, &mine, |link| link.watch.unwrap_or(false));
            network.pairs.push((client, server));
        }
        Ok(())
    }
}

impl Dumbbell {
    fn check_delays(&self, context: &Context<'_>) -> Result<(), ScenarioError> {
        let (given, pairs) = (self.access_delays.len(), self.pairs);
        let fault = |rule: String, got: String| Fault::new(context.place, "access_delays", rule, got);
        if given > pairs as usize {
            return Err(fault(format!("a list of at most {pairs}, one for each pair"), format!("a list of {given}"))
                .out_of_range());
        }
        if given > 0 && self.rtt_spread > Prob::ZERO {
            return Err(fault("left out beside `rtt_spread`".into(), format!("a list of {given}")).out_of_range());
        }
        Ok(())
    }

    /// By how many nanoseconds the access delays of each pair differ from what is written, so that the round-trip times
    /// spread evenly. A round trip crosses four access links.
    fn shifts(
        &self,
        core: &[DirectionDraft; 2],
        access: &[DirectionDraft; 2],
        context: &Context<'_>,
    ) -> Result<Vec<i128>, ScenarioError> {
        let pairs = self.pairs as usize;
        let delay = |both: &[DirectionDraft; 2]| both.iter().map(|d| i128::from(d.link.delay.as_ns())).sum::<i128>();
        let rtt = delay(core) + 2 * delay(access);
        let most = (rtt as f64 * self.rtt_spread.as_f64() / 4.0).round() as i128;
        let least = access.iter().map(|d| i128::from(d.link.delay.as_ns())).min().unwrap_or(0);
        if most > least {
            let limit = (least * 400) as f64 / rtt as f64;
            let rule = format!("at most {:.1}% with these delays", (limit * 10.0).floor() / 10.0);
            let got = format!("{}%", self.rtt_spread.as_f64() * 100.0);
            let hint = "the access links are what differs: give them more of the delay";
            return Err(Fault::new(context.place, "rtt_spread", rule, got).hint(hint).out_of_range());
        }
        let last = pairs.saturating_sub(1).max(1) as i128;
        let mut shifts: Vec<i128> =
            (0..pairs as i128).map(|i| if pairs == 1 { 0 } else { most * (2 * i - last) / last }).collect();
        Rng::new(context.seed, "rtt_spread").shuffle(&mut shifts);
        Ok(shifts)
    }
}
