//! A module: read, checked and compiled once, however many flows have it.

use crate::abi::{CONTROL, Layout, QUEUE};
use crate::about::{About, Kind};
use crate::imports::{self, linker};
use crate::machine::{Host, Machine};
use crate::{abi, globals, limits};
use std::sync::{Arc, OnceLock};
use wasmi::{Config, EnforcedLimits, Engine, ExternType, FuncType, Linker, ValType};

/// The engine of this process. It counts instructions, has no threads and no vector instructions, and makes every NaN
/// the same.
pub(crate) fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let mut config = Config::default();
        config.consume_fuel(true).allow_start_fn(false).ignore_custom_sections(true);
        config.wasm_multi_memory(false).wasm_tail_call(false).wasm_custom_page_sizes(false);
        config.compilation_mode(wasmi::CompilationMode::Eager);
        // 1,000 globals, 1,000 segments of elements and of data, 100 tables and 10,000 functions.
        config.enforced_limits(EnforcedLimits::strict());
        Engine::new(&config)
    })
}

/// A module that has been checked. Copies share it.
#[derive(Clone)]
pub struct Module(pub(crate) Arc<Compiled>);

/// What all instances of a module share.
pub(crate) struct Compiled {
    pub about: About,
    /// Name and unit of each state variable, for as long as the process lasts.
    pub state: Vec<(&'static str, &'static str)>,
    pub code: wasmi::Module,
    pub linker: Linker<Host>,
    /// It draws random numbers.
    pub draws: bool,
    /// Globals that a copy of a running mechanism takes over.
    pub globals: u32,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Module").field(&self.0.about.summary).finish()
    }
}

impl Module {
    /// Reads and checks a module. The error is `<what> must be <rule>, got <value>`.
    pub(crate) fn read(bytes: &[u8]) -> Result<Module, String> {
        if bytes.len() as u64 > limits::MODULE_BYTES {
            return Err(format!("module must be at most {} bytes, got {}", limits::MODULE_BYTES, bytes.len()));
        }
        if !bytes.starts_with(b"\0asm") {
            let what = if bytes.is_empty() { "an empty file" } else { "a file that does not begin with `\\0asm`" };
            return Err(format!("module must be WebAssembly in its binary format, got {what}"));
        }
        let elements = globals::section(bytes, globals::ELEMENTS).map_or(0, <[u8]>::len);
        if elements > limits::ELEMENT_SECTION_BYTES {
            let most = limits::ELEMENT_SECTION_BYTES;
            return Err(format!("the section of elements of a module must be at most {most} bytes, got {elements}"));
        }
        let compile = |bytes: &[u8]| {
            wasmi::Module::new(engine(), bytes).map_err(|error| {
                let rule = "WebAssembly without vector instructions, threads and a start function";
                format!("module must be {rule}, got one with the error: {error}")
            })
        };
        let original = compile(bytes)?;
        check_exports(&original)?;
        imports::check(&original, None)?;
        let globals = globals::count(bytes);
        let code = compile(&globals::exposed(bytes, globals))?;
        // The description decides which imports are allowed, so all of them are linked until it is read.
        let about = Machine::about(&code, &linker(None))?;
        imports::check(&original, Some(about.kind))?;
        check_kind(&original, &about)?;
        let state = about.state.iter().map(|s| (leaked(&s.name), leaked(&s.unit))).collect();
        let linker = linker(Some(about.kind));
        let draws = original.imports().any(|import| import.name() == "random");
        Ok(Module(Arc::new(Compiled { about, state, code, linker, draws, globals })))
    }

    /// What the module says of itself.
    pub fn about(&self) -> &About {
        &self.0.about
    }
}

/// A name that lasts as long as the process; a module is read once.
fn leaked(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// What every module exports.
fn check_exports(module: &wasmi::Module) -> Result<(), String> {
    if !matches!(module.get_export("memory"), Some(ExternType::Memory(_))) {
        return Err("module must export its memory as `memory`, got none".to_owned());
    }
    for name in ["haltere_abi", "haltere_about", "haltere_event", "haltere_answer"] {
        typed(module, name, &FuncType::new([], [ValType::I32]), true)?;
    }
    Ok(())
}

/// Checks the exports of a module of its kind: each event handler must belong to a known event.
fn check_kind(module: &wasmi::Module, about: &About) -> Result<(), String> {
    let (events, needed): (&[Layout], &[&str]) = match about.kind {
        Kind::Control => (CONTROL, &["start"]),
        Kind::Queue => (QUEUE, &["start", "enqueue", "dequeue"]),
    };
    let event = FuncType::new([], []);
    for layout in events {
        typed(module, layout.export, &event, needed.contains(&layout.export))?;
    }
    if !about.parameters.is_empty() {
        typed(module, "haltere_params", &FuncType::new([], [ValType::I32]), true)?;
    }
    let unknown = |name: &str| {
        (name.starts_with("on_") || name == "enqueue" || name == "dequeue")
            && events.iter().all(|layout| layout.export != name)
    };
    match module.exports().find(|export| unknown(export.name())) {
        None => Ok(()),
        Some(export) => {
            let names: Vec<String> = events.iter().map(|layout| format!("`{}`", layout.export)).collect();
            let what = about.kind.name();
            Err(format!("an event of {what} must be one of {}, got the export `{}`", names.join(", "), export.name()))
        }
    }
}

/// Checks that the export is a function of that type. It may be absent unless it is `needed`.
fn typed(module: &wasmi::Module, name: &str, ty: &FuncType, needed: bool) -> Result<(), String> {
    let result = if ty.results().is_empty() { "" } else { " -> i32" };
    match module.get_export(name) {
        Some(ExternType::Func(func)) if func == *ty => Ok(()),
        None if !needed => Ok(()),
        None => Err(format!("module must export the function `{name}(){result}`, got none of that name")),
        Some(_) => Err(format!("the export `{name}` must be a function `{name}(){result}`, got another type")),
    }
}

/// Checks what `haltere_abi` returned.
pub(crate) fn check_version(version: i32) -> Result<(), String> {
    match version {
        abi::VERSION => Ok(()),
        _ => Err(format!(
            "`haltere_abi` must return {}, got {version}; build the module with the template of this version",
            abi::VERSION
        )),
    }
}
