//! The Python extension `haltere._core`: conversions and errors, no algorithm and no I/O.

mod capture;
mod catalogue;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
mod files;
mod gym;
#[cfg(target_os = "linux")]
mod kernel;
mod live;
mod outside;
mod quantity;
mod run;
mod scenario;
mod tables;
mod traffic;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(not(target_os = "linux"))]
use elsewhere::{kernel, wire};
use haltere_units::outside::Makers;
use pyo3::prelude::*;

/// The compiled half of Haltere.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::capture::{capture_classify, capture_correlate, capture_defaults, capture_flows};
    #[pymodule_export]
    use super::catalogue::{describe, kinds, limits, names, schema};
    #[pymodule_export]
    use super::error::{HaltereError, InputError};
    #[pymodule_export]
    use super::gym::{Gym, GymPolicy, gym_actions, gym_counters, gym_fields};
    #[pymodule_export]
    use super::kernel::{
        KernelSession, kernel_about, kernel_check, kernel_confined, kernel_cost, kernel_fabric, kernel_hosts,
        kernel_run,
    };
    #[pymodule_export]
    use super::live::Live;
    #[pymodule_export]
    use super::outside::{
        AckEvent, LossEvent, LostSegment, Packet, PathView, RateSample, Relations, RestartEvent, RtoEvent, SegView,
        Sibling,
    };
    #[pymodule_export]
    use super::quantity::{parse_quantity, spell_quantity, traffic_name};
    #[pymodule_export]
    use super::run::{Progress, Run, run, sim_check};
    #[pymodule_export]
    use super::scenario::Scenario;
    #[pymodule_export]
    use super::tables::Table;
    #[pymodule_export]
    use super::traffic::traffic_kinds;
    #[pymodule_export]
    use super::wire::{LiveNetwork, wire_check, wire_router, wire_run};

    /// Haltere's version.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name in Python")]
    const version: &str = env!("CARGO_PKG_VERSION");
}

/// Adds everything that `haltere._core` has to the module of another extension, whose mechanisms these makers make.
pub fn fill(module: &Bound<'_, PyModule>, makers: Makers) -> PyResult<()> {
    outside::extend(makers)?;
    let own = pyo3::wrap_pymodule!(_core)(module.py());
    for (name, value) in own.bind(module.py()).dict() {
        if !name.extract::<&str>()?.starts_with("__") {
            module.add(name.extract::<&str>()?, value)?;
        }
    }
    Ok(())
}
