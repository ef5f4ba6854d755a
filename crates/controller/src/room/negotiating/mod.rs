//! Session descriptions in and out.

mod negotiate;
mod renegotiate;
mod settle;

pub(in crate::room) use self::negotiate::keep_first_offer;
pub(in crate::room) use self::renegotiate::{renegotiate, restart_subscriber};
