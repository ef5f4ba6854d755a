//! Values that may stand at session level or in a section (RFC 8859).

use super::bounded::Bounded;
use super::values::{parse_direction, parse_extension, parse_fingerprint, parse_setup};
use super::{Direction, Extension, Fingerprint, Flaw, IceCredentials, MediaSection, SectionKind, Setup};
use crate::limits::{EXTENSIONS_MAX, FINGERPRINTS_MAX, ICE_OPTION_MAX, ICE_OPTIONS_MAX};

/// The values of the session for all sections, or of a section for itself.
#[derive(Default)]
pub(super) struct Inherited<'a> {
    ufrag: Option<&'a str>,
    password: Option<&'a str>,
    ice_options: Option<Vec<&'a str>>,
    /// `None` where no fingerprint is given; an empty list is one of hash functions that are not
    /// known.
    fingerprints: Option<Vec<Fingerprint>>,
    setup: Option<Setup>,
    direction: Option<Direction>,
    extensions: Vec<Extension>,
    ids: Ids,
}

impl<'a> Inherited<'a> {
    pub(super) fn attribute(&mut self, name: &'static str, value: &'a str) -> Result<(), Flaw> {
        if let Some(direction) = parse_direction(name) {
            self.direction = Some(direction);
            return Ok(());
        }
        let unreadable = Flaw::Unreadable(name);
        match name {
            "ice-ufrag" => self.ufrag = Some(credential(value, 4).ok_or(unreadable)?),
            "ice-pwd" => self.password = Some(credential(value, 22).ok_or(unreadable)?),
            "ice-options" => return self.ice_options(value),
            "setup" => self.setup = Some(parse_setup(value).ok_or(unreadable)?),
            "fingerprint" => {
                let read = parse_fingerprint(value).ok_or(unreadable)?;
                let fingerprints = self.fingerprints.get_or_insert_default();
                // Unknown hash functions are not kept.
                if let Some(known) = read.filter(|read| !fingerprints.contains(read)) {
                    return fingerprints.add(Some(known), FINGERPRINTS_MAX, name);
                }
            }
            "extmap" => return self.extension(value),
            _ => {}
        }
        Ok(())
    }

    fn ice_options(&mut self, value: &'a str) -> Result<(), Flaw> {
        let mut words = value.split_ascii_whitespace();
        let fitting = words.by_ref().take(ICE_OPTIONS_MAX);
        self.ice_options = Some(fitting.filter(|word| word.len() <= ICE_OPTION_MAX).collect());
        words.next().map_or(Ok(()), |_| Err(Flaw::TooMany("ice-options")))
    }

    fn extension(&mut self, value: &str) -> Result<(), Flaw> {
        let extension = parse_extension(value).ok_or(Flaw::Unreadable("extmap"))?;
        if self.ids.contains(extension.id) {
            let is_same = self.extensions.contains(&extension);
            return if is_same { Ok(()) } else { Err(Flaw::Repeated("extmap")) };
        }
        let id = extension.id;
        self.extensions.add(Some(extension), EXTENSIONS_MAX, "extmap")?;
        self.ids.insert(id);
        Ok(())
    }

    /// Writes the section's own values into `section`, and the session's for the rest.
    pub(super) fn settle(self, session: &Self, section: &mut MediaSection) {
        section.setup = self.setup.or(session.setup);
        let options = self.ice_options.as_ref().or(session.ice_options.as_ref());
        let owned = options.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
        section.ice_options = owned.unwrap_or_default();
        let fingerprints = self.fingerprints.or_else(|| session.fingerprints.clone());
        section.fingerprints = fingerprints.unwrap_or_default();
        if let (Some(ufrag), Some(password)) = (self.ufrag.or(session.ufrag), self.password.or(session.password)) {
            section.ice = Some(IceCredentials {
                ufrag: ufrag.to_owned(),
                password: password.to_owned(),
            });
        }
        if matches!(section.kind, SectionKind::Media(_)) {
            section.direction = self.direction.or(session.direction).unwrap_or(Direction::SendRecv);
            let further = session.extensions.iter().filter(|it| !self.ids.contains(it.id));
            let room = EXTENSIONS_MAX - self.extensions.len();
            section.extensions = self.extensions;
            section.extensions.extend(further.take(room).cloned());
        }
    }
}

/// A user fragment or password of at least `min` characters (RFC 8839 section 5.4).
fn credential(value: &str, min: usize) -> Option<&str> {
    let fits = (min..=256).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(value)
}

/// A set of identifiers of header extensions.
#[derive(Default)]
struct Ids([u64; 4]);

impl Ids {
    fn contains(&self, id: u8) -> bool {
        self.0[usize::from(id / 64)] & (1 << (id % 64)) != 0
    }

    fn insert(&mut self, id: u8) {
        self.0[usize::from(id / 64)] |= 1 << (id % 64);
    }
}
