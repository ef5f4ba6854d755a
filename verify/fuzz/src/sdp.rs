//! Session descriptions.

use wire::limits::DESCRIPTION_MAX;
use wire::sdp::SessionDescription;

/// Reading alone, to measure its cost.
pub fn sdp_read(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        drop(SessionDescription::read(text));
    }
}

/// A description that was read and written is read the same again.
pub fn sdp(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(read) = SessionDescription::parse(text) else {
        return;
    };
    let written = read.to_string();
    // Attributes of the session are written in each section, which may exceed the limit.
    if written.len() <= DESCRIPTION_MAX {
        assert!(
            SessionDescription::parse(&written).as_ref() == Ok(&read),
            "it is read otherwise"
        );
    }
}
