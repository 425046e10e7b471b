//! Prefetches memory: a hint to the processor, without effect on machines that have no such hint.

/// Bytes per cache line, on every machine that this was measured on.
const LINE_BYTES: usize = 64;

/// Prefetches the cache lines in which `value` begins and ends: even a small value may span two.
#[inline]
pub fn prefetch<T>(value: &T) {
    prefetch_at(value, 0);
    prefetch_at(value, size_of::<T>().saturating_sub(1));
}

/// Prefetches the first `bytes` of `value`.
#[inline]
pub(crate) fn prefetch_front<T>(value: &T, bytes: usize) {
    for line in 0..bytes.div_ceil(LINE_BYTES) {
        prefetch_at(value, line * LINE_BYTES);
    }
    prefetch_at(value, bytes.saturating_sub(1));
}

/// Prefetches the cache line that is so many bytes behind the beginning of `value`.
#[inline]
#[allow(unsafe_code, reason = "the prefetch instruction has no safe wrapper")]
fn prefetch_at<T>(value: &T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing into the program and cannot fault, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast::<i8>().wrapping_add(bytes));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, bytes);
}
