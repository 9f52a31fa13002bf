//! Somebody who fetches web pages, one after the other.
//! Model: a page begins with one object on one connection. When it is there, more connections are opened, up to
//! `connections`, and each fetches one object after the other. The page ends with its last object; its connections are
//! closed. The next page begins after the think time, with connections of its own.

use super::{Answer, Client, Connections};
use crate::app::is_over;
use crate::plan::{FlowPlan, WebPlan};
use crate::record::PageRecord;
use crate::record::Record;
use crate::rng::Rng;
use alloc::format;
use alloc::vec::Vec;
use haltere_units::{ParamError, Time};

/// The port of an HTTP server.
const HTTP_PORT: u16 = 80;

/// Somebody who fetches pages.
#[derive(Debug)]
pub struct User {
    plan: WebPlan,
    objects: Rng,
    sizes: Rng,
    thinks: Rng,
    stop: Option<Time>,
    page: Option<Page>,
    done: Vec<PageRecord>,
}

/// A page that is not there yet.
#[derive(Debug)]
struct Page {
    record: PageRecord,
    /// Objects that have not been asked for.
    unasked: u32,
    /// Objects that were asked for and are not there.
    awaited: u32,
}

impl User {
    /// The user of that flow.
    pub fn new(flow: &FlowPlan, plan: &WebPlan, seed: u64) -> Result<User, ParamError> {
        if plan.connections == 0 {
            return Err(ParamError::new("connections", "at least 1", 0));
        }
        if plan.objects.0 == 0 || plan.objects.0 > plan.objects.1 {
            let got = format!("{} and {}", plan.objects.0, plan.objects.1);
            return Err(ParamError::new("objects", "from 1 up, the smaller number first", got));
        }
        let stream = |what| flow.stream(seed, what);
        Ok(User {
            plan: plan.clone(),
            objects: stream("objects"),
            sizes: stream("sizes"),
            thinks: stream("think"),
            stop: flow.stop,
            page: None,
            done: Vec::new(),
        })
    }
    /// Asks for one of the page's objects.
    fn ask(&mut self, connection: usize, on: &mut impl Connections) {
        let Some(page) = &mut self.page else { return };
        (page.unasked, page.awaited) = (page.unasked - 1, page.awaited + 1);
        on.ask(connection, self.plan.request, self.plan.sizes.draw(&mut self.sizes));
    }
}

impl Client for User {
    const COMPLETIONS: bool = true;

    fn start(&mut self, on: &mut impl Connections) {
        if is_over(self.stop, on.now()) {
            return;
        }
        let (least, most) = self.plan.objects;
        let objects = least + self.objects.below(u64::from(most - least) + 1) as u32;
        let record = PageRecord { flow: 0, start: on.now(), end: Time::NEVER, objects, bytes: 0 };
        self.page = Some(Page { record, unasked: objects, awaited: 0 });
        let connection = on.open(HTTP_PORT);
        self.ask(connection, on);
    }
    /// The think time is over.
    fn wake(&mut self, on: &mut impl Connections) {
        self.start(on);
    }
    fn answered(&mut self, answer: Answer, on: &mut impl Connections) {
        let Some(page) = &mut self.page else { return };
        page.awaited -= 1;
        page.record.bytes += answer.bytes;
        let is_first = page.unasked + 1 == page.record.objects;
        if page.unasked + page.awaited == 0 {
            self.done.push(PageRecord { end: on.now(), ..page.record });
            self.page = None;
            on.close();
            return on.wake(on.now() + self.thinks.span(self.plan.think));
        }
        if page.unasked == 0 {
            return;
        }
        let more = if is_first { self.plan.connections.min(page.unasked) - 1 } else { 0 };
        self.ask(answer.connection, on);
        for _ in 0..more {
            let connection = on.open(HTTP_PORT);
            self.ask(connection, on);
        }
    }
    fn set_stop(&mut self, at: Time) {
        self.stop = Some(at);
    }
    /// The pages, the one that did not end as the last.
    fn finish(&mut self, _at: Time, flow: u32, record: &mut Record) {
        let pages = self.done.drain(..).chain(self.page.take().map(|page| page.record));
        record.pages.extend(pages.map(|page| PageRecord { flow, ..page }));
    }
}
