//! The userspace data plane over UDP sockets: portable, the default, always there.

pub mod srtp;
