//! Slow starts over any control with a [window](crate::window::Window), and what the laboratory may set of
//! them.
//!
//! | file | slow start | source |
//! |---|---|---|
//! | `hystart.rs` | HyStart++ and HyStart: when slow start ends | RFC 9406 |
//! | `search.rs` | SEARCH: when slow start ends, and how far the window is drained | draft-chung-ccwg-search-09 |
//! | `rapid.rs` | Rapid Start: three times a round trip, and a recovery of its own | draft-kazuho-ccwg-rapid-start-02 |
//! | `resume.rs` | Careful Resume: a jump to what an earlier connection had | RFC 9959 |
//! | `limited.rs` | growth while the window is not the limit | draft-ietf-ccwg-ratelimited-increase |
//!
//! HyStart is a part of the controls whose sources have it. The others are not: [`Starting`] wraps a control and
//! sets its window, so that a control knows nothing of them.

mod hystart;
mod limited;
pub(crate) mod over;
mod rapid;
mod resume;
mod search;

pub use hystart::Hystart;
pub(crate) use hystart::SlowStart;

use alloc::borrow::Cow;
use alloc::format;
use core::ops::{Deref, DerefMut};
use haltere_units::{Bytes, Dur, ParamError};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

haltere_units::params! {
    /// How a control with a window starts. All such controls have these parameters.
    pub struct Start: part {
        /// How the window grows in the first slow start, and what ends it.
        pub slow_start: SlowStartKind = SlowStartKind::Standard;
        /// The window of an earlier connection on the same path (RFC 9959: `saved_cwnd`); `0B`: none. With one, the
        /// connection starts by Careful Resume: it jumps to half of it once its initial data is acknowledged.
        pub saved_window: Bytes = Bytes::ZERO;
        /// The least round-trip time of that connection (RFC 9959: `saved_rtt`). If the path's is at most half of it,
        /// or more than ten times as long, the path is another, and there is no jump.
        pub saved_rtt: Dur = Dur::ZERO;
        /// True: the window also grows while it is not the limit, up to what the largest flight since the last
        /// reduction would have let it grow to (draft-ietf-ccwg-ratelimited-increase: twice that flight in slow start,
        /// one segment more in congestion avoidance). False: it grows only while it is the limit, as in Linux.
        pub rate_limited_increase: bool = false;
    }
    /// How the window grows in the first slow start, and what ends it.
    #[derive(Default)]
    pub enum SlowStartKind {
        /// The window doubles each round trip (RFC 5681). A loss ends it, or `hystart` if the control has that.
        #[default]
        Standard,
        /// SEARCH (draft-chung-ccwg-search-09): as `standard`, but in place of `hystart` slow start ends when less
        /// arrives than was sent a round trip earlier. The window is then drained to what arrived in a round trip.
        Search,
        /// SEARCH without the drain: slow start ends with the window that it has.
        SearchUndrained,
        /// Rapid Start (draft-kazuho-ccwg-rapid-start-02): twice the initial window, paced over a round trip, and three
        /// times a round trip while there is no queue. A loss begins a recovery that leaves what the path holds, times
        /// the control's beta. `hystart` may end it before.
        Rapid,
    }
}

impl Start {
    fn check_together(&self) -> Result<(), ParamError> {
        self.check()?;
        if self.saved_window != Bytes::ZERO && self.saved_rtt.is_zero() {
            let rule = "above 0 if `saved_window` is given";
            return Err(
                ParamError::new("saved_rtt", rule, self.saved_rtt).hint("the least round-trip time of that connection")
            );
        }
        if self.saved_window == Bytes::ZERO && !self.saved_rtt.is_zero() {
            return Err(ParamError::new("saved_window", "above 0 if `saved_rtt` is given", self.saved_window));
        }
        Ok(())
    }
}

/// The parameters `P` of a control, and beside them those of its [start](Start).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started<P> {
    /// The control's own.
    #[serde(flatten)]
    pub own: P,
    /// How it starts.
    #[serde(flatten)]
    pub start: Start,
}

impl<P> Started<P> {
    /// How it starts.
    pub(crate) fn start(&self) -> Option<&Start> {
        Some(&self.start)
    }
}

/// Parameters that are not [`Started`]: the method that those have by themselves, for the registry's macro.
pub(crate) trait NoStart {
    fn start(&self) -> Option<&Start> {
        None
    }
}
impl<P> NoStart for P {}

impl<P> From<P> for Started<P> {
    fn from(own: P) -> Started<P> {
        Started { own, start: Start::default() }
    }
}

impl<P> Deref for Started<P> {
    type Target = P;
    fn deref(&self) -> &P {
        &self.own
    }
}
impl<P> DerefMut for Started<P> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.own
    }
}

impl<P: JsonSchema> JsonSchema for Started<P> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Started{}", P::schema_name()).into()
    }
    /// That of `P`, with the keys of [`Start`] among its own.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (mut own, mut start) = (P::json_schema(generator), Start::json_schema(generator));
        let Some(mut shared) = start.remove("properties") else { return own };
        match own.get_mut("properties").and_then(|keys| keys.as_object_mut()) {
            Some(keys) => keys.extend(shared.as_object_mut().map(core::mem::take).unwrap_or_default()),
            None => drop(own.insert("properties".into(), shared)),
        }
        own
    }
}
