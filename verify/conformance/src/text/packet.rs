//! The words that describe a datagram.

use wire::ExtensionForm;

use super::descriptor;
use super::entry::layer;
use super::words::{Problem, Words, bytes, number, problem, split};
use crate::rtp::{Element, RtpFields};

/// A STUN binding request without attributes (RFC 8489 section 5).
pub(super) const STUN: [u8; 20] = [
    0x00, 0x01, 0x00, 0x00, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];

/// The start of a DTLS 1.2 handshake record (RFC 6347 section 4.1).
pub(super) const DTLS: [u8; 13] = [0x16, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A receiver report without blocks (RFC 3550 section 6.4.2).
pub(super) const RTCP: [u8; 8] = [0x80, 0xc9, 0x00, 0x01, 0x00, 0x00, 0x00, 0x07];

/// The bytes after a descriptor: a frame header and a tag of the packet.
const BODY: [u8; 4] = [0xb0, 0xd1, 0xe5, 0x77];

/// The RTP fields in the rest of the line.
pub(super) fn rtp_fields(words: &mut Words<'_>) -> Result<RtpFields, Problem> {
    let mut fields = RtpFields::default();
    let mut payload = None;
    while let Some(word) = words.next() {
        match word {
            "ssrc" => fields.ssrc = Some(words.number("an SSRC")?),
            "pt" => fields.payload_type = Some(words.number("a payload type")?),
            "seq" => fields.sequence = Some(words.number("a sequence number")?),
            "ts" => fields.timestamp = Some(words.number("a timestamp")?),
            "marker" => fields.marker = Some(true),
            "no-marker" => fields.marker = Some(false),
            "csrc" => fields.csrcs = Some(csrcs(words.word("a list of SSRCs")?)?),
            "ext" => fields.extensions = Some(elements(words.word("a list of extensions")?)?),
            "one-byte" => fields.form = Some(ExtensionForm::OneByte),
            "two-byte" => fields.form = Some(ExtensionForm::TwoByte),
            "osn" => fields.osn = Some(words.number("a sequence number")?),
            "fill" => fields.fill = Some(words.number("a count of bytes")?),
            "padding" => fields.padding = Some(words.number("a count of bytes")?),
            "size" => fields.size = Some(words.number("a count of bytes")?),
            "payload" => fields.payload = Some(bytes(words.word("bytes")?)?),
            "opus" => payload = Some(Payload::new(&[0x78])),
            "vp8" => payload = Some(Payload::vp8(words.word("key, delta or rest")?)?),
            "h264" => payload = Some(Payload::h264(words.word("key or delta")?)?),
            "dd" => fields
                .extensions
                .get_or_insert_default()
                .push(descriptor::element(words)?),
            "av1" => payload = Some(Payload::av1(words.word("key or delta")?)?),
            "vp9" => payload = Some(Payload::vp9(words)?),
            "red" => payload = Some(Payload::red(words)?),
            _ => describe_payload(word, words, payload.as_mut())?,
        }
    }
    fields.payload = fields.payload.or(payload.map(Payload::encode));
    Ok(fields)
}

fn csrcs(list: &str) -> Result<Vec<u32>, Problem> {
    match list {
        "none" => Ok(Vec::new()),
        list => list.split(',').map(|csrc| number(csrc, "an SSRC")).collect(),
    }
}

/// `1=aabb,2="text",3=*`
fn elements(list: &str) -> Result<Vec<Element>, Problem> {
    let element = |text: &str| {
        let (id, value) = split(text, '=', "an extension")?;
        let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        let value = match (value, quoted) {
            ("*", _) => None,
            (_, Some(text)) => Some(text.as_bytes().to_vec()),
            (digits, None) => Some(bytes(digits)?),
        };
        Ok((number(id, "an extension id")?, value))
    };
    match list {
        "none" => Ok(Vec::new()),
        list => list.split(',').map(element).collect(),
    }
}

fn describe_payload(word: &str, words: &mut Words<'_>, payload: Option<&mut Payload>) -> Result<(), Problem> {
    let Some(payload) = payload else {
        return problem(format!("`{word}` is not a field of an RTP packet"));
    };
    match word {
        "id7" => payload.picture_id = Some(vec![words.number::<u8>("a picture id")? & 0x7f]),
        "id15" => {
            let id: u16 = words.number("a picture id")?;
            payload.picture_id = Some((id | 0x8000).to_be_bytes().to_vec());
        }
        "tl0" => payload.tl0 = Some(words.number("a TL0PICIDX")?),
        "tid" => payload.tid = Some(words.number::<u8>("a temporal layer")? << 6),
        "sync" => payload.tid = payload.tid.map(|tid| tid | 0x20),
        "keyidx" => payload.key_idx = Some(words.number("a KEYIDX")?),
        "tag" => payload.tag = words.number::<u32>("a number")?.to_be_bytes().to_vec(),
        _ => {
            return problem(format!(
                "`{word}` is neither a field of an RTP packet nor of its payload"
            ));
        }
    }
    Ok(())
}

/// A payload that a person describes.
struct Payload {
    /// First byte of a VP8 descriptor; the other codecs' payloads have none.
    vp8: Option<u8>,
    picture_id: Option<Vec<u8>>,
    tl0: Option<u8>,
    key_idx: Option<u8>,
    /// VP8's temporal layer and Y, in place.
    tid: Option<u8>,
    /// A VP9 descriptor with layers: first byte, and the byte of the layers.
    vp9: Option<(u8, u8)>,
    head: Vec<u8>,
    tag: Vec<u8>,
}

impl Payload {
    fn new(head: &[u8]) -> Self {
        Payload {
            vp8: None,
            picture_id: None,
            tl0: None,
            key_idx: None,
            tid: None,
            vp9: None,
            head: head.to_vec(),
            tag: Vec::new(),
        }
    }

    /// RFC 7741 sections 4.2 and 4.3: S is set on the first packet of a frame, P is clear in a key
    /// frame.
    fn vp8(what: &str) -> Result<Self, Problem> {
        let (first, head): (u8, &[u8]) = match what {
            "key" => (0x10, &[0x10]),
            "delta" => (0x10, &[0x11]),
            "rest" => (0x00, &[0x42]),
            other => return problem(format!("`{other}` is not key, delta or rest")),
        };
        Ok(Payload {
            vp8: Some(first),
            ..Self::new(head)
        })
    }

    /// RFC 6184 section 5.4: an IDR slice or another one.
    fn h264(what: &str) -> Result<Self, Problem> {
        Ok(Self::new(key_or_delta(what, &[0x65, 0x88], &[0x41, 0x9a])?))
    }

    /// AV1 RTP specification section 4.4: the N bit.
    fn av1(what: &str) -> Result<Self, Problem> {
        Ok(Self::new(key_or_delta(what, &[0x18, 0x0a], &[0x10, 0x32])?))
    }

    /// RFC 9628 section 4.2: B, and P clear in a key frame; or a layer and the letters of the bits
    /// that are set.
    fn vp9(words: &mut Words<'_>) -> Result<Self, Problem> {
        let what = words.word("key, delta or a layer")?;
        if !what.starts_with('S') {
            return Ok(Self::new(key_or_delta(what, &[0x0c, 0x82], &[0x4c, 0x86])?));
        }
        let layer = layer(what)?;
        let (mut first, mut layers) = (0x20, layer.temporal << 5 | layer.spatial << 1);
        for letter in words.word("letters: PFBEZ and UD")?.chars() {
            match letter {
                'P' => first |= 0x40,
                'F' => first |= 0x10,
                'B' => first |= 0x08,
                'E' => first |= 0x04,
                'Z' => first |= 0x01,
                'U' => layers |= 0x10,
                'D' => layers |= 0x01,
                '-' => {}
                other => return problem(format!("`{other}` is not a bit of a VP9 descriptor")),
            }
        }
        Ok(Payload {
            vp9: Some((first, layers)),
            ..Self::new(&[0x82])
        })
    }

    /// RFC 2198: the sizes of the redundant frames, then the primary one's; all of payload
    /// type 111.
    fn red(words: &mut Words<'_>) -> Result<Self, Problem> {
        let mut sizes: Vec<u16> = Vec::new();
        for size in words
            .word("sizes of redundant frames")?
            .split(',')
            .filter(|size| *size != "none")
        {
            sizes.push(number(size, "a size")?);
        }
        let headers = sizes.iter().enumerate().flat_map(|(at, size)| {
            let offset = (960 * (sizes.len() - at)) as u32;
            let [_, rest @ ..] = (offset << 10 | u32::from(*size)).to_be_bytes();
            [&[0x80 | 111], &rest[..]].concat()
        });
        let mut head: Vec<u8> = headers.collect();
        head.push(111);
        head.resize(head.len() + sizes.iter().sum::<u16>() as usize, 0x0d);
        Ok(Self::new(&head))
    }

    fn encode(self) -> Vec<u8> {
        let layers = match (self.tid, self.key_idx) {
            (None, None) => None,
            (tid, key_idx) => Some(tid.unwrap_or(0) | key_idx.unwrap_or(0)),
        };
        let extended = u8::from(self.picture_id.is_some()) << 7
            | u8::from(self.tl0.is_some()) << 6
            | u8::from(self.tid.is_some()) << 5
            | u8::from(self.key_idx.is_some()) << 4;
        let mut bytes = Vec::new();
        if let Some((first, layers)) = self.vp9 {
            let flexible = first & 0x10 != 0;
            bytes.push(first | u8::from(self.picture_id.is_some()) << 7);
            bytes.extend(self.picture_id.clone().unwrap_or_default());
            bytes.push(layers);
            bytes.extend((!flexible).then_some(self.tl0.unwrap_or(0)));
            // Its references are not compared: one, to the previous picture.
            bytes.extend((flexible && first & 0x40 != 0).then_some(1 << 1));
        }
        if let Some(first) = self.vp8 {
            bytes.push(first | u8::from(extended != 0) << 7);
            bytes.extend((extended != 0).then_some(extended));
            bytes.extend(self.picture_id.unwrap_or_default());
            bytes.extend(self.tl0);
            bytes.extend(layers);
        }
        bytes.extend(self.head);
        bytes.extend(BODY);
        bytes.extend(self.tag);
        bytes
    }
}

fn key_or_delta<'a>(what: &str, key: &'a [u8], delta: &'a [u8]) -> Result<&'a [u8], Problem> {
    match what {
        "key" => Ok(key),
        "delta" => Ok(delta),
        other => problem(format!("`{other}` is not key or delta")),
    }
}
