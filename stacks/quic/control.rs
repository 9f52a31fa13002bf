//! The congestion control of an end: the stack's own or Haltere's, watched.

use crate::{api, nanos, random};
use haltere_stack_adapter::{Ack, Config, Control, Info, Which};
use proto::congestion::{Controller, ControllerFactory};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// What was seen of a control by the calls of its stack.
#[derive(Debug, Default)]
pub struct Watch {
    pub in_flight: AtomicU64,
    pub bytes_acked: AtomicU64,
    pub packets_acked: AtomicU64,
    pub ssthresh: AtomicU64,
    pub pacing_rate: AtomicU64,
    pub min_rtt: AtomicU64,
}

impl Watch {
    pub fn fill(&self, info: Info) -> Info {
        Info {
            in_flight: self.in_flight.load(Relaxed),
            bytes_acked: self.bytes_acked.load(Relaxed),
            packets_acked: self.packets_acked.load(Relaxed),
            ssthresh: Some(self.ssthresh.load(Relaxed)).filter(|bytes| *bytes > 0).unwrap_or(u64::MAX),
            pacing_rate: self.pacing_rate.load(Relaxed),
            min_rtt: self.min_rtt.load(Relaxed),
            ..info
        }
    }
}

/// Makes the controls of an end.
pub struct Factory {
    own: Option<Arc<dyn ControllerFactory + Send + Sync>>,
    ours: Option<haltere_stack_adapter::Controls>,
    watch: Arc<Watch>,
}

impl Factory {
    pub fn new(config: &Config<'_>, watch: Arc<Watch>) -> Result<Factory, String> {
        match &config.control {
            Which::Ours(controls) => Ok(Factory { own: None, ours: Some(*controls), watch }),
            Which::Own(name) => {
                let own = api::own(name).ok_or_else(|| format!("the stack has no control {name}"))?;
                Ok(Factory { own: Some(own), ours: None, watch })
            }
        }
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        // Of BBR: its random numbers are the system's.
        random::reseed();
        let of: Box<dyn Controller> = match (&self.own, self.ours) {
            (Some(own), _) => own.clone().build(now, current_mtu),
            (None, Some(ours)) => {
                let control = ours.make(u64::from(current_mtu));
                let initial_window = control.window();
                Box::new(Ours { control, initial_window })
            }
            (None, None) => unreachable!("one of both is there"),
        };
        Box::new(Watched { of, watch: self.watch.clone() })
    }
}

/// A control that is watched.
pub struct Watched {
    pub of: Box<dyn Controller>,
    pub watch: Arc<Watch>,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.watch.fmt(f)
    }
}

impl Watched {
    pub fn sent(&self, bytes: u64) {
        self.watch.in_flight.fetch_add(bytes, Relaxed);
    }
    pub fn acked(&self, bytes: u64, rtt: &proto::RttEstimator) {
        self.watch.min_rtt.store(rtt.min().as_nanos() as u64, Relaxed);
        self.watch.bytes_acked.fetch_add(bytes, Relaxed);
        self.watch.packets_acked.fetch_add(1, Relaxed);
    }
    pub fn in_flight(&self, bytes: u64) {
        self.watch.in_flight.store(bytes, Relaxed);
        let metrics = self.of.metrics();
        self.watch.ssthresh.store(metrics.ssthresh.filter(|bytes| *bytes < u64::MAX).unwrap_or(0), Relaxed);
        self.watch.pacing_rate.store(api::pacing_rate(&metrics).unwrap_or(0), Relaxed);
    }
}

/// One of Haltere's controls behind the stack's trait.
#[derive(Debug, Clone)]
pub struct Ours {
    pub control: Control,
    pub initial_window: u64,
}

impl Ours {
    pub fn acked(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &proto::RttEstimator) {
        let (srtt, min_rtt) = (rtt.get().as_nanos() as u64, rtt.min().as_nanos() as u64);
        let (now, sent, app_limited) = (nanos(now), nanos(sent), u8::from(app_limited));
        self.control.on_ack(&Ack { now, sent, bytes, srtt, min_rtt, app_limited, ..Ack::default() });
    }
    pub fn lost(&mut self, now: Instant, sent: Instant, persistent: bool, ecn: bool, bytes: u64) {
        let (now, sent, persistent, ecn) = (nanos(now), nanos(sent), u8::from(persistent), u8::from(ecn));
        self.control.on_loss(&Ack { now, sent, bytes, persistent, ecn, ..Ack::default() });
    }
}
