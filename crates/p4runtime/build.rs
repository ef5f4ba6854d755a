//! Compiles the protocol's files to messages, a client and a server, and writes their descriptors
//! beside them for the text format.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let mut files = protox::compile(["p4/v1/p4runtime.proto"], ["proto"])?;
    // The comments are not written for rustdoc. They stay in the files of the protocol.
    for file in &mut files.file {
        file.source_code_info = None;
    }
    let target = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(target.join("descriptors.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure()
        .include_file("protocol.rs")
        .compile_fds(files)?;
    Ok(())
}
