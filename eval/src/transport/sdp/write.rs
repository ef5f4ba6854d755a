use std::fmt::Write as _;

use super::{Description, Kind, Media};

impl Description {
    /// Writes the description.
    pub fn write(&self) -> String {
        let mut out = String::with_capacity(4096);
        out.push_str("v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n");
        let bundled: String = self
            .media
            .iter()
            .filter(|media| !media.rejected)
            .map(|m| format!(" {}", m.mid))
            .collect();
        let _ = write!(
            out,
            "a=group:BUNDLE{bundled}\r\na=msid-semantic: WMS *\r\na=extmap-allow-mixed\r\n"
        );
        for media in &self.media {
            self.write_media(media, &mut out);
        }
        out
    }

    fn write_media(&self, media: &Media, out: &mut String) {
        let port = if media.rejected { 0 } else { 9 };
        let kind = match media.kind {
            Kind::Audio => "audio",
            Kind::Video => "video",
            Kind::Application => "application",
        };
        let _ = write!(out, "m={kind} {port} {}", media.protocol);
        if media.kind != Kind::Application {
            media.formats.iter().for_each(|format| {
                let _ = write!(out, " {}", format.payload_type);
            });
        }
        let _ = write!(out, "\r\nc=IN IP4 0.0.0.0\r\na=mid:{}\r\n", media.mid);
        if media.rejected {
            out.push_str("a=inactive\r\n");
            return;
        }
        let (ufrag, password, fingerprint) = (&self.ufrag, &self.password, &self.fingerprint);
        let _ = write!(
            out,
            "a=ice-ufrag:{ufrag}\r\na=ice-pwd:{password}\r\na=ice-options:trickle\r\n"
        );
        let _ = write!(out, "a=fingerprint:{fingerprint}\r\na=setup:{}\r\n", self.setup.name());
        self.candidates.iter().for_each(|candidate| {
            let _ = write!(out, "a={candidate}\r\n");
        });
        out.push_str("a=end-of-candidates\r\n");
        media.write_attributes(out);
    }
}

impl Media {
    fn write_attributes(&self, out: &mut String) {
        if self.kind == Kind::Application {
            out.push_str("a=sctp-port:5000\r\na=max-message-size:262144\r\n");
            return;
        }
        let _ = write!(out, "a={}\r\na=rtcp-mux\r\na=rtcp-rsize\r\n", self.direction.name());
        for (id, uri) in &self.extensions {
            let _ = write!(out, "a=extmap:{id} {uri}\r\n");
        }
        for format in &self.formats {
            let pt = format.payload_type;
            let _ = write!(out, "a=rtpmap:{pt} {}\r\n", format.mapping);
            if !format.parameters.is_empty() {
                let _ = write!(out, "a=fmtp:{pt} {}\r\n", format.parameters);
            }
            for feedback in &format.feedback {
                let _ = write!(out, "a=rtcp-fb:{pt} {feedback}\r\n");
            }
        }
        self.extra.iter().for_each(|line| {
            let _ = write!(out, "a={line}\r\n");
        });
    }
}
