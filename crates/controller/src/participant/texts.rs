//! Names, metadata and attributes: their size, and changes of them.

use std::collections::BTreeMap;

use super::profile::Profile;

/// The bytes of an attribute besides its name and its value.
const ATTRIBUTE_OVERHEAD: usize = 8;

/// The bytes of a name, metadata and attributes.
pub(crate) fn texts_len(name: &str, metadata: &str, attributes: &BTreeMap<String, String>) -> usize {
    let attributes = attributes.iter();
    let attributes = attributes.map(|(name, value)| name.len() + value.len() + ATTRIBUTE_OVERHEAD);
    name.len() + metadata.len() + attributes.sum::<usize>()
}

impl Profile {
    /// The bytes of its texts.
    pub(crate) fn texts_len(&self) -> usize {
        texts_len(&self.name, &self.metadata, &self.attributes)
    }

    /// Changes its texts. Empty ones stay as they are, attributes with an empty value are removed.
    pub(crate) fn change_texts(&mut self, name: &str, metadata: &str, changes: &BTreeMap<String, String>) {
        change_text(&mut self.name, name);
        change_text(&mut self.metadata, metadata);
        change_attributes(&mut self.attributes, changes);
    }

    /// The effect that such a change would have.
    pub(crate) fn change_of_texts(&self, name: &str, metadata: &str, changes: &BTreeMap<String, String>) -> TextChange {
        TextChange::of(self, name, metadata, changes)
    }
}

/// The effect of a change of texts. It is known without copies of them, which may be long.
pub(crate) struct TextChange {
    /// It says something else than before.
    pub(crate) is_new: bool,
    /// The bytes of the attributes after it.
    pub(crate) attributes_len: usize,
    /// The bytes of all texts after it, as [`texts_len`] counts them.
    pub(crate) texts_len: usize,
}

impl TextChange {
    fn of(profile: &Profile, name: &str, metadata: &str, changes: &BTreeMap<String, String>) -> Self {
        let known = &profile.attributes;
        let mut change = Self {
            is_new: false,
            attributes_len: known.iter().map(|(name, value)| name.len() + value.len()).sum(),
            texts_len: 0,
        };
        let mut number = known.len();
        for (name, value) in changes {
            let old = known.get(name);
            let before = old.map_or(0, |old| name.len() + old.len());
            let after = if value.is_empty() { 0 } else { name.len() + value.len() };
            change.attributes_len = change.attributes_len + after - before;
            number = number + usize::from(!value.is_empty()) - usize::from(old.is_some());
            change.is_new |= match old {
                Some(old) => value.is_empty() || old != value,
                None => !value.is_empty(),
            };
        }
        let mut text = |said: &str, known: &str| {
            let after = if said.is_empty() { known } else { said };
            change.is_new |= after != known;
            after.len()
        };
        let texts = text(name, &profile.name) + text(metadata, &profile.metadata);
        change.texts_len = texts + change.attributes_len + number * ATTRIBUTE_OVERHEAD;
        change
    }
}

fn change_text(known: &mut String, said: &str) {
    if !said.is_empty() && known != said {
        said.clone_into(known);
    }
}

fn change_attributes(known: &mut BTreeMap<String, String>, changes: &BTreeMap<String, String>) {
    for (name, value) in changes {
        if value.is_empty() {
            known.remove(name);
        } else {
            known.insert(name.clone(), value.clone());
        }
    }
}
