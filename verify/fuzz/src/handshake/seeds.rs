//! Handshakes to change, and those that cost much for their length.

use super::certificates;
use super::client::{AS_IS, BEFORE, CUT, FLIPPED, INSERTED, INSTEAD, LATE, LOST};
use crate::hostile::Family;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const CERTIFICATE: u8 = 11;
/// The bytes of a datagram of fragments.
const DATAGRAM: usize = 1_200;

/// Right handshakes, whole and in fragments; each kind of certificate with a signature of something
/// else; each change; and a stranger's own datagrams.
pub(crate) fn handshakes() -> Vec<Vec<u8>> {
    let mut seeds = vec![framed(&[]), framed(&[&[1]]), framed(&[&[20]])];
    for (certificate, signature) in certificates::with_signatures() {
        seeds.push(framed(&[&[], &certificate, &signature]));
    }
    // The first datagram is the hello; the second one begins with the certificate.
    let hello = hello(&[0xc0, 0x2b]);
    let place: &[u8] = &[0, 60, 1, 2, 4];
    for (kind, argument) in [
        (INSTEAD, &hello[..]),
        (BEFORE, &hello),
        (LOST, &[]),
        (CUT, place),
        (FLIPPED, place),
        (INSERTED, place),
        (LATE, &[]),
    ] {
        let change = [&[kind], argument].concat();
        seeds.push(framed(&[&[], &[], &[], &change]));
        seeds.push(framed(&[&[1], &[], &[], &[AS_IS], &change, &change]));
        seeds.push(framed(&[&[], &[], &[], &[AS_IS], &change, &[AS_IS]]));
    }
    for record in RECORDS {
        let datagram = [&[BEFORE], record].concat();
        seeds.push(framed(&[&[], &[], &[], &datagram, &datagram]));
    }
    seeds.push(strange([CLAIMED.to_vec()]));
    seeds
}

/// A certificate message of seven bytes that claims a certificate of 16 MiB.
const CLAIMED: &[u8] = &[
    22,
    0xfe,
    0xfd,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    19,
    CERTIFICATE,
    0,
    0,
    7,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    7,
    0xff,
    0xff,
    0xff,
    0xff,
    0xff,
    0xff,
    0,
];

/// A record of each kind.
const RECORDS: [&[u8]; 8] = [
    &[20, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 1],
    &[20, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 9, 0, 1, 1],
    &[21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 1, 0],
    &[21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40],
    &[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0],
    &[23, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 9, 0, 4, 1, 2, 3, 4],
    &[22, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 9, 0, 4, 1, 2, 3, 4],
    &[24, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 4, 1, 2, 3, 4],
];

/// Datagrams at an association: each record alone, all of them together, and a hello.
pub(crate) fn forged() -> Vec<Vec<u8>> {
    let mut seeds: Vec<_> = RECORDS.iter().map(|record| framed(&[record, record])).collect();
    seeds.extend([framed(&[&RECORDS.concat()]), framed(&[&hello(&[0xc0, 0x2b])])]);
    seeds
}

/// Datagrams of a stranger that does nothing else.
fn strange(datagrams: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let datagrams: Vec<_> = datagrams
        .into_iter()
        .map(|datagram| [&[INSTEAD], &datagram[..]].concat())
        .collect();
    let shown: [&[u8]; 3] = [&[]; 3];
    let frames: Vec<_> = shown.into_iter().chain(datagrams.iter().map(Vec::as_slice)).collect();
    framed(&frames)
}

fn framed(frames: &[&[u8]]) -> Vec<u8> {
    let mut input = Vec::new();
    for frame in frames {
        input.extend((frame.len() as u16).to_be_bytes());
        input.extend(*frame);
    }
    input
}

/// A record without encryption. Its number is `number`.
fn record(kind: u8, number: u16, body: &[u8]) -> Vec<u8> {
    let mut record = vec![kind, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0];
    record.extend(number.to_be_bytes());
    record.extend((body.len() as u16).to_be_bytes());
    record.extend(body);
    record
}

/// A fragment of a handshake message.
fn fragment(kind: u8, sequence: u16, len: usize, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let three = |number: usize| (number as u32).to_be_bytes()[1..].to_vec();
    let mut fragment = vec![kind];
    fragment.extend(three(len));
    fragment.extend(sequence.to_be_bytes());
    fragment.extend([three(offset), three(bytes.len()), bytes.to_vec()].concat());
    fragment
}

/// The body of a hello with these cipher suites and the extensions of a browser.
fn hello_body(suites: &[u8], more: &[u8]) -> Vec<u8> {
    let extensions = [
        // Groups, point formats, signature algorithms, SRTP profiles, extended master secret.
        &[0, 10, 0, 6, 0, 4, 0, 29, 0, 23][..],
        &[0, 11, 0, 2, 1, 0],
        &[0, 13, 0, 6, 0, 4, 4, 3, 8, 7],
        &[0, 14, 0, 7, 0, 4, 0, 7, 0, 1, 0],
        &[0, 23, 0, 0],
        more,
    ]
    .concat();
    let mut body = vec![0xfe, 0xfd];
    body.extend([7; 32]);
    body.extend([0, 0]);
    body.extend((suites.len() as u16).to_be_bytes());
    body.extend(suites);
    body.extend([1, 0]);
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    body
}

fn hello(suites: &[u8]) -> Vec<u8> {
    let body = hello_body(suites, &[]);
    record(HANDSHAKE, 0, &fragment(CLIENT_HELLO, 0, body.len(), 0, &body))
}

/// A message in datagrams, in order.
fn in_datagrams(kind: u8, sequence: u16, body: &[u8]) -> Vec<Vec<u8>> {
    let pieces = body.chunks(DATAGRAM).enumerate();
    let datagram = |(at, piece): (usize, &[u8])| {
        record(
            HANDSHAKE,
            at as u16,
            &fragment(kind, sequence, body.len(), at * DATAGRAM, piece),
        )
    };
    pieces.map(datagram).collect()
}

/// As many small records as fit, in datagrams.
fn packed(len: usize, small: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let mut datagrams = vec![Vec::new()];
    let (mut all, mut number) = (0, 0);
    while all < len {
        let next = small(number);
        let is_full = datagrams
            .last()
            .is_some_and(|datagram| datagram.len() + next.len() > DATAGRAM);
        if is_full {
            datagrams.push(Vec::new());
        }
        all += next.len();
        number += 1;
        datagrams.last_mut().expect("there is one").extend(next);
    }
    strange(datagrams)
}

/// A part of the length, so that the longest input is one message that a node assembles: up to
/// 32 KiB.
fn in_message(len: usize) -> usize {
    (len * 15 / 32).min(30_720)
}

/// Handshakes that cost much.
pub(crate) const HOSTILE: &[Family] = &[
    ("fragments with gaps", |len| {
        packed(len, |at| {
            record(
                HANDSHAKE,
                at as u16,
                &fragment(CERTIFICATE, 1, 32_000, at * 2 % 32_000, &[7]),
            )
        })
    }),
    ("fragments from the end", |len| {
        packed(len, |at| {
            record(
                HANDSHAKE,
                at as u16,
                &fragment(CLIENT_HELLO, 0, 32_000, 31_999 - at % 32_000, &[7]),
            )
        })
    }),
    ("fragments in one record", |len| {
        let piece = |at: usize| fragment(CLIENT_HELLO, (at % 8) as u16, 32_000, at * 2 % 32_000, &[7]);
        let datagrams = (0..len.div_ceil(DATAGRAM)).map(|number| {
            let first = number * 90;
            record(
                HANDSHAKE,
                number as u16,
                &(first..first + 90).flat_map(piece).collect::<Vec<_>>(),
            )
        });
        strange(datagrams)
    }),
    ("messages that are whole", |len| {
        packed(len, |at| {
            record(HANDSHAKE, at as u16, &fragment(14, at as u16, 0, 0, &[]))
        })
    }),
    ("messages that are long", |len| {
        packed(len, |at| {
            record(
                HANDSHAKE,
                at as u16,
                &fragment(CERTIFICATE, at as u16, 1_000, 0, &[0; 1_000]),
            )
        })
    }),
    ("hellos", |len| {
        let body = hello_body(&[0xc0, 0x2b], &[]);
        packed(len, move |at| {
            record(
                HANDSHAKE,
                at as u16,
                &fragment(CLIENT_HELLO, at as u16, body.len(), 0, &body),
            )
        })
    }),
    ("hellos again", |len| {
        let body = hello_body(&[0xc0, 0x2b], &[]);
        packed(len, move |at| {
            record(HANDSHAKE, at as u16, &fragment(CLIENT_HELLO, 0, body.len(), 0, &body))
        })
    }),
    ("cipher suites", |len| {
        let body = hello_body(&[0xc0, 0x2b].repeat(in_message(len) / 2), &[]);
        strange(in_datagrams(CLIENT_HELLO, 0, &body))
    }),
    ("extensions", |len| {
        let body = hello_body(&[0xc0, 0x2b], &[0, 11, 0, 2, 1, 0].repeat(in_message(len) / 6));
        strange(in_datagrams(CLIENT_HELLO, 0, &body))
    }),
    // Each says that it has two bytes, and its list goes on to the middle of the message.
    ("extensions that overlap", |len| {
        let list = (in_message(len) / 2) as u16;
        let [high, low] = list.to_be_bytes();
        let body = hello_body(&[0xc0, 0x2b], &[0, 10, 0, 2, high, low].repeat(in_message(len) / 6));
        strange(in_datagrams(CLIENT_HELLO, 0, &body))
    }),
    ("signatures that overlap", |len| {
        let list = (in_message(len) / 2) as u16;
        let [high, low] = (list & !1).to_be_bytes();
        let body = hello_body(&[0xc0, 0x2b], &[0, 13, 0, 2, high, low].repeat(in_message(len) / 6));
        strange(in_datagrams(CLIENT_HELLO, 0, &body))
    }),
    ("early records", |len| {
        packed(len, |at| {
            let mut early = record(HANDSHAKE, at as u16, &[7; 24]);
            early[4] = 1;
            early
        })
    }),
    ("warnings", |len| packed(len, |at| record(21, at as u16, &[1, 90]))),
    ("changes of the cipher", |len| {
        packed(len, |at| record(20, at as u16, &[1]))
    }),
    ("a certificate in layers", |len| {
        framed(&[&[], &[0x30, 0x80].repeat(in_message(len) / 2), &[7; 70]])
    }),
    ("a long name in a certificate", |len| {
        let certificate = certificates::honest();
        let mut long = certificate[..20].to_vec();
        long.extend([0x31, 0x0f, 0x30, 0x0d].repeat(in_message(len) / 4));
        framed(&[&[], &long, &[7; 70]])
    }),
    ("a long signature", |len| {
        framed(&[&[], &[], &vec![0x30; in_message(len)]])
    }),
];

/// Datagrams at an association that cost much.
pub(crate) const FORGED: &[Family] = &[
    ("empty records", |len| {
        framed_records(len, &[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0])
    }),
    ("records that are not authentic", |len| {
        framed_records(
            len,
            &[&[23, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 9, 0, 24][..], &[7; 24]].concat(),
        )
    }),
    ("repeated hellos", |len| framed_records(len, &hello(&[0xc0, 0x2b]))),
];

/// A record again and again, in datagrams.
fn framed_records(len: usize, record: &[u8]) -> Vec<u8> {
    let datagram = record.repeat(DATAGRAM / record.len());
    let datagrams = vec![&datagram[..]; len.div_ceil(datagram.len())];
    framed(&datagrams)
}
