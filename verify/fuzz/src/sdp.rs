//! Session descriptions.

use wire::sdp::SessionDescription;

/// What is read is read again the same after it was written.
pub fn sdp(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(read) = SessionDescription::parse(text) else {
        return;
    };
    assert_eq!(SessionDescription::parse(&read.to_string()), Ok(read));
}
