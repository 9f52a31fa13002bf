//! The parameters of mechanisms, with their defaults and ranges beside them.

use crate::error::ParamError;
use crate::prob::Prob;
use crate::rate::Rate;
use crate::size::Bytes;
use crate::time::Dur;
use core::fmt::Display;

/// Makes the parameters of a mechanism: structs whose fields have their default and their range beside them, and the
/// enums that such fields choose from.
///
/// ```
/// haltere_units::params! {
///     /// What the mechanism does.
///     pub struct Params {
///         /// beta, from 0.1 to 0.99: the part of the window that is left after a loss.
///         pub beta: f64 = 0.7, [from 0.1 to 0.99];
///         /// Which rounding.
///         pub rounding: Rounding = Rounding::Down;
///     }
///     /// Which rounding.
///     pub enum Rounding {
///         /// To the next lower number.
///         Down,
///     }
/// }
/// ```
///
/// It derives what every `Params` has, `Default` among it, and a method `check`. That refuses a value out of its range:
/// `beta must be from 0.1 to 0.99, got 2; the default is 0.7`. A range is `[above A]`, `[at least A]`, `[from A to B]`,
/// `[above A and at most B]`, `[above A and below B]`; of a quantity with a unit A is 0. A text behind the range is a
/// further hint.
///
/// `pub struct Law: part` is flattened into other structs. `pub struct Params: flattens` has fields that are; the
/// laboratory then refuses unknown keys by the schema.
#[macro_export]
macro_rules! params {
    () => {};
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* } $($rest:tt)*) => {
        $crate::params! { @struct [serde(default, deny_unknown_fields)] [$($meta),*] $name { $($fields)* } }
        $crate::params! { $($rest)* }
    };
    ($(#[$meta:meta])* pub struct $name:ident: flattens { $($fields:tt)* } $($rest:tt)*) => {
        $crate::params! { @struct [serde(default), schemars(deny_unknown_fields)] [$($meta),*] $name { $($fields)* } }
        $crate::params! { $($rest)* }
    };
    ($(#[$meta:meta])* pub struct $name:ident: part { $($fields:tt)* } $($rest:tt)*) => {
        $crate::params! { @struct [serde(default)] [$($meta),*] $name { $($fields)* } }
        $crate::params! { $($rest)* }
    };
    ($(#[$meta:meta])* pub enum $name:ident { $($variants:tt)* } $($rest:tt)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        $(#[$meta])*
        pub enum $name { $($variants)* }
        $crate::params! { $($rest)* }
    };
    (@struct [$($by:meta),*] [$($meta:meta),*] $name:ident {
        $($(#[$about:meta])* pub $field:ident: $type:ty = $default:expr $(, [$($range:tt)+] $($hint:literal)?)?;)*
    }) => {
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $(#[$by])*
        $(#[$meta])*
        pub struct $name {
            $($(#[$about])* pub $field: $type,)*
        }
        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default),* }
            }
        }
        impl $name {
            /// An error if a value is out of its range.
            #[allow(dead_code, reason = "not all parameters have ranges")]
            fn check(&self) -> Result<(), $crate::ParamError> {
                $($($crate::params::Range {
                    text: stringify!($($range)+),
                    holds: $crate::params!(@holds $($range)+),
                    hint: concat!($($hint)?),
                }
                .check(stringify!($field), self.$field, || $name::default().$field)?;)?)*
                Ok(())
            }
        }
    };
    (@holds above $a:literal) => { |x| x > $a as f64 && x < f64::INFINITY };
    (@holds at least $a:literal) => { |x| x >= $a as f64 };
    (@holds from $a:literal to $b:literal) => { |x| x >= $a as f64 && x <= $b as f64 };
    (@holds above $a:literal and at most $b:literal) => { |x| x > $a as f64 && x <= $b as f64 };
    (@holds above $a:literal and below $b:literal) => { |x| x > $a as f64 && x < $b as f64 };
}

/// Refuses a field of `Params` by a rule that no range states, in a function that returns a result: `NAME must be RULE,
/// got VALUE; the default is ...`.
#[macro_export]
macro_rules! refuse {
    ($violated:expr, $params:ident . $name:ident, $rule:expr) => {
        if $violated {
            let error = $crate::ParamError::new(stringify!($name), $rule, &$params.$name);
            return Err(error.default_is(&Params::default().$name));
        }
    };
}

/// A range of values.
#[derive(Debug)]
#[doc(hidden)]
pub struct Range {
    pub text: &'static str,
    pub holds: fn(f64) -> bool,
    pub hint: &'static str,
}

impl Range {
    pub fn check<T: Number>(&self, name: &'static str, value: T, usual: impl Fn() -> T) -> Result<(), ParamError> {
        if (self.holds)(value.number()) {
            return Ok(());
        }
        let mut error = ParamError::new(name, self.text, value).default_is(usual());
        if !self.hint.is_empty() {
            error.hint += "; ";
            error.hint += self.hint;
        }
        Err(error)
    }
}

/// A value that a range may bound.
#[doc(hidden)]
pub trait Number: Display {
    /// In its base unit.
    fn number(&self) -> f64;
}

macro_rules! numbers {
    ($($type:ty: $value:ident => $number:expr),+ $(,)?) => {
        $(impl Number for $type {
            fn number(&self) -> f64 {
                let $value = *self;
                $number
            }
        })+
    };
}
numbers! {
    f64: x => x, u8: n => f64::from(n), u32: n => f64::from(n), Prob: p => p.as_f64(),
    Dur: span => span.as_ns() as f64, Bytes: bytes => bytes.as_f64(), Rate: rate => rate.as_bps_f64(),
}
