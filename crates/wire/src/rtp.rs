//! Reading RTP packets.

use std::fmt;

use crate::{PayloadType, RtpTimestamp, SequenceNumber, Ssrc};

/// Bytes before the CSRC list.
pub(crate) const FIXED_HEADER_LEN: usize = 12;
/// Profile of one-byte header extensions (RFC 8285 section 4.2).
pub(crate) const PROFILE_ONE_BYTE: u16 = 0xbede;
/// Profile of two-byte header extensions; the low four bits are for applications (RFC 8285 section
/// 4.3).
pub(crate) const PROFILE_TWO_BYTE: u16 = 0x1000;

/// An RTP packet: a view over received bytes.
///
/// Parsing finds every boundary once, and checks each, so that no accessor can fail.
///
/// Source: RFC 3550 section 5.1; RFC 8285 section 4.
#[derive(Clone, Copy, Debug)]
pub struct RtpPacket<'a> {
    bytes: &'a [u8],
    /// Start of the extension's elements; equals `header_len` when there is no extension.
    elements_at: u32,
    header_len: u32,
    padding_len: u8,
    profile: Option<u16>,
}

/// Why bytes are not an RTP packet. The sender is at fault in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtpError {
    /// The datagram ends inside the header.
    Truncated,
    /// The version, in the first two bits, is not 2.
    Version(u8),
    /// The padding count is zero or larger than the part after the header.
    Padding(u8),
}

impl fmt::Display for RtpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the packet ends inside its RTP header"),
            Self::Version(version) => write!(f, "the RTP version is {version}, not 2"),
            Self::Padding(count) => write!(f, "an RTP padding count of {count} does not fit the packet"),
        }
    }
}

impl std::error::Error for RtpError {}

impl<'a> RtpPacket<'a> {
    /// Finds the parts of a packet that fills `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RtpError> {
        let mut packet = Self::parse_protected(bytes)?;
        if packet.bytes[0] & 0x20 != 0 {
            packet.padding_len = check_padding(&bytes[packet.header_len()..])?;
        }
        Ok(packet)
    }

    /// As [`parse`](Self::parse), for an SRTP packet whose payload is still encrypted.
    ///
    /// SRTP leaves the header unencrypted but encrypts the padding, so the padding count is not
    /// checked, and `payload` is everything after the header, authentication tag included.
    ///
    /// Source: RFC 3711 section 3.1.
    pub fn parse_protected(bytes: &'a [u8]) -> Result<Self, RtpError> {
        let fixed: &[u8; FIXED_HEADER_LEN] = bytes.first_chunk().ok_or(RtpError::Truncated)?;
        if fixed[0] >> 6 != 2 {
            return Err(RtpError::Version(fixed[0] >> 6));
        }
        let csrcs_end = FIXED_HEADER_LEN + 4 * usize::from(fixed[0] & 0x0f);
        if bytes.len() < csrcs_end {
            return Err(RtpError::Truncated);
        }
        let (profile, elements_at, header_len) = match fixed[0] & 0x10 {
            0 => (None, csrcs_end, csrcs_end),
            _ => find_extension(bytes, csrcs_end)?,
        };
        Ok(Self {
            bytes,
            elements_at: elements_at as u32,
            header_len: header_len as u32,
            padding_len: 0,
            profile,
        })
    }

    /// The whole packet, as received.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The marker bit; for video, the last packet of a frame.
    pub fn marker(&self) -> bool {
        self.bytes[1] & 0x80 != 0
    }

    /// The codec, by its number in the SDP.
    pub fn payload_type(&self) -> PayloadType {
        PayloadType::from_header_byte(self.bytes[1])
    }

    /// The packet's place in its stream.
    pub fn sequence(&self) -> SequenceNumber {
        SequenceNumber(u16::from_be_bytes([self.bytes[2], self.bytes[3]]))
    }

    /// The sampling instant of the payload.
    pub fn timestamp(&self) -> RtpTimestamp {
        RtpTimestamp(self.word(4))
    }

    /// The stream.
    pub fn ssrc(&self) -> Ssrc {
        Ssrc(self.word(8))
    }

    /// The sources that were mixed into the payload.
    pub fn csrcs(&self) -> Csrcs<'a> {
        let end = FIXED_HEADER_LEN + 4 * usize::from(self.bytes[0] & 0x0f);
        Csrcs(&self.bytes[FIXED_HEADER_LEN..end])
    }

    /// Bytes before the payload: fixed header, CSRCs and extension.
    pub fn header_len(&self) -> usize {
        self.header_len as usize
    }

    /// The first 16 bits of the header extension, which name its form; `None` without an extension.
    pub fn extension_profile(&self) -> Option<u16> {
        self.profile
    }

    /// The elements of the header extension, as `(id, value)`, in the order they were written.
    pub fn extensions(&self) -> Extensions<'a> {
        let elements = &self.bytes[self.elements_at as usize..self.header_len as usize];
        Extensions {
            form: self.profile.and_then(ExtensionForm::from_profile),
            elements,
        }
    }

    /// The value of the first element with this id.
    pub fn extension(&self, id: u8) -> Option<&'a [u8]> {
        self.extensions()
            .find(|(found, _)| *found == id)
            .map(|(_, value)| value)
    }

    /// The codec's bytes, without padding.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len()..self.bytes.len() - self.padding_len()]
    }

    /// Bytes of padding after the payload, the count byte included; 0 to 255.
    pub fn padding_len(&self) -> usize {
        usize::from(self.padding_len)
    }

    /// Whether the packet carries only padding, as bandwidth probes do.
    pub fn is_padding_only(&self) -> bool {
        self.padding_len > 0 && self.payload().is_empty()
    }

    fn word(&self, at: usize) -> u32 {
        let b = self.bytes;
        u32::from_be_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
    }
}

/// The extension that starts at `at`: its profile, where its elements start and where they end.
fn find_extension(bytes: &[u8], at: usize) -> Result<(Option<u16>, usize, usize), RtpError> {
    let start: &[u8; 4] = bytes[at..].first_chunk().ok_or(RtpError::Truncated)?;
    let profile = u16::from_be_bytes([start[0], start[1]]);
    let words = u16::from_be_bytes([start[2], start[3]]);
    let end = at + 4 + 4 * usize::from(words);
    if bytes.len() < end {
        Err(RtpError::Truncated)
    } else {
        Ok((Some(profile), at + 4, end))
    }
}

fn check_padding(after_header: &[u8]) -> Result<u8, RtpError> {
    match after_header.last() {
        None => Err(RtpError::Padding(0)),
        Some(&count) if count == 0 || usize::from(count) > after_header.len() => Err(RtpError::Padding(count)),
        Some(&count) => Ok(count),
    }
}

/// The contributing sources of a packet, still as bytes so that forwarding them costs no
/// conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Csrcs<'a>(&'a [u8]);

impl<'a> Csrcs<'a> {
    /// A packet that was not mixed.
    pub const NONE: Self = Self(&[]);

    /// A list given as bytes in network order; `None` unless it is 0 to 15 whole words.
    pub const fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len().is_multiple_of(4) && bytes.len() <= 60 {
            Some(Self(bytes))
        } else {
            None
        }
    }

    /// The list as it travels.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// How many there are, 0 to 15.
    pub const fn count(self) -> usize {
        self.0.len() / 4
    }

    /// One source after the other.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Ssrc> + 'a {
        self.0.as_chunks().0.iter().map(|word| Ssrc(u32::from_be_bytes(*word)))
    }
}

/// How the elements of a header extension are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionForm {
    /// Ids 1 to 14, values of 1 to 16 bytes.
    OneByte,
    /// Ids 1 to 255, values of 0 to 255 bytes.
    TwoByte,
}

impl ExtensionForm {
    /// The form of a profile; `None` for profiles that do not carry elements.
    pub const fn from_profile(profile: u16) -> Option<Self> {
        match profile {
            PROFILE_ONE_BYTE => Some(Self::OneByte),
            0x1000..=0x100f => Some(Self::TwoByte),
            _ => None,
        }
    }
}

/// The elements of a header extension, as `(id, value)`.
///
/// Padding between elements is skipped. In the one-byte form, id 15, and id 0 with a length, end
/// the list, with any bytes after them. An element longer than the rest of the extension also ends
/// it: earlier elements count, and the packet stays valid, as in browsers.
///
/// Source: RFC 8285 sections 4.2 and 4.3.
#[derive(Clone, Debug)]
pub struct Extensions<'a> {
    form: Option<ExtensionForm>,
    elements: &'a [u8],
}

impl<'a> Extensions<'a> {
    /// The next element, and the bytes after it.
    fn split(&mut self) -> Option<(u8, &'a [u8], &'a [u8])> {
        let form = self.form?;
        while let [0, rest @ ..] = self.elements {
            self.elements = rest;
        }
        let (id, len, rest) = match (form, self.elements) {
            (ExtensionForm::OneByte, [0x00..=0x0f | 0xf0..=0xff, ..]) => return None,
            (ExtensionForm::OneByte, [start, rest @ ..]) => (start >> 4, (start & 0x0f) + 1, rest),
            (ExtensionForm::TwoByte, [id, len, rest @ ..]) => (*id, *len, rest),
            (_, [] | [_]) => return None,
        };
        let (value, rest) = rest.split_at_checked(usize::from(len))?;
        Some((id, value, rest))
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.split();
        self.elements = found.map_or(&[], |(_, _, rest)| rest);
        found.map(|(id, value, _)| (id, value))
    }
}

#[cfg(test)]
mod tests;
