//! The operating system: sockets, batches of datagrams, wake-ups. All `unsafe` code of this crate
//! is here and in `prefetch`.

#![allow(unsafe_code, reason = "system calls need it")]

mod address;
mod cmsg;
mod epoll;
mod event_fd;
mod feedback;
mod heap;
mod network;
mod poller;
mod port;
mod realtime;
mod receive;
mod reuseport;
mod rlimit;
mod send;
mod sleep;
mod socket;
mod sockets;
mod stream;
mod thread_cpu;
mod udp_ports;

pub(crate) use epoll::{Epoll, Readiness};
pub use event_fd::EventFd;
pub use heap::trim_heap;
pub use network::Network;
pub(crate) use poller::Poller;
pub(crate) use port::{PortSocket, PortWatch};
pub(crate) use realtime::RealtimePriority;
pub(crate) use reuseport::{ReuseportGroup, Steering};
pub(crate) use rlimit::raise_open_files;
pub(crate) use sleep::set_timer_slack;
pub use sockets::Sockets;
pub(crate) use stream::{listen, tune};
pub(crate) use thread_cpu::ThreadCpuClock;
pub use udp_ports::UdpPorts;
