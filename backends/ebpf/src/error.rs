//! The reasons why forwarding in the kernel cannot be used, in the operator's words.

use std::fmt;
use std::io;
use std::path::PathBuf;

use bpf_retry::reason;

/// The reason why a program cannot run. The base forwards everything then.
#[derive(Debug)]
pub enum EbpfError {
    /// No interface is named, or more than [`INTERFACES_MAX`](crate::INTERFACES_MAX): the
    /// configuration must say which.
    Interfaces,
    /// There is no such interface.
    NoInterface(String),
    /// The interface already has an XDP program, which is not replaced.
    Taken(String),
    /// The interface makes one packet of several, which cannot be copied for rooms: the operator
    /// must switch that off.
    Merges(String),
    /// The interface's driver does not run XDP programs itself: copies for rooms are made in the
    /// stack.
    NotNative(String),
    /// The interface takes no frames from XDP programs to send: likewise.
    SendsNone(String),
    /// Copied packets are configured to continue to userspace, and a driver's copies cannot.
    GoesUp,
    /// The process may not: it needs CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON, or to be root.
    NotAllowed(Step),
    /// The pins in this folder belong to another process, which is running.
    InUse(PathBuf),
    /// The kernel or the driver cannot.
    Failed(Step, io::Error),
}

/// The step that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Allowing the kernel to look up routes for packets of this machine.
    Forwarding,
    /// Keeping programs and entries in this folder, over the end of the process.
    Pin(PathBuf),
    /// Loading the program.
    Load,
    /// Attaching it to this interface.
    Attach(String),
    /// Reading or writing its tables.
    Tables,
}

impl EbpfError {
    pub(crate) fn of(step: Step, error: io::Error) -> Self {
        match (error.kind(), step) {
            // The other error of this kind is the verifier's, which rejects the program.
            (_, Step::Load) if error.raw_os_error() == Some(libc::EACCES) => EbpfError::Failed(Step::Load, error),
            (io::ErrorKind::PermissionDenied, step) => EbpfError::NotAllowed(step),
            (io::ErrorKind::ResourceBusy | io::ErrorKind::AlreadyExists, Step::Attach(name)) => EbpfError::Taken(name),
            (_, step) => EbpfError::Failed(step, error),
        }
    }

    /// The same of a loader's error.
    pub(crate) fn inside(step: Step, error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::of(step, reason(error))
    }
}

impl fmt::Display for EbpfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EbpfError::Interfaces => write!(
                f,
                "name 1 to {} interfaces in `rtc.ebpf.interfaces`: none was found that has the addresses of SIP calls",
                crate::INTERFACES_MAX
            ),
            EbpfError::NoInterface(name) => write!(f, "there is no interface {name}"),
            EbpfError::Taken(name) => write!(f, "{name} has an XDP program already"),
            EbpfError::Merges(name) => write!(
                f,
                "{name} merges packets, which rooms cannot have: ethtool -K {name} gro off"
            ),
            EbpfError::NotNative(name) => write!(f, "{name}'s driver runs no XDP programs itself"),
            EbpfError::SendsNone(name) => write!(f, "{name} takes nothing to send from XDP programs"),
            EbpfError::GoesUp => f.write_str("copied packets also go to userspace, and a driver's copies cannot"),
            EbpfError::NotAllowed(step) => {
                write!(
                    f,
                    "no privilege for {step}: it takes CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON, or root"
                )
            }
            EbpfError::InUse(path) => write!(f, "{} is in use by another process", path.display()),
            EbpfError::Failed(step, error) => write!(f, "{step} failed: {error}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Forwarding => f.write_str("allowing look-ups of routes (net.ipv4.conf.lo.forwarding)"),
            Step::Pin(path) => write!(f, "keeping programs and tables in {}", path.display()),
            Step::Load => f.write_str("loading the program"),
            Step::Attach(name) => write!(f, "attaching the program to {name}"),
            Step::Tables => f.write_str("reading or writing the program's tables"),
        }
    }
}

impl std::error::Error for EbpfError {}
