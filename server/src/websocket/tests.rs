//! The requirements of RFC 6455 for a server.

mod echo;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::upgrade::accept;
use super::*;

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
const MAX: usize = 100_000;

/// A client's frame.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        len @ 0..126 => bytes.push(0x80 | len as u8),
        len @ 126..65_536 => {
            bytes.push(0x80 | 126);
            bytes.extend((len as u16).to_be_bytes());
        }
        len => {
            bytes.push(0x80 | 127);
            bytes.extend((len as u64).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// Everything that is read of these bytes, up to the first error.
async fn read(bytes: &[u8]) -> (Vec<Message>, Option<ReadError>) {
    let mut reader = Reader::new(bytes, MAX, Memory::default(), Side::Server);
    let mut messages = Vec::new();
    loop {
        match reader.next().await {
            Some(Ok(message)) => messages.push(message),
            Some(Err(error)) => return (messages, Some(error)),
            None => return (messages, None),
        }
    }
}

async fn refused(bytes: &[u8]) -> Option<u16> {
    read(bytes).await.1.and_then(|error| error.code())
}

#[test]
fn a_key_is_accepted_as_in_section_1_3() {
    assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[tokio::test]
async fn a_masked_text_reads_as_in_section_5_7() {
    let bytes = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    let (messages, error) = read(&bytes).await;
    assert_eq!(messages, [Message::Text("Hello".into())]);
    assert!(error.is_none());
}

#[tokio::test]
async fn messages_of_every_length_are_read() {
    for len in [0, 1, 125, 126, 127, 511, 512, 513, 65_535, 65_536, MAX] {
        let payload: Vec<u8> = (0..len).map(|index| index as u8).collect();
        let bytes = [frame(0x82, &payload), frame(0x8a, b""), frame(0x82, b"next")].concat();
        let (messages, _) = read(&bytes).await;
        let expected = [
            Message::Binary(payload.into()),
            Message::Pong,
            Message::Binary(Bytes::from_static(b"next")),
        ];
        assert_eq!(messages, expected, "{len} bytes");
    }
}

#[tokio::test]
async fn pieces_make_one_message_and_control_frames_may_come_between_them() {
    let bytes = [
        frame(0x01, "gr\u{fc}".as_bytes().split_at(3).0),
        frame(0x89, b"there?"),
        frame(0x00, "gr\u{fc}".as_bytes().split_at(3).1),
        frame(0x80, "\u{df}e".as_bytes()),
        frame(0x88, &1000u16.to_be_bytes()),
    ]
    .concat();
    let (messages, error) = read(&bytes).await;
    let expected = [
        Message::Ping(Bytes::from_static(b"there?")),
        Message::Text("gr\u{fc}\u{df}e".into()),
        Message::Close(1000),
    ];
    assert_eq!(messages, expected);
    assert!(error.is_none());
}

#[tokio::test]
async fn frames_that_break_the_protocol_are_refused() {
    let unmasked = [0x82, 0x01, 0x00];
    let long_ping = frame(0x89, &[0; 126]);
    let within = [frame(0x02, b"a"), frame(0x82, b"b")].concat();
    let broken: [&[u8]; 7] = [
        &unmasked,
        &long_ping,
        &within,
        &frame(0x80, b"goes on"),
        &frame(0xc2, b"compressed"),
        &frame(0x83, b"unknown"),
        &frame(0x09, b"ping in pieces"),
    ];
    for bytes in broken {
        assert_eq!(refused(bytes).await, Some(1002), "{bytes:02x?}");
    }
}

#[tokio::test]
async fn text_that_is_not_utf_8_is_refused_as_such() {
    let surrogate = [0xed, 0xa0, 0x80];
    let close = [&1000u16.to_be_bytes()[..], &surrogate].concat();
    for bytes in [frame(0x81, &[0xff, 0xfe]), frame(0x81, &surrogate), frame(0x88, &close)] {
        assert_eq!(refused(&bytes).await, Some(1007), "{bytes:02x?}");
    }
}

#[tokio::test]
async fn a_close_frame_is_answered_with_its_own_code() {
    assert_eq!(read(&frame(0x88, b"")).await.0, [Message::Close(1000)]);
    for code in [1000, 1001, 1003, 1007, 1011, 1014, 3000, 4999] {
        let payload = [&u16::to_be_bytes(code)[..], b"because"].concat();
        assert_eq!(read(&frame(0x88, &payload)).await.0, [Message::Close(code)]);
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] {
        assert_eq!(
            refused(&frame(0x88, &u16::to_be_bytes(code))).await,
            Some(1002),
            "{code}"
        );
    }
    assert_eq!(refused(&frame(0x88, &[3])).await, Some(1002), "half a code");
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_before_it_is_read() {
    let huge = [&[0x82, 0xff][..], &u64::MAX.to_be_bytes(), &MASK].concat();
    let pieces = [frame(0x02, &[0; MAX]), frame(0x80, &[0])].concat();
    assert_eq!(refused(&huge).await, Some(1009));
    assert_eq!(refused(&pieces).await, Some(1009));
}

#[tokio::test]
async fn a_connection_may_end_at_any_byte() {
    let bytes = [frame(0x82, &[7; 300]), frame(0x01, b"beg")].concat();
    for len in 0..bytes.len() {
        let (messages, error) = read(&bytes[..len]).await;
        assert!(error.is_none() && messages.len() <= 1, "after {len} bytes: {error:?}");
    }
}

#[tokio::test]
async fn bytes_at_random_never_panic() {
    let mut state = 1u32;
    for _ in 0..2_000 {
        let mut bytes = [0; 64];
        for byte in &mut bytes {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (state >> 24) as u8;
        }
        read(&bytes).await;
    }
}

#[tokio::test]
async fn written_frames_have_the_right_bytes() {
    for (len, header) in [
        (5, &[0x82, 5][..]),
        (126, &[0x82, 126, 0, 126]),
        (70_000, &[0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70]),
    ] {
        let mut bytes = Vec::new();
        Writer::new(&mut bytes, Side::Server)
            .binary(&vec![9; len])
            .await
            .unwrap();
        assert_eq!(bytes.split_at(header.len()), (header, &vec![9; len][..]));
    }
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Side::Server);
    writer.ping().await.unwrap();
    writer.pong(b"here").await.unwrap();
    writer.close(1000, &"\u{fc}".repeat(100)).await.unwrap();
    assert_eq!(bytes[..8], [0x89, 0, 0x8a, 4, b'h', b'e', b'r', b'e']);
    assert_eq!(bytes[8..12], [0x88, 124, 0x03, 0xe8], "cut between two characters");
}

#[tokio::test]
async fn both_directions_work_at_once() {
    let (client, server) = tokio::io::duplex(64);
    let (mut reader, mut writer) = split(server, MAX, &Memory::default());
    let (mut answers, mut asks) = tokio::io::split(client);
    let ask = async {
        asks.write_all(&frame(0x82, &[1; 1_000])).await.unwrap();
        let mut answer = vec![0; 4 + 1_000];
        answers.read_exact(&mut answer).await.unwrap();
        answer
    };
    let serve = async {
        let Some(Ok(Message::Binary(bytes))) = reader.next().await else {
            panic!("no message")
        };
        writer.binary(&bytes).await.unwrap();
    };
    let (answer, ()) = tokio::join!(ask, serve);
    assert_eq!(answer[4..], [1; 1_000]);
}
