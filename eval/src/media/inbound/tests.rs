use super::*;
use crate::media::layers::Dependency;
use crate::media::ledger::{Ledger, Sent};
use crate::media::outbound::{Negotiated, Outbound, Place};
use crate::media::payload::{Fragment, write_video};

const NEGOTIATED: Negotiated = Negotiated {
    payload_type: 96,
    repair: None,
    mid: None,
    transport_sequence: Some(3),
    audio_level: None,
    dependency: None,
};

/// Counts of a receiver whose stream loses a packet, repeats one, delays one and pads one, if it
/// opens one packet in `open_one_in`.
fn counted(open_one_in: u32) -> (Vec<u64>, Vec<(u16, u64)>, u64) {
    let mut ledger = Ledger::new(open_one_in);
    let mut stream = Outbound::new(4, "", NEGOTIATED);
    let (mut transport_sequence, mut sent) = (0, Vec::new());
    for number in 0..400u64 {
        let place = Place {
            timestamp: (number / 4 * 3000) as u32,
            marker: number % 4 == 3,
            payload_len: 300 + (number % 4) as usize,
            audio_level: 0,
            dependency: Dependency::NONE,
        };
        let fragment = Fragment {
            key_frame: number < 4,
            first: number % 4 == 0,
            picture_id: (number / 4) as u16,
            layered: None,
        };
        let mut bytes = vec![0; 400];
        let written = stream.write(&mut bytes, &mut transport_sequence, place, |payload, stamp| {
            write_video(payload, fragment, stamp);
        });
        bytes.truncate(written.len);
        ledger.note(
            4,
            Sent {
                number,
                sent_ns: written.sent_ns,
                timestamp: place.timestamp,
                payload_len: place.payload_len as u16,
                marker: place.marker,
                key_frame_start: fragment.key_frame && fragment.first,
            },
        );
        sent.push(bytes);
    }
    // The server's renaming, and a byte of padding.
    for bytes in &mut sent {
        let sequence = u16::from_be_bytes([bytes[2], bytes[3]]).wrapping_add(30_000);
        bytes[2..4].copy_from_slice(&sequence.to_be_bytes());
    }
    sent[40][0] |= PADDED;
    sent[40].push(1);
    let order = (0..100).chain(101..150).chain([152, 151, 150, 150]).chain(153..400);

    let (mut inbound, mut meter, mut totals) = (Inbound::default(), Meter::default(), Totals::with(ledger));
    inbound.agree(96, Carries::Video, true);
    inbound.agree_transport_sequence(3);
    meter.allow(4);
    totals.begin_window(vec![0; 5]);
    let now = crate::clock::now();
    for (place, number) in order.enumerate() {
        let at = u64::MAX / 2 + place as u64 * 1_000_000;
        let mut bytes = sent[number].clone();
        if open_one_in == 1 || !inbound.recognize(now, at, &mut bytes, &mut meter, &mut totals) {
            inbound.handle(now, at, &bytes, &mut meter, &mut totals);
        }
    }
    let (tally, shown) = (&meter.tallies()[4], inbound.shown().next().expect("a picture"));
    let counts = vec![
        totals.packets,
        totals.bytes,
        totals.damaged + totals.foreign,
        totals.latency.count(),
        totals.to_last().count(),
        tally.window(0..400).received,
        tally.duplicates(),
        tally.reordered(),
        shown.frames,
        shown.jitter_max,
        inbound
            .wanted(now + std::time::Duration::from_millis(10))
            .map(|(_, wanted)| wanted.missing.len() as u64)
            .sum(),
    ];
    let mut arrivals = Vec::new();
    inbound.take_arrivals(&mut arrivals);
    (counts, arrivals, totals.opened)
}

#[test]
fn opening_few_packets_counts_the_same_as_opening_all() {
    let (strict, few) = (counted(1), counted(64));
    assert_eq!((&strict.0, &strict.1), (&few.0, &few.1));
    assert_eq!((strict.0[0], strict.0[5], strict.0[6]), (400, 399, 1));
    assert_eq!(strict.2, 400);
    assert!((7..12).contains(&few.2), "{}", few.2);
}
