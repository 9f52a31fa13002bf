//! A path scheduler written in Python.

use super::{FIND, about, fault, refused};
use haltere_transport::multipath::correlation::Relations as Related;
use haltere_transport::multipath::scheduler::PathScheduler;
use haltere_transport::multipath::scheduler::outside::{Maker, OutsideScheduler, Params};
use haltere_transport::multipath::{self as core, MAX_PATHS, Paths};
use haltere_units::outside::{About, Location, Origin, Reporter};
use haltere_units::{Bytes, ParamError, Time};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Makes them.
pub(super) struct Schedulers;

impl Maker for Schedulers {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        about("schedulers", at)
    }
    fn make(&self, params: &Params, origin: &Origin) -> Result<Box<dyn OutsideScheduler>, ParamError> {
        let made = Python::attach(|py| PythonScheduler::new(py, params, origin)).map_err(refused)?;
        Ok(Box::new(made))
    }
}

/// One path as a scheduler sees it.
#[pyclass(frozen, get_all, module = "haltere._core")]
pub(crate) struct PathView {
    /// The path's number, from 0.
    path: usize,
    /// Established, and not silent since a timeout.
    usable: bool,
    /// The window has room for a segment now; for a scheduler that queues ahead: the subflow's buffer has room.
    ready: bool,
    /// Smoothed round-trip time in nanoseconds; 0 before the first sample.
    srtt: u64,
    /// Its variation in nanoseconds.
    rttvar: u64,
    /// Congestion window in bytes.
    cwnd: u64,
    /// Slow-start threshold in bytes; `None` before the first reduction.
    ssthresh: Option<u64>,
    /// Bytes in flight.
    in_flight: u64,
    /// Bytes given to the path and not acknowledged on it.
    queued: u64,
    /// Payload bytes of a full segment.
    mss: u64,
}

#[pymethods]
impl PathView {
    /// Usable and ready.
    #[getter]
    fn is_open(&self) -> bool {
        self.usable && self.ready
    }
}

impl From<&core::PathView> for PathView {
    fn from(view: &core::PathView) -> PathView {
        PathView {
            path: view.path,
            usable: view.usable,
            ready: view.ready,
            srtt: view.srtt.as_ns(),
            rttvar: view.rttvar.as_ns(),
            cwnd: view.cwnd.as_u64(),
            ssthresh: (view.ssthresh != Bytes::MAX).then(|| view.ssthresh.as_u64()),
            in_flight: view.in_flight.as_u64(),
            queued: view.queued.as_u64(),
            mss: view.mss.as_u64(),
        }
    }
}

/// The segment to be sent, as a scheduler sees it.
#[pyclass(frozen, get_all, module = "haltere._core")]
pub(crate) struct SegView {
    /// Its payload bytes.
    len: u64,
    /// The numbers of the paths that have carried it already.
    carried: Vec<usize>,
    /// Bytes that wait to be sent for the first time, this segment included.
    waiting: u64,
    /// Bytes sent and not acknowledged to the connection.
    unacked: u64,
    /// Bytes that the receiver's window leaves open, this segment included.
    window: u64,
}

impl From<&core::SegView> for SegView {
    fn from(seg: &core::SegView) -> SegView {
        SegView {
            len: seg.len.as_u64(),
            carried: (0..MAX_PATHS).filter(|&path| seg.carried.contains(path)).collect(),
            waiting: seg.waiting.as_u64(),
            unacked: seg.unacked.as_u64(),
            window: seg.window.as_u64(),
        }
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

/// A scheduler written in Python.
#[derive(Debug)]
struct PythonScheduler {
    object: Py<PyAny>,
    pick: Py<PyAny>,
    on_relations: Option<Py<PyAny>>,
    replicates: bool,
    queues_ahead: bool,
    reporter: Reporter,
    has_failed: bool,
}

/// What Python gives of a scheduler.
type Made = (Py<PyAny>, Py<PyAny>, Option<Py<PyAny>>, bool, bool);

impl PythonScheduler {
    fn new(py: Python<'_>, params: &Params, origin: &Origin) -> PyResult<PythonScheduler> {
        let Params { source, folder, digest, .. } = params;
        let parameters = serde_json::to_string(&params.parameters).unwrap_or_default();
        let made =
            py.import(FIND)?.call_method1("make_scheduler", (source, folder, digest, parameters, origin.seed))?;
        Ok(PythonScheduler::of(made.extract()?, Reporter::new(params, &origin.outside)))
    }
    fn of(made: Made, reporter: Reporter) -> PythonScheduler {
        let (object, pick, on_relations, replicates, queues_ahead) = made;
        PythonScheduler { object, pick, on_relations, replicates, queues_ahead, reporter, has_failed: false }
    }
    fn failed<T: Default>(&mut self, py: Python<'_>, call: &str, outcome: PyResult<T>) -> T {
        outcome.unwrap_or_else(|error| {
            self.has_failed = true;
            fault::raised(py, &self.reporter, call, error);
            T::default()
        })
    }
}

/// The paths that `pick` returned: a path or its number, several of them, or none.
fn picked(given: &Bound<'_, PyAny>) -> PyResult<Paths> {
    if given.is_none() {
        return Ok(Paths::NONE);
    }
    if let Some(path) = number(given)? {
        return Ok(Paths::one(path));
    }
    let Ok(several) = given.try_iter() else { return Err(wrong(given)?) };
    let mut paths = Paths::NONE;
    for one in several {
        let one = one?;
        match number(&one)? {
            Some(path) => paths = paths.with(path),
            None => return Err(wrong(given)?),
        }
    }
    Ok(paths)
}

/// The number of a path, given as a number or as the path itself. `None`: it is neither.
fn number(given: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    let path = match given.cast::<PathView>() {
        Ok(path) => Some(path.get().path),
        Err(_) => given.extract::<usize>().ok(),
    };
    match path {
        Some(path) if path >= MAX_PATHS => Err(wrong(given)?),
        path => Ok(path),
    }
}

fn wrong(given: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let text = format!("`pick` must return a path, several paths, their numbers, or `None`, got `{}`", given.repr()?);
    Ok(PyTypeError::new_err(text))
}

impl PathScheduler for PythonScheduler {
    fn pick(&mut self, now: Time, paths: &[core::PathView], seg: &core::SegView) -> Paths {
        if self.has_failed {
            return Paths::NONE;
        }
        Python::attach(|py| {
            let views: Vec<PathView> = paths.iter().map(PathView::from).collect();
            let outcome = self.pick.bind(py).call1((now.as_ns(), views, SegView::from(seg)));
            let outcome = outcome.and_then(|given| picked(&given));
            self.failed(py, "pick", outcome)
        })
    }
    fn replicates(&self) -> bool {
        self.replicates
    }
    fn queues_ahead(&self) -> bool {
        self.queues_ahead
    }
    fn on_relations(&mut self, relations: &Related) {
        if self.has_failed || self.on_relations.is_none() {
            return;
        }
        Python::attach(|py| {
            let Some(method) = &self.on_relations else { return };
            let outcome = method.bind(py).call1((Relations(relations.clone()),)).map(drop);
            self.failed(py, "on_relations", outcome);
        });
    }
}

impl OutsideScheduler for PythonScheduler {
    fn clone_box(&self) -> Box<dyn OutsideScheduler> {
        Python::attach(|py| {
            let copied: PyResult<Made> =
                py.import(FIND).and_then(|find| find.call_method1("copy", (&self.object,))?.extract());
            let same = copied.unwrap_or_else(|error| {
                fault::raised(py, &self.reporter, "copy", error);
                let on_relations = self.on_relations.as_ref().map(|one| one.clone_ref(py));
                let (object, pick) = (self.object.clone_ref(py), self.pick.clone_ref(py));
                (object, pick, on_relations, self.replicates, self.queues_ahead)
            });
            Box::new(PythonScheduler {
                has_failed: self.has_failed,
                ..PythonScheduler::of(same, self.reporter.clone())
            }) as Box<dyn OutsideScheduler>
        })
    }
}
