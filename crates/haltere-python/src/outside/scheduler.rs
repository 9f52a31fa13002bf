//! A path scheduler written in Python.

use super::events::view;
use super::fault::refused;
use super::script::{Kind, Script, Wrong, about, seed};
use haltere_transport::multipath::correlation::Relations as Related;
use haltere_transport::multipath::scheduler::PathScheduler;
use haltere_transport::multipath::scheduler::outside::{Maker, OutsideScheduler, Params};
use haltere_transport::multipath::{self as core, MAX_PATHS, Paths};
use haltere_units::outside::{About, Location, Origin};
use haltere_units::{Bytes, ParamError, Time};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

static KIND: Kind = Kind { name: "schedulers", methods: &["pick", "on_relations"] };
const PICK: usize = 0;
const ON_RELATIONS: usize = 1;

/// Makes path schedulers.
pub(super) struct Schedulers;

impl Maker for Schedulers {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        about(&KIND, at)
    }
    fn make(&self, params: &Params, origin: &Origin) -> Result<Box<dyn OutsideScheduler>, ParamError> {
        let made = Python::attach(|py| -> PyResult<_> {
            let script = Script::new(&KIND, params, &origin.outside, &seed(py, origin.seed)?)?;
            let (replicates, queues_ahead) = (script.is(py, "replicates")?, script.is(py, "queues_ahead")?);
            Ok(PythonScheduler { script, replicates, queues_ahead })
        });
        Ok(Box::new(made.map_err(refused)?))
    }
}

view! {
    /// One path as a scheduler sees it.
    #[pyclass(frozen, module = "haltere._core")]
    PathView(core::PathView): view => {
        /// The path's number, from 0.
        path: usize = view.path;
        /// Established, and not silent since a timeout.
        usable: bool = view.usable;
        /// The window has room for a segment now; for a scheduler that queues ahead: the subflow's buffer has room.
        ready: bool = view.ready;
        /// Smoothed round-trip time in nanoseconds; 0 before the first sample.
        srtt: u64 = view.srtt.as_ns();
        /// Its variation in nanoseconds.
        rttvar: u64 = view.rttvar.as_ns();
        /// Congestion window in bytes.
        cwnd: u64 = view.cwnd.as_u64();
        /// Slow-start threshold in bytes; `None` before the first reduction.
        ssthresh: Option<u64> = (view.ssthresh != Bytes::MAX).then(|| view.ssthresh.as_u64());
        /// Bytes in flight.
        in_flight: u64 = view.in_flight.as_u64();
        /// Bytes given to the path and not acknowledged on it.
        queued: u64 = view.queued.as_u64();
        /// Payload bytes of a full segment.
        mss: u64 = view.mss.as_u64();
        /// Usable and ready.
        is_open: bool = view.usable && view.ready;
    }
}

view! {
    /// The segment to be sent, as a scheduler sees it.
    #[pyclass(frozen, module = "haltere._core")]
    SegView(core::SegView): seg => {
        /// Its payload bytes.
        len: u64 = seg.len.as_u64();
        /// The numbers of the paths that have carried it already.
        carried: Vec<usize> = (0..MAX_PATHS).filter(|&path| seg.carried.contains(path)).collect();
        /// Bytes that wait to be sent for the first time, this segment included.
        waiting: u64 = seg.waiting.as_u64();
        /// Bytes sent and not acknowledged to the connection.
        unacked: u64 = seg.unacked.as_u64();
        /// Bytes that the receiver's window leaves open, this segment included.
        window: u64 = seg.window.as_u64();
    }
}

/// What the first correlator knows of each two paths.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct Relations(Related);

#[pymethods]
impl Relations {
    /// True if the two paths share a bottleneck.
    fn shares(&self, a: usize, b: usize) -> bool {
        self.0.get(a, b).shares
    }
    /// True if the correlator knows enough of both paths to say so.
    fn known(&self, a: usize, b: usize) -> bool {
        self.0.get(a, b).known
    }
    /// The coefficient of two paths from -1 to 1, if there is one.
    fn coefficient(&self, a: usize, b: usize) -> Option<f64> {
        self.0.get(a, b).coefficient
    }
}

#[derive(Debug)]
struct PythonScheduler {
    script: Script,
    replicates: bool,
    queues_ahead: bool,
}

/// The paths that `pick` returned: a path or its number, several of them, or none.
fn picked(given: &Bound<'_, PyAny>) -> Result<Paths, Wrong> {
    if given.is_none() {
        return Ok(Paths::NONE);
    }
    if let Some(path) = number(given) {
        return Ok(Paths::one(path));
    }
    let mut paths = Paths::NONE;
    for one in given.try_iter().map_err(|_| wrong(given))? {
        paths = paths.with(number(&one?).ok_or_else(|| wrong(given))?);
    }
    Ok(paths)
}

fn wrong(given: &Bound<'_, PyAny>) -> PyErr {
    let got = given.repr().map_or_else(|_| "something without a text".into(), |text| text.to_string());
    PyTypeError::new_err(format!("`pick` must return a path, several paths, their numbers, or `None`, got `{got}`"))
}

/// The number of a path, given as a number or as the path itself. `None`: it is neither.
fn number(given: &Bound<'_, PyAny>) -> Option<usize> {
    let path = given.cast::<PathView>().map_or_else(|_| given.extract().ok(), |path| Some(path.get().0.path));
    path.filter(|path| *path < MAX_PATHS)
}

impl PathScheduler for PythonScheduler {
    fn pick(&mut self, now: Time, paths: &[core::PathView], seg: &core::SegView) -> Paths {
        let picked = self.script.call(PICK, |_, pick| {
            let views: Vec<PathView> = paths.iter().map(|view| PathView(*view)).collect();
            picked(&pick.call1((now.as_ns(), views, SegView(*seg)))?).map(Some)
        });
        picked.unwrap_or(Paths::NONE)
    }
    fn replicates(&self) -> bool {
        self.replicates
    }
    fn queues_ahead(&self) -> bool {
        self.queues_ahead
    }
    fn on_relations(&mut self, relations: &Related) {
        self.script.call(ON_RELATIONS, |_, method| Ok(method.call1((Relations(relations.clone()),)).map(drop)?));
    }
}

impl OutsideScheduler for PythonScheduler {
    fn clone_box(&self) -> Box<dyn OutsideScheduler> {
        Box::new(PythonScheduler { script: self.script.copy(), ..*self })
    }
}
