//! Random numbers of the end that is being called: a counter through SplitMix64, a thread at a time.
#![expect(unsafe_code, reason = "the symbol by which the crate getrandom asks for the system's random numbers")]

use std::cell::Cell;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

pub fn set(state: u64) {
    STATE.set(state);
}

pub fn get() -> u64 {
    STATE.get()
}

fn next() -> u64 {
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub fn fill(bytes: &mut [u8]) {
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&next().to_le_bytes()[..chunk.len()]);
    }
}

/// What a stack draws from `rand::rng()` from now on follows from the end's seed.
pub fn reseed() {
    rand::rng().reseed().expect("the source below does not fail");
}

/// The system's random numbers, as this library sees them (`getrandom_backend="custom"`).
// SAFETY: the signature is that of getrandom's custom backend, and nothing else has the name in this library.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(at: *mut u8, len: usize) -> Result<(), getrandom::Error> {
    // SAFETY: getrandom passes a buffer of so many bytes, which may be uninitialised: it is written, not read.
    unsafe { core::ptr::write_bytes(at, 0, len) };
    // SAFETY: as above, and now it is initialised.
    fill(unsafe { core::slice::from_raw_parts_mut(at, len) });
    Ok(())
}
