//! The macro behind every registry of mechanisms.

/// Makes the params enum of a registry: one variant per mechanism, told apart by `kind`.
///
/// `params_registry! { /// doc  pub enum QueueParams { DropTail(drop_tail::Params) = drop_tail, ... } }`
/// gives the enum with serde (internally tagged by `kind`), a JSON Schema, `NAMES`, `kind()` and
/// `default_of(name)`. The name is the variant in snake case, which is also the module's name. Every `Params` is `Default + Clone + PartialEq + Debug + Serialize + Deserialize +
/// JsonSchema`, with `#[serde(default, deny_unknown_fields)]`.
#[macro_export]
macro_rules! params_registry {
    ($(#[$doc:meta])* pub enum $name:ident { $($variant:ident($params:path) = $kind:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum $name {
            $(#[expect(missing_docs, reason = "the schema takes the text of the params struct")] $variant($params)),+
        }
        impl $name {
            /// The names of all mechanisms, in the registry's order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($kind)),+];

            /// The mechanism's name, as in experiment files and on the command line.
            pub fn kind(&self) -> &'static str {
                match self { $($name::$variant(_) => stringify!($kind)),+ }
            }
            /// The mechanism of that name with its defaults.
            pub fn default_of(name: &str) -> Option<$name> {
                $(if name == stringify!($kind) { return Some($name::$variant(Default::default())); })+
                None
            }
        }
    };
}
