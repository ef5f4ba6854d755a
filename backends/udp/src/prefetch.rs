//! Prefetching of memory.
//!
//! With many receivers, the state of one is in no cache by the time of its next packet; and it is
//! known in advance which receiver is next.

#![allow(unsafe_code, reason = "the processor's instruction needs it")]

use std::ops::Range;

/// Prefetches a value.
#[inline]
pub(crate) fn value<T>(value: &T) {
    part(value, 0, 0..size_of::<T>());
}

/// Prefetches the beginning of a list.
#[inline]
pub(crate) fn first<T>(list: &[T]) {
    let size = size_of_val(list).min(LIST_MAX);
    if let Some(first) = list.first() {
        lines(std::ptr::from_ref(first).cast(), size);
    }
}

/// Prefetches these bytes of a value, counted from `from`.
#[inline]
pub(crate) fn part<T>(value: &T, from: usize, bytes: Range<usize>) {
    let (start, end) = (from + bytes.start, from + bytes.end);
    assert!(start <= end && end <= size_of::<T>(), "a part of the value");
    lines(std::ptr::from_ref(value).cast::<i8>().wrapping_add(start), end - start);
}

fn lines(start: *const i8, size: usize) {
    (0..size).step_by(LINE).for_each(|at| line(start.wrapping_add(at)));
}

/// The most bytes of a list that are prefetched.
const LIST_MAX: usize = 4 * LINE;

/// Bytes of a cache line.
const LINE: usize = 64;

#[inline]
fn line(address: *const i8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction, which changes nothing and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
