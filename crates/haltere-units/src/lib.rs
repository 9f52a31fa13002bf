//! Quantities with units.
//!
//! Every quantity that crosses an interface of Haltere has a type of its own: [`Time`] and [`Dur`] in whole
//! nanoseconds, [`Rate`] in bit/s, [`Bytes`], [`Size`] (packets, bytes or bandwidth-delay products)
//! and [`Prob`]. Each is written in experiment files as text with its unit (`"5ms"`, `"10Mbit"`,
//! `"90kB"`), is read exactly (no rounding through floating point: what cannot be represented is an
//! error) and is printed so that reading it back gives the same value.
//!
//! ```
//! use haltere_units::{Bytes, Dur, Rate};
//!
//! let rate: Rate = "10Mbit".parse()?;
//! assert_eq!(rate.time_for(Bytes::new(1250)), "1ms".parse::<Dur>()?);
//! assert!("10.5bit".parse::<Rate>().is_err());
//! # Ok::<(), haltere_units::UnitError>(())
//! ```

#![no_std]
extern crate alloc;

#[macro_use]
mod macros;
mod decimal;
mod ecn;
mod error;
pub mod outside;
#[doc(hidden)]
pub mod params;
mod prob;
mod probe;
mod rate;
mod registry;
mod size;
mod time;

#[doc(hidden)]
pub use alloc::boxed::Box as Boxed;
pub use ecn::Ecn;
pub use error::{ParamError, UnitError};
pub use prob::Prob;
pub use probe::Probe;
pub use rate::{Rate, Serialisation};
pub use size::{Bytes, Size};
pub use time::{Dur, Time};
