//! The rights of a participant, by its last token and by administrators since.

use std::time::Instant;

use access::{Claims, Permission};

use crate::budget::{Budget, Rate};

/// New tokens of a participant that changes, at most.
pub(crate) const TOKENS: Rate = Rate {
    per_second: 1,
    burst: 5,
};

/// The rights of a participant, by its last token and by administrators since.
pub(crate) struct Authorization {
    pub(crate) permission: Permission,
    /// The claims it joined or resumed with, from which refreshed tokens are made, without its
    /// texts.
    pub(crate) claims: Claims,
    /// The API key that it counts for.
    pub(crate) api_key: String,
    /// New tokens after changes.
    pub(crate) token_budget: Budget,
}

impl Authorization {
    pub(crate) fn new(now: Instant, claims: Claims) -> Self {
        Self {
            permission: Permission::of(&claims),
            api_key: claims.iss.clone(),
            claims: without_texts(claims),
            token_budget: Budget::new(now, TOKENS),
        }
    }

    /// Takes the claims of another token. The permission stays as it is.
    pub(crate) fn set_claims(&mut self, claims: Claims) {
        self.claims = without_texts(claims);
    }
}

/// Claims without what may change in a call: nobody would read a second copy of it.
fn without_texts(mut claims: Claims) -> Claims {
    (claims.name, claims.metadata, claims.attributes) = Default::default();
    claims
}
