//! A running mechanism: one instance of a module, with its memory.

use crate::abi::EVENT_BYTES;
use crate::about::About;
use crate::decisions::Decisions;
use crate::module::{Module, check_version};
use crate::{globals, limits};
use haltere_units::Time;
use wasmi::{Error, Instance, Linker, Memory, Store, StoreLimits, StoreLimitsBuilder, TrapCode, TypedFunc};

/// An event handler of a module.
pub(crate) type Handler = Option<TypedFunc<(), ()>>;

/// The host's state for one instance.
#[derive(Debug)]
pub(crate) struct Host {
    limits: StoreLimits,
    /// State of SplitMix64.
    random: u64,
    /// Whether a control asks for a reduction.
    reduction: Reduction,
    /// Only used by queue disciplines.
    pub decisions: Decisions,
}

/// The state of a control's request for a reduction, which only an acknowledgement may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reduction {
    /// This event may not ask.
    Closed,
    /// This event may ask.
    Open,
    /// The event has asked.
    Asked,
}

impl Host {
    fn new(seed: u64) -> Host {
        let limits = StoreLimitsBuilder::new().memory_size(limits::MEMORY_BYTES).memories(1).instances(1);
        let limits = limits.tables(limits::TABLES).table_elements(limits::TABLE_ELEMENTS).build();
        Host { limits, random: seed, reduction: Reduction::Closed, decisions: Decisions::default() }
    }
    /// The control asks for a reduction.
    pub fn ask_reduction(&mut self) -> Result<(), Error> {
        if self.reduction == Reduction::Closed {
            return Err(Error::new("a call of `ask_reduction`, which only `on_ack` may call"));
        }
        self.reduction = Reduction::Asked;
        Ok(())
    }
    /// From now on random numbers follow from `seed`.
    pub fn seed(&mut self, seed: u64) {
        self.random = seed;
    }
    /// 64 random bits. SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): seeds that differ by one give unrelated
    /// numbers.
    pub fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// One instance of a module.
pub(crate) struct Machine {
    pub module: Module,
    store: Store<Host>,
    instance: Instance,
    memory: Memory,
    /// Where events are written.
    event: usize,
    /// Where the answer is read.
    answer: usize,
    /// Fields of the answer, state variables included.
    answer_len: usize,
}

fn instantiate(
    code: &wasmi::Module,
    linker: &Linker<Host>,
    seed: u64,
) -> Result<(Store<Host>, Instance, Memory), String> {
    let mut store = Store::new(code.engine(), Host::new(seed));
    store.limiter(|host| &mut host.limits);
    refuel(&mut store);
    let instance = linker.instantiate_and_start(&mut store, code).map_err(|error| {
        format!(
            "module must start within {} bytes of memory and {} tables of {} elements, got: {error}",
            limits::MEMORY_BYTES,
            limits::TABLES,
            limits::TABLE_ELEMENTS
        )
    })?;
    let memory = instance.get_memory(&store, "memory").expect("checked when the module was read");
    // Some compilers put initial values that are not constants here.
    if let Ok(initialize) = instance.get_typed_func::<(), ()>(&store, "_initialize") {
        refuel(&mut store);
        initialize.call(&mut store, ()).map_err(|error| Failure::call("_initialize", &error, None).to_string())?;
    }
    Ok((store, instance, memory))
}

fn refuel(store: &mut Store<Host>) {
    store.set_fuel(limits::INSTRUCTIONS).expect("the engine counts");
}

/// Why a call failed, as the end of a sentence.
pub(crate) fn reason(error: &Error) -> String {
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => format!("no end within {} instructions", limits::INSTRUCTIONS),
        Some(TrapCode::UnreachableCodeReached) => "the instruction `unreachable`, a panic or an abort".to_owned(),
        Some(TrapCode::MemoryOutOfBounds) => "an access outside of its memory".to_owned(),
        Some(TrapCode::StackOverflow) => "a stack that overflows".to_owned(),
        Some(other) => format!("a trap: {other}"),
        None => error.to_string(),
    }
}

/// Calls an export that returns a number.
fn number(store: &mut Store<Host>, instance: Instance, name: &str) -> Result<i32, String> {
    refuel(store);
    let func = instance.get_typed_func::<(), i32>(&*store, name).expect("checked when the module was read");
    func.call(store, ()).map_err(|error| format!("`{name}` must return, got {}", reason(&error)))
}

/// Calls an export that returns an address with room for `len` bytes.
fn address(
    store: &mut Store<Host>,
    instance: Instance,
    memory: Memory,
    name: &str,
    len: usize,
) -> Result<usize, String> {
    let at = number(store, instance, name)? as u32 as usize;
    let size = memory.data(&*store).len();
    if at.is_multiple_of(8) && at != 0 && at.checked_add(len).is_some_and(|end| end <= size) {
        return Ok(at);
    }
    Err(format!("`{name}` must return a multiple of 8 with room for {len} bytes in a memory of {size} bytes, got {at}"))
}

impl Machine {
    /// The module's description.
    pub fn about(code: &wasmi::Module, linker: &Linker<Host>) -> Result<About, String> {
        let (mut store, instance, memory) = instantiate(code, linker, 0)?;
        check_version(number(&mut store, instance, "haltere_abi")?)?;
        let at = number(&mut store, instance, "haltere_about")? as u32 as usize;
        let data = memory.data(&store).get(at..).unwrap_or_default();
        let text = data.iter().take(limits::ABOUT_BYTES).position(|&byte| byte == 0).map(|end| &data[..end]);
        let text = text.and_then(|text| core::str::from_utf8(text).ok()).ok_or_else(|| {
            format!(
                "`haltere_about` must return the address of UTF-8 that ends with a zero byte within {} bytes, got {at}",
                limits::ABOUT_BYTES
            )
        })?;
        About::parse(text)
    }

    /// An instance of the module with these parameters. The answer has `fields`, and the state variables behind them.
    pub fn new(module: &Module, values: &[f64], fields: usize, seed: u64) -> Result<Machine, String> {
        let compiled = &module.0;
        let (mut store, instance, memory) = instantiate(&compiled.code, &compiled.linker, seed)?;
        let event = address(&mut store, instance, memory, "haltere_event", EVENT_BYTES)?;
        let answer_len = fields + compiled.state.len();
        let answer = address(&mut store, instance, memory, "haltere_answer", 8 * answer_len)?;
        if !values.is_empty() {
            let at = address(&mut store, instance, memory, "haltere_params", 8 * values.len())?;
            let room = memory.data_mut(&mut store)[at..].chunks_exact_mut(8);
            room.zip(values).for_each(|(to, value)| to.copy_from_slice(&value.to_le_bytes()));
        }
        Ok(Machine { module: module.clone(), store, instance, memory, event, answer, answer_len })
    }

    /// The function that handles an event, if the module has one.
    pub fn handler(&self, name: &str) -> Handler {
        self.instance.get_typed_func(&self.store, name).ok()
    }

    /// Writes the event and refills the fuel for one call.
    #[inline]
    fn prepare<const FIELDS: usize>(&mut self, event: &[i64; FIELDS]) {
        let memory = self.memory.data_mut(&mut self.store);
        // One bounds check for all fields. Bytes beyond them keep the values of an earlier event: a handler knows its
        // fields.
        let room =
            memory[self.event..self.event + EVENT_BYTES].first_chunk_mut::<EVENT_BYTES>().expect("so many bytes");
        for (i, value) in event.iter().enumerate() {
            room[8 * i..8 * i + 8].copy_from_slice(&value.to_le_bytes());
        }
        refuel(&mut self.store);
    }

    /// Writes the event and calls its handler.
    #[inline]
    pub fn call<const FIELDS: usize>(
        &mut self,
        handler: TypedFunc<(), ()>,
        event: &[i64; FIELDS],
    ) -> Result<(), Error> {
        self.prepare(event);
        handler.call(&mut self.store, ())
    }

    /// The host's state for this instance.
    #[inline]
    pub fn host(&mut self) -> &mut Host {
        self.store.data_mut()
    }

    /// From now on the control may ask for a reduction.
    #[inline]
    pub fn let_ask(&mut self) {
        self.store.data_mut().reduction = Reduction::Open;
    }
    /// From now on the control may not. True if it has asked.
    #[inline]
    pub fn has_asked(&mut self) -> bool {
        std::mem::replace(&mut self.store.data_mut().reduction, Reduction::Closed) == Reduction::Asked
    }

    /// The first fields of the answer.
    #[inline]
    pub fn answers<const FIELDS: usize>(&self) -> [i64; FIELDS] {
        let fields = &self.memory.data(&self.store)[self.answer..self.answer + 8 * FIELDS];
        core::array::from_fn(|i| i64::from_le_bytes(fields[8 * i..8 * i + 8].try_into().expect("8 bytes")))
    }

    /// Field `i` of the answer.
    #[inline]
    pub fn answer(&self, i: usize) -> i64 {
        let at = self.answer + 8 * i;
        let bytes = &self.memory.data(&self.store)[at..at + 8];
        i64::from_le_bytes(bytes.try_into().expect("8 bytes"))
    }

    /// The state variables, each with its name and unit.
    pub fn state(&self) -> impl Iterator<Item = (&'static str, &'static str, f64)> + '_ {
        let fields = self.answer_len - self.module.0.state.len();
        let names = self.module.0.state.iter().enumerate();
        names.map(move |(i, &(name, unit))| (name, unit, f64::from_bits(self.answer(fields + i) as u64)))
    }

    /// A copy with the same memory and globals.
    pub fn copy(&self) -> Machine {
        let compiled = &self.module.0;
        let (mut store, instance, memory) = instantiate(&compiled.code, &compiled.linker, self.store.data().random)
            .expect("it was instantiated before");
        store.data_mut().decisions = self.store.data().decisions.clone();
        let from = self.memory.data(&self.store);
        let pages = (from.len() - memory.data(&store).len()) as u64 >> 16;
        memory.grow(&mut store, pages).expect("the original grew as much");
        memory.data_mut(&mut store).copy_from_slice(from);
        for index in 0..compiled.globals {
            let name = globals::name(index);
            let value = self
                .instance
                .get_global(&self.store, &name)
                .expect("exported when the module was read")
                .get(&self.store);
            let to = instance.get_global(&store, &name).expect("exported when the module was read");
            if to.ty(&store).mutability().is_mut() {
                to.set(&mut store, value).expect("the type is the same");
            }
        }
        Machine { module: self.module.clone(), store, instance, memory, ..*self }
    }
}

/// A failed call or a wrong answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The export or the field of the answer.
    pub name: &'static str,
    /// What it must do.
    pub rule: &'static str,
    /// What it did, and when.
    pub got: String,
}

impl Failure {
    pub fn new(name: &'static str, rule: &'static str, got: String, now: Option<Time>) -> Failure {
        let when = now.map(|now| format!(" at {now}")).unwrap_or_default();
        Failure { name, rule, got: format!("{got}{when}") }
    }
    /// A call of an export that did not return.
    #[cold]
    pub fn call(export: &'static str, error: &Error, now: Option<Time>) -> Failure {
        Failure::new(export, "return", reason(error), now)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} must {}, got {}", self.name, self.rule, self.got)
    }
}
