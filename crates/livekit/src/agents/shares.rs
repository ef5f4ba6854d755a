//! The shares of workers.

use std::net::IpAddr;
use std::time::Duration;

use access::Claims;
use slots::{Limits, address_block};

use crate::limits::WORKERS_MAX;

/// How long a worker keeps its slot in any case while it is not registered.
const REGISTER_MIN: Duration = Duration::from_secs(2);

/// Workers that there may be.
pub(super) const LIMITS: Limits = Limits::shared(WORKERS_MAX, REGISTER_MIN);

/// The holder of a worker's slot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    Address(IpAddr),
    /// The identity and the times of a token, which no other of its key has.
    Token(String, String, Option<u64>, Option<u64>),
    /// An API key, where there are several.
    Key(String),
}

/// The holders of the slot of a worker with these claims.
pub(super) fn holders(claims: &Claims, address: Option<IpAddr>, has_other_keys: bool) -> Vec<Holder> {
    let Claims { iss, exp, nbf, .. } = claims;
    let token = Holder::Token(iss.clone(), claims.identity().to_owned(), *exp, *nbf);
    let address = address.map(|address| Holder::Address(address_block(address)));
    let key = has_other_keys.then(|| Holder::Key(iss.clone()));
    [Some(token), address, key].into_iter().flatten().collect()
}
