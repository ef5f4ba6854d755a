//! Compiles the calls of etcd that a store uses to messages and a client.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let mut files = protox::compile(["etcd/rpc.proto"], ["proto"])?;
    // The comments are not written for rustdoc. They stay in the file of the protocol.
    for file in &mut files.file {
        file.source_code_info = None;
    }
    tonic_prost_build::configure()
        .build_server(false)
        .bytes(".etcdserverpb")
        .include_file("protocol.rs")
        .compile_fds(files)?;
    Ok(())
}
