//! Dependency structures by name: those of Chromium, captured.

use std::sync::Arc;

use wire::codec::dependency::{DependencyDescriptor, DependencyStructure};

use super::words::{Problem, bytes, number, problem};

/// The descriptor of a key frame's first packet.
const CAPTURED: [(&str, &str); 5] = [
    ("L1T2", "80000180011ea851410108"),
    ("L1T3", "800001800214eaa860414d1410208427013f00b3"),
    // Without chains, and with indications of its own for the frames in between: VP8.
    ("L1T2_VP8", "c00001800104eaac851450460404fc02cc"),
    (
        "L3T3",
        "c1000180081485214eafffaaaa863cf0430c10c302afc0aaa0063c00430010c002a000a80006000040001d954926e082b04a0941b820\
         ac1282503157f974000ca864330e222222eca8655304224230eca8775300ef008601df010d03bf021b",
    ),
    (
        "L3T3_KEY",
        "c0000180081485214eaaaaa8000600004000100002aa80a8000600004000100002a000a800060000400016d549241b5524906d549231\
         57e001974ca864330e222396eca8655304224390eca8775300ef008601df010d03bf021b",
    ),
];

/// The structure of a name such as `L3T3_KEY`, or `L3T3_KEY@20` with 20 as the id of its first
/// template.
pub fn structure(name: &str) -> Result<Arc<DependencyStructure>, Problem> {
    let (name, offset) = name.split_once('@').unwrap_or((name, "0"));
    let offset: u8 = number(offset, "a template id")?;
    let Some((_, digits)) = CAPTURED.iter().find(|(known, _)| *known == name) else {
        return problem(format!("`{name}` is not a structure"));
    };
    let read = DependencyDescriptor::parse(&bytes(digits)?, None).expect("as captured");
    let structure = read.structure.expect("a key frame brings one");
    Ok(match offset {
        0 => structure,
        offset => Arc::new(moved(&structure, offset)),
    })
}

/// The same with other template ids.
pub fn moved(structure: &DependencyStructure, offset: u8) -> DependencyStructure {
    let targets = 0..structure.decode_targets();
    let chains = targets.filter_map(|target| structure.protecting_chain(target));
    let protected_by: Vec<u8> = chains.map(|chain| chain as u8).collect();
    DependencyStructure::new(
        offset,
        structure.decode_targets(),
        structure.templates().to_vec(),
        &protected_by,
        structure.resolutions().to_vec(),
    )
    .expect("it differs in nothing else")
}
