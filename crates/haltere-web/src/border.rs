//! The border to JavaScript: four functions and one buffer.
//!
//! The worker calls [`haltere_take`] with the length of its request, writes the request where it points, calls
//! [`haltere_answer`], and reads as many bytes at [`haltere_at`]. A panic leaves its message in the buffer, so the worker
//! can report it after the trap.
#![expect(unsafe_code, reason = "functions that a module exports keep their names, which the compiler cannot check")]

use crate::Laboratory;
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static LABORATORY: RefCell<Laboratory> = RefCell::default();
}

/// Makes room for a request of so many bytes: where it is to be written.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn haltere_take(length: usize) -> *mut u8 {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.clear();
        buffer.resize(length, 0);
        buffer.as_mut_ptr()
    })
}

/// Answers the request in the buffer: the length of the answer.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn haltere_answer() -> usize {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| drop(BUFFER.try_with(|buffer| buffer.replace(info.to_string().into())))));
    });
    let request = BUFFER.take();
    let answer = LABORATORY.with_borrow_mut(|laboratory| laboratory.ask(&request));
    let length = answer.len();
    BUFFER.set(answer);
    length
}

/// Where the answer is, and after a trap the message of the panic.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn haltere_at() -> *const u8 {
    BUFFER.with_borrow(|buffer| buffer.as_ptr())
}

/// How many bytes are there.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn haltere_length() -> usize {
    BUFFER.with_borrow(Vec::len)
}
