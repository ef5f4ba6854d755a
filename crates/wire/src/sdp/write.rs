//! From values to text.

use std::fmt;

use sdp_types::{AddrType, Attribute, Connection, Media, NetType, Origin, Session};

use super::section::NOTHING;
use super::{Fingerprint, MediaSection, RidDirection, SectionKind, SessionDescription, Simulcast};
use crate::Mid;

impl fmt::Display for SessionDescription {
    /// The description as it travels, with the line ends of the grammar.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.to_session()
            .write(&mut text)
            .expect("writing to memory cannot fail");
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

impl SessionDescription {
    fn to_session(&self) -> Session {
        let origin = Origin::new(self.session_id, self.version, NetType::In, AddrType::Ip4, "127.0.0.1");
        let mut session = Session::new(origin, "-");
        if !self.bundle.is_empty() {
            let mids: Vec<_> = self.bundle.iter().map(Mid::as_str).collect();
            session
                .attributes
                .push(attribute("group", format!("BUNDLE {}", mids.join(" "))));
        }
        if self.ice_lite {
            session.attributes.push(flag("ice-lite"));
        }
        if self.extmap_allow_mixed {
            session.attributes.push(flag("extmap-allow-mixed"));
        }
        session.attributes.push(attribute("msid-semantic", "WMS *"));
        session.medias = self.sections.iter().map(MediaSection::to_media).collect();
        session
    }
}

impl MediaSection {
    fn to_media(&self) -> Media {
        let (name, formats) = match &self.kind {
            SectionKind::Media(kind) => (kind.name().to_owned(), self.format_list()),
            SectionKind::Data => ("application".to_owned(), "webrtc-datachannel".to_owned()),
            SectionKind::Other { media, formats } => (media.clone(), formats.clone()),
        };
        // 9 is the discard port: the address is in the candidates (RFC 8829 section 5.2.1).
        let port = if self.rejected || self.bundle_only { 0 } else { 9 };
        Media {
            media: name,
            port,
            num_ports: None,
            proto: self.protocol.clone(),
            fmt: formats,
            media_title: None,
            connections: vec![Connection::new(NetType::In, AddrType::Ip4, "0.0.0.0")],
            bandwidths: Vec::new(),
            key: None,
            attributes: self.attributes(),
        }
    }

    /// A line needs at least one format; without any it gets a number without a format.
    fn format_list(&self) -> String {
        let numbers: Vec<_> = self
            .formats
            .iter()
            .map(|format| format.payload_type.to_string())
            .collect();
        if numbers.is_empty() {
            NOTHING.to_owned()
        } else {
            numbers.join(" ")
        }
    }

    fn attributes(&self) -> Vec<Attribute> {
        let mut lines = vec![attribute("mid", self.mid.as_str())];
        if self.bundle_only {
            lines.push(flag("bundle-only"));
        }
        self.write_transport(&mut lines);
        match self.kind {
            SectionKind::Media(_) => self.write_media(&mut lines),
            SectionKind::Data => {
                lines.extend(self.sctp_port.map(|port| attribute("sctp-port", port)));
                lines.extend(self.max_message_size.map(|size| attribute("max-message-size", size)));
            }
            SectionKind::Other { .. } => {}
        }
        lines
    }

    fn write_transport(&self, lines: &mut Vec<Attribute>) {
        if let Some(ice) = &self.ice {
            lines.push(attribute("ice-ufrag", &ice.ufrag));
            lines.push(attribute("ice-pwd", &ice.password));
        }
        if !self.ice_options.is_empty() {
            lines.push(attribute("ice-options", self.ice_options.join(" ")));
        }
        lines.extend(
            self.fingerprints
                .iter()
                .map(|fingerprint| attribute("fingerprint", fingerprint)),
        );
        lines.extend(self.setup.map(|setup| attribute("setup", setup.name())));
        lines.extend(
            self.candidates
                .iter()
                .map(|candidate| attribute("candidate", candidate.write())),
        );
        if self.end_of_candidates {
            lines.push(flag("end-of-candidates"));
        }
    }

    fn write_media(&self, lines: &mut Vec<Attribute>) {
        lines.push(flag(self.direction.name()));
        if self.rtcp_mux {
            lines.push(flag("rtcp-mux"));
        }
        if self.rtcp_rsize {
            lines.push(flag("rtcp-rsize"));
        }
        let extensions = self.extensions.iter();
        lines.extend(extensions.map(|extension| attribute("extmap", format!("{} {}", extension.id, extension.uri))));
        for msid in &self.msids {
            lines.push(attribute(
                "msid",
                [Some(msid.stream.as_str()), msid.track.as_deref()].join_present(" "),
            ));
        }
        self.write_formats(lines);
        self.write_encodings(lines);
    }

    fn write_formats(&self, lines: &mut Vec<Attribute>) {
        for format in &self.formats {
            let number = format.payload_type;
            let channels = if format.channels == 1 {
                String::new()
            } else {
                format!("/{}", format.channels)
            };
            lines.push(attribute(
                "rtpmap",
                format!("{number} {}/{}{channels}", format.name, format.clock_rate),
            ));
            if !format.parameters.0.is_empty() {
                lines.push(attribute("fmtp", format!("{number} {}", format.parameters.0)));
            }
            let feedback = format.feedback.names();
            lines.extend(feedback.map(|feedback| attribute("rtcp-fb", format!("{number} {feedback}"))));
        }
    }

    fn write_encodings(&self, lines: &mut Vec<Attribute>) {
        for rid in &self.rids {
            let direction = match rid.direction {
                RidDirection::Send => "send",
                RidDirection::Recv => "recv",
            };
            let restrictions = Some(rid.restrictions.as_str()).filter(|text| !text.is_empty());
            lines.push(attribute(
                "rid",
                [Some(rid.rid.as_str()), Some(direction), restrictions].join_present(" "),
            ));
        }
        lines.extend(
            self.simulcast
                .as_ref()
                .map(|simulcast| attribute("simulcast", simulcast)),
        );
        for group in &self.ssrc_groups {
            let ssrcs: Vec<_> = group.ssrcs.iter().map(ToString::to_string).collect();
            lines.push(attribute(
                "ssrc-group",
                format!("{} {}", group.semantics, ssrcs.join(" ")),
            ));
        }
        for line in &self.ssrcs {
            let value = line
                .value
                .as_ref()
                .map_or_else(String::new, |value| format!(":{value}"));
            lines.push(attribute("ssrc", format!("{} {}{value}", line.ssrc, line.attribute)));
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.hash.name())?;
        for (position, octet) in self.digest.iter().enumerate() {
            let colon = if position == 0 { "" } else { ":" };
            write!(f, "{colon}{octet:02X}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Simulcast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let send = (!self.send.is_empty()).then(|| format!("send {}", self.send.join(";")));
        let recv = (!self.recv.is_empty()).then(|| format!("recv {}", self.recv.join(";")));
        f.write_str(&[send.as_deref(), recv.as_deref()].join_present(" "))
    }
}

/// Joins the parts that are present.
trait JoinPresent {
    fn join_present(self, separator: &str) -> String;
}

impl<const N: usize> JoinPresent for [Option<&str>; N] {
    fn join_present(self, separator: &str) -> String {
        self.into_iter().flatten().collect::<Vec<_>>().join(separator)
    }
}

fn attribute(name: &str, value: impl ToString) -> Attribute {
    Attribute {
        attribute: name.to_owned(),
        value: Some(value.to_string()),
    }
}

fn flag(name: &str) -> Attribute {
    Attribute {
        attribute: name.to_owned(),
        value: None,
    }
}
