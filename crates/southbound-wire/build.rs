//! Compiles the protocol's files to messages, a client and a server.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let root = "weir/southbound/v1";
    let names = ["control.proto"];
    let mut files = protox::compile(names.map(|name| format!("{root}/{name}")), ["proto"])?;
    // The comments are not written for rustdoc. They stay in the files of the protocol.
    for file in &mut files.file {
        file.source_code_info = None;
    }
    let mut config = tonic_prost_build::Config::new();
    // Payloads are shared with the values they are made of.
    config.bytes([
        ".weir.southbound.v1.Send.payload",
        ".weir.southbound.v1.MessageReceived.payload",
        ".weir.southbound.v1.LinkedMessage.payload",
        ".weir.southbound.v1.Missed.payload",
        ".weir.southbound.v1.Save.blob",
        ".weir.southbound.v1.Saved.blob",
    ]);
    // Secrets have no place in a log.
    config.skip_debug([".weir.southbound.v1.IceCredentials", ".weir.southbound.v1.MasterKey"]);
    tonic_prost_build::configure()
        .include_file("protocol.rs")
        .compile_fds_with_config(files, config)?;
    Ok(())
}
