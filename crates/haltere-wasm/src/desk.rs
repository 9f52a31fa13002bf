//! What a queue discipline may ask for in the middle of a call: [`Verdicts`], which reach the imported functions past the engine.
//!
//! The engine's functions live as long as the module, and verdicts as long as one call. So a call leaves a pointer to them here, and takes it
//! away when it ends.
#![expect(unsafe_code, reason = "the engine has no way to lend something to imported functions for one call")]

use haltere_queue::outside::Verdicts;
use std::cell::Cell;
use std::ptr::NonNull;

thread_local! {
    /// The verdicts of the call that this thread carries out.
    static DESK: Cell<Option<NonNull<dyn Verdicts>>> = const { Cell::new(None) };
}

/// Puts back what was there before, however the call ends.
struct Before(Option<NonNull<dyn Verdicts>>);

impl Drop for Before {
    fn drop(&mut self) {
        DESK.set(self.0);
    }
}

/// Carries out `call`, in which [`ask`] reaches `verdicts`.
#[inline]
pub(crate) fn lend<R>(verdicts: &mut dyn Verdicts, call: impl FnOnce() -> R) -> R {
    let lent: NonNull<dyn Verdicts + '_> = NonNull::from(verdicts);
    // SAFETY: only the lifetime changes. `_before` takes the pointer away before the borrow of `verdicts` ends, also if `call` panics.
    let lent = unsafe { std::mem::transmute::<NonNull<dyn Verdicts + '_>, NonNull<dyn Verdicts + 'static>>(lent) };
    let _before = Before(DESK.replace(Some(lent)));
    call()
}

/// Asks the verdicts of the call that goes on. `None`: this call has none.
#[inline]
pub(crate) fn ask<R>(act: impl FnOnce(&mut dyn Verdicts) -> R) -> Option<R> {
    let before = Before(DESK.take());
    // SAFETY: `lend` is further up in this thread's stack, with the exclusive borrow that the pointer was made of, and does not use it
    // meanwhile. The pointer is not in `DESK` while `act` runs, so there is no second reference.
    before.0.map(|mut lent| act(unsafe { lent.as_mut() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_queue::{Backlog, DropReason, MarkReason};

    /// Gives 1, 2, 3 ... as random numbers.
    struct Counting(u64);
    impl Verdicts for Counting {
        fn drop(&mut self, _: u64, _: DropReason) {}
        fn mark(&mut self, _: u64, _: MarkReason) -> bool {
            false
        }
        fn random(&mut self) -> u64 {
            self.0 += 1;
            self.0
        }
        fn backlog(&self) -> Backlog {
            Backlog::default()
        }
    }

    fn random() -> Option<u64> {
        ask(|verdicts| verdicts.random())
    }

    #[test]
    fn verdicts_are_there_during_the_call_alone() {
        assert_eq!(random(), None);
        let mut outer = Counting(0);
        let told = lend(&mut outer, || {
            let first = random();
            let inner = lend(&mut Counting(10), random);
            (first, inner, random())
        });
        assert_eq!((told, outer.0), ((Some(1), Some(11), Some(2)), 2));
        assert_eq!(random(), None);
    }
    #[test]
    fn a_verdict_cannot_be_asked_for_within_another() {
        let mut verdicts = Counting(0);
        lend(&mut verdicts, || assert_eq!(ask(|_| random()), Some(None)));
        assert_eq!(verdicts.0, 0);
    }
    #[test]
    fn a_panic_takes_them_away() {
        let mut verdicts = Counting(0);
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lend(&mut verdicts, || panic!("enough"))));
        assert!(ended.is_err() && random().is_none());
    }
}
