//! Any nodes and links.

use super::prelude::*;

/// Any nodes and links. A packet takes the path of the fewest links. Of several it takes the path of the least delay,
/// then the one given first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Graph {
    /// Names of the nodes.
    #[schemars(length(min = 2))]
    pub nodes: Vec<String>,
    /// The links.
    #[schemars(length(min = 1))]
    pub links: Vec<GraphLink>,
    /// Links that fail.
    #[serde(flatten)]
    pub failures: Failures,
}

/// A link of a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphLink {
    /// Name of the node at one end.
    pub from: String,
    /// Name of the node at the other end.
    pub to: String,
    /// What the link is.
    #[serde(flatten)]
    pub link: LinkSpec,
}

impl TopologyKind for Graph {
    fn build(&self, network: &mut NetworkDraft, context: &Context<'_>) -> Result<(), ScenarioError> {
        network.add_all(&self.nodes, context.place)?;
        let path = |i: usize| context.below(&format!("links[{i}]"));
        let links = self.links.iter().enumerate().map(|(i, l)| both(&l.link, &path(i)));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let slowest = slowest(&links);
        for (i, (written, link)) in self.links.iter().zip(&links).enumerate() {
            let path = path(i);
            let (from, to) = (network.node(&written.from, &path, "from")?, network.node(&written.to, &path, "to")?);
            refuse_if!(from == to, Fault::new(path, "to", "another node than `from`", format!("`{}`", written.to)));
            network.join(from, to, link, |direction| watched(direction, slowest));
        }
        self.failures.apply(network, context)
    }
}
