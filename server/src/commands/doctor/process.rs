//! A process as the kernel's files show it: its capabilities and its limits.

use std::fs;

/// The process of a server, or this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessFiles(Option<u32>);

/// Capabilities, as a set of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capabilities(u64);

impl ProcessFiles {
    /// That of this number.
    pub(super) const fn of(id: u32) -> Self {
        ProcessFiles(Some(id))
    }

    /// The process that asks.
    pub(super) const fn own() -> Self {
        ProcessFiles(None)
    }

    /// Its effective capabilities.
    ///
    /// Errors: `None` if the process has ended, or may not be seen.
    pub(super) fn capabilities(self) -> Option<Capabilities> {
        let text = fs::read_to_string(self.path("status")).ok()?;
        let bits = text.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
        Some(Capabilities(u64::from_str_radix(bits.trim(), 16).ok()?))
    }

    /// How many files it may have open at most: its hard limit, up to which a server raises the
    /// soft one. `None` in it is no limit.
    ///
    /// Errors: `None` if the process has ended, or may not be seen.
    pub(super) fn open_files_max(self) -> Option<Option<u64>> {
        open_files_max(&fs::read_to_string(self.path("limits")).ok()?)
    }

    fn path(self, file: &str) -> String {
        match self.0 {
            Some(id) => format!("/proc/{id}/{file}"),
            None => format!("/proc/self/{file}"),
        }
    }
}

impl Capabilities {
    /// The number of a capability that a server can use.
    ///
    /// Source: capabilities(7), linux/capability.h.
    fn bit(name: &str) -> Option<u32> {
        Some(match name {
            "CAP_NET_BIND_SERVICE" => 10,
            "CAP_NET_ADMIN" => 12,
            "CAP_NET_RAW" => 13,
            "CAP_IPC_LOCK" => 14,
            "CAP_PERFMON" => 38,
            "CAP_BPF" => 39,
            _ => return None,
        })
    }

    pub(super) fn has(self, name: &str) -> bool {
        Self::bit(name).is_some_and(|bit| self.0 & 1 << bit != 0)
    }
}

/// The hard limit of open files in the text of `/proc/PID/limits`.
fn open_files_max(text: &str) -> Option<Option<u64>> {
    let limits = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match limits.split_ascii_whitespace().nth(1)? {
        "unlimited" => Some(None),
        number => Some(Some(number.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_reads_capabilities_and_limits_of_a_process() {
        let own = ProcessFiles::own();
        assert!(own.capabilities().is_some() && own.open_files_max().is_some());
        assert_eq!(ProcessFiles::of(u32::MAX).open_files_max(), None);
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            1024                 524288               files     \n";
        assert_eq!(open_files_max(text), Some(Some(524_288)));
        assert_eq!(open_files_max(&text.replace("524288", "unlimited")), Some(None));
        assert_eq!(open_files_max("Max open files 1"), None);
        let bind = Capabilities(1 << 10);
        assert!(bind.has("CAP_NET_BIND_SERVICE") && !bind.has("CAP_BPF") && !bind.has("CAP_X"));
    }
}
