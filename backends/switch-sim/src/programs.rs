//! Our compiled programs, by name.

/// A compiled program and its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedded {
    /// The name.
    pub name: &'static str,
    /// The compiler's output for BMv2.
    pub json: &'static str,
    /// The description in text form.
    pub p4info: &'static str,
}

/// One for each way to replicate.
pub const PROGRAMS: [Embedded; 3] = [
    Embedded {
        name: "multicast",
        json: include_str!("../../p4/program/compiled/multicast.json"),
        p4info: include_str!("../../p4/program/compiled/multicast.p4info.txtpb"),
    },
    Embedded {
        name: "recirculation",
        json: include_str!("../../p4/program/compiled/recirculation.json"),
        p4info: include_str!("../../p4/program/compiled/recirculation.p4info.txtpb"),
    },
    Embedded {
        name: "tree",
        json: include_str!("../../p4/program/compiled/tree.json"),
        p4info: include_str!("../../p4/program/compiled/tree.p4info.txtpb"),
    },
];
