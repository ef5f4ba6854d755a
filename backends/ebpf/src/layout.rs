//! What the programs and this crate say to each other, made by the build of `program/*_layout.h`.
//!
//! The only `unsafe` of this crate is here: the promise that what the build found to be integers without holes are just bytes to the kernel.

#![allow(unsafe_code)]
#![allow(missing_docs, reason = "not everything in a header needs a comment")]

#[allow(dead_code, reason = "some of it is for the program alone")]
pub(crate) mod relay {
    include!(concat!(env!("OUT_DIR"), "/relay_layout.rs"));
}
