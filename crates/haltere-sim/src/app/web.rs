//! Somebody who fetches web pages, one after the other.
//! Model: a page begins with one object on one connection. When it is there, more connections are opened, up to `connections`, and each
//! fetches one object after the other. The page ends with its last object; its connections are closed. The next page begins after the
//! think time, with connections of its own.

use super::exchange::{Answer, Client, Exchange, Lines};
use super::{Place, is_over};
use crate::net::fabric::Fabric;
use haltere_plan::Record;
use haltere_plan::plan::{FlowPlan, WebPlan};
use haltere_plan::record::PageRecord;
use haltere_plan::rng::Rng;
use haltere_units::{ParamError, Time};

/// The port of an HTTP server.
const HTTP_PORT: u16 = 80;

/// A flow of web pages.
pub(crate) type Web = Exchange<User>;

/// Somebody who fetches pages.
#[derive(Debug)]
pub(crate) struct User {
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

impl Web {
    pub fn new(flow: &FlowPlan, plan: &WebPlan, place: Place) -> Result<Web, ParamError> {
        if plan.connections == 0 {
            return Err(ParamError::new("connections", "at least 1", 0));
        }
        if plan.objects.0 == 0 || plan.objects.0 > plan.objects.1 {
            let got = format!("{} and {}", plan.objects.0, plan.objects.1);
            return Err(ParamError::new("objects", "from 1 up, the smaller number first", got));
        }
        let stream = |what: &str| Rng::new(place.seed, &format!("{}/{what}", flow.name));
        let user = User {
            plan: plan.clone(),
            objects: stream("objects"),
            sizes: stream("sizes"),
            thinks: stream("think"),
            stop: flow.stop,
            page: None,
            done: Vec::new(),
        };
        Exchange::of(flow, &plan.tcp, user, place)
    }
}

impl User {
    /// Asks for one of the page's objects.
    fn ask(&mut self, line: usize, lines: &mut Lines, now: Time) {
        let Some(page) = &mut self.page else { return };
        (page.unasked, page.awaited) = (page.unasked - 1, page.awaited + 1);
        lines.ask(line, self.plan.request, self.plan.sizes.draw(&mut self.sizes), now);
    }
}

impl Client for User {
    const COMPLETIONS: bool = true;

    /// Begins a page.
    fn start(&mut self, lines: &mut Lines, fabric: &mut Fabric) {
        if is_over(self.stop, fabric.now) {
            return;
        }
        let (least, most) = self.plan.objects;
        let objects = least + self.objects.below(u64::from(most - least) + 1) as u32;
        let record = PageRecord { flow: 0, start: fabric.now, end: Time::NEVER, objects, bytes: 0 };
        self.page = Some(Page { record, unasked: objects, awaited: 0 });
        let line = lines.open(HTTP_PORT, fabric);
        self.ask(line, lines, fabric.now);
    }
    /// The think time is over.
    fn wake(&mut self, lines: &mut Lines, fabric: &mut Fabric) {
        self.start(lines, fabric);
    }
    fn set_stop(&mut self, at: Time) {
        self.stop = Some(at);
    }
    fn answered(&mut self, answer: Answer, lines: &mut Lines, fabric: &mut Fabric) {
        let Some(page) = &mut self.page else { return };
        page.awaited -= 1;
        page.record.bytes += answer.bytes;
        let is_first = page.unasked + 1 == page.record.objects;
        if page.unasked + page.awaited == 0 {
            self.done.push(PageRecord { end: fabric.now, ..page.record });
            self.page = None;
            lines.close();
            let at = fabric.now + self.thinks.span(self.plan.think);
            return lines.wake(at, fabric);
        }
        if page.unasked == 0 {
            return;
        }
        let more = if is_first { self.plan.connections.min(page.unasked) - 1 } else { 0 };
        self.ask(answer.line, lines, fabric.now);
        for _ in 0..more {
            let line = lines.open(HTTP_PORT, fabric);
            self.ask(line, lines, fabric.now);
        }
    }
    /// The pages, the one that did not end as the last.
    fn finish(&mut self, _at: Time, flow: u32, record: &mut Record) {
        let pages = self.done.drain(..).chain(self.page.take().map(|page| page.record));
        record.pages.extend(pages.map(|page| PageRecord { flow, ..page }));
    }
}
