//! The limit of open file descriptors (RLIMIT_NOFILE).

/// Raises the soft limit to the hard limit and returns the limit that holds then.
pub(crate) fn raise_open_files() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit is written to a structure that lives as long as the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return 0;
    }
    let raised = libc::rlimit {
        rlim_cur: limit.rlim_max,
        ..limit
    };
    // SAFETY: the limit is read from a structure that lives as long as the call.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } == 0 {
        limit = raised;
    }
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}
