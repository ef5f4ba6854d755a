//! Chromium's packets, one by one. The files describe how they were captured.

mod file;

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use self::file::{FILES, each_packet, packets};
use super::*;

/// A structure in the form of the files.
fn described(structure: &DependencyStructure) -> String {
    let listed = |items: Vec<String>| {
        if items.is_empty() {
            "-".to_string()
        } else {
            items.join(",")
        }
    };
    let targets = 0..structure.decode_targets();
    let protected_by = targets.clone().filter_map(|target| structure.protecting_chain(target));
    let sizes = structure.resolutions().iter();
    let mut text = format!(
        "structure offset {} protected_by {} resolutions {}\n",
        structure.template_id_offset(),
        listed(protected_by.map(|chain| chain.to_string()).collect()),
        listed(sizes.map(|size| format!("{}x{}", size.width, size.height)).collect()),
    );
    for (index, template) in structure.templates().iter().enumerate() {
        let symbols: String = targets
            .clone()
            .map(|target| "-DSR".as_bytes()[template.indications.get(target) as usize] as char)
            .collect();
        let numbers = |diffs: Vec<String>| listed(diffs);
        writeln!(
            text,
            "template {} S{}T{} {symbols} fdiffs {} chains {}",
            (usize::from(structure.template_id_offset()) + index) % TEMPLATES_MAX,
            template.layer.spatial,
            template.layer.temporal,
            numbers(template.fdiffs.as_slice().iter().map(u16::to_string).collect()),
            numbers(template.chain_diffs.as_slice().iter().map(u8::to_string).collect()),
        )
        .unwrap();
    }
    text
}

#[test]
fn captured_descriptors_match_their_payloads() {
    for (name, file) in FILES {
        let mut layers_seen = 0;
        each_packet(file, |packet, descriptor, before| {
            let frame = descriptor.resolve(before).unwrap();
            if let Some(layer) = packet.layer {
                assert_eq!(frame.layer(), layer, "{name}: {:02x?}", packet.value);
                layers_seen += 1;
            }
            assert!(
                !packet.marker || descriptor.mandatory.end_of_frame,
                "{name}: a picture ends with a frame"
            );
        });
        let payload_is_silent = name.starts_with("vp8") || name.starts_with("h264");
        assert_eq!(layers_seen == 0, payload_is_silent, "{name}");
    }
}

#[test]
fn captured_structures_match_another_parser() {
    for (name, file) in FILES {
        each_packet(file, |packet, descriptor, _| {
            let text = descriptor.structure.as_deref().map_or(String::new(), described);
            assert_eq!(text, packet.structure, "{name}");
        });
    }
}

#[test]
fn captured_descriptors_are_written_as_they_were() {
    for (name, file) in FILES {
        each_packet(file, |packet, descriptor, before| {
            assert_eq!(written(descriptor, before), packet.value, "{name}");
        });
    }
}

#[test]
fn captured_frames_refer_only_to_earlier_ones_of_their_stream() {
    for (name, file) in FILES {
        let mut seen: HashSet<(String, u16)> = HashSet::new();
        let mut first = 0;
        each_packet(file, |packet, descriptor, before| {
            let frame = descriptor.resolve(before).unwrap();
            if packet.after_gap {
                first = frame.number();
            }
            for number in frame.referred().filter(|&number| number >= first) {
                let is_known = seen.contains(&(packet.stream.into(), number));
                assert!(is_known, "{name}: {} -> {number}", frame.number());
            }
            seen.insert((packet.stream.into(), frame.number()));
        });
        assert!(!seen.is_empty());
    }
}

#[test]
fn captured_chains_name_the_last_frame_in_them() {
    for (name, file) in FILES {
        let mut last_in_chain: HashMap<usize, u16> = HashMap::new();
        let (mut active, mut first) = (DecodeTargets::NONE, 0);
        each_packet(file, |packet, descriptor, before| {
            let frame = descriptor.resolve(before).unwrap();
            active = descriptor.active_targets_from_here().unwrap_or(active);
            if packet.after_gap {
                first = frame.number();
            }
            let is_active = |chain: &usize| !frame.structure().protected_by(*chain).intersection(active).is_empty();
            for chain in (0..frame.structure().chains()).filter(is_active) {
                let previous = frame.previous_in_chain(chain).filter(|&number| number >= first);
                if let (true, Some(previous)) = (descriptor.mandatory.start_of_frame, previous) {
                    let last = last_in_chain.get(&chain);
                    assert_eq!(last, Some(&previous), "{name}: frame {} chain {chain}", frame.number());
                }
                if descriptor.mandatory.end_of_frame && frame.is_in_chain(chain) {
                    last_in_chain.insert(chain, frame.number());
                }
            }
        });
        assert_eq!(
            last_in_chain.is_empty(),
            name == "vp8-simulcast",
            "{name}: only VP8 has no chains"
        );
    }
}

#[test]
fn chromium_names_the_active_targets_when_its_rate_falls() {
    // All; the lowest spatial layer; a structure with two, one and then both; one with three, two
    // and then all.
    for (name, expected) in [
        ("vp9-l3t3-key-squeezed", vec![0x1ff, 0x007, 0x03f, 0x1ff]),
        ("av1-l3t3-squeezed", vec![0x1ff, 0x03f, 0x1ff]),
    ] {
        let (_, file) = FILES.into_iter().find(|(of, _)| *of == name).unwrap();
        let mut changes = Vec::new();
        each_packet(file, |_, descriptor, _| {
            changes.extend(descriptor.active_targets_from_here())
        });
        changes.dedup();
        assert_eq!(
            changes,
            expected.into_iter().map(DecodeTargets).collect::<Vec<_>>(),
            "{name}"
        );
    }
}

#[test]
fn decode_targets_of_chromium_rise_with_the_layer() {
    let [key, ..] = &packets(FILES[2].1)[..] else {
        unreachable!()
    };
    let descriptor = DependencyDescriptor::parse(&key.value, None).unwrap();
    let structure = descriptor.structure.unwrap();
    for target in 0..9 {
        let layer = Layer {
            spatial: target as u8 / 3,
            temporal: target as u8 % 3,
        };
        assert_eq!(structure.target_layer(target), Some(layer));
        assert_eq!(structure.target_of(layer), Some(target));
    }
    assert_eq!(structure.target_layer(9), None);
    let middle = structure.targets_within(Layer {
        spatial: 1,
        temporal: 1,
    });
    assert_eq!(middle.iter().collect::<Vec<_>>(), [0, 1, 3, 4]);
    assert_eq!(structure.protected_by(1).iter().collect::<Vec<_>>(), [3, 4, 5]);
}

#[test]
fn captured_descriptors_with_any_bit_wrong_are_values_or_errors() {
    for (_, file) in FILES {
        each_packet(file, |packet, _, before| {
            for bit in 0..8 * packet.value.len() {
                let mut value = packet.value.clone();
                value[bit / 8] ^= 0x80 >> (bit % 8);
                if let Ok(descriptor) = DependencyDescriptor::parse(&value, before) {
                    descriptor.resolve(before).ok();
                    assert!(written(&descriptor, before).len() <= value.len());
                }
            }
        });
    }
}

#[test]
fn captured_descriptors_cut_short_are_values_or_errors() {
    for (_, file) in FILES {
        each_packet(file, |packet, _, before| {
            for len in (0..packet.value.len()).filter(|&len| len != MandatoryFields::LEN) {
                let cut = DependencyDescriptor::parse(&packet.value[..len], before);
                assert_eq!(cut, Err(DependencyError::Truncated));
            }
        });
    }
}
