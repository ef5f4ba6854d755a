//! Reading: every line is kept, few are understood.

use std::net::IpAddr;

use wire::sdp::{Direction, Fingerprint, HashFunction, IceCredentials, Setup};

use super::{Crypto, Description, Line, SdpRefused, Section};
use crate::limits::{CRYPTOS_MAX, MID_MAX, SECTIONS_MAX, TLS_ID_MAX};

impl<'a> Description<'a> {
    /// Reads a description. Lines that are not understood are kept unchanged.
    ///
    /// Errors: only if it cannot be relayed, see [`SdpRefused`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, SdpRefused> {
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').map(read_line).peekable();
        let mut session = Vec::new();
        while let Some(line) = lines.next_if(|line| line.letter != b'm') {
            session.push(line);
        }
        let first = session.iter().find(|line| !line.raw.trim_ascii().is_empty());
        if first.is_none_or(|line| line.letter != b'v' || line.value.trim() != "0") {
            return Err(SdpRefused::NotSdp);
        }

        let mut sections: Vec<Vec<Line<'a>>> = Vec::new();
        for line in lines {
            match sections.last_mut() {
                Some(section) if line.letter != b'm' => section.push(line),
                _ => sections.push(vec![line]),
            }
        }
        if sections.len() > SECTIONS_MAX {
            return Err(SdpRefused::TooManySections);
        }
        let session_values = LineValues::of(&session);
        let read = |lines| read_section(lines, &session_values);
        let sections = sections.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self {
            ice_lite: session_values.ice_lite,
            lines: session,
            sections,
        })
    }
}

fn read_line(raw: &[u8]) -> Line<'_> {
    let text = raw.strip_suffix(b"\n").unwrap_or(raw);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    match text {
        [letter, b'=', value @ ..] => Line {
            raw,
            letter: *letter,
            value: std::str::from_utf8(value).unwrap_or_default(),
        },
        _ => Line {
            raw,
            letter: 0,
            value: "",
        },
    }
}

fn read_section<'a>(lines: Vec<Line<'a>>, session: &LineValues<'a>) -> Result<Section<'a>, SdpRefused> {
    let mut rest = lines[0].value;
    let media = take_word(&mut rest).ok_or(SdpRefused::Section)?;
    let ports = take_word(&mut rest).ok_or(SdpRefused::Section)?;
    let port = ports.split('/').next().and_then(|port| port.parse().ok());
    let port = port.ok_or(SdpRefused::Section)?;
    let protocol = take_word(&mut rest).ok_or(SdpRefused::Section)?;
    let formats = rest.trim();
    let own = LineValues::of(&lines);
    let ice = own.credentials().or_else(|| session.credentials());
    Ok(Section {
        media,
        port,
        protocol,
        formats,
        address: if own.has_connection {
            own.address
        } else {
            session.address
        },
        direction: own.direction.or(session.direction).unwrap_or(Direction::SendRecv),
        rtcp: own.rtcp,
        rtcp_mux: own.rtcp_mux,
        mid: own.mid,
        cryptos: own.cryptos,
        fingerprint: own.fingerprint.or_else(|| session.fingerprint.clone()),
        tls_id: own.tls_id,
        setup: own.setup.or(session.setup),
        ice,
        ice_lite: own.ice_lite || session.ice_lite,
        bundle_only: own.bundle_only,
        lines,
    })
}

/// The next word of a line; phones may separate words by several spaces.
fn take_word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let line = rest.trim_start();
    let (word, after) = line.split_at(line.find(char::is_whitespace).unwrap_or(line.len()));
    *rest = after;
    (!word.is_empty()).then_some(word)
}

/// The values of lines, of one section or of the session.
#[derive(Default)]
struct LineValues<'a> {
    has_connection: bool,
    address: Option<IpAddr>,
    direction: Option<Direction>,
    rtcp: Option<(u16, Option<IpAddr>)>,
    rtcp_mux: bool,
    mid: Option<&'a str>,
    cryptos: Vec<Crypto>,
    fingerprint: Option<Fingerprint>,
    tls_id: Option<&'a str>,
    setup: Option<Setup>,
    ufrag: Option<&'a str>,
    password: Option<&'a str>,
    ice_lite: bool,
    bundle_only: bool,
}

impl<'a> LineValues<'a> {
    fn of(lines: &[Line<'a>]) -> Self {
        let mut values = Self::default();
        for line in lines {
            if line.letter == b'c' {
                values.has_connection = true;
                values.address = read_address(line.value);
            } else if let Some((name, value)) = line.attribute() {
                values.attribute(name, value.trim());
            }
        }
        values
    }

    fn attribute(&mut self, name: &str, value: &'a str) {
        match name {
            "sendrecv" => self.direction = Some(Direction::SendRecv),
            "sendonly" => self.direction = Some(Direction::SendOnly),
            "recvonly" => self.direction = Some(Direction::RecvOnly),
            "inactive" => self.direction = Some(Direction::Inactive),
            "rtcp" => self.rtcp = read_rtcp(value),
            "rtcp-mux" => self.rtcp_mux = true,
            "mid" if value.len() <= MID_MAX => self.mid = Some(value),
            "crypto" if self.cryptos.len() < CRYPTOS_MAX => self.cryptos.extend(Crypto::parse(value)),
            "fingerprint" => self.fingerprint(value),
            "tls-id" if value.len() <= TLS_ID_MAX => self.tls_id = Some(value),
            "setup" => {
                self.setup = [Setup::ActPass, Setup::Active, Setup::Passive]
                    .into_iter()
                    .find(|it| it.name() == value)
            }
            "ice-ufrag" => self.ufrag = Some(value),
            "ice-pwd" => self.password = Some(value),
            "ice-lite" => self.ice_lite = true,
            "bundle-only" => self.bundle_only = true,
            _ => {}
        }
    }

    /// Of several fingerprints the one of the strongest function counts, and the first of those
    /// (RFC 8122 section 5).
    fn fingerprint(&mut self, value: &str) {
        let read = read_fingerprint(value);
        if let Some(read) = read
            && self.fingerprint.as_ref().is_none_or(|known| known.hash < read.hash)
        {
            self.fingerprint = Some(read);
        }
    }

    fn credentials(&self) -> Option<IceCredentials> {
        let (ufrag, password) = (self.ufrag?, self.password?);
        // Some are shorter than RFC 8839 allows, and are their parties' own risk.
        let fits = (1..=256).contains(&ufrag.len()) && (1..=256).contains(&password.len());
        fits.then(|| IceCredentials {
            ufrag: ufrag.to_owned(),
            password: password.to_owned(),
        })
    }
}

/// The address of `IN IP4 192.0.2.1/127`; names are not looked up. One of IPv4 in a form of IPv6 is
/// one of IPv4.
fn read_address(value: &str) -> Option<IpAddr> {
    let address = value.split_ascii_whitespace().nth(2)?;
    let address: IpAddr = address.split('/').next()?.parse().ok()?;
    Some(address.to_canonical())
}

/// The port and address of `5001 IN IP4 192.0.2.1`.
fn read_rtcp(value: &str) -> Option<(u16, Option<IpAddr>)> {
    let (port, rest) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
    Some((port.parse().ok()?, read_address(rest)))
}

fn read_fingerprint(value: &str) -> Option<Fingerprint> {
    let (name, digits) = value.split_once(char::is_whitespace)?;
    let hash = HashFunction::ALL
        .into_iter()
        .find(|hash| hash.name().eq_ignore_ascii_case(name))?;
    let octet = |digits: &str| {
        let is_octet = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_octet.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
    };
    let digest: Vec<u8> = digits.trim().split(':').map(octet).collect::<Option<_>>()?;
    (digest.len() == hash.digest_len()).then_some(Fingerprint { hash, digest })
}
