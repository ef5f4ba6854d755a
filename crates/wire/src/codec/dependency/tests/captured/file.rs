//! The files of captured packets, and reading them.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use super::super::*;

pub(super) const FILES: [(&str, &str); 8] = [
    ("av1-l1t3", include_str!("../vectors/chromium-av1-l1t3.txt")),
    ("av1-l3t3", include_str!("../vectors/chromium-av1-l3t3.txt")),
    ("av1-l3t3-key", include_str!("../vectors/chromium-av1-l3t3-key.txt")),
    ("vp9-l3t3-key", include_str!("../vectors/chromium-vp9-l3t3-key.txt")),
    ("vp8-simulcast", include_str!("../vectors/chromium-vp8-simulcast.txt")),
    (
        "av1-l3t3-squeezed",
        include_str!("../vectors/chromium-av1-l3t3-squeezed.txt"),
    ),
    (
        "vp9-l3t3-key-squeezed",
        include_str!("../vectors/chromium-vp9-l3t3-key-squeezed.txt"),
    ),
    ("h264-l1t2", include_str!("../vectors/chromium-h264-l1t2.txt")),
];

/// One packet of a file, and the lines that describe its structure.
pub(super) struct Captured<'a> {
    /// The file omits packets before this one.
    pub(super) after_gap: bool,
    pub(super) stream: &'a str,
    pub(super) marker: bool,
    /// The layer in the payload, if it has one.
    pub(super) layer: Option<Layer>,
    pub(super) value: Vec<u8>,
    pub(super) structure: String,
}

pub(super) fn packets(file: &str) -> Vec<Captured<'_>> {
    let mut packets: Vec<Captured<'_>> = Vec::new();
    let mut after_gap = false;
    for line in file.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if line == "gap" {
            after_gap = true;
            continue;
        }
        let Some(packet) = line.strip_prefix("packet ") else {
            let last = packets.last_mut().expect("a structure stands below its packet");
            writeln!(last.structure, "{line}").unwrap();
            continue;
        };
        let [stream, _sequence, marker, layer, value] =
            packet.split(' ').collect::<Vec<_>>().try_into().expect("five columns");
        packets.push(Captured {
            after_gap: std::mem::take(&mut after_gap),
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

/// The structure in force on each stream.
type Current<'a> = HashMap<&'a str, Arc<DependencyStructure>>;

/// Calls `check` with each packet, its descriptor and the structure in force before it.
pub(super) fn each_packet(
    file: &str,
    mut check: impl FnMut(&Captured<'_>, &DependencyDescriptor, Option<&DependencyStructure>),
) {
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
