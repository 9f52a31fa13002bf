//! What a run costs, before it is made.
//!
//! Model: a backlogged flow gets its share of the slowest link on its path, and a packet with its ACK costs as much on
//! each link, whatever the rate. The constants were measured with one to 64 CUBIC flows at 10, 100 and 1000 Mbit/s.
//! A source that writes at a rate pays for each write.
//! Known problems: flows that arrive during the run, closed loops and traffic without TCP are left out, a video counts
//! as backlogged, and a host that waits for its application costs less.

use crate::contract::{Options, Router};
use haltere_plan::headers::FULL_PACKET;
use haltere_plan::plan::{AppPlan, FlowPlan};
use haltere_plan::{Plan, Routes};
use haltere_units::Time;

/// Boot, answer and end of a guest.
const BOOT_S: f64 = 0.35;
/// A packet and its ACK at the hosts.
const HOSTS_US: f64 = 9.0;
/// A packet and its ACK on one link each.
const LINK_US: f64 = 5.0;
/// A write of a source that writes one packet at a time: a system call of its own, and a wakeup.
const WRITE_US: f64 = 130.0;
/// The same with the router in user space, all links together.
const USER_US: f64 = 530.0;
/// Segments of a buffer that a host sends with segmentation offload, about.
const SEGMENTS: f64 = 12.0;

/// No path without rates is taken to be faster.
const FASTEST_BPS: f64 = 10e9;

/// Processor time of the run in seconds, to about a factor of two.
pub fn estimate_s(plan: &Plan, options: &Options) -> f64 {
    let mut routes = Routes::of(plan);
    let backlogged = |flow: &&FlowPlan| flow.app.tcp().is_some() && !flow.app.has_completions();
    let flows: Vec<&FlowPlan> = plan.flows.iter().filter(backlogged).collect();
    let paths: Vec<Vec<usize>> = flows.iter().map(|flow| routes.path(flow.from, flow.to).unwrap_or_default()).collect();
    let mut flows_on = vec![0u32; plan.links.len()];
    paths.iter().flatten().for_each(|&link| flows_on[link] += 1);
    let packet_bits = f64::from(FULL_PACKET + plan.framing) * 8.0;
    let units = if options.gso { SEGMENTS } else { 1.0 };
    let cost = |(path, flow): (&Vec<usize>, &&FlowPlan)| {
        let share = |&link: &usize| Some(plan.links[link].rate?.as_bps() as f64 / f64::from(flows_on[link]));
        let rate = path.iter().filter_map(share).fold(f64::INFINITY, f64::min).min(FASTEST_BPS);
        let seconds = flow.stop.unwrap_or(plan.end).min(plan.end).since(flow.start.max(Time::ZERO)).as_secs_f64();
        let each = match options.router {
            Router::User => USER_US,
            Router::Auto | Router::Kernel => HOSTS_US + LINK_US * path.len() as f64,
        };
        let (rate, writes) = match &flow.app {
            AppPlan::OnOff(source) => {
                let rate = rate.min(source.rate.as_bps() as f64);
                (rate, rate / (source.chunk.as_u64() as f64 * 8.0))
            }
            _ => (rate, 0.0),
        };
        (rate / packet_bits / units * each + writes * WRITE_US) * seconds * 1e-6
    };
    BOOT_S + paths.iter().zip(&flows).map(cost).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_congestion::CongestionParams;
    use haltere_plan::plan::{BulkPlan, LinkPlan, TcpPlan};
    use haltere_queue::QueueParams;
    use haltere_transport::TcpParams;
    use haltere_units::{Dur, Rate};

    /// So many bulk flows over one link of 100 Mbit/s between two of 1 Gbit/s, for 10 s.
    fn plan(flows: usize) -> Plan {
        let queue = || QueueParams::default_of("drop_tail").unwrap();
        let link = |from, to, mbps| LinkPlan::plain(from, to, Some(Rate::from_mbps(mbps)), Dur::from_ms(1), queue());
        let links =
            [(0, 1, 1000), (1, 2, 100), (2, 3, 1000)].into_iter().flat_map(|(a, b, r)| [link(a, b, r), link(b, a, r)]);
        let tcp = || TcpPlan::alike(CongestionParams::default_of("cubic").unwrap(), TcpParams::default());
        let flow = |n| FlowPlan::new(format!("f{n}"), 0, 3, BulkPlan { tcp: tcp(), bytes: None }.into());
        let nodes = (0..4).map(|n| format!("n{n}")).collect();
        Plan::new(nodes, links.collect(), (0..flows).map(flow).collect(), Time::ZERO + Dur::from_secs(10))
    }

    #[test]
    fn the_estimate_follows_the_packets() {
        let of = |flows, options: &Options| estimate_s(&plan(flows), options);
        let (one, user, gso) = (
            Options::default(),
            Options { router: Router::User, ..Options::default() },
            Options { gso: true, ..Options::default() },
        );
        // By hand: 1e8 bit/s over 1514 bytes are 8256 packets a second; 10 s of 24 us each are 1.98 s.
        assert!((of(1, &one) - 2.33).abs() < 0.01, "{}", of(1, &one));
        assert!((of(4, &one) - of(1, &one)).abs() < 1e-6, "flows share the link");
        assert!(of(1, &user) > 40.0 && of(1, &gso) < 0.6);
    }
}
