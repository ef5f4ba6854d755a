//! Compiles the XDP program.

fn main() {
    bpf_build::compile("program/weir.bpf.c", &[]);
}
