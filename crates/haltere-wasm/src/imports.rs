//! What a module may import, all from `haltere`: see [`IMPORTS`](crate::abi::IMPORTS).

use crate::about::Kind;
use crate::limits;
use crate::machine::Host;
use crate::module::engine;
use haltere_queue::{DropReason, MarkReason};
use wasmi::{Caller, Error, Extern, ExternType, FuncType, Linker, ValType};

/// The imports of a module of that kind; `None`: all of them.
pub(crate) fn linker(kind: Option<Kind>) -> Linker<Host> {
    let all = "each name is defined once";
    let mut linker = Linker::new(engine());
    linker.func_wrap("haltere", "fail", fail).expect(all);
    if kind != Some(Kind::Queue) {
        let ask = |mut c: Caller<'_, Host>| c.data_mut().ask_reduction();
        linker.func_wrap("haltere", "ask_reduction", ask).expect(all);
    }
    if kind == Some(Kind::Control) {
        linker.func_wrap("haltere", "random", |mut c: Caller<'_, Host>| c.data_mut().random() as i64).expect(all);
    } else {
        linker.func_wrap("haltere", "random", random).expect(all);
        linker.func_wrap("haltere", "drop", drop_packet).expect(all);
        linker.func_wrap("haltere", "mark", mark).expect(all);
    }
    linker
}

/// A queue discipline draws a random number.
fn random(mut caller: Caller<'_, Host>) -> Result<i64, Error> {
    caller.data().decisions.check("random")?;
    Ok(caller.data_mut().random() as i64)
}

/// A queue discipline drops a packet. A number below 0 is that of no packet.
fn drop_packet(mut caller: Caller<'_, Host>, id: i64, reason: i32) -> Result<(), Error> {
    let reason = if reason == 0 { DropReason::Overlimit } else { DropReason::Congestion };
    caller.data_mut().decisions.drop(id as u64, reason)
}

/// A queue discipline marks a packet.
fn mark(mut caller: Caller<'_, Host>, id: i64, reason: i32) -> Result<i32, Error> {
    let reason = if reason == 0 { MarkReason::Congestion } else { MarkReason::Threshold };
    caller.data_mut().decisions.mark(id as u64, reason).map(i32::from)
}

/// The module gives up, with a message in its memory.
fn fail(caller: Caller<'_, Host>, at: i32, len: i32) -> Result<(), Error> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    let from = at as u32 as usize;
    let to = from.saturating_add((len as u32 as usize).min(limits::MESSAGE_BYTES));
    let bytes = memory.and_then(|memory| memory.data(&caller).get(from..to)).unwrap_or_default();
    Err(Error::new(format!("the failure `{}`", String::from_utf8_lossy(bytes))))
}

/// Checks that a module imports nothing else; `None`: of any kind.
pub(crate) fn check(module: &wasmi::Module, kind: Option<Kind>) -> Result<(), String> {
    let verdict = [ValType::I64, ValType::I32];
    let known = [
        ("ask_reduction", FuncType::new([], []), "ask_reduction()", Some(Kind::Control)),
        ("random", FuncType::new([], [ValType::I64]), "random() -> i64", None),
        ("fail", FuncType::new([ValType::I32; 2], []), "fail(i32, i32)", None),
        ("drop", FuncType::new(verdict, []), "drop(i64, i32)", Some(Kind::Queue)),
        ("mark", FuncType::new(verdict, [ValType::I32]), "mark(i64, i32) -> i32", Some(Kind::Queue)),
    ];
    let known = || known.iter().filter(|(.., of)| kind.is_none() || of.is_none() || kind == *of);
    for import in module.imports() {
        let fits = |ty: &FuncType| matches!(import.ty(), ExternType::Func(func) if func == ty);
        let is_known = known().any(|(name, ty, ..)| import.name() == *name && fits(ty));
        if import.module() != "haltere" || !is_known {
            let what = kind.map_or("a module", Kind::name);
            let all = known().map(|(_, _, written, _)| format!("`haltere.{written}`")).collect::<Vec<_>>().join(", ");
            return Err(format!(
                "an import of {what} must be one of {all}, got `{}.{}`",
                import.module(),
                import.name()
            ));
        }
    }
    Ok(())
}
