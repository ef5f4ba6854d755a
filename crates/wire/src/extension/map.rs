//! Which number each extension has on one transport.

use std::fmt;

use super::{ExtensionForms, ExtensionKind};

/// The header extension ids negotiated on one transport, both ways round.
///
/// Shape: ids 1 to 255. Id 15 and ids above can only travel in the two-byte form.
/// Source: RFC 8285 section 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExtensionMap {
    /// By kind; 0 where the extension is not in use. Sixteen bytes make the way back a scan of one
    /// vector register.
    ids: [u8; ExtensionKind::ALL.len()],
}

/// The reason that a negotiated id is refused. The author of the SDP is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionMapError {
    /// Id 0 means padding.
    IdZero,
    /// The id is in use for this kind.
    IdTaken(ExtensionKind),
    /// The kind already has this id.
    KindTaken(u8),
}

impl fmt::Display for ExtensionMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdZero => f.write_str("header extension id 0 is reserved for padding"),
            Self::IdTaken(kind) => write!(f, "the header extension id already stands for {}", kind.uri()),
            Self::KindTaken(id) => write!(f, "the header extension already has id {id}"),
        }
    }
}

impl std::error::Error for ExtensionMapError {}

impl ExtensionMap {
    /// The extensions that these forms can carry.
    pub fn within(mut self, forms: ExtensionForms) -> Self {
        for id in self.ids.iter_mut().filter(|id| **id > forms.id_max()) {
            *id = 0;
        }
        self
    }

    /// Gives `kind` the number `id`. A repeated pair is no error: every media section of a bundle
    /// repeats it.
    ///
    /// Errors: any [`ExtensionMapError`], with nothing changed.
    pub fn insert(&mut self, kind: ExtensionKind, id: u8) -> Result<(), ExtensionMapError> {
        if id == 0 {
            return Err(ExtensionMapError::IdZero);
        }
        match (self.id(kind), self.kind(id)) {
            (Some(taken), _) if taken != id => Err(ExtensionMapError::KindTaken(taken)),
            (_, Some(taken)) if taken != kind => Err(ExtensionMapError::IdTaken(taken)),
            _ => {
                self.ids[kind as usize] = id;
                Ok(())
            }
        }
    }

    /// The number of an extension on this transport.
    pub fn id(&self, kind: ExtensionKind) -> Option<u8> {
        Some(self.ids[kind as usize]).filter(|id| *id != 0)
    }

    /// The extension of an id on this transport.
    pub fn kind(&self, id: u8) -> Option<ExtensionKind> {
        let position = self.ids.iter().position(|taken| *taken == id && id != 0)?;
        Some(ExtensionKind::ALL[position])
    }

    /// All extensions in use, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (ExtensionKind, u8)> + '_ {
        ExtensionKind::ALL
            .into_iter()
            .filter_map(|kind| Some((kind, self.id(kind)?)))
    }

    /// Whether no extension is in use.
    pub fn is_empty(&self) -> bool {
        self.ids.iter().all(|id| *id == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree() {
        let mut map = ExtensionMap::default();
        assert!(map.is_empty());
        map.insert(ExtensionKind::Mid, 4).unwrap();
        map.insert(ExtensionKind::AbsSendTime, 200).unwrap();
        assert_eq!(map.id(ExtensionKind::Mid), Some(4));
        assert_eq!(map.kind(200), Some(ExtensionKind::AbsSendTime));
        assert_eq!(
            (map.id(ExtensionKind::Rid), map.kind(5), map.kind(0)),
            (None, None, None)
        );
        let all: Vec<_> = map.iter().collect();
        assert_eq!(all, [(ExtensionKind::Mid, 4), (ExtensionKind::AbsSendTime, 200)]);
    }

    #[test]
    fn contradictions_are_refused_and_change_nothing() {
        let mut map = ExtensionMap::default();
        map.insert(ExtensionKind::Mid, 4).unwrap();
        let before = map;
        assert_eq!(map.insert(ExtensionKind::Rid, 0), Err(ExtensionMapError::IdZero));
        assert_eq!(
            map.insert(ExtensionKind::Rid, 4),
            Err(ExtensionMapError::IdTaken(ExtensionKind::Mid))
        );
        assert_eq!(map.insert(ExtensionKind::Mid, 5), Err(ExtensionMapError::KindTaken(4)));
        assert_eq!(map.insert(ExtensionKind::Mid, 4), Ok(()));
        assert_eq!(map, before);
    }
}
