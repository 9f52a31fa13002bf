//! Nodes in a row.

use super::prelude::*;

/// Nodes in a row, each joined to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    /// The links in order. `reverse` is the direction from the later node to the earlier.
    #[schemars(length(min = 1))]
    pub links: Vec<LinkSpec>,
    /// Names of the nodes, one more than links. If they are not given, they are `n1`, `n2`, ...
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
}

impl TopologyKind for Chain {
    /// Node `i` is the `i`-th name.
    fn build(&self, network: &mut NetworkDraft, context: &Context<'_>) -> Result<(), ScenarioError> {
        let names = match self.nodes.as_slice() {
            [] => (1..=self.links.len() + 1).map(|i| format!("n{i}")).collect(),
            given => given.to_vec(),
        };
        if names.len() != self.links.len() + 1 {
            let rule = format!("a list of {}, one more than links", self.links.len() + 1);
            return Err(Fault::new(context.place, "nodes", rule, format!("a list of {}", names.len())).out_of_range());
        }
        network.add_all(&names, context.place)?;
        let links = self.links.iter().enumerate().map(|(i, link)| both(link, &context.below(&format!("links[{i}]"))));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let slowest = slowest(&links);
        for (i, link) in links.iter().enumerate() {
            network.join(i, i + 1, link, |direction| watched(direction, slowest));
        }
        Ok(())
    }
}
