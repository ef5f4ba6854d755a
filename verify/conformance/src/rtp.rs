//! RTP packets as a person writes them: some fields, in any number, for building a packet or for
//! judging one.

use std::fmt::{self, Write as _};

use wire::rtx::OSN_LEN;
use wire::{ExtensionForm, RtpPacket};

/// A header extension element: its id and value. A value that is `None` may be anything of any
/// length.
pub type Element = (u8, Option<Vec<u8>>);

/// Some fields of an RTP packet. A missing field is zero or absent in a packet that is built, and
/// not compared in one that is judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RtpFields {
    /// Stream.
    pub ssrc: Option<u32>,
    /// Payload type.
    pub payload_type: Option<u8>,
    /// Sequence number.
    pub sequence: Option<u16>,
    /// Timestamp.
    pub timestamp: Option<u32>,
    /// Marker bit.
    pub marker: Option<bool>,
    /// Contributing sources.
    pub csrcs: Option<Vec<u32>>,
    /// Header extension elements in order.
    pub extensions: Option<Vec<Element>>,
    /// How the elements are framed; when building without it, as [`wire::ExtensionWriter`] would.
    pub form: Option<ExtensionForm>,
    /// Original sequence number, in front of the payload of a retransmission.
    pub osn: Option<u16>,
    /// Payload, without padding and original sequence number.
    pub payload: Option<Vec<u8>>,
    /// Bytes put into the payload, in front of its last eight, to make it long.
    pub fill: Option<usize>,
    /// Bytes of padding, the count included.
    pub padding: Option<u8>,
    /// Bytes of the whole packet; when building, the payload is filled up to it.
    pub size: Option<usize>,
}

impl RtpFields {
    /// The packet with these fields.
    pub fn encode(&self) -> Vec<u8> {
        let csrcs = self.csrcs.as_deref().unwrap_or_default();
        let elements = self.extensions.as_deref().unwrap_or_default();
        let padding = self.padding.unwrap_or(0);
        let flags = u8::from(padding > 0) << 5 | u8::from(!elements.is_empty()) << 4;
        let marker = u8::from(self.marker.unwrap_or(false)) << 7;
        let mut bytes = vec![
            0x80 | flags | csrcs.len() as u8,
            marker | self.payload_type.unwrap_or(0),
        ];
        bytes.extend(self.sequence.unwrap_or(0).to_be_bytes());
        bytes.extend(self.timestamp.unwrap_or(0).to_be_bytes());
        bytes.extend(self.ssrc.unwrap_or(0).to_be_bytes());
        bytes.extend(csrcs.iter().flat_map(|csrc| csrc.to_be_bytes()));
        if !elements.is_empty() {
            bytes.extend(encode_elements(elements, self.form));
        }
        bytes.extend(self.osn.iter().flat_map(|osn| osn.to_be_bytes()));
        bytes.extend(self.payload.as_deref().unwrap_or_default());
        if let Some(fill) = self.fill {
            let at = bytes.len().saturating_sub(BEHIND_FILL);
            bytes.splice(at..at, std::iter::repeat_n(FILL, fill));
        }
        if let Some(size) = self.size {
            bytes.resize(size.saturating_sub(usize::from(padding)).max(bytes.len()), 0xee);
        }
        bytes.resize(bytes.len() + usize::from(padding), 0);
        if let (1.., Some(count)) = (padding, bytes.last_mut()) {
            *count = padding;
        }
        bytes
    }

    /// Differences of a packet from these fields, one line for each.
    pub fn mismatches(&self, bytes: &[u8]) -> Vec<String> {
        let packet = match RtpPacket::parse(bytes) {
            Ok(packet) => packet,
            Err(error) => return vec![format!("not an RTP packet: {error}")],
        };
        let mut wrong = Vec::new();
        let mut compare = |name: &str, expected: Option<String>, got: String| {
            if let Some(expected) = expected.filter(|expected| *expected != got) {
                wrong.push(format!("{name} is {got}, not {expected}"));
            }
        };
        let hex_word = |value: u32| format!("{value:#x}");
        compare("ssrc", self.ssrc.map(hex_word), hex_word(packet.ssrc().0));
        compare(
            "pt",
            self.payload_type.map(|pt| pt.to_string()),
            packet.payload_type().to_string(),
        );
        compare(
            "seq",
            self.sequence.map(|seq| seq.to_string()),
            packet.sequence().to_string(),
        );
        compare(
            "ts",
            self.timestamp.map(|ts| ts.to_string()),
            packet.timestamp().to_string(),
        );
        compare(
            "marker",
            self.marker.map(|marker| marker.to_string()),
            packet.marker().to_string(),
        );
        let csrcs: Vec<u32> = packet.csrcs().iter().map(|csrc| csrc.0).collect();
        compare(
            "csrc",
            self.csrcs.as_ref().map(|csrcs| format!("{csrcs:x?}")),
            format!("{csrcs:x?}"),
        );
        let form = packet.extension_profile().and_then(ExtensionForm::from_profile);
        compare(
            "form",
            self.form.map(|form| format!("{:?}", Some(form))),
            format!("{form:?}"),
        );
        compare(
            "padding",
            self.padding.map(|count| count.to_string()),
            packet.padding_len().to_string(),
        );
        compare("size", self.size.map(|size| size.to_string()), bytes.len().to_string());
        wrong.extend(self.mismatched_extensions(&packet));
        wrong.extend(self.mismatched_payload(packet.payload()));
        wrong
    }

    fn mismatched_extensions(&self, packet: &RtpPacket<'_>) -> Option<String> {
        let expected = self.extensions.as_ref()?;
        let got: Vec<Element> = packet
            .extensions()
            .map(|(id, value)| (id, Some(value.to_vec())))
            .collect();
        let same = got.len() == expected.len()
            && got
                .iter()
                .zip(expected)
                .all(|(got, expected)| got.0 == expected.0 && (expected.1.is_none() || got.1 == expected.1));
        (!same).then(|| format!("ext is {}, not {}", show_elements(&got), show_elements(expected)))
    }

    fn mismatched_payload(&self, payload: &[u8]) -> Option<String> {
        let (osn, rest) = match self.osn {
            Some(_) if payload.len() < OSN_LEN => return Some("the payload has no room for an osn".into()),
            Some(expected) => (
                Some((u16::from_be_bytes([payload[0], payload[1]]), expected)),
                &payload[OSN_LEN..],
            ),
            None => (None, payload),
        };
        if let Some((got, expected)) = osn.filter(|(got, expected)| got != expected) {
            return Some(format!("osn is {got}, not {expected}"));
        }
        let expected = self.payload.as_ref().filter(|expected| *expected != rest)?;
        Some(format!("payload is {}, not {}", hex(rest), hex(expected)))
    }

    /// Every field of a packet; `None` when it is not one.
    pub fn of(bytes: &[u8]) -> Option<RtpFields> {
        let packet = RtpPacket::parse(bytes).ok()?;
        let elements: Vec<_> = packet
            .extensions()
            .map(|(id, value)| (id, Some(value.to_vec())))
            .collect();
        let csrcs: Vec<u32> = packet.csrcs().iter().map(|csrc| csrc.0).collect();
        let form = packet.extension_profile().and_then(ExtensionForm::from_profile);
        let (payload, fill) = take_fill(packet.payload());
        Some(RtpFields {
            ssrc: Some(packet.ssrc().0),
            payload_type: Some(packet.payload_type().get()),
            sequence: Some(packet.sequence().0),
            timestamp: Some(packet.timestamp().0),
            marker: Some(packet.marker()).filter(|marker| *marker),
            csrcs: Some(csrcs).filter(|csrcs| !csrcs.is_empty()),
            form: form.filter(|form| !elements.is_empty() && *form != natural_form(&elements)),
            extensions: Some(elements).filter(|elements| !elements.is_empty()),
            osn: None,
            payload: Some(payload).filter(|payload| !payload.is_empty()),
            fill: Some(fill).filter(|fill| *fill > 0),
            padding: Some(packet.padding_len() as u8).filter(|count| *count > 0),
            size: None,
        })
    }
}

const FILL: u8 = 0x5f;
const BEHIND_FILL: usize = 8;

/// A payload without a long fill, and how long that was.
fn take_fill(payload: &[u8]) -> (Vec<u8>, usize) {
    let (front, end) = payload.split_at(payload.len().saturating_sub(BEHIND_FILL));
    let fill = front.iter().rev().take_while(|byte| **byte == FILL).count();
    let fill = if fill >= 16 { fill } else { 0 };
    ([&front[..front.len() - fill], end].concat(), fill)
}

/// The form that [`wire::ExtensionWriter`] would choose.
fn natural_form(elements: &[Element]) -> ExtensionForm {
    let fits = |(id, value): &Element| (1..=14).contains(id) && (1..=16).contains(&value.as_ref().map_or(0, Vec::len));
    match elements.iter().all(fits) {
        true => ExtensionForm::OneByte,
        false => ExtensionForm::TwoByte,
    }
}

fn encode_elements(elements: &[Element], form: Option<ExtensionForm>) -> Vec<u8> {
    let form = form.unwrap_or_else(|| natural_form(elements));
    let mut body = Vec::new();
    for (id, value) in elements {
        let value = value.as_deref().unwrap_or_default();
        match form {
            ExtensionForm::OneByte => body.push(id << 4 | (value.len() as u8).wrapping_sub(1) & 0x0f),
            ExtensionForm::TwoByte => body.extend([*id, value.len() as u8]),
        }
        body.extend(value);
    }
    body.resize(body.len().next_multiple_of(4), 0);
    let profile: u16 = match form {
        ExtensionForm::OneByte => 0xbede,
        ExtensionForm::TwoByte => 0x1000,
    };
    let words = (body.len() / 4) as u16;
    [&profile.to_be_bytes()[..], &words.to_be_bytes(), &body].concat()
}

impl fmt::Display for RtpFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rtp")?;
        self.ssrc.map_or(Ok(()), |ssrc| write!(f, " ssrc {ssrc:#x}"))?;
        self.payload_type.map_or(Ok(()), |pt| write!(f, " pt {pt}"))?;
        self.sequence.map_or(Ok(()), |seq| write!(f, " seq {seq}"))?;
        self.timestamp.map_or(Ok(()), |ts| write!(f, " ts {ts}"))?;
        self.marker.map_or(Ok(()), |marker| {
            f.write_str(if marker { " marker" } else { " no-marker" })
        })?;
        if let Some(csrcs) = &self.csrcs {
            let csrcs: Vec<String> = csrcs.iter().map(|csrc| format!("{csrc:#x}")).collect();
            write!(f, " csrc {}", csrcs.join(","))?;
        }
        if let Some(elements) = &self.extensions {
            write!(f, " ext {}", show_elements(elements))?;
        }
        self.form.map_or(Ok(()), |form| {
            f.write_str(match form {
                ExtensionForm::OneByte => " one-byte",
                ExtensionForm::TwoByte => " two-byte",
            })
        })?;
        self.osn.map_or(Ok(()), |osn| write!(f, " osn {osn}"))?;
        self.payload
            .as_ref()
            .map_or(Ok(()), |payload| write!(f, " payload {}", hex(payload)))?;
        self.fill.map_or(Ok(()), |fill| write!(f, " fill {fill}"))?;
        self.padding.map_or(Ok(()), |count| write!(f, " padding {count}"))?;
        self.size.map_or(Ok(()), |size| write!(f, " size {size}"))
    }
}

fn show_elements(elements: &[Element]) -> String {
    if elements.is_empty() {
        return "none".into();
    }
    let shown: Vec<String> = elements
        .iter()
        .map(|(id, value)| match value {
            Some(value) => format!("{id}={}", hex(value)),
            None => format!("{id}=*"),
        })
        .collect();
    shown.join(",")
}

/// Bytes in hexadecimal, without gaps; `empty` when there are none.
pub fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "empty".into();
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
