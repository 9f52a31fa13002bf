//! The record of a run from those of its parts.
//!
//! A link is counted in the part of the node that sends. Of a flow between two parts, the sender's values are from the
//! sender's part, and what was delivered from the receiver's. Rows have the order that they have in a run of the whole
//! network.

use super::cut::Cut;
use haltere_plan::Plan;
use haltere_plan::record::{DelayOf, FlowRecord, FlowSample, PingSample, Record, StateOf};

/// The record of the run whose parts have these records, in order.
pub(super) fn merge(plan: &Plan, cut: &Cut, mut records: Vec<Record>) -> Record {
    let mut all = Record::default();
    let of_link = |link: u32| cut.part_of(plan.links[link as usize].from);
    let sender_of = |flow: u32| cut.part_of(plan.flows[flow as usize].from);
    let receiver_of = |flow: u32| cut.part_of(plan.flows[flow as usize].to);
    let mut link = |i: u32| core::mem::take(&mut records[of_link(i)].links[i as usize]);
    all.links = (0..).zip(&plan.links).map(|(i, _)| link(i)).collect();
    let flow = |i: u32| {
        let [from, to] = [sender_of(i), receiver_of(i)];
        let own = &records[from].flows[i as usize];
        if from == to { own.clone() } else { joined(own, &records[to].flows[i as usize]) }
    };
    all.flows = (0..).zip(&plan.flows).map(|(i, _)| flow(i)).collect();
    let mut samples: Vec<(bool, FlowSample)> = Vec::new();
    for (part, record) in records.into_iter().enumerate() {
        // No field is forgotten.
        #[rustfmt::skip]
        let Record {
            flows: _, links: _, flow_series, queue_series, pings, tasks, completions, pages, segments, voices, programs,
            sockets, measured, path_series, coefficients, delays, delay_records, state, packets, sender_events, logs, events,
            peak_events,
        } = record;
        all.measured = measured;
        all.events += events;
        all.peak_events += peak_events;
        all.queue_series.extend(queue_series);
        samples.extend(flow_series.into_iter().map(|sample| (sender_of(sample.flow) != part, sample)));
        all.pings.extend(pings);
        all.packets.extend(packets.into_iter().filter(|packet| of_link(packet.link) == part));
        all.sender_events.extend(sender_events.into_iter().filter(|event| sender_of(event.flow) == part));
        all.delay_records.extend(delay_records.into_iter().filter(|record| match record.of {
            DelayOf::Sojourn(link) => of_link(link) == part,
            DelayOf::Rtt(flow) => sender_of(flow) == part,
            DelayOf::OneWay(flow) => receiver_of(flow) == part,
        }));
        all.state.extend(state.into_iter().filter(|sample| match sample.of {
            StateOf::Queue(_) => true,
            StateOf::Flow(flow) => sender_of(flow) == part,
        }));
        // The flows that write these are all in one part.
        all.tasks.extend(tasks);
        all.completions.extend(completions);
        all.pages.extend(pages);
        all.segments.extend(segments);
        all.voices.extend(voices);
        all.programs.extend(programs);
        all.sockets.extend(sockets);
        all.path_series.extend(path_series);
        all.coefficients.extend(coefficients);
        all.delays.extend(delays);
        all.logs.extend(logs);
    }
    all.queue_series.sort_by_key(|sample| (sample.at, sample.link));
    samples.sort_by_key(|(is_receivers, sample)| (sample.at, sample.flow, *is_receivers));
    samples.dedup_by(|(_, receivers), (_, senders)| {
        let same = (receivers.at, receivers.flow) == (senders.at, senders.flow);
        senders.received += if same { receivers.received } else { 0 };
        same
    });
    all.flow_series = samples.into_iter().map(|(_, sample)| sample).collect();
    all.pings.sort_by_key(|ping: &PingSample| (ping.at + ping.rtt, ping.flow));
    all.packets.sort_by_key(|packet| packet.link);
    all.sender_events.sort_by_key(|event| (event.at, event.flow));
    all.delay_records.sort_by_key(|record| match record.of {
        DelayOf::Sojourn(link) => (0, link),
        DelayOf::Rtt(flow) | DelayOf::OneWay(flow) => (1, flow),
    });
    // Of two samples that are due at one instant, the one with the longer interval was asked for first.
    let flows_first = plan.measure.flows > plan.measure.queues;
    all.state.sort_by_key(|sample| match sample.of {
        StateOf::Queue(link) => (sample.at, flows_first, link),
        StateOf::Flow(flow) => (sample.at, !flows_first, flow),
    });
    all
}

/// The line of a flow whose ends are in two parts. What an end counts is zero in the other one's part.
fn joined(senders: &FlowRecord, receivers: &FlowRecord) -> FlowRecord {
    FlowRecord {
        received: senders.received + receivers.received,
        received_after_warmup: senders.received_after_warmup + receivers.received_after_warmup,
        packets_sent: senders.packets_sent + receivers.packets_sent,
        packets_received: senders.packets_received + receivers.packets_received,
        completed: senders.completed.or(receivers.completed),
        ..senders.clone()
    }
}
