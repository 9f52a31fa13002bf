//! The macros behind every registry of mechanisms.

/// Makes a registry of mechanisms: one line an entry, from which everything else follows.
///
/// ```text
/// haltere_units::registry! {
///     /// A queue discipline with its parameters, distinguished by `kind`.
///     params QueueParams;
///     /// Any discipline of the registry.
///     any Queue<P>;
///     match each_discipline;
///
///     drop_tail => DropTail<P>;
///     red => Red<P>, boxed;
/// }
/// ```
///
/// The line `red => Red<P>, boxed;` declares the module `red` (the file `red.rs`), which holds `Params` and the
/// mechanism `Red<P>`. The module's name is the mechanism's name everywhere: in experiment files, on the command line,
/// in the reference. `match each_discipline, outside => Outside<P>;` declares the module `outside`, by which the
/// registry takes mechanisms from [outside](crate::outside) the tree: a variant of both enums that is not among `NAMES`
/// and not in the schema.
///
/// `boxed` keeps a large mechanism that few own from making the enum large. `reno => Reno in Started<>;` holds its
/// parameters as `Started<reno::Params>`: parameters that several mechanisms share, beside their own. The macro gives
///
/// * the modules;
/// * the enum of parameters by [`params_registry!`](crate::params_registry): serde tag, JSON Schema, `NAMES`, `kind`,
///   `default_of`;
/// * the enum of mechanisms, one variant each;
/// * a macro (here `each_discipline!`) that matches over either enum, for the modules declared below:
///   `each_discipline!(self, q => q.backlog())` asks the mechanism, `each_discipline!(params p in self => p.check())`
///   its parameters, and `each_discipline!(new p in params => (p, link)?)` calls its constructor.
#[macro_export]
macro_rules! registry {
    (@mechanism $module:ident $variant:ident ($($generic:ident)?)) => { $module::$variant$(<$generic>)? };
    (@mechanism $module:ident $variant:ident ($($generic:ident)?) boxed) => {
        $crate::Boxed<$module::$variant$(<$generic>)?>
    };
    (@outside $foreign:ident) => { $crate::outside::KIND };
    (@name $foreign:ident $params:ident) => { &$params.name };
    (@some $foreign:ident $params:ident) => { Some($params) };
    // `$d` is a dollar sign, for the variables of the macro that is made.
    (@match ($d:tt) $each:ident $params:ident $any:ident $($module:ident $variant:ident),+) => {
        macro_rules! $each {
            (new $d p:ident in $d params:expr => $d ($d arguments:tt)+) => {
                match $d params {
                    $($params::$variant($d p) => $any::$variant($module::$variant::new $d ($d arguments)+.into())),+
                }
            };
            (params $d p:ident in $d params:expr => $d body:expr) => {
                match $d params { $($params::$variant($d p) => $d body),+ }
            };
            ($d any:expr, $d m:ident => $d body:expr) => {
                match $d any { $($any::$variant($d m) => $d body),+ }
            };
        }
    };
    (
        $(#[$params_doc:meta])* params $params:ident;
        $(#[$any_doc:meta])* any $any:ident $(<$p:ident>)?;
        match $each:ident $(, $outside:ident => $foreign:ident $(<$q:ident>)? $(, $foreign_boxed:ident)?)?;
        $($module:ident => $variant:ident $(<$generic:ident>)? $(, $boxed:ident)? $(in $shared:ident $lt:tt $gt:tt)?;)+
    ) => {
        $(pub mod $module;)+
        $(pub mod $outside;)?

        $crate::params_registry! {
            $(#[$params_doc])*
            pub enum $params {
                $($variant($($shared $lt)? $module::Params $($gt)?) = $module),+
                $(; outside $foreign($outside::Params))?
            }
        }

        $(#[$any_doc])*
        #[expect(missing_docs, reason = "each variant is the mechanism of that name")]
        pub enum $any $(<$p>)? {
            $($variant($crate::registry!(@mechanism $module $variant ($($generic)?) $($boxed)?)),)+
            $($foreign($crate::registry!(@mechanism $outside $foreign ($($q)?) $($foreign_boxed)?)),)?
        }
        // Derives take no variants whose type is a macro's.
        impl$(<$p: Clone>)? Clone for $any$(<$p>)? {
            fn clone(&self) -> Self {
                match self {
                    $($any::$variant(m) => $any::$variant(m.clone()),)+
                    $($any::$foreign(m) => $any::$foreign(m.clone()),)?
                }
            }
        }
        impl$(<$p: core::fmt::Debug>)? core::fmt::Debug for $any$(<$p>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $($any::$variant(m) => f.debug_tuple(stringify!($variant)).field(m).finish(),)+
                    $($any::$foreign(m) => f.debug_tuple(stringify!($foreign)).field(m).finish(),)?
                }
            }
        }

        $crate::registry! { @match ($) $each $params $any $($module $variant),+ $(, $outside $foreign)? }
    };
}

/// Makes the enum of parameters of a registry: one variant a mechanism, distinguished by `kind`.
///
/// `params_registry! { /// doc  pub enum QueueParams { DropTail(drop_tail::Params) = drop_tail, ... } }` gives the enum
/// with serde (internally tagged by `kind`), a JSON Schema, `NAMES`, `kind()` and `default_of(name)`. The name is the
/// variant in snake case, which is also the module's name. Every `Params` is `Default + Clone + PartialEq + Debug +
/// Serialize + Deserialize + JsonSchema`, with `#[serde(default, deny_unknown_fields)]`.
#[macro_export]
macro_rules! params_registry {
    (
        $(#[$doc:meta])* pub enum $name:ident {
            $($variant:ident($params:ty) = $kind:ident),+ $(,)?
            $(; outside $foreign:ident($outside:path))?
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum $name {
            $(#[expect(missing_docs, reason = "the schema takes the text of the params struct")] $variant($params),)+
            $(
                /// A mechanism from outside the tree. It is among no `NAMES`, and the schema does not have it.
                #[schemars(skip)]
                $foreign($outside),
            )?
        }
        impl $name {
            /// The names of all mechanisms, in the registry's order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($kind)),+];

            /// The mechanism's name, as in experiment files and on the command line.
            pub fn kind(&self) -> &'static str {
                match self {
                    $($name::$variant(_) => stringify!($kind),)+
                    $($name::$foreign(_) => $crate::registry!(@outside $foreign),)?
                }
            }
            /// The mechanism's name in reports: its kind, or the name of one from outside the tree.
            pub fn label(&self) -> &str {
                match self {
                    $($name::$foreign(params) => $crate::registry!(@name $foreign params),)?
                    mechanism => mechanism.kind(),
                }
            }
            /// The parameters of a mechanism from outside the tree.
            pub fn outside(&self) -> Option<&$crate::outside::Params> {
                match self {
                    $($name::$foreign(params) => $crate::registry!(@some $foreign params),)?
                    #[allow(unreachable_patterns, reason = "not every registry takes others")]
                    _ => None,
                }
            }
            /// The mechanism of that name with its defaults.
            pub fn default_of(name: &str) -> Option<$name> {
                $(if name == stringify!($kind) { return Some($name::$variant(Default::default())); })+
                None
            }
        }
    };
}

/// Makes a macro that matches over an enum each of whose variants holds one value.
///
/// `matcher! { ($) each_flow: AnyFlow { Tcp, Cbr } }` makes `each_flow!(self, flow => flow.received())`.
#[macro_export]
macro_rules! matcher {
    // `$d` is a dollar sign, for the variables of the macro that is made.
    (($d:tt) $each:ident: $any:ident { $($variant:ident),+ $(,)? }) => {
        macro_rules! $each {
            ($d any:expr, $d m:ident => $d body:expr) => {
                match $d any { $($any::$variant($d m) => $d body),+ }
            };
        }
    };
}

/// Writes a trait's methods for an enum: each passes the call to the variant's value, by a
/// [`matcher!`](crate::matcher).
///
/// ```text
/// haltere_units::forward! { each_flow;
///     fn received(&self) -> u64;
///     fn stop(&mut self, fabric: &mut Fabric);
/// }
/// ```
#[macro_export]
macro_rules! forward {
    ($each:ident;) => {};
    ($each:ident;
        $(#[$meta:meta])* fn $name:ident(&$self:ident $(, $arg:ident: $ty:ty)*) $(-> $out:ty)?; $($rest:tt)*
    ) => {
        $(#[$meta])*
        fn $name(&$self $(, $arg: $ty)*) $(-> $out)? { $each!($self, it => it.$name($($arg),*)) }
        $crate::forward! { $each; $($rest)* }
    };
    ($each:ident;
        $(#[$meta:meta])* fn $name:ident(&mut $self:ident $(, $arg:ident: $ty:ty)*) $(-> $out:ty)?; $($rest:tt)*
    ) => {
        $(#[$meta])*
        fn $name(&mut $self $(, $arg: $ty)*) $(-> $out)? { $each!($self, it => it.$name($($arg),*)) }
        $crate::forward! { $each; $($rest)* }
    };
}
