//! Captures: classifiers and correlators run on recorded traffic. Options come, and results go, as JSON.

use crate::error::{HaltereError, InputError, guard};
use crate::run::Progress;
use haltere_capture::{CaptureError, Watch, correlate, replay};
use haltere_lab::open_regular;
use haltere_queue::classify::ClassifierParams;
use haltere_transport::multipath::correlation::CorrelatorParams;
use pyo3::prelude::*;
use serde::Deserialize;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;

/// The Python error for a capture in that file. Everything but a cancellation is an input error.
fn told(path: &str, error: CaptureError) -> PyErr {
    match error {
        CaptureError::Cancelled => HaltereError::new_err("ended by the caller"),
        error @ (CaptureError::Param(_) | CaptureError::Nothing(_)) => InputError::new_err(error.to_string()),
        error => InputError::new_err(format!("{path}: {error}")),
    }
}

fn options<'a, T: Deserialize<'a>>(text: &'a str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| InputError::new_err(format!("options: {error}")))
}

fn json(report: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(report).map_err(|error| HaltereError::new_err(error.to_string()))
}

/// Opens a capture and returns its size. A pipe has none, so it is refused.
fn opened(path: &str) -> PyResult<(File, u64)> {
    let opened = open_regular(Path::new(path)).and_then(|file| file.metadata().map(|found| (file, found.len())));
    opened.map_err(|error| told(path, CaptureError::Open(error)))
}

/// Reports progress out of `total` bytes.
fn watch(progress: Option<&Progress>, total: u64) -> Watch<'_> {
    if let Some(progress) = progress {
        progress.end_ns.store(total, Ordering::Relaxed);
    }
    Watch { read: progress.map(|p| &p.at_ns), cancel: progress.map(|p| &p.cancelled), before: 0 }
}

/// What `capture_classify` and `capture_correlate` do without options, as JSON: an object for each.
#[pyfunction]
pub(crate) fn capture_defaults() -> PyResult<String> {
    let replay::Options { short, draws, seed, .. } = replay::Options::default();
    let correlate::Options { every, flows, least, source, .. } = correlate::Options::default();
    json(&serde_json::json!({
        "classify": { "classifiers": ClassifierParams::NAMES, "short": short, "draws": draws, "seed": seed },
        "correlate": { "methods": CorrelatorParams::NAMES, "every": every, "flows": flows, "least": least, "source": source },
    }))
}

/// Shows every packet of a capture to classifiers. Options and report are JSON.
#[pyfunction]
#[pyo3(signature = (path, options, progress = None))]
pub(crate) fn capture_classify(
    py: Python<'_>,
    path: &str,
    options: &str,
    progress: Option<&Bound<'_, Progress>>,
) -> PyResult<String> {
    let mut asked: replay::Options = self::options(options)?;
    asked.outside = crate::outside::languages().clone();
    let progress = progress.map(|p| p.get());
    py.detach(|| {
        let (file, size) = opened(path)?;
        let watch = watch(progress, size);
        let report = guard(|| replay::classify(file, &asked, watch))?;
        json(&report.map_err(|error| told(path, error))?)
    })
}

/// The TCP flows of a capture as JSON: a list of `start_ns`, `client`, `from_client` and `bytes`.
#[pyfunction]
#[pyo3(signature = (path, progress = None))]
pub(crate) fn capture_flows(py: Python<'_>, path: &str, progress: Option<&Bound<'_, Progress>>) -> PyResult<String> {
    let progress = progress.map(|p| p.get());
    py.detach(|| {
        let (file, size) = opened(path)?;
        let flows = guard(|| haltere_capture::flows(file, watch(progress, size)))?;
        json(&flows.map_err(|error| told(path, error))?)
    })
}

/// Which flows of captures share a bottleneck. A capture is one file or the files of its directions. Options and report
/// are JSON.
#[pyfunction]
#[pyo3(signature = (captures, options, progress = None))]
pub(crate) fn capture_correlate(
    py: Python<'_>,
    captures: Vec<Vec<String>>,
    options: &str,
    progress: Option<&Bound<'_, Progress>>,
) -> PyResult<String> {
    let asked: correlate::Options = self::options(options)?;
    let progress = progress.map(|p| p.get());
    py.detach(|| {
        let places =
            captures.iter().enumerate().flat_map(|(i, parts)| parts.iter().map(move |path| (i, path.as_str())));
        let (of, paths): (Vec<usize>, Vec<&str>) = places.unzip();
        // The first file is read twice; its position stands for the progress of all.
        let total = paths.first().map_or(Ok(0), |path| opened(path).map(|(_, size)| size))? * 2;
        let watch = watch(progress, total);
        let open = |file: usize| open_regular(Path::new(paths[file]));
        let report = guard(|| correlate::correlate(&of, open, &asked, watch))?;
        json(&report.map_err(|(file, error)| told(paths.get(file).copied().unwrap_or_default(), error))?)
    })
}
