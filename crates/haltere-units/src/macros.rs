//! What the quantities have in common: reading, printing and arithmetic that refuses to overflow.

/// An operator of two quantities that are counted in 64 bits, and its assignment. An overflow is a broken invariant,
/// because values are bounded when a scenario is read: it panics with both values.
macro_rules! operator {
    (
        $trait:ident $method:ident $(($assign:ident $assigned:ident))?:
        $left:ident, $right:ident $(.$field:tt)? => $out:ident, $checked:ident, $message:literal
    ) => {
        impl core::ops::$trait<$right> for $left {
            type Output = $out;
            #[inline]
            fn $method(self, other: $right) -> $out {
                // The panic stands apart, so that the usual case is small enough to be inlined.
                #[cold]
                #[inline(never)]
                fn broken(left: u64, right: u64) -> ! {
                    panic!($message, left, right)
                }
                let other: u64 = other$(.$field)?;
                match self.0.$checked(other) {
                    Some(n) => $out(n),
                    None => broken(self.0, other),
                }
            }
        }
        $(impl core::ops::$assign<$right> for $left {
            #[inline]
            fn $assigned(&mut self, other: $right) {
                *self = core::ops::$trait::$method(*self, other);
            }
        })?
    };
}

/// Serde and JSON Schema for a type that is written as text with a unit: its name, pattern and description.
#[macro_export]
macro_rules! text_quantity {
    // A number of units in 64 bits.
    ($type:ident, $notation:ident, $name:literal, $pattern:literal, $what:literal) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<$type, UnitError> {
                decimal::parse(text, &$notation).map($type)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                decimal::print(f, self.0, $notation.printed)
            }
        }
        $crate::text_quantity!($type, $name, $pattern, $what);
    };
    ($type:ty, $name:literal, $pattern:literal, $what:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <alloc::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string", "format": $name, "pattern": $pattern, "description": $what
                })
            }
        }
    };
}
