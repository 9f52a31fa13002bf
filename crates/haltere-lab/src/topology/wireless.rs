//! Stations around an access point or a base station, which share one medium.

use super::prelude::*;
use haltere_queue::QueueParams;

/// A `server`, a `base` behind the link `wan`, and stations, `st1` .. `stN`, that share its medium. The discipline of
/// the link `medium` is the medium, and its list says how many stations there are.
///
/// `wifi` has `stations`. Packets in both directions take the link `air>air.out`, so that uplinks contend. `cell` has
/// `users`. Packets to them take the link `base>air`, packets from them `air.up>base`: the other direction, of which
/// `reverse` says what is different. Pair `i` is the server and station `i`; with `direction = "backward"` station `i`
/// sends.
///
/// ```toml
/// [topology.wireless]
/// wan = { rate = "1Gbit", delay = "10ms" }
/// medium = { queue = { kind = "wifi", stations = [{ rate = "144.4Mbit" }, { rate = "7.2Mbit" }] } }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wireless {
    /// The link from the base to the server. `reverse` is the direction from the server to the base.
    pub wan: LinkSpec,
    /// The shared link, with a discipline of the kind `wifi` or `cell`. It needs no rate.
    pub medium: LinkSpec,
}

impl TopologyKind for Wireless {
    /// The server is node 0, the base node 1; stations follow two nodes of the medium.
    fn build(&self, network: &mut NetworkDraft, context: &Context<'_>) -> Result<(), ScenarioError> {
        let place = context.below("medium");
        let wan = both(&self.wan, &context.below("wan"))?;
        let mut medium = both(&self.medium, &place)?;
        let is_cell = match kind(&medium[0]) {
            "cell" => true,
            "wifi" if self.medium.reverse.is_empty() => false,
            "wifi" => {
                let fault = Fault::new(&place, "reverse", "left out with `wifi`", "a table");
                return Err(fault.hint("both directions share the channel").out_of_range());
            }
            other => {
                let got = format!("`{other}`");
                return Err(Fault::new(&place, "queue", "of the kind `wifi` or `cell`", got).out_of_range());
            }
        };
        let (server, base) = (network.add("server"), network.add("base"));
        let (air, other) = (network.add("air"), network.add(if is_cell { "air.up" } else { "air.out" }));
        network.show(server, Hint::host("server", 0));
        for (node, group, layer) in [(base, "base", 1), (air, "air", 2), (other, "air", 2)] {
            network.show(node, Hint::switch(group, layer));
        }
        let count = hosts(&mut medium[0]).len();
        let first = network.nodes.len();
        let stations: Vec<usize> = (1..=count).map(|i| network.add(&format!("st{i}"))).collect();
        for direction in &mut medium {
            fill(direction, first, count, &place)?;
        }
        let instant = both(&LinkSpec::default(), &place)?;
        network.join(base, server, &wan, |link| link.watch.unwrap_or(false));
        let watched = |direction: &DirectionDraft| direction.link.watch.unwrap_or(true);
        // Where packets to and from the stations enter and leave the medium.
        let (down, up) = if is_cell {
            network.lay(base, air, &medium[0], watched(&medium[0]));
            network.lay(other, base, &medium[1], watched(&medium[1]));
            (air, other)
        } else {
            network.lay(air, other, &medium[0], watched(&medium[0]));
            network.lay(base, air, &instant[0], false);
            network.lay(other, base, &instant[0], false);
            (other, air)
        };
        for station in stations {
            network.show(station, Hint::host("st", 3));
            network.lay(down, station, &instant[0], false);
            network.lay(station, up, &instant[0], false);
            network.pairs.push((server, station));
        }
        Ok(())
    }
}

fn kind(direction: &DirectionDraft) -> &str {
    direction.link.queue.kind()
}

/// The hosts of the stations that share a medium; none of another discipline. Without a list there is one station.
fn hosts(direction: &mut DirectionDraft) -> Vec<&mut Option<u16>> {
    match direction.link.queue.ours_mut() {
        Some(QueueParams::Wifi(params)) => {
            if params.stations.is_empty() {
                params.stations.push(Default::default());
            }
            params.stations.iter_mut().map(|station| &mut station.host).collect()
        }
        Some(QueueParams::Cell(params)) => {
            if params.users.is_empty() {
                params.users.push(Default::default());
            }
            params.users.iter_mut().map(|user| &mut user.host).collect()
        }
        _ => Vec::new(),
    }
}

/// Gives each station the number of its host: the node's place, from 1.
fn fill(direction: &mut DirectionDraft, first: usize, count: usize, place: &str) -> Result<(), ScenarioError> {
    let hosts = hosts(direction);
    let (given, rule) = (hosts.len(), format!("a list of {count}, as in the other direction"));
    let fault = |name: &str, got: String| Fault::new(format!("{place}.queue"), name, rule.clone(), got);
    if given != 0 && given != count {
        return Err(fault("users", format!("a list of {given}")).out_of_range());
    }
    for (i, host) in hosts.into_iter().enumerate() {
        if let Some(given) = *host {
            let fault = Fault::new(format!("{place}.queue"), "host", "left out in this topology", given);
            return Err(fault.hint("the topology says it").out_of_range());
        }
        let number = u16::try_from(first + i + 1);
        *host = Some(number.map_err(|_| fault("stations", format!("a list of {given}")).out_of_range())?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use haltere_queue::QueueParams;

    fn scenario(medium: &str) -> Result<Scenario, crate::ScenarioError> {
        let text = format!(
            "duration = '1s'\n[topology.wireless]\nwan = {{ rate = '1Gbit', delay = '1ms' }}\nmedium = {{ {medium} }}\n\
             [[traffic]]\nkind = 'bulk'\n[[traffic]]\nkind = 'bulk'\ndirection = 'backward'"
        );
        Scenario::parse(&text, "x.toml")
    }

    #[test]
    fn both_directions_of_wi_fi_take_one_link_and_stations_know_their_hosts() {
        let medium = "queue = { kind = 'wifi', stations = [{ rate = '20Mbit' }, { rate = '5Mbit' }] }";
        let plan = scenario(medium).and_then(|one| one.plan(1)).expect("it is right");
        let names: Vec<&str> = plan.links.iter().map(|link| link.name.as_str()).collect();
        assert_eq!(names[2..5], ["air>air.out", "base>air", "air.out>base"]);
        assert_eq!(plan.nodes[4..], ["st1", "st2"]);
        let Ok(QueueParams::Wifi(params)) = plan.links[2].queue.ours() else { panic!("a channel") };
        assert_eq!(params.stations.iter().map(|one| one.host).collect::<Vec<_>>(), [Some(5), Some(6)]);
        assert_eq!(plan.flows.len(), 4);
    }
    #[test]
    fn a_cell_has_a_medium_in_each_direction() {
        let medium = "queue = { kind = 'cell', users = [{ rate = '20Mbit' }] }, reverse = { queue = { kind = 'cell', \
                      grant = '8ms' } }";
        let plan = scenario(medium).and_then(|one| one.plan(1)).expect("it is right");
        assert_eq!((plan.links[2].name.as_str(), plan.links[3].name.as_str()), ("base>air", "air.up>base"));
        let Ok(QueueParams::Cell(up)) = plan.links[3].queue.ours() else { panic!("a cell") };
        assert_eq!((up.users[0].host, up.grant.as_ns()), (Some(5), 8_000_000));
    }
    #[test]
    fn what_is_no_medium_is_refused() {
        let error = |medium| {
            let fault = scenario(medium).and_then(|one| one.plan(1)).expect_err("refused");
            fault.to_string()
        };
        assert!(error("rate = '1Mbit'").contains("queue must be of the kind `wifi` or `cell`, got `drop_tail`"));
        let given = "queue = { kind = 'wifi', stations = [{ host = 4 }] }";
        assert!(error(given).contains("host must be left out in this topology, got 4"), "{}", error(given));
        let two = "queue = { kind = 'cell' }, reverse = { queue = { kind = 'cell', users = [{}, {}] } }";
        assert!(error(two).contains("users must be a list of 1, as in the other direction, got a list of 2"));
    }
}
