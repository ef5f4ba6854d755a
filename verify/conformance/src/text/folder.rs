//! The vectors of a folder.

use std::path::{Path, PathBuf};

use super::{Names, Vector, parse};

/// Reads every vector below a folder, in the order of their paths; `change` is applied to the name
/// and the text of each first.
///
/// # Panics
///
/// Panics if a file cannot be read or is no vector: tests of vectors cannot run then.
pub fn read_folder(folder: &Path, change: impl Fn(&str, String) -> String) -> Vec<(Vector, Names)> {
    let mut files = Vec::new();
    collect(folder, &mut files);
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).expect("readable");
        parse(&name, &change(&name, text)).unwrap_or_else(|problem| panic!("{problem}"))
    };
    files.iter().map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("there are vectors") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "vector") {
            files.push(path);
        }
    }
}
