//! Without Linux there are no guest kernels and no wire: the same functions, which raise an error that says so.

use crate::error::InputError;
use crate::run::{Progress, Run};
use crate::scenario::Scenario;
use pyo3::prelude::*;

/// Declares functions that raise that error.
macro_rules! refused {
    ($why:literal; $($(#[$signature:meta])? fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty;)+) => {
        $(
            /// Raises `InputError`.
            #[pyfunction]
            $(#[$signature])?
            pub(crate) fn $name($($arg: $type),*) -> PyResult<$out> {
                let _ = ($($arg,)*);
                Err(InputError::new_err($why))
            }
        )+
    };
}

pub(crate) mod kernel {
    use super::*;

    refused! {
        "world must be sim here, got kernel; a guest kernel needs Linux on x86-64";
        #[pyo3(signature = (scenario, controls, accurate_ecn = false))]
        fn kernel_check(scenario: &Bound<'_, Scenario>, controls: Vec<String>, accurate_ecn: bool) -> ();
        #[pyo3(signature = (scenario, seed, vmlinux, guest, options = "{}", progress = None))]
        fn kernel_run(scenario: &Bound<'_, Scenario>, seed: u64, vmlinux: String, guest: String, options: &str,
            progress: Option<&Bound<'_, Progress>>) -> Run;
        #[pyo3(signature = (scenario, options = "{}"))]
        fn kernel_cost(scenario: &Bound<'_, Scenario>, options: &str) -> f64;
        fn kernel_about(vmlinux: String, guest: String) -> String;
        fn kernel_confined() -> bool;
    }
}

pub(crate) mod wire {
    use super::*;

    /// There is none.
    #[pyclass(frozen, module = "haltere._core")]
    pub(crate) struct LiveNetwork;

    #[pymethods]
    impl LiveNetwork {
        /// Raises `InputError`.
        #[new]
        #[pyo3(signature = (scenario, outside = None))]
        fn new(scenario: &Bound<'_, Scenario>, outside: Option<&str>) -> PyResult<LiveNetwork> {
            let _ = (scenario, outside);
            Err(InputError::new_err("networks of namespaces need Linux"))
        }
    }

    refused! {
        "world must be sim here, got wire; real packets need Linux";
        fn wire_check(scenario: &Bound<'_, Scenario>) -> ();
        #[pyo3(signature = (scenario, seed, progress = None, calibrate = "refuse", ftp_server = Vec::new(), gso = false))]
        fn wire_run(scenario: &Bound<'_, Scenario>, seed: u64, progress: Option<&Bound<'_, Progress>>, calibrate: &str,
            ftp_server: Vec<String>, gso: bool) -> Run;
        fn wire_router(scenario: &Bound<'_, Scenario>, options: &str, signals: i32) -> ();
    }
}
