//! What the programs and this crate say to each other, made by the build of `program/*_layout.h`.

#[allow(dead_code, reason = "some of it is for the programs alone")]
pub(crate) mod relay {
    include!(concat!(env!("OUT_DIR"), "/relay_layout.rs"));
}
