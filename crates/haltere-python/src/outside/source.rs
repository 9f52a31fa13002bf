//! A traffic source written in Python.

use super::{FIND, about, fault, refused};
use haltere_plan::app::outside::{Maker, OutsideSource, Params};
use haltere_transport::Connection;
use haltere_units::outside::{About, Location, Origin, Reporter};
use haltere_units::{Bytes, ParamError, Time};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// Makes them.
pub(super) struct Sources;

impl Maker for Sources {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        about("sources", at)
    }
    fn make(&self, params: &Params, origin: &Origin) -> Result<Box<dyn OutsideSource>, ParamError> {
        let made = Python::attach(|py| PythonSource::new(py, params, origin)).map_err(refused)?;
        Ok(Box::new(made))
    }
}

/// A source written in Python.
#[derive(Debug)]
struct PythonSource {
    object: Py<PyAny>,
    step: Py<PyAny>,
    on_client: Option<Py<PyAny>>,
    on_server: Option<Py<PyAny>>,
    reporter: Reporter,
    limit: Option<u64>,
    received: u64,
    has_failed: bool,
}

/// What Python gives of a source.
type Made = (Py<PyAny>, Py<PyAny>, Option<Py<PyAny>>, Option<Py<PyAny>>, Option<u64>);

impl PythonSource {
    fn new(py: Python<'_>, params: &Params, origin: &Origin) -> PyResult<PythonSource> {
        let Params { source, folder, digest, .. } = params;
        let parameters = serde_json::to_string(&params.parameters).unwrap_or_default();
        let made: Made = py
            .import(FIND)?
            .call_method1("make_source", (source, folder, digest, parameters, origin.seed))?
            .extract()?;
        let (object, step, on_client, on_server, limit) = made;
        let reporter = Reporter::new(params, &origin.outside);
        Ok(PythonSource { object, step, on_client, on_server, reporter, limit, received: 0, has_failed: false })
    }
    /// Calls the class with what it may know of the socket, and writes into the socket what it wrote. When its next step is due.
    fn call(
        &self,
        method: &Bound<'_, PyAny>,
        now: Time,
        received: Option<u64>,
        socket: &mut Connection,
    ) -> PyResult<Option<Time>> {
        let py = method.py();
        let object = self.object.bind(py);
        object.setattr(intern!(py, "writable"), socket.writable().as_u64())?;
        object.setattr(intern!(py, "unacknowledged"), socket.unacknowledged().as_u64())?;
        let due = match received {
            None => method.call1((now.as_ns(),)),
            Some(bytes) => method.call1((now.as_ns(), bytes)),
        };
        let due: Option<u64> = due?.extract()?;
        let written: u64 = object.getattr(intern!(py, "_written"))?.extract()?;
        if written > 0 {
            object.setattr(intern!(py, "_written"), 0)?;
            socket.write(Bytes::new(written));
        }
        if object.getattr(intern!(py, "_closed"))?.extract()? {
            object.setattr(intern!(py, "_closed"), false)?;
            socket.close();
        }
        match due.map(Time::from_ns) {
            Some(due) if due <= now => Err(PyValueError::new_err(format!(
                "the next step must be after {} ns, got {}",
                now.as_ns(),
                due.as_ns()
            ))),
            due => Ok(due),
        }
    }
    fn failed<T: Default>(&mut self, py: Python<'_>, call: &str, outcome: PyResult<T>) -> T {
        outcome.unwrap_or_else(|error| {
            self.has_failed = true;
            fault::raised(py, &self.reporter, call, error);
            T::default()
        })
    }
}

impl OutsideSource for PythonSource {
    fn limit(&self) -> Option<u64> {
        self.limit
    }
    fn step(&mut self, now: Time, client: &mut Connection) -> Option<Time> {
        if self.has_failed {
            return None;
        }
        Python::attach(|py| {
            let outcome = self.call(self.step.bind(py), now, None, client);
            self.failed(py, "step", outcome)
        })
    }
    fn on_client(&mut self, now: Time, client: &mut Connection) -> Option<Time> {
        let bytes = client.read(u64::MAX);
        self.received += bytes;
        if self.has_failed || self.on_client.is_none() {
            return None;
        }
        Python::attach(|py| {
            let method = self.on_client.as_ref()?;
            let outcome = self.call(method.bind(py), now, Some(bytes), client);
            self.failed(py, "on_client", outcome)
        })
    }
    fn on_server(&mut self, now: Time, server: &mut Connection, bytes: u64) {
        if self.has_failed || self.on_server.is_none() || bytes == 0 {
            return;
        }
        Python::attach(|py| {
            let Some(method) = &self.on_server else { return };
            let outcome = self.call(method.bind(py), now, Some(bytes), server);
            self.failed(py, "on_server", outcome);
        });
    }
    fn received(&self) -> u64 {
        self.received
    }
}
