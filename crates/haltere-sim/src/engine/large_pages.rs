//! Large lists in large memory pages.
//!
//! A list of ten thousand flows spans thousands of pages of 4 KiB. The processor's TLB holds fewer, so nearly each
//! access would read the page tables. Linux maps a range with pages of 2 MiB on request (`madvise`, MADV_HUGEPAGE;
//! allowed by default). Other systems, and a Linux that refuses, use small pages.

/// Bytes of the smallest list that gains from large pages.
#[cfg(target_os = "linux")]
const LEAST: usize = 4 << 20;

/// An empty list with that capacity, in large pages if it takes much memory.
pub(crate) fn with_capacity<T>(capacity: usize) -> Vec<T> {
    let list = Vec::with_capacity(capacity);
    #[cfg(target_os = "linux")]
    advise(&list);
    list
}

/// Appends to a list. One that is full moves to another of twice its capacity.
pub(crate) fn push<T>(list: &mut Vec<T>, one: T) {
    if list.len() == list.capacity() {
        let mut larger = with_capacity((2 * list.capacity()).max(64));
        larger.append(list);
        *list = larger;
    }
    list.push(one);
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the call has no safe wrapper")]
fn advise<T>(list: &Vec<T>) {
    const PAGE: usize = 4096;
    let start = list.as_ptr() as usize;
    let end = start + list.capacity() * size_of::<T>();
    if end - start >= LEAST {
        let from = start.next_multiple_of(PAGE);
        // SAFETY: the range is the list's own; the advice changes how it is mapped, not its content. A refusal does no
        // harm.
        unsafe { libc::madvise(from as *mut libc::c_void, end - from, libc::MADV_HUGEPAGE) };
    }
}

/// Memory that was freed goes back to the system before a large list with that capacity is made. The allocator of glibc
/// would keep it for small objects.
pub(crate) fn make_room<T>(capacity: usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "the call has no safe wrapper")]
    if capacity * size_of::<T>() >= LEAST {
        // SAFETY: only pages that hold nothing are changed.
        unsafe { libc::malloc_trim(0) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = capacity;
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_large_list_holds_what_a_small_one_does() {
        for n in [0_u64, 10, 1 << 20] {
            let mut list = super::with_capacity(n as usize);
            list.extend(0..n);
            assert!(list.iter().copied().eq(0..n), "{n}");
        }
    }
}
