//! Compiles the bare XDP program.

fn main() {
    bpf_build::compile("program/bare.bpf.c", &[]);
}
