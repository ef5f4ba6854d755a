use super::{Description, Direction, Format, Kind, Media, SdpError, Setup};

impl Description {
    /// Reads a description.
    ///
    /// Transport attributes may be at session level or in any section: with bundle they are the
    /// same.
    pub fn parse(text: &str) -> Result<Self, SdpError> {
        let mut transport = Transport::default();
        let mut media: Vec<Media> = Vec::new();
        for line in text.lines().map(str::trim_end) {
            if let Some(section) = line.strip_prefix("m=") {
                media.push(parse_media_line(section)?);
            } else if let Some(attribute) = line.strip_prefix("a=") {
                let (name, value) = attribute.split_once(':').unwrap_or((attribute, ""));
                if !transport.read(name, value)
                    && let Some(section) = media.last_mut()
                {
                    section.read(name, value);
                }
            }
        }
        Ok(Self {
            ufrag: transport.ufrag.ok_or(SdpError::Missing("ice-ufrag"))?,
            password: transport.password.ok_or(SdpError::Missing("ice-pwd"))?,
            ice_lite: transport.ice_lite,
            fingerprint: transport.fingerprint.ok_or(SdpError::Missing("fingerprint"))?,
            setup: transport.setup.unwrap_or(Setup::ActPass),
            candidates: transport.candidates,
            media,
        })
    }
}

impl Media {
    fn read(&mut self, name: &str, value: &str) {
        match name {
            "mid" => self.mid = value.into(),
            "rtpmap" => {
                if let Some((format, mapping)) = self.format_line(value) {
                    format.mapping = mapping.into();
                }
            }
            "fmtp" => {
                if let Some((format, parameters)) = self.format_line(value) {
                    format.parameters = parameters.into();
                }
            }
            "rtcp-fb" => {
                if let Some((format, feedback)) = self.format_line(value) {
                    format.feedback.push(feedback.into());
                }
            }
            "extmap" => {
                if let Some((id, uri)) = value.split_once(' ')
                    && let Ok(id) = id.split('/').next().unwrap_or_default().parse()
                {
                    self.extensions
                        .push((id, uri.split(' ').next().unwrap_or_default().into()));
                }
            }
            "ssrc-group" => {
                let mut words = value.split(' ');
                if words.next() == Some("FID")
                    && let (Some(Ok(primary)), Some(Ok(repair))) =
                        (words.next().map(str::parse), words.next().map(str::parse))
                {
                    self.repair_ssrcs.push((primary, repair));
                }
            }
            _ => {
                if let Some(direction) = Direction::from_name(name) {
                    self.direction = direction;
                }
            }
        }
    }

    /// Splits `<payload type> <rest>` and finds the format.
    fn format_line<'a>(&mut self, value: &'a str) -> Option<(&mut Format, &'a str)> {
        let (payload_type, rest) = value.split_once(' ')?;
        let payload_type: u8 = payload_type.parse().ok()?;
        Some((
            self.formats
                .iter_mut()
                .find(|format| format.payload_type == payload_type)?,
            rest,
        ))
    }
}

fn parse_media_line(line: &str) -> Result<Media, SdpError> {
    let words: Vec<&str> = line.split(' ').collect();
    let &[kind, port, protocol, ref formats @ ..] = words.as_slice() else {
        return Err(SdpError::Missing("m= fields"));
    };
    let kind = match kind {
        "audio" => Kind::Audio,
        "video" => Kind::Video,
        _ => Kind::Application,
    };
    let mut media = Media::new(kind, "", Direction::SendRecv);
    media.rejected = port == "0";
    if kind == Kind::Application {
        media.protocol = format!("{protocol} {}", formats.join(" "));
    } else {
        media.protocol = protocol.into();
        media.formats = formats
            .iter()
            .filter_map(|pt| {
                Some(Format {
                    payload_type: pt.parse().ok()?,
                    ..Format::default()
                })
            })
            .collect();
    }
    Ok(media)
}

#[derive(Default)]
struct Transport {
    ufrag: Option<String>,
    password: Option<String>,
    ice_lite: bool,
    fingerprint: Option<String>,
    setup: Option<Setup>,
    candidates: Vec<String>,
}

impl Transport {
    /// Takes the attribute if it belongs to the transport. The first value of each wins.
    fn read(&mut self, name: &str, value: &str) -> bool {
        match name {
            "ice-ufrag" => {
                self.ufrag.get_or_insert_with(|| value.into());
            }
            "ice-pwd" => {
                self.password.get_or_insert_with(|| value.into());
            }
            "ice-lite" => self.ice_lite = true,
            "fingerprint" => {
                self.fingerprint.get_or_insert_with(|| value.into());
            }
            "setup" => {
                let setup = [Setup::Active, Setup::Passive, Setup::ActPass]
                    .into_iter()
                    .find(|it| it.name() == value);
                self.setup = self.setup.or(setup);
            }
            "candidate" => {
                let candidate = format!("candidate:{value}");
                if !self.candidates.contains(&candidate) {
                    self.candidates.push(candidate);
                }
            }
            _ => return false,
        }
        true
    }
}
