//! The vectors of this crate.

use std::path::Path;

use conformance::text::{Names, Vector, read_folder};

/// All of them in order, with their texts changed.
pub(crate) fn vectors(change: impl Fn(&str, String) -> String) -> Vec<(Vector, Names)> {
    read_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors"), change)
}
