//! The topology `multipath`: two interfaces at each end, one path alone and two over one bottleneck.
//! Source: Felix, Steuck, Santos, Nogueira, "Escalonador de Pacotes para Transmissão por Multi-caminhos Não-Correlacionados em Redes
//! Heterogêneas sem Fio", figure 5 and table 1.

use super::{Network, both, watched};
use crate::scenario::Overrides;
use crate::scenario::error::{Fault, FaultKind, ScenarioError};
use crate::scenario::topology::{Link, TwoByTwo};
use haltere_units::{Dur, Prob, Rate};

const PATH: &str = "topology.multipath";

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

fn row(mbps: u64, ms: u64, loss: f64) -> Link {
    Link { rate: Some(Rate::from_mbps(mbps)), delay: Dur::from_ms(ms), loss: Prob::of(loss), ..Link::default() }
}

/// A row of table 1 with what is written in its place. A trace or a schedule that is written puts the row's rate aside.
fn with(row: &Link, written: &Overrides<Link>, name: &str) -> Result<Link, ScenarioError> {
    let mut link = written.apply(row).map_err(|e| {
        let fault = Fault::new(PATH, name, "what the schema says", e);
        fault.hint("this is a bug of Haltere").bug()
    })?;
    if written.has("trace") && !written.has("rate") {
        link.rate = None;
    }
    Ok(link)
}

impl Network {
    pub(super) fn two_by_two(&mut self, written: &TwoByTwo) -> Result<(), ScenarioError> {
        NODES.iter().for_each(|name| {
            self.add(name);
        });
        let wifi = with(&row(150, 5, 1e-5), &written.wifi, "wifi")?;
        let cellular = with(&row(100, 15, 1e-6), &written.cellular, "cellular")?;
        let bottleneck = Link { watch: Some(true), ..row(20, 40, 1e-5) };
        let bottleneck = with(&bottleneck, &written.bottleneck, "bottleneck")?;
        let others = with(&row(100, 1, 0.0), &written.others, "others")?;
        // Two links of the figure, the delay of both.
        let double = Link { delay: others.delay.saturating_add(others.delay), ..others.clone() };
        for (from, to, name) in LINKS {
            let (link, key) = match name {
                "wifi" => (&wifi, "wifi"),
                "cellular" => (&cellular, "cellular"),
                "bottleneck" => (&bottleneck, "bottleneck"),
                "double" => (&double, "others"),
                _ => (&others, "others"),
            };
            let directions = both(link, &format!("{PATH}.{key}"))?;
            let (from, to) = (self.node(from, PATH, "nodes")?, self.node(to, PATH, "nodes")?);
            self.join(from, to, &directions, |direction| watched(direction, None));
        }
        Ok(())
    }
}
