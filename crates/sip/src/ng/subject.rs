//! The call that a request is about, read before the request is carried out.

use super::Encoding;
use super::value::Value;
use crate::limits::{MESSAGE_MAX, NAME_MAX};
use crate::subject::Subject;

/// The call whose counts a request is about, if it is about any.
pub(crate) fn call_reported_on(payload: &[u8]) -> Option<Vec<u8>> {
    // Reading it costs more than looking for the words, and most requests are not of these.
    let mentions = |word: &[u8]| payload.windows(word.len()).any(|window| window == word);
    if !mentions(b"query") && !mentions(b"delete") || payload.len() > MESSAGE_MAX {
        return None;
    }
    let (Value::Dictionary(request), _) = Encoding::of(payload)?.decode(payload).ok()? else {
        return None;
    };
    let is_about_counts = matches!(request.text("command"), Some(b"query" | b"delete"));
    request
        .spelt("call-id")
        .filter(|name| is_about_counts && name.len() <= NAME_MAX)
        .map(Into::into)
}

/// The call that a request is about, if it is one that needs or begins a call.
pub(crate) fn subject(payload: &[u8]) -> Option<Subject> {
    let encoding = Encoding::of(payload).filter(|_| payload.len() <= MESSAGE_MAX)?;
    let (Value::Dictionary(request), _) = encoding.decode(payload).ok()? else {
        return None;
    };
    let begins = match request.text("command")? {
        b"offer" => true,
        b"answer" | b"delete" | b"query" => false,
        _ => return None,
    };
    let call = request.spelt("call-id")?.to_vec();
    Some(Subject { call, begins })
}
