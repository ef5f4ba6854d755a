//! Compiles the bare programs.

fn main() {
    bpf_build::compile("program/bare.bpf.c", &["-mcpu=v3"]);
}
