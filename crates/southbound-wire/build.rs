//! Compiles the protocol's files to messages.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let root = "weir/southbound/v1";
    let names = ["notice.proto", "sync.proto"];
    let mut files = protox::compile(names.map(|name| format!("{root}/{name}")), ["proto"])?;
    // The comments are not written for rustdoc. They stay in the files of the protocol.
    for file in &mut files.file {
        file.source_code_info = None;
    }
    let mut config = prost_build::Config::new();
    // Payloads are shared with the values they are made of.
    config.bytes([
        ".weir.southbound.v1.Send.payload",
        ".weir.southbound.v1.MessageReceived.payload",
    ]);
    // Secrets have no place in a log.
    config.skip_debug([".weir.southbound.v1.IceCredentials", ".weir.southbound.v1.MasterKey"]);
    config.include_file("protocol.rs").compile_fds(files)?;
    Ok(())
}
