//! The token of a request.

use std::time::Duration;

use access::{ApiKeys, Claims, verify};

use crate::query::Query;
use crate::refusal::Refusal;

/// The claims of the token in the `Authorization` header, or else in the parameter `access_token`.
/// `unix` is the time since 1970.
///
/// Errors: 401.
pub(crate) fn authenticate(
    authorization: Option<&str>,
    query: &Query,
    keys: &ApiKeys,
    unix: Duration,
) -> Result<Claims, Refusal> {
    let token = bearer(authorization)
        .or_else(|| query.text("access_token"))
        .ok_or_else(|| Refusal::new(401, "no permission: there is no access token"))?;
    verify(token, keys, unix).map_err(|error| Refusal::new(401, error.to_string()))
}

fn bearer(authorization: Option<&str>) -> Option<&str> {
    let (scheme, token) = authorization?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
