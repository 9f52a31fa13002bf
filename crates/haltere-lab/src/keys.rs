//! Keys of tables: their defaults, and the key `kind` of a table that is one of several.

/// Functions that give defaults of keys, as serde wants them: `defaults! { pairs: u32 = 1; }`.
macro_rules! defaults {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)+) => {
        $($(#[$doc])* fn $name() -> $type { $value })+
    };
}
pub(crate) use defaults;

/// Makes the type of the key `kind` of one table, such as a trace.
macro_rules! kind {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $text:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(inline, extend("const" = $text))]
        pub enum $name {
            #[default]
            /// The only one.
            $variant,
        }
    };
}
pub(crate) use kind;
