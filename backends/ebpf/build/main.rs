//! Compiles every BPF program, and writes in Rust what the programs and this crate say to each
//! other.
//!
//! `program/*/NAME.bpf.c` becomes `NAME.bpf.o`, by clang; `program/*/NAME_layout.h` becomes
//! `NAME_layout.rs`.

mod layout;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const PROGRAMS: &str = "program";

fn main() {
    println!("cargo:rerun-if-changed={PROGRAMS}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (name, path) in files() {
        if let Some(stem) = name.strip_suffix("_layout.h") {
            let header = fs::read_to_string(&path).expect("it was listed");
            let rust = layout::rust(&header).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
            fs::write(out.join(format!("{stem}_layout.rs")), rust).expect("cargo made the folder");
        } else if name.ends_with(".bpf.c") {
            // Version 3 of the instructions: kernels since 5.1 have it.
            bpf_build::compile(path.to_str().expect("its name is ASCII"), &["-mcpu=v3"]);
        }
    }
}

/// The files of every folder of programs, by name.
fn files() -> Vec<(String, PathBuf)> {
    let folders = listed(Path::new(PROGRAMS));
    let paths = folders.iter().flat_map(|folder| listed(folder));
    paths
        .filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), path)))
        .collect()
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the programs are part of this crate");
    entries.map(|entry| entry.expect("it can be listed").path()).collect()
}
