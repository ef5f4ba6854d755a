//! Fragments of descriptions: candidates and ICE credentials (RFC 8840).

use wire::sdp::IceCredentials;

/// The lengths of a user fragment and of a password, in characters (RFC 8839).
const UFRAG_LEN: std::ops::RangeInclusive<usize> = 4..=256;
const PASSWORD_LEN: std::ops::RangeInclusive<usize> = 22..=256;

/// The content of a fragment that matters to an ICE-lite agent, which learns its peer's addresses
/// from the peer's checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The client's credentials; `None` where it says none.
    pub(crate) ice: Option<IceCredentials>,
}

impl Fragment {
    /// Reads a fragment; `None` for a text that is none.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (mut ufrag, mut password, mut lines) = (None, None, 0);
        for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            let (letter, value) = line.split_once('=')?;
            if letter.len() != 1 || value.bytes().any(|byte| byte.is_ascii_control()) {
                return None;
            }
            lines += 1;
            // The same in each section of a bundle.
            if let Some(value) = value.strip_prefix("ice-ufrag:").filter(|_| letter == "a") {
                ufrag.get_or_insert(value);
            } else if let Some(value) = value.strip_prefix("ice-pwd:").filter(|_| letter == "a") {
                password.get_or_insert(value);
            }
        }
        if lines == 0 {
            return None;
        }
        let ice = match (ufrag, password) {
            (None, None) => None,
            (Some(ufrag), Some(password)) if is_word(ufrag, UFRAG_LEN) && is_word(password, PASSWORD_LEN) => {
                Some(IceCredentials {
                    ufrag: ufrag.to_owned(),
                    password: password.to_owned(),
                })
            }
            _ => return None,
        };
        Some(Self { ice })
    }
}

fn is_word(text: &str, len: std::ops::RangeInclusive<usize>) -> bool {
    let is_ice = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    // Some clients use `-` and `_` as well, and nothing here depends on the alphabet.
    len.contains(&text.len()) && text.bytes().all(|byte| is_ice(byte) || matches!(byte, b'-' | b'_'))
}

/// The fragment that says of our description what an ICE restart changes: the credentials and the
/// candidates of the first section that has any.
pub(crate) fn of_description(sdp: &str) -> String {
    let mut section: Vec<&str> = Vec::new();
    for line in sdp.lines() {
        if line.starts_with("m=") {
            if section.iter().any(|line| line.starts_with("a=ice-ufrag:")) {
                break;
            }
            section.clear();
        }
        section.push(line);
    }
    let starts = |line: &str, names: &[&str]| names.iter().any(|name| line.starts_with(name));
    let lines = section.iter().filter(|line| {
        starts(
            line,
            &[
                "a=ice-ufrag:",
                "a=ice-pwd:",
                "m=",
                "a=mid:",
                "a=candidate:",
                "a=end-of-candidates",
            ],
        )
    });
    // Credentials come before the media line, where they hold for all sections.
    let (mut head, mut rest) = (String::from("a=ice-lite\r\n"), String::new());
    for line in lines {
        let part = match starts(line, &["a=ice-ufrag:", "a=ice-pwd:"]) {
            true => &mut head,
            false => &mut rest,
        };
        part.push_str(line);
        part.push_str("\r\n");
    }
    head + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &str = "0123456789012345678901";

    #[test]
    fn candidates_alone_and_with_credentials_are_read() {
        let candidates = "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n";
        assert_eq!(Fragment::read(candidates), Some(Fragment { ice: None }));
        let whole = format!("a=ice-ufrag:abcd\r\na=ice-pwd:{PASSWORD}\r\n{candidates}a=end-of-candidates\r\n");
        let ice = Fragment::read(&whole).and_then(|fragment| fragment.ice);
        assert_eq!(
            ice.map(|ice| (ice.ufrag, ice.password)),
            Some(("abcd".into(), PASSWORD.into()))
        );
    }

    #[test]
    fn other_texts_are_no_fragments() {
        let half = "a=ice-ufrag:abcd\r\n".to_owned();
        let short = format!("a=ice-ufrag:abc\r\na=ice-pwd:{PASSWORD}\r\n");
        let strange = format!("a=ice-ufrag:ab cd\r\na=ice-pwd:{PASSWORD}\r\n");
        for text in ["", "\r\n", "{}", "candidate", "ab=cd", &half, &short, &strange] {
            assert_eq!(Fragment::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_answer_is_cut_to_its_transport() {
        let sdp = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=ice-lite\r\n\
                   m=audio 0 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n\
                   m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:1\r\na=ice-ufrag:abcd\r\na=ice-pwd:secret\r\na=sendonly\r\n\
                   a=candidate:1 1 udp 1 192.0.2.1 7882 typ host\r\na=end-of-candidates\r\n\
                   m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:2\r\na=ice-ufrag:abcd\r\na=ice-pwd:secret\r\n";
        assert_eq!(
            of_description(sdp),
            "a=ice-lite\r\na=ice-ufrag:abcd\r\na=ice-pwd:secret\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:1\r\n\
             a=candidate:1 1 udp 1 192.0.2.1 7882 typ host\r\na=end-of-candidates\r\n"
        );
    }
}
