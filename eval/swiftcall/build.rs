//! Compiles the bare programs: C to BPF, by clang.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "program/bare.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed={SOURCE}");
    println!("cargo:rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("bare.bpf.o");
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let status = Command::new(&clang)
        .args([
            "-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-c", SOURCE, "-o",
        ])
        .arg(&out)
        // Where Debian keeps what the kernel's headers include; others need no such folder.
        .arg(format!("-I/usr/include/{architecture}-linux-gnu"))
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(_) => panic!(
            "{clang} does not compile {SOURCE}: it needs clang 11 or newer and the headers of libbpf (on Debian: apt-get install clang libbpf-dev)"
        ),
        Err(error) => panic!("cannot run {clang}: {error} (on Debian: apt-get install clang libbpf-dev)"),
    }
}
