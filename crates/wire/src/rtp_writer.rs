//! Writing RTP packets.

use std::fmt;

use crate::rtp::{Csrcs, ExtensionForm, FIXED_HEADER_LEN, PROFILE_ONE_BYTE, PROFILE_TWO_BYTE};
use crate::{PayloadType, RtpPacket, RtpTimestamp, SequenceNumber, Ssrc};

/// The fields of an RTP header, as values.
///
/// To forward a packet, take the fields of the received one
/// ([`RtpPacket::header`](crate::RtpPacket::header)), change them and write them before the
/// payload.
///
/// Source: RFC 3550 section 5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpHeader<'a> {
    /// The packet ends with padding; the writer of the payload ends it with [`fill_padding`].
    pub has_padding: bool,
    /// The marker bit; for video, the last packet of a frame.
    pub marker: bool,
    /// The codec, by its number in the SDP.
    pub payload_type: PayloadType,
    /// The packet's place in its stream.
    pub sequence: SequenceNumber,
    /// The sampling instant of the payload.
    pub timestamp: RtpTimestamp,
    /// The stream.
    pub ssrc: Ssrc,
    /// The sources that were mixed into the payload.
    pub csrcs: Csrcs<'a>,
}

/// Why a header was not written. We are at fault: the element list or the buffer is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtpWriteError {
    /// An element has id 0, which means padding.
    ExtensionIdZero,
    /// An element's value is longer than 255 bytes, or all together longer than 65,535 words.
    ExtensionTooLong,
    /// The buffer is shorter than the header.
    BufferTooShort,
}

impl fmt::Display for RtpWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ExtensionIdZero => "header extension id 0 is reserved for padding",
            Self::ExtensionTooLong => "a header extension value is too long for its form",
            Self::BufferTooShort => "the buffer is too short for the RTP header",
        })
    }
}

impl std::error::Error for RtpWriteError {}

impl<'a> RtpPacket<'a> {
    /// The header as a value to change and write again, without the extension.
    pub fn header(&self) -> RtpHeader<'a> {
        RtpHeader {
            has_padding: self.as_bytes()[0] & 0x20 != 0,
            marker: self.marker(),
            payload_type: self.payload_type(),
            sequence: self.sequence(),
            timestamp: self.timestamp(),
            ssrc: self.ssrc(),
            csrcs: self.csrcs(),
        }
    }
}

impl RtpHeader<'_> {
    /// Bytes that [`write`](Self::write) fills.
    pub fn encoded_len(&self, extensions: &ExtensionWriter<'_>) -> usize {
        FIXED_HEADER_LEN + self.csrcs.as_bytes().len() + extensions.encoded_len()
    }

    /// Writes the header to the front of `out` and returns its length; the payload follows it.
    ///
    /// Errors: [`RtpWriteError::BufferTooShort`], with nothing written.
    pub fn write(&self, extensions: &ExtensionWriter<'_>, out: &mut [u8]) -> Result<usize, RtpWriteError> {
        let len = self.encoded_len(extensions);
        let out = out.get_mut(..len).ok_or(RtpWriteError::BufferTooShort)?;
        let has_extension = extensions.encoded_len() > 0;
        out[0] = u8::from(has_extension) << 4 | self.csrcs.count() as u8;
        self.overwrite(out);
        let (csrcs, extension) = out[FIXED_HEADER_LEN..].split_at_mut(self.csrcs.as_bytes().len());
        csrcs.copy_from_slice(self.csrcs.as_bytes());
        extensions.write(extension);
        Ok(len)
    }

    /// Overwrites the fixed fields of an existing header; its CSRCs and its extension stay.
    ///
    /// Panics: when `header` is shorter than a header.
    #[inline]
    pub fn overwrite(&self, header: &mut [u8]) {
        let fixed = header
            .first_chunk_mut::<FIXED_HEADER_LEN>()
            .expect("a header is not shorter than its fixed fields");
        fixed[0] = 0x80 | u8::from(self.has_padding) << 5 | fixed[0] & 0x1f;
        fixed[1] = u8::from(self.marker) << 7 | self.payload_type.get();
        fixed[2..4].copy_from_slice(&self.sequence.0.to_be_bytes());
        fixed[4..8].copy_from_slice(&self.timestamp.0.to_be_bytes());
        fixed[8..12].copy_from_slice(&self.ssrc.0.to_be_bytes());
    }
}

/// A list of header extension elements, checked and ready to be written.
///
/// The one-byte form is chosen when every id is 1 to 14 and every value 1 to 16 bytes long, the
/// two-byte form otherwise. An empty list writes no bytes, and the header then has no extension.
///
/// Shape: elements in the given order, padded with zeros to a whole number of 32-bit words.
/// Source: RFC 8285 section 4.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionWriter<'a> {
    elements: &'a [(u8, &'a [u8])],
    form: ExtensionForm,
    /// Length of the elements before padding.
    elements_len: usize,
}

impl<'a> ExtensionWriter<'a> {
    /// No extension.
    pub const NONE: ExtensionWriter<'static> = ExtensionWriter {
        elements: &[],
        form: ExtensionForm::OneByte,
        elements_len: 0,
    };

    /// Checks `elements`, each an `(id, value)`, and chooses their form.
    ///
    /// Errors: [`RtpWriteError::ExtensionIdZero`], [`RtpWriteError::ExtensionTooLong`].
    pub fn new(elements: &'a [(u8, &'a [u8])]) -> Result<Self, RtpWriteError> {
        let fits_one_byte = |&(id, value): &(u8, &[u8])| (1..=14).contains(&id) && (1..=16).contains(&value.len());
        let form = match elements.iter().all(fits_one_byte) {
            true => ExtensionForm::OneByte,
            false => ExtensionForm::TwoByte,
        };
        let mut elements_len = 0;
        for (id, value) in elements {
            if *id == 0 {
                return Err(RtpWriteError::ExtensionIdZero);
            }
            if value.len() > 255 {
                return Err(RtpWriteError::ExtensionTooLong);
            }
            elements_len += value.len() + element_header_len(form);
        }
        if elements_len > 4 * usize::from(u16::MAX) {
            return Err(RtpWriteError::ExtensionTooLong);
        }
        Ok(Self {
            elements,
            form,
            elements_len,
        })
    }

    /// The form chosen.
    pub fn form(&self) -> ExtensionForm {
        self.form
    }

    /// Bytes on the wire, profile, length and padding included; 0 without elements.
    pub fn encoded_len(&self) -> usize {
        if self.elements.is_empty() {
            0
        } else {
            4 + self.elements_len.next_multiple_of(4)
        }
    }

    /// Fills `out`, which is exactly as long as [`encoded_len`](Self::encoded_len).
    fn write(&self, out: &mut [u8]) {
        if self.elements.is_empty() {
            return;
        }
        let profile = match self.form {
            ExtensionForm::OneByte => PROFILE_ONE_BYTE,
            ExtensionForm::TwoByte => PROFILE_TWO_BYTE,
        };
        let words = self.elements_len.div_ceil(4) as u16;
        out[..2].copy_from_slice(&profile.to_be_bytes());
        out[2..4].copy_from_slice(&words.to_be_bytes());
        let mut at = 4;
        for (id, value) in self.elements {
            match self.form {
                ExtensionForm::OneByte => out[at] = id << 4 | (value.len() - 1) as u8,
                ExtensionForm::TwoByte => out[at..at + 2].copy_from_slice(&[*id, value.len() as u8]),
            }
            at += element_header_len(self.form);
            out[at..at + value.len()].copy_from_slice(value);
            at += value.len();
        }
        out[at..].fill(0);
    }
}

const fn element_header_len(form: ExtensionForm) -> usize {
    match form {
        ExtensionForm::OneByte => 1,
        ExtensionForm::TwoByte => 2,
    }
}

/// Makes `padding` the padding at the end of a packet: zeros, and the count in the last byte.
///
/// Panics: when `padding` is not 1 to 255 bytes long; how much to pad is ours to decide.
pub fn fill_padding(padding: &mut [u8]) {
    let count = u8::try_from(padding.len()).expect("padding is at most 255 bytes");
    let (last, zeros) = padding.split_last_mut().expect("padding is at least its count byte");
    zeros.fill(0);
    *last = count;
}
