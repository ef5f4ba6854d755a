//! The vectors of this crate.

use std::path::Path;

use conformance::text::{Names, Vector, read_folder};

/// All of them, in order.
pub(crate) fn vectors() -> Vec<(Vector, Names)> {
    read_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors"), |text| text)
}
