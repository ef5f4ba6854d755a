//! Compiles the program of the far end.

fn main() {
    bpf_build::compile("program/drop.bpf.c", &[]);
}
