//! A traffic source written in Python.

use super::fault::refused;
use super::script::{Kind, Script, Wrong, about, seed};
use haltere_plan::app::outside::{Maker, OutsideSource, Params};
use haltere_transport::Connection;
use haltere_units::outside::{About, Location, Origin};
use haltere_units::{Bytes, ParamError, Time};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

static KIND: Kind = Kind { name: "sources", methods: &["step", "on_client", "on_server"] };
const STEP: usize = 0;
const ON_CLIENT: usize = 1;
const ON_SERVER: usize = 2;

/// Makes traffic sources.
pub(super) struct Sources;

impl Maker for Sources {
    fn about(&self, at: Location<'_>) -> Result<About, ParamError> {
        about(&KIND, at)
    }
    fn make(&self, params: &Params, origin: &Origin) -> Result<Box<dyn OutsideSource>, ParamError> {
        let made = Python::attach(|py| -> PyResult<_> {
            let script = Script::new(&KIND, params, &origin.outside, &seed(py, origin.seed)?)?;
            let limit = script.object(py).getattr("limit")?.extract()?;
            Ok(PythonSource { script, limit, received: 0 })
        });
        Ok(Box::new(made.map_err(refused)?))
    }
}

#[derive(Debug)]
struct PythonSource {
    script: Script,
    limit: Option<u64>,
    received: u64,
}

impl PythonSource {
    /// Tells the class what it may know of the socket, calls it, and writes into the socket what it wrote. Returns when
    /// its next step is due.
    fn call(&mut self, method: usize, now: Time, received: Option<u64>, socket: &mut Connection) -> Option<Time> {
        self.script.call(method, |object, method| {
            let py = object.py();
            object.setattr(intern!(py, "writable"), socket.writable().as_u64())?;
            object.setattr(intern!(py, "unacknowledged"), socket.unacknowledged().as_u64())?;
            let due = match received {
                None => method.call1((now.as_ns(),)),
                Some(bytes) => method.call1((now.as_ns(), bytes)),
            };
            let due = due?.extract::<Option<u64>>()?.map(Time::from_ns);
            let written: u64 = object.getattr(intern!(py, "_written"))?.extract()?;
            if written > 0 {
                object.setattr(intern!(py, "_written"), 0)?;
                socket.write(Bytes::new(written));
            }
            if object.getattr(intern!(py, "_closed"))?.extract()? {
                object.setattr(intern!(py, "_closed"), false)?;
                socket.close();
            }
            match due {
                Some(due) if due <= now => Err(Wrong::Raised(PyValueError::new_err(format!(
                    "the next step must be after {} ns, got {}",
                    now.as_ns(),
                    due.as_ns()
                )))),
                due => Ok(due),
            }
        })
    }
}

impl OutsideSource for PythonSource {
    fn limit(&self) -> Option<u64> {
        self.limit
    }
    fn step(&mut self, now: Time, client: &mut Connection) -> Option<Time> {
        self.call(STEP, now, None, client)
    }
    fn on_client(&mut self, now: Time, client: &mut Connection) -> Option<Time> {
        let bytes = client.read(u64::MAX);
        self.received += bytes;
        self.call(ON_CLIENT, now, Some(bytes), client)
    }
    fn on_server(&mut self, now: Time, server: &mut Connection, bytes: u64) {
        if bytes > 0 {
            self.call(ON_SERVER, now, Some(bytes), server);
        }
    }
    fn received(&self) -> u64 {
        self.received
    }
}
