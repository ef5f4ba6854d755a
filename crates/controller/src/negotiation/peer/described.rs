//! Descriptions of sections in saved peer connections. Most sections of all browsers of a kind are
//! described alike, so each text is written once for a peer connection, and read once for all.

use std::collections::HashMap;
use std::sync::Arc;

use wire::sdp::{MediaSection, SectionKind};

use crate::forms::{nameless, read_section, write_section};
use crate::negotiation::remote::Agreed;

/// Texts that are remembered. At the limit all are forgotten: they are read again.
const KNOWN_MAX: usize = 256;

/// The texts of one peer connection, each once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: Vec<String>,
    places: HashMap<String, usize>,
    /// The places of those that several sections share.
    shared: HashMap<(*const (), SectionKind), usize>,
}

impl Texts {
    pub(super) fn into_all(self) -> Vec<String> {
        self.all
    }

    pub(super) fn agreed(&mut self, agreed: &Arc<Agreed>, kind: &SectionKind) -> usize {
        self.place(Arc::as_ptr(agreed).cast(), kind, || MediaSection {
            formats: agreed.formats.clone(),
            extensions: agreed.extensions.clone(),
            ..MediaSection::new(kind.clone(), nameless())
        })
    }

    pub(super) fn theirs(&mut self, theirs: &Arc<MediaSection>) -> usize {
        self.place(Arc::as_ptr(theirs).cast(), &theirs.kind, || (**theirs).clone())
    }

    fn place(&mut self, pointer: *const (), kind: &SectionKind, section: impl FnOnce() -> MediaSection) -> usize {
        let Self { all, places, shared } = self;
        let write = || {
            let text = write_section(section());
            *places.entry(text).or_insert_with_key(|text| {
                all.push(text.clone());
                all.len() - 1
            })
        };
        *shared.entry((pointer, kind.clone())).or_insert_with(write)
    }
}

/// The descriptions of peer connections that were restored.
#[derive(Debug, Default)]
pub(crate) struct Described {
    known: HashMap<String, Description>,
}

/// A description in both of its roles.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) theirs: Arc<MediaSection>,
    pub(super) agreed: Arc<Agreed>,
}

impl Described {
    /// The description in a text; `None` if it has not one section.
    pub(super) fn read(&mut self, text: &str) -> Option<Description> {
        if let Some(known) = self.known.get(text) {
            return Some(known.clone());
        }
        let section = read_section(text)?;
        let agreed = Arc::new(Agreed {
            formats: section.formats.clone(),
            extensions: section.extensions.clone(),
        });
        let theirs = Arc::new(section);
        let description = Description { theirs, agreed };
        // One that names streams is of one client alone.
        if description.theirs.ssrcs.is_empty() && description.theirs.msids.is_empty() {
            if self.known.len() >= KNOWN_MAX {
                self.known.clear();
            }
            self.known.insert(text.to_owned(), description.clone());
        }
        Some(description)
    }
}
