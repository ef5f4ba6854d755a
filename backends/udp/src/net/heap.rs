//! The heap's free memory.

/// Gives the free pages of the heap back to the system. The allocator of glibc does so by itself
/// only at the end of a heap, so that one long-lived value behind a peak keeps all of it.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes no pointer, and locks what it changes.
    unsafe {
        libc::malloc_trim(0);
    }
}
