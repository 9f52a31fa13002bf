//! Two interfaces at each end, one path alone and two over one bottleneck.
//! Source: Felix, Steuck, Santos, Nogueira, "Escalonador de Pacotes para Transmissão por Multi-caminhos
//! Não-Correlacionados em Redes Heterogêneas sem Fio", figure 5 and table 1.

use super::prelude::*;
use crate::scenario::overrides::Overrides;
use haltere_units::{Dur, Prob, Rate};

/// A source with two interfaces, `s1` (Wi-Fi, behind `r1`) and `s2` (cellular, behind `r2`), and a destination with
/// two, `d1` and `d2`: figure 5 and table 1 of Felix et al. on redundant scheduling over uncorrelated paths. Path A,
/// `s1` to `d1`, is alone. Path B, `s1` to `d2`, and path C, `s2` to `d1`, share the bottleneck from `r3` to `r4`. A
/// pair of hosts with two interfaces each, `x1` and `x2`, `y1` and `y2`, is at the bottleneck for a connection that
/// competes there. A key of a link replaces that part of table 1. The links from `r4` to `d1` and `d2` are two links of
/// the figure in one, so that no packet avoids the bottleneck.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "TwoByTwo")]
pub struct Multipath {
    /// From `r1` to `r5`: `150Mbit`, `5ms`, loss of `0.001%`.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub wifi: Overrides<LinkSpec>,
    /// From `r2` to `r6`: `100Mbit`, `15ms`, loss of `0.0001%`.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub cellular: Overrides<LinkSpec>,
    /// From `r3` to `r4`: `20Mbit`, `40ms`, loss of `0.001%`.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub bottleneck: Overrides<LinkSpec>,
    /// All other links: `100Mbit`, `1ms`, no loss.
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    pub others: Overrides<LinkSpec>,
}

/// The links of the figure with the name of their row in table 1.
const LINKS: [(&str, &str, &str); 15] = [
    ("s1", "r1", "others"),
    ("s2", "r2", "others"),
    ("r1", "r5", "wifi"),
    ("r2", "r6", "cellular"),
    ("r1", "r3", "others"),
    ("r2", "r3", "others"),
    ("r3", "r4", "bottleneck"),
    ("r5", "d1", "others"),
    ("r6", "d2", "others"),
    ("r4", "d1", "double"),
    ("r4", "d2", "double"),
    ("x1", "r3", "others"),
    ("x2", "r3", "others"),
    ("r4", "y1", "others"),
    ("r4", "y2", "others"),
];
const NODES: [&str; 14] = ["s1", "s2", "d1", "d2", "r1", "r2", "r3", "r4", "r5", "r6", "x1", "x2", "y1", "y2"];

fn row(mbps: u64, ms: u64, loss: f64) -> LinkSpec {
    LinkSpec {
        rate: Some(Rate::from_mbps(mbps)),
        delay: Dur::from_ms(ms),
        loss: Prob::of(loss).into(),
        ..LinkSpec::default()
    }
}

/// A row of table 1 with what is written in its place. A trace or a schedule that is written puts the row's rate aside.
fn with(row: &LinkSpec, written: &Overrides<LinkSpec>, context: &Context<'_>) -> Result<LinkSpec, ScenarioError> {
    let mut link = written.apply(row, context.place)?;
    if written.has("trace") && !written.has("rate") {
        link.rate = None;
    }
    Ok(link)
}

impl TopologyKind for Multipath {
    fn build(&self, network: &mut NetworkDraft, context: &Context<'_>) -> Result<(), ScenarioError> {
        NODES.iter().for_each(|name| {
            network.add(name);
        });
        let wifi = with(&row(150, 5, 1e-5), &self.wifi, context)?;
        let cellular = with(&row(100, 15, 1e-6), &self.cellular, context)?;
        let bottleneck = LinkSpec { watch: Some(true), ..row(20, 40, 1e-5) };
        let bottleneck = with(&bottleneck, &self.bottleneck, context)?;
        let others = with(&row(100, 1, 0.0), &self.others, context)?;
        // Two links of the figure, the delay of both.
        let double = LinkSpec { delay: others.delay.saturating_add(others.delay), ..others.clone() };
        for (from, to, name) in LINKS {
            let (link, key) = match name {
                "wifi" => (&wifi, "wifi"),
                "cellular" => (&cellular, "cellular"),
                "bottleneck" => (&bottleneck, "bottleneck"),
                "double" => (&double, "others"),
                _ => (&others, "others"),
            };
            let directions = both(link, &context.below(key))?;
            let (from, to) = (network.node(from, context.place, "nodes")?, network.node(to, context.place, "nodes")?);
            network.join(from, to, &directions, |direction| watched(direction, None));
        }
        Ok(())
    }
}
