/// Runs a plan of endless TCP flows: at each instant links deliver, timers expire and endpoints send, until the end.
pub fn run(plan: &Plan) -> (Vec<LinkCounters>, Vec<(u64, Info)>) {
    let (mut links, mut ends, mut now) = (links(plan), ends(plan), Time::ZERO);
    while now <= plan.end {
        let mut arrivals: VecDeque<Packet> = ends.iter_mut().flat_map(|end| end.act(now)).collect();
        for link in &mut links {
            let mut delivered = Delivered::default();
            link.advance(now, &mut delivered);
            arrivals.extend(delivered.0);
        }
        while let Some(mut packet) = arrivals.pop_front() {
            match packet.path.pop_front() {
                Some(next) => links[next].arrive(now, packet, &mut Delivered::default()),
                None => arrivals.extend(ends[packet.to].receive(now, &packet)),
            }
        }
        let due = links.iter().filter_map(Link::next_event).chain(ends.iter().filter_map(End::due));
        now = due.min().unwrap_or(Time::NEVER);
    }
    let counters = links.iter_mut().map(|link| link.counters(plan.end)).collect();
    let flows = ends.chunks(2).map(|both| (both[1].received, both[0].socket.info())).collect();
    (counters, flows)
}
