//! Descriptors derived from the syntax tables, field by field, and each error.

use std::sync::Arc;

use super::*;

/// The bytes of fields written as `name bits`, one a line; a last byte that is not full ends in
/// zeros.
fn bytes(fields: &str) -> Vec<u8> {
    let bits: String = fields
        .lines()
        .map(|line| line.split_once(':').map_or("", |(_, bits)| bits))
        .flat_map(|bits| bits.chars().filter(|c| !c.is_whitespace()))
        .collect();
    let byte = |bits: &[u8]| {
        bits.iter()
            .enumerate()
            .fold(0, |byte, (at, bit)| byte | (bit - b'0') << (7 - at))
    };
    bits.as_bytes().chunks(8).map(byte).collect()
}

/// A key frame with the structure of [`l1t3`].
fn key_frame() -> Vec<u8> {
    bytes(
        "start, end:                   1 1
         template id 1:                000001
         frame number 100:             00000000 01100100
         structure and nothing else:   1 0 0 0 0
         template id offset 1:         000001
         three decode targets, less 1: 00010
         layers T0 =T0 +T1 +T2 =T2:    00 01 01 00 11
         SSS:                          10 10 10
         SSS:                          10 10 10
         SD-:                          10 01 00
         D--:                          01 00 00
         D--:                          01 00 00
         no fdiffs:                    0
         4, less 1:                    1 0011 0
         2, less 1:                    1 0001 0
         1, less 1:                    1 0000 0
         1, less 1:                    1 0000 0
         one chain, ns(4):             01
         all by chain 0, ns(1):
         chain fdiffs:                 0000 0100 0010 0001 0011
         no resolutions:               0",
    )
}

#[test]
fn the_example_of_the_specification_is_read_and_written() {
    let value = key_frame();
    let descriptor = DependencyDescriptor::parse(&value, None).unwrap();
    let mandatory = MandatoryFields {
        start_of_frame: true,
        end_of_frame: true,
        template_id: 1,
        frame_number: 100,
    };
    assert_eq!(MandatoryFields::parse(&value), Ok(mandatory));
    let expected = DependencyDescriptor {
        structure: Some(Arc::new(l1t3())),
        ..DependencyDescriptor::plain(mandatory)
    };
    assert_eq!(descriptor, expected);
    assert_eq!(written(&descriptor, None), value);
    assert_eq!(descriptor.active_targets_from_here(), Some(DecodeTargets(0b111)));

    let frame = descriptor.resolve(None).unwrap();
    assert_eq!(
        (frame.layer(), frame.fdiffs(), frame.chain_diffs()),
        (Layer::default(), &[][..], &[0][..])
    );
    assert!(frame.is_in_chain(0));
    assert_eq!(frame.previous_in_chain(0), None, "the chain starts here");
}

#[test]
fn three_bytes_name_a_template_of_the_current_structure() {
    let structure = l1t3();
    // Template 5 is the second T2; frame 2 follows 65,535 by way of the wrap.
    let value = [0xc5, 0x00, 0x02];
    let descriptor = DependencyDescriptor::parse(&value, Some(&structure)).unwrap();
    let frame = descriptor.resolve(Some(&structure)).unwrap();
    assert_eq!((frame.layer().temporal, frame.number()), (2, 2));
    assert_eq!(frame.indications(), indications("D--"));
    assert_eq!(frame.referred().collect::<Vec<_>>(), [1]);
    assert_eq!(frame.previous_in_chain(0), Some(65_535));
    assert_eq!(frame.previous_in_chain(1), None, "no such chain");
    assert!(!frame.is_in_chain(0));
    assert_eq!(descriptor.active_targets_from_here(), None);
    assert_eq!(written(&descriptor, None), value);
}

#[test]
fn a_packet_may_differ_from_its_template_in_everything() {
    let structure = l1t3();
    let value = bytes(
        "start, template id 3:  1 0 000011
         frame number 5000:     00010011 10001000
         all but a structure:   0 1 1 1 1
         targets 1 and 2:       110
         -SR:                   00 10 11
         4, less 1:             01 0011
         17, less 1:            10 00010000
         4096, less 1:          11 111111111111
         no more fdiffs:        00
         chain fdiff 200:       11001000",
    );
    let descriptor = DependencyDescriptor::parse(&value, Some(&structure)).unwrap();
    let frame = descriptor.resolve(Some(&structure)).unwrap();
    assert_eq!(descriptor.active_targets_from_here(), Some(DecodeTargets(0b110)));
    assert_eq!(frame.layer().temporal, 1, "the layer is always the template's");
    assert_eq!(frame.indications(), indications("-SR"));
    assert_eq!(frame.fdiffs(), [4, 17, 4096]);
    assert_eq!(frame.chain_diffs(), [200]);
    assert_eq!(written(&descriptor, Some(&structure)), value);
    assert_eq!(
        descriptor.write(None, &mut [0; 64]),
        Err(DependencyWriteError::MissingStructure)
    );
    assert_eq!(
        DependencyDescriptor::parse(&value, None),
        Err(DependencyError::MissingStructure)
    );
}

#[test]
fn longer_forms_are_read_and_written_in_the_shortest() {
    let structure = l1t3();
    let long_diff =
        bytes("head: 11000010 00000000 00000001\n only fdiffs: 00010\n 4 in 12 bits: 11 000000000011\n end: 00");
    let short_diff = bytes("head: 11000010 00000000 00000001\n only fdiffs: 00010\n 4 in 4 bits: 01 0011\n end: 00");
    let no_flags = [0xc2, 0x00, 0x01, 0x00, 0x00];
    for (long, short) in [(&long_diff[..], &short_diff[..]), (&no_flags, &no_flags[..3])] {
        let descriptor = DependencyDescriptor::parse(long, Some(&structure)).unwrap();
        assert_eq!(written(&descriptor, Some(&structure)), short);
        assert_eq!(DependencyDescriptor::parse(short, Some(&structure)), Ok(descriptor));
    }
}

#[test]
fn a_receiver_can_be_told_which_targets_it_still_gets() {
    let mut descriptor = DependencyDescriptor::parse(&key_frame(), None).unwrap();
    let structure = Arc::clone(descriptor.structure.as_ref().unwrap());
    let half_rate = Layer {
        spatial: 0,
        temporal: 1,
    };
    assert_eq!(structure.target_of(half_rate), Some(1));
    descriptor.active_targets = Some(structure.targets_within(half_rate));
    let value = written(&descriptor, None);
    let read = DependencyDescriptor::parse(&value, None).unwrap();
    assert_eq!(read.active_targets_from_here(), Some(DecodeTargets(0b110)));

    // The same without the structure, for a receiver that has it.
    descriptor.structure = None;
    let value = written(&descriptor, Some(&structure));
    assert_eq!(value.len(), 4);
    assert_eq!(DependencyDescriptor::parse(&value, Some(&structure)), Ok(descriptor));
}

#[test]
fn a_descriptor_that_ends_early_is_refused() {
    let value = key_frame();
    for len in (0..3).chain(4..value.len()) {
        let cut = DependencyDescriptor::parse(&value[..len], None);
        assert_eq!(cut, Err(DependencyError::Truncated), "{len} bytes");
    }
    let mut out = [0; 64];
    let descriptor = DependencyDescriptor::parse(&value, None).unwrap();
    for len in 0..value.len() {
        let cut = descriptor.write(None, &mut out[..len]);
        assert_eq!(cut, Err(DependencyWriteError::BufferTooShort), "{len} bytes");
    }
}

#[test]
fn a_template_of_another_structure_is_named_as_such() {
    for id in [0, 6, 63] {
        let unknown = DependencyDescriptor::parse(&[0xc0 | id, 0, 0], Some(&l1t3()));
        assert_eq!(unknown, Err(DependencyError::UnknownTemplate), "template {id}");
        // Its counts do not belong to this structure either, so the fields after the flags are not
        // read.
        let extended = DependencyDescriptor::parse(&[0xc0 | id, 0, 0, 0xff], Some(&l1t3()));
        assert!(extended.is_err());
        let unresolved = DependencyDescriptor::parse(&[0xc0 | id, 0, 0], None).unwrap();
        assert_eq!(unresolved.resolve(None).err(), Some(DependencyError::MissingStructure));
        assert_eq!(
            unresolved.resolve(Some(&l1t3())).err(),
            Some(DependencyError::UnknownTemplate)
        );
    }
}

#[test]
fn template_ids_wrap() {
    let templates = l1t3().templates().to_vec();
    let structure = DependencyStructure::new(62, 3, templates.clone(), &[0, 0, 0], vec![]).unwrap();
    for (id, index) in [
        (62, Some(0)),
        (63, Some(1)),
        (0, Some(2)),
        (2, Some(4)),
        (3, None),
        (61, None),
    ] {
        assert_eq!(
            structure.template(id),
            index.map(|index: usize| &templates[index]),
            "template {id}"
        );
    }
}

#[test]
fn limits_are_errors_by_name() {
    let head = "head: 11000000 00000000 00000000\n structure: 10000\n offset: 000000\n one target: 00000\n";
    let parse = |rest: String| DependencyDescriptor::parse(&bytes(&format!("{head} rest: {rest}")), None);
    assert_eq!(parse("00".repeat(100)), Err(DependencyError::TooManyTemplates));
    assert_eq!(parse("01".repeat(8)), Err(DependencyError::TooManyLayers));
    assert_eq!(parse("10".repeat(16)), Err(DependencyError::TooManyLayers));
    let seventeen = format!("11 10 {} 0", "10000".repeat(17));
    assert_eq!(parse(seventeen), Err(DependencyError::TooManyReferences));
}

#[test]
fn only_writable_values_make_a_structure() {
    let good = || l1t3().templates().to_vec();
    let with = |change: fn(&mut FrameTemplate)| {
        let mut templates = good();
        change(&mut templates[1]);
        templates
    };
    let new = |targets, templates, protected_by: &[u8]| {
        DependencyStructure::new(0, targets, templates, protected_by, vec![]).err()
    };
    let all: &[u8] = &[0; 3];
    assert_eq!(new(3, good(), all), None);
    assert_eq!(new(0, good(), all), Some(StructureError::DecodeTargetCount));
    assert_eq!(new(33, good(), all), Some(StructureError::DecodeTargetCount));
    assert_eq!(new(3, vec![], all), Some(StructureError::TemplateCount));
    assert_eq!(new(3, vec![good()[0]; 65], all), Some(StructureError::TemplateCount));
    assert_eq!(new(3, good()[2..].to_vec(), all), Some(StructureError::LayerOrder));
    assert_eq!(
        new(3, with(|t| t.layer.temporal = 2), all),
        Some(StructureError::LayerOrder)
    );
    assert_eq!(new(2, good(), &all[..2]), Some(StructureError::ExcessIndication));
    let far = with(|t| t.fdiffs = FrameDiffs::new(&[17]).unwrap());
    assert_eq!(new(3, far, all), Some(StructureError::DiffTooLarge));
    let far = with(|t| t.chain_diffs = ChainDiffs::new(&[16]).unwrap());
    assert_eq!(new(3, far, all), Some(StructureError::DiffTooLarge));
    assert_eq!(
        new(3, with(|t| t.chain_diffs = ChainDiffs::NONE), all),
        Some(StructureError::ChainCount)
    );
    assert_eq!(new(3, good(), &[0, 0]), Some(StructureError::Protection));
    assert_eq!(new(3, good(), &[0, 0, 1]), Some(StructureError::Protection));
    let flat = Resolution { width: 0, height: 1 };
    let sized = |sizes| DependencyStructure::new(0, 3, good(), all, sizes).err();
    assert_eq!(sized(vec![flat]), Some(StructureError::Resolutions));
    let square = Resolution {
        width: 65_536,
        height: 1,
    };
    assert_eq!(
        (sized(vec![square]), sized(vec![square; 2])),
        (None, Some(StructureError::Resolutions))
    );
}
