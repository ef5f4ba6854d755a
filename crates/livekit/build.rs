//! Writes the descriptors of the messages of the server API, for their form in JSON.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let mut files = protox::compile(["livekit_room.proto"], ["proto"])?;
    for file in &mut files.file {
        file.source_code_info = None;
    }
    let target = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(target.join("descriptors.bin"), files.encode_to_vec())?;
    Ok(())
}
