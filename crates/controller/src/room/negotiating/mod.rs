//! Session descriptions in and out.

mod negotiate;
mod renegotiate;

pub(in crate::room) use self::renegotiate::{renegotiate, restart_subscriber};
