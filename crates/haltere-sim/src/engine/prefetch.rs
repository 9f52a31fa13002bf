//! Prefetches of memory lines into the cache.

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Prefetches the line at `place`, which may be any address.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "a prefetch has no safe wrapper"))]
pub(crate) fn fetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and cannot fault, whatever the address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Prefetches all lines of a value.
#[inline(always)]
pub(crate) fn fetch_all<T>(value: &T) {
    let start: *const u8 = (&raw const *value).cast();
    for line in 0..size_of::<T>() / LINE {
        fetch(start.wrapping_add(line * LINE));
    }
    fetch(start.wrapping_add(size_of::<T>() - 1));
}
