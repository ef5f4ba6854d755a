//! Compiles every BPF program, and writes in Rust what the programs and this crate say to each other.
//!
//! `program/NAME.bpf.c` becomes `NAME.bpf.o`, by clang; `program/NAME_layout.h` becomes `NAME_layout.rs`.

mod layout;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: &str = "program";

fn main() {
    println!("cargo:rerun-if-changed={PROGRAMS}");
    println!("cargo:rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (name, path) in files() {
        if let Some(stem) = name.strip_suffix("_layout.h") {
            let header = fs::read_to_string(&path).expect("it was listed");
            let rust = layout::rust(&header).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
            fs::write(out.join(format!("{stem}_layout.rs")), rust).expect("cargo made the folder");
        } else if let Some(stem) = name.strip_suffix(".bpf.c") {
            compile(&path, &out.join(format!("{stem}.bpf.o")));
        }
    }
}

fn files() -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(PROGRAMS).expect("the programs are part of this crate");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    paths
        .filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), path)))
        .collect()
}

fn compile(source: &Path, object: &Path) {
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let status = Command::new(&clang)
        // Version 3 of the instructions: kernels since 5.1 have it.
        .args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-c"])
        .arg(source)
        .arg("-o")
        .arg(object)
        // Where Debian keeps what the kernel's headers include; others need no such folder.
        .arg(format!("-I/usr/include/{architecture}-linux-gnu"))
        .status();
    let source = source.display();
    match status {
        Ok(status) if status.success() => {}
        Ok(_) => panic!(
            "{clang} does not compile {source}: it needs clang 11 or newer and the headers of libbpf (on Debian: apt-get install clang libbpf-dev)"
        ),
        Err(error) => panic!("cannot run {clang}: {error} (on Debian: apt-get install clang libbpf-dev)"),
    }
}
