//! What Chromium sends, packet by packet. The files say how they came about.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

use super::*;

const FILES: [(&str, &str); 6] = [
    ("av1-l1t3", include_str!("vectors/chromium-av1-l1t3.txt")),
    ("av1-l3t3", include_str!("vectors/chromium-av1-l3t3.txt")),
    ("av1-l3t3-key", include_str!("vectors/chromium-av1-l3t3-key.txt")),
    ("vp9-l3t3-key", include_str!("vectors/chromium-vp9-l3t3-key.txt")),
    ("vp8-simulcast", include_str!("vectors/chromium-vp8-simulcast.txt")),
    ("h264-l1t2", include_str!("vectors/chromium-h264-l1t2.txt")),
];

/// One packet of a file, and the lines that say what its structure is.
struct Captured<'a> {
    stream: &'a str,
    marker: bool,
    /// The layer by the payload, where it says.
    layer: Option<Layer>,
    value: Vec<u8>,
    structure: String,
}

fn packets(file: &str) -> Vec<Captured<'_>> {
    let mut packets: Vec<Captured<'_>> = Vec::new();
    for line in file.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let Some(packet) = line.strip_prefix("packet ") else {
            let last = packets.last_mut().expect("a structure stands below its packet");
            writeln!(last.structure, "{line}").unwrap();
            continue;
        };
        let [stream, _sequence, marker, layer, value] =
            packet.split(' ').collect::<Vec<_>>().try_into().expect("five columns");
        packets.push(Captured {
            stream,
            marker: marker == "M",
            layer: parse_layer(layer),
            value: unhex(value),
            structure: String::new(),
        });
    }
    packets
}

fn parse_layer(text: &str) -> Option<Layer> {
    let (spatial, temporal) = text.strip_prefix('S')?.split_once('T')?;
    Some(Layer {
        spatial: spatial.parse().unwrap(),
        temporal: temporal.parse().unwrap(),
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

/// A structure as the files say it.
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

/// The structure in force on each stream.
type Current<'a> = HashMap<&'a str, Arc<DependencyStructure>>;

/// Calls `check` with each packet, its descriptor and the structure in force before it.
fn each_packet(file: &str, mut check: impl FnMut(&Captured<'_>, &DependencyDescriptor, Option<&DependencyStructure>)) {
    let packets = packets(file);
    let mut current = Current::new();
    for packet in &packets {
        let before = current.get(packet.stream).cloned();
        let descriptor = DependencyDescriptor::parse(&packet.value, before.as_deref()).unwrap();
        check(packet, &descriptor, before.as_deref());
        if let Some(structure) = descriptor.structure {
            current.insert(packet.stream, structure);
        }
    }
}

#[test]
fn captured_descriptors_say_what_their_payloads_say() {
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
fn captured_structures_mean_what_another_reader_says() {
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
        each_packet(file, |packet, descriptor, before| {
            let frame = descriptor.resolve(before).unwrap();
            for number in frame.referred() {
                assert!(
                    seen.contains(&(packet.stream.into(), number)),
                    "{name}: {} -> {number}",
                    frame.number()
                );
            }
            seen.insert((packet.stream.into(), frame.number()));
        });
    }
}

#[test]
fn captured_chains_name_the_last_frame_in_them() {
    for (name, file) in FILES {
        let mut last_in_chain: HashMap<usize, u16> = HashMap::new();
        each_packet(file, |_, descriptor, before| {
            let frame = descriptor.resolve(before).unwrap();
            for chain in 0..frame.structure().chains() {
                if let (true, Some(previous)) = (descriptor.mandatory.start_of_frame, frame.previous_in_chain(chain)) {
                    assert_eq!(
                        last_in_chain.get(&chain),
                        Some(&previous),
                        "{name}: frame {}",
                        frame.number()
                    );
                }
            }
            if descriptor.mandatory.end_of_frame {
                let chains = (0..frame.structure().chains()).filter(|&chain| frame.is_in_chain(chain));
                chains.for_each(|chain| _ = last_in_chain.insert(chain, frame.number()));
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
