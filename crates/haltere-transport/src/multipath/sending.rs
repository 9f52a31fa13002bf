//! From the stream to the subflows: scheduling, replicas, reinjection.
//! Source: RFC 8684 section 3.3.6 (reinjection), Raiciu et al., NSDI 2012, section 4.2 (opportunistic retransmission,
//! penalisation).
//! Deviations: what a subflow held when it timed out is reinjected at its every timeout.

use super::connection::Multipath;
use super::correlation::Observation;
use super::scheduler::PathScheduler;
use super::send_queue::Chunk;
use super::view::{PathView, SegView, fastest};
use crate::tcp::time::or_zero;
use haltere_congestion::CongestionControl;
use haltere_units::{Bytes, Time};

impl Multipath {
    /// Gives one segment to a subflow, or to several. False if nothing can be given now.
    pub(super) fn schedule(&mut self, now: Time) -> bool {
        let q = &self.queue;
        if q.nxt >= q.end && self.reinject.is_empty() && !(self.scheduler.replicates() && q.una < q.nxt) {
            return false;
        }
        self.look_at_paths(now);
        if !self.views.iter().any(PathView::is_open) {
            return false;
        }
        if self.correlators.update(now) {
            self.scheduler.on_relations(self.correlators.first());
        }
        if self.send_again() {
            return true;
        }
        let given = if self.scheduler.replicates() { self.replicate(now) } else { self.give(now) };
        given || self.help_window(now)
    }

    fn look_at_paths(&mut self, now: Time) {
        self.views.clear();
        let ahead = self.scheduler.queues_ahead();
        for (path, flow) in self.flows.iter_mut().enumerate() {
            let mss = flow.conn.receiver().mss();
            let usable = flow.is_usable();
            let ready = usable && if ahead { flow.has_room() } else { flow.is_ready(now, mss) };
            let tx = flow.conn.made_sender();
            let mut view = PathView::new(path);
            (view.usable, view.ready) = (usable, ready);
            (view.srtt, view.rttvar) = (or_zero(tx.srtt()), tx.rtt().var());
            (view.cwnd, view.ssthresh) = (Bytes::new(tx.cwnd()), tx.control().ssthresh());
            (view.in_flight, view.mss) = (Bytes::new(tx.in_flight()), Bytes::new(mss));
            // The end of the subflow takes a number after its last byte.
            view.queued = Bytes::new(tx.buffer().write_end().since(tx.una()));
            if usable {
                // If all usable paths have timed out or left, those that timed out are better than none.
                self.correlators.observe(now, path, Observation::Opportunity { srtt: view.srtt, ready });
            }
            self.views.push(view);
        }
        if !self.views.iter().any(|v| v.usable) {
            for (view, flow) in self.views.iter_mut().zip(&mut self.flows) {
                view.usable = !flow.gone && flow.conn.is_established();
                view.ready = view.usable && flow.is_ready(now, flow.conn.receiver().mss());
            }
        }
    }

    fn seg_view(&self, chunk: Option<&Chunk>, mss: u64) -> SegView {
        let q = &self.queue;
        SegView {
            len: Bytes::new(chunk.map_or((q.end - q.nxt).min(mss), |c| u64::from(c.len))),
            carried: chunk.map(|c| c.carried).unwrap_or_default(),
            waiting: Bytes::new(q.end - q.nxt),
            unacked: Bytes::new(q.nxt - q.una.min(q.nxt)),
            window: Bytes::new(self.window_end.saturating_sub(q.nxt)),
        }
    }

    /// The next new segment fits the peer's window.
    pub(super) fn new_fits(&self, mss: u64) -> bool {
        let q = &self.queue;
        q.nxt < q.end && q.nxt + (q.end - q.nxt).min(mss) <= self.window_end
    }

    /// Less than a segment is left only because the tuned buffer is full: the rest of it follows.
    fn waits_for_more(&self, mss: u64) -> bool {
        self.params.tune_send_buffer
            && !self.queue.closed
            && self.queue.una < self.queue.nxt
            && self.queue.end - self.queue.nxt < mss
            && self.writable() == Bytes::ZERO
    }

    /// Schedulers that give each segment to the paths of their choice at once.
    fn give(&mut self, now: Time) -> bool {
        let mss = self.flows[0].conn.receiver().mss();
        if !self.new_fits(mss) || self.waits_for_more(mss) {
            return false;
        }
        let seg = self.seg_view(None, mss);
        let picks = self.scheduler.pick(now, &self.views, &seg);
        let Some(first) = (0..self.views.len()).find(|&p| picks.contains(p) && self.views[p].is_open()) else {
            return false;
        };
        let chunk = self.queue.cut(self.flows[first].conn.receiver().mss(), first);
        self.give_chunk(first, &chunk);
        true
    }

    /// Schedulers that replicate: each path that has room takes the next segment that it has not carried.
    fn replicate(&mut self, now: Time) -> bool {
        for path in 0..self.views.len() {
            if self.views[path].is_open() && self.replicate_on(path, now) {
                return true;
            }
        }
        false
    }

    fn replicate_on(&mut self, path: usize, now: Time) -> bool {
        let mss = self.flows[path].conn.receiver().mss();
        let from = self.flows[path].cursor.max(self.queue.una);
        let mut index = self.queue.index_of(from);
        while let Some(chunk) = self.queue.get(index).copied() {
            self.flows[path].cursor = chunk.end();
            if !chunk.carried.contains(path) {
                let seg = self.seg_view(Some(&chunk), mss);
                if self.scheduler.pick(now, &self.views, &seg).contains(path) {
                    self.replica(index, path);
                    return true;
                }
            }
            index += 1;
        }
        if !self.new_fits(mss) {
            return false;
        }
        let seg = self.seg_view(None, mss);
        if !self.scheduler.pick(now, &self.views, &seg).contains(path) {
            return false;
        }
        let chunk = self.queue.cut(mss, path);
        self.flows[path].cursor = chunk.end();
        self.give_chunk(path, &chunk);
        true
    }

    /// A path takes a chunk that others carried.
    fn replica(&mut self, index: usize, path: usize) {
        let before = self.queue.get(index).map(|c| c.carried).unwrap_or_default();
        let chunk = self.queue.carry(index, path);
        if let (1, Some(first)) = (before.len(), before.first()) {
            self.flows[first].replicas += 1;
        }
        self.flows[path].replicas += u64::from(!before.is_empty());
        self.give_chunk(path, &chunk);
    }

    fn give_chunk(&mut self, path: usize, chunk: &Chunk) {
        self.flows[path].write(chunk.start, chunk.len);
        self.pending = self.pending.with(path);
        if let Some(view) = self.views.get_mut(path) {
            view.ready = false;
        }
    }

    /// What a path carried is queued to be sent on others.
    pub(super) fn reinject_from(&mut self, path: usize) {
        self.reinject.retain(|&(start, len)| start + u64::from(len) > self.queue.una);
        for chunk in self.queue.iter().filter(|c| c.carried.contains(path)) {
            let elsewhere = |p: usize| p != path && chunk.carried.contains(p) && self.flows[p].is_usable();
            if !(0..self.flows.len()).any(elsewhere) && !self.reinject.contains(&(chunk.start, chunk.len)) {
                self.reinject.push_back((chunk.start, chunk.len));
            }
        }
    }

    /// Sends the first range that can be sent again now, on the fastest path that has not carried it.
    fn send_again(&mut self) -> bool {
        let mut place = 0;
        while let Some(&(start, _)) = self.reinject.get(place) {
            let index = self.queue.index_of(start.max(self.queue.una));
            let carried = self.queue.get(index).filter(|c| c.start <= start).map(|c| c.carried);
            let other = |p: &PathView| p.usable && carried.is_some_and(|c| !c.contains(p.path));
            if let Some(path) = fastest(&self.views, |p| other(p) && p.ready).map(|p| p.path) {
                self.reinject.remove(place);
                self.flows[path].reinjected += 1;
                self.replica(index, path);
                return true;
            }
            // It was acknowledged, or every usable path has it and will repeat it.
            let settled = carried.is_none_or(|c| self.views.iter().any(|p| p.usable && c.contains(p.path)));
            if settled && fastest(&self.views, other).is_none() {
                self.reinject.remove(place);
            } else {
                place += 1;
            }
        }
        false
    }

    /// The peer's window blocks the stream: the oldest chunk goes again on a path that has room and has not carried it.
    /// A scheduler that replicates chooses the paths of every chunk itself.
    fn help_window(&mut self, now: Time) -> bool {
        let mss = self.flows[0].conn.receiver().mss();
        if !self.params.opportunistic
            || self.scheduler.replicates()
            || self.queue.nxt >= self.queue.end
            || self.new_fits(mss)
        {
            return false;
        }
        let Some(chunk) = self.queue.front().copied() else { return false };
        let Some(path) = fastest(&self.views, |p| p.is_open() && !chunk.carried.contains(p.path)).map(|p| p.path)
        else {
            return false;
        };
        if self.params.penalise {
            (0..self.flows.len()).filter(|&p| chunk.carried.contains(p)).for_each(|p| self.penalise(p, now));
        }
        self.flows[path].reinjected += 1;
        self.replica(0, path);
        true
    }

    fn penalise(&mut self, path: usize, now: Time) {
        let flow = &mut self.flows[path];
        let tx = flow.conn.sender();
        if now >= flow.penalised_until && tx.penalise(now) {
            flow.penalised_until = now + or_zero(tx.srtt());
        }
    }
}
