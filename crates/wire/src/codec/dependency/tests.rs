//! Tests of the module: descriptors written by hand, captured ones, malformed ones, and round
//! trips.

mod by_hand;
mod captured;
mod random;

use super::*;

/// The shortest form of a descriptor.
fn written(descriptor: &DependencyDescriptor, current: Option<&DependencyStructure>) -> Vec<u8> {
    let mut out = [0xff; DESCRIPTOR_LEN_MAX];
    let len = descriptor.write(current, &mut out).unwrap();
    out[..len].to_vec()
}

/// Indications in the symbols of the specification, from decode target 0.
fn indications(symbols: &str) -> Indications {
    let indication = |symbol| match symbol {
        '-' => Indication::NotPresent,
        'D' => Indication::Discardable,
        'S' => Indication::Switch,
        'R' => Indication::Required,
        other => panic!("{other} is no indication"),
    };
    symbols.chars().map(indication).collect()
}

fn template(spatial: u8, temporal: u8, symbols: &str, fdiffs: &[u16], chain_diffs: &[u8]) -> FrameTemplate {
    FrameTemplate {
        layer: Layer { spatial, temporal },
        indications: indications(symbols),
        fdiffs: FrameDiffs::new(fdiffs).unwrap(),
        chain_diffs: ChainDiffs::new(chain_diffs).unwrap(),
    }
}

/// The one-spatial-layer example of the specification (appendix A.10.2.1): its table, row by row.
/// Its targets are 30, 15 and 7.5 frames a second, and it numbers templates from 1.
fn l1t3() -> DependencyStructure {
    let templates = vec![
        template(0, 0, "SSS", &[], &[0]),
        template(0, 0, "SSS", &[4], &[4]),
        template(0, 1, "SD-", &[2], &[2]),
        template(0, 2, "D--", &[1], &[1]),
        template(0, 2, "D--", &[1], &[3]),
    ];
    DependencyStructure::new(1, 3, templates, &[0, 0, 0], vec![]).unwrap()
}
