//! Prefetches memory: a hint to the processor, without effect on machines that have no such hint.

/// Prefetches the cache lines in which `value` begins and ends: even a small value may span two.
#[inline]
#[allow(unsafe_code, reason = "the prefetch instruction has no safe wrapper")]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing into the program and cannot fault; the address comes from a reference.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = std::ptr::from_ref(value).cast::<i8>();
        _mm_prefetch::<_MM_HINT_T0>(first);
        _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(size_of::<T>().saturating_sub(1)));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
