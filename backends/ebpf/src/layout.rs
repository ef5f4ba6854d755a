//! What the programs and this crate say to each other, made by the build of `program/*/*_layout.h`.
//!
//! The only `unsafe` of this crate is here: the promise that what the build found to be integers
//! without holes are just bytes to the kernel.

#![allow(unsafe_code)]
#![allow(missing_docs, reason = "not everything in a header needs a comment")]

#[allow(dead_code, reason = "some of it is for the program alone")]
pub(crate) mod relay {
    include!(concat!(env!("OUT_DIR"), "/relay_layout.rs"));
}

#[allow(dead_code, reason = "some of it is for the program alone")]
pub(crate) mod fanout {
    include!(concat!(env!("OUT_DIR"), "/fanout_layout.rs"));

    /// What is kept of a stream, behind the kernel's lock.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct StreamCell {
        pub lock: u32,
        pub zero: u32,
        pub progress: StreamProgress,
    }
    // SAFETY: integers without holes between them; any bytes are a value.
    unsafe impl aya::Pod for StreamCell {}
    const _: () = assert!(size_of::<StreamCell>() == 8 + size_of::<StreamProgress>());

    /// What is kept of a replica, behind the kernel's lock.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ReplicaCell {
        pub lock: u32,
        pub zero: u32,
        pub progress: ReplicaProgress,
        pub way: Way,
    }
    // SAFETY: as above.
    unsafe impl aya::Pod for ReplicaCell {}
    const _: () = assert!(size_of::<ReplicaCell>() == 8 + size_of::<ReplicaProgress>() + size_of::<Way>());
}

#[cfg(test)]
#[allow(dead_code, reason = "some of it is for the program alone")]
pub(crate) mod fanout_rewriting {
    include!(concat!(env!("OUT_DIR"), "/fanout_rewriting_layout.rs"));
}
