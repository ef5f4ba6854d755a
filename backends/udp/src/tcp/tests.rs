//! Connections whose other end is slow, or gone.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dataplane::Path;
use wire::framing::{self, Deframer};

use super::connection::Connection;
use super::connection_slots::Shared;
use super::statistics::TcpEvent;
use super::{DEAD_AFTER, QUEUE_MAX, UNSENT_MAX};
use crate::net::tune;

/// A connection, and its other end.
fn pair(shared: &Arc<Shared>) -> (Connection, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (stream, remote) = listener.accept().unwrap();
    tune(&stream, UNSENT_MAX, DEAD_AFTER).unwrap();
    let path = Path {
        local: stream.local_addr().unwrap(),
        remote,
    };
    let stream = Arc::new(stream);
    let slot = shared.slot(Instant::now(), remote.ip(), &stream).unwrap();
    (Connection::new(path, stream, slot), peer)
}

/// Frames with these numbers, of a kilobyte each.
fn frames(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut frames = Vec::new();
    for number in numbers {
        let datagram = [&number.to_be_bytes()[..], &[7; 996]].concat();
        framing::write(&datagram, &mut frames);
    }
    frames
}

#[test]
fn a_slow_receiver_gets_whole_frames_in_order() {
    let shared = Arc::default();
    let (connection, mut peer) = pair(&shared);
    let (mut kept, mut dropped) = (Vec::new(), 0);
    // More than the kernel and the queue hold together.
    for run in 0..10_000_u32 {
        let numbers = run * 3..run * 3 + 3;
        let lost = connection.send(&frames(numbers.clone()));
        kept.extend(numbers.take(3 - lost as usize));
        dropped += lost;
    }
    assert!(dropped > 0);
    assert_eq!(shared.counts.of(TcpEvent::Slow), dropped);
    let waiting = shared.waiting.load(Ordering::Relaxed);
    assert!((1..=QUEUE_MAX).contains(&waiting), "{waiting} bytes wait");

    let (mut deframer, mut buffer, mut taken) = (Deframer::new(1_500), vec![0; 65_536], Vec::new());
    while taken.len() < kept.len() {
        connection.flush();
        let len = peer.read(&mut buffer).unwrap();
        assert!(len > 0, "the connection has ended");
        let number = |datagram: &[u8]| u32::from_be_bytes(*datagram.first_chunk().unwrap());
        deframer
            .push(&buffer[..len], |datagram| taken.push(number(datagram)))
            .unwrap();
    }
    assert_eq!(taken, kept);
    assert_eq!(shared.waiting.load(Ordering::Relaxed), 0);
}

#[test]
fn a_queue_goes_with_its_connection() {
    let shared = Arc::default();
    let (connection, peer) = pair(&shared);
    while connection.send(&frames(0..3)) == 0 {}
    assert!(shared.waiting.load(Ordering::Relaxed) > 0);
    drop(connection);
    assert_eq!(shared.waiting.load(Ordering::Relaxed), 0);
    drop(peer);
}

#[test]
fn nothing_is_queued_for_a_connection_that_has_ended() {
    let shared = Arc::default();
    let (connection, peer) = pair(&shared);
    drop(peer);
    for _ in 0..1_000 {
        if connection.is_closed() {
            break;
        }
        connection.send(&frames(0..3));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(connection.is_closed());
    assert_eq!(connection.send(&frames(0..3)), 3);
    assert_eq!(shared.waiting.load(Ordering::Relaxed), 0);
}
