//! The reasons why AF_XDP cannot be used, in the operator's words.

use std::fmt;
use std::io;

/// The reason why this back end cannot run. [`backend_udp`] can run in any of these cases.
#[derive(Debug)]
pub enum AfxdpError {
    /// No interface is named: the configuration must say which.
    NoInterfaces,
    /// Workers have ports of their own, and the XDP program takes the packets of one port.
    SeveralPorts,
    /// The interface is not Ethernet.
    NotEthernet(String),
    /// The interface already has an XDP program, which is not replaced.
    Taken(String),
    /// The process may not: it needs CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF, and CAP_IPC_LOCK or a
    /// large enough limit of locked memory.
    NotAllowed(Step, String),
    /// The kernel or the driver does not support it, or there is no such interface.
    Failed(Step, String, io::Error),
    /// The UDP sockets cannot be had; without this back end neither.
    Sockets(io::Error),
}

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Looking at the interface.
    Interface,
    /// Loading the XDP program.
    Load,
    /// Attaching it.
    Attach,
    /// Opening and binding an AF_XDP socket.
    Bind,
    /// Asking for routes and neighbours.
    Routes,
}

impl AfxdpError {
    pub(crate) fn of(step: Step, interface: &str, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => AfxdpError::NotAllowed(step, interface.to_owned()),
            _ => AfxdpError::Failed(step, interface.to_owned(), error),
        }
    }
}

impl fmt::Display for AfxdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AfxdpError::NoInterfaces => write!(f, "no interface is named in `rtc.afxdp.interfaces`"),
            AfxdpError::SeveralPorts => write!(f, "the XDP program takes the packets of one port"),
            AfxdpError::NotEthernet(name) => write!(f, "{name} is not Ethernet"),
            AfxdpError::Taken(name) => write!(f, "{name} has an XDP program already"),
            AfxdpError::NotAllowed(step, name) => write!(
                f,
                "no privilege for {step} {name}: it takes CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_IPC_LOCK"
            ),
            AfxdpError::Failed(step, name, error) => write!(f, "{step} {name} failed: {error}"),
            AfxdpError::Sockets(error) => write!(f, "no UDP sockets: {error}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Interface => "looking at",
            Step::Load => "loading the XDP program for",
            Step::Attach => "attaching the XDP program to",
            Step::Bind => "an AF_XDP socket on",
            Step::Routes => "asking for routes through",
        })
    }
}

impl std::error::Error for AfxdpError {}
