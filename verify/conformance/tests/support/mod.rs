//! Where the vectors are.

use std::path::PathBuf;

use conformance::text::{Names, Vector, parse};

/// All of them, in order.
pub fn vectors() -> Vec<(Vector, Names)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let entries = std::fs::read_dir(&folder).expect("there are vectors");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "vector"));
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).expect("readable");
        parse(&name, &text).unwrap_or_else(|problem| panic!("{problem}"))
    };
    files.iter().map(read).collect()
}
