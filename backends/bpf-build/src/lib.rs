//! C to BPF, by clang, for the build scripts of what has programs for the kernel.

#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program to `OUT_DIR`, under its own name with `.o` in place of `.c`; `more` are
/// arguments beside the usual ones.
///
/// Panics where it cannot, with what the builder has to do: that is how a build script fails.
pub fn compile(source: &str, more: &[&str]) {
    println!("cargo:rerun-if-changed={source}");
    println!("cargo:rerun-if-env-changed=CLANG");
    let name = Path::new(source).with_extension("o");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"))
        .join(name.file_name().expect("a program has a name"));
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let status = Command::new(&clang)
        .args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf"])
        .args(more)
        .args(["-c", source, "-o"])
        .arg(&out)
        // Debian keeps some of the kernel headers' includes in this folder; other systems do not
        // need it.
        .arg(format!("-I/usr/include/{architecture}-linux-gnu"))
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(_) => panic!(
            "{clang} does not compile {source}: it needs clang 11 or newer and the headers of libbpf (on Debian: apt-get install clang libbpf-dev)"
        ),
        Err(error) => panic!("cannot run {clang}: {error} (on Debian: apt-get install clang libbpf-dev)"),
    }
}
