//! Random packets of relays and of a room, whole and damaged.

use std::net::SocketAddr;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use veth::frame::Frame;

use crate::{HOST, HOST_V6, client};

/// The state of a random sender.
pub(crate) struct Sender {
    random: StdRng,
    sequence: u16,
    frame: u16,
    template: u8,
}

impl Sender {
    /// One whose packets follow from a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Sender {
            random: StdRng::seed_from_u64(seed),
            sequence: 1000,
            frame: 0,
            template: 0,
        }
    }

    pub(crate) fn next(&mut self) -> (u16, Vec<u8>) {
        let is_v6 = self.random.random_range(0..3) == 0;
        let host = if is_v6 { HOST_V6 } else { HOST };
        let (from, to, payload) = match self.random.random_range(0..12) {
            0..2 => (4000, 6000, self.rtp(0x3333, 0)),
            2..8 => (5000, 5004, self.rtp(0x1111, 96)),
            8..10 => (5000, 5004, self.rtp(0x2222, 111)),
            _ => (5000, 5004, self.rtcp()),
        };
        let at = |text: &str, port: u16| SocketAddr::new(text.parse().unwrap(), port);
        let mut frame = Frame::new(at(&client(2, is_v6), from), at(host, to), &payload);
        frame.ttl = if self.random.random_range(0..20) == 0 { 1 } else { 64 };
        frame.unchecked = !is_v6 && self.random.random_range(0..8) == 0;
        let mut bytes = frame.bytes();
        if self.random.random_range(0..3) == 0 {
            // The frame is filled behind the datagram.
            bytes.extend((0..self.random.random_range(1..12)).map(|_| self.random.random::<u8>()));
        }
        if self.random.random_range(0..12) == 0 {
            let index = self.random.random_range(12..bytes.len());
            bytes[index] ^= 1 << self.random.random_range(0..8);
        }
        if self.random.random_range(0..40) == 0 {
            bytes.truncate(self.random.random_range(14..bytes.len()));
        }
        (2, bytes)
    }

    fn rtp(&mut self, ssrc: u32, payload_type: u8) -> Vec<u8> {
        let random = &mut self.random;
        self.sequence = match random.random_range(0..12) {
            0 => self.sequence.wrapping_sub(3),
            1 => self.sequence.wrapping_add(3),
            _ => self.sequence.wrapping_add(1),
        };
        let is_first = random.random_range(0..3) > 0;
        if is_first {
            self.frame = self.frame.wrapping_add(1);
            self.template = random.random_range(0..6);
            if random.random_range(0..8) == 0 {
                self.template = 0;
            }
        }
        let is_last = random.random_range(0..3) > 0;
        let with_padding = random.random_range(0..12) == 0;
        let csrcs = random.random_range(0..8u8).saturating_sub(5);
        let with_extension = random.random_range(0..8) > 0;
        let mut bytes = vec![0x80 | u8::from(with_padding) << 5 | u8::from(with_extension) << 4 | csrcs];
        bytes.push(u8::from(is_last) << 7 | payload_type);
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend((u32::from(self.frame) * 3000).to_be_bytes());
        bytes.extend(ssrc.to_be_bytes());
        bytes.extend(std::iter::repeat_n(9, 4 * usize::from(csrcs)));
        if with_extension {
            let head = u8::from(is_first) << 7 | u8::from(is_last) << 6 | self.template;
            let [high, low] = self.frame.to_be_bytes();
            extension(random, &[head, high, low], &mut bytes);
        }
        bytes.extend(std::iter::repeat_n(0x55, random.random_range(0..60)));
        if with_padding {
            bytes.extend([0, 0, 0, 4]);
        }
        bytes
    }

    fn rtcp(&mut self) -> Vec<u8> {
        let random = &mut self.random;
        let kinds = [(200, 0, 6), (201, 1, 7), (205, 1, 3), (206, 15, 4), (206, 1, 2)];
        let (kind, count, words) = kinds[random.random_range(0..kinds.len())];
        let mut bytes = vec![0x80 | count, kind, 0, words];
        bytes.extend(0x1111u32.to_be_bytes());
        bytes.extend((1..words).flat_map(|_| random.random::<[u8; 4]>()));
        if kind == 200 {
            bytes.extend([0x81, 202, 0, 3, 0, 0, 0x11, 0x11, 1, 2, b'a', b'b', 0, 0, 0, 0]);
        }
        if kind == 201 && random.random() {
            let (kind, count, words) = kinds[random.random_range(2..kinds.len())];
            bytes.extend([0x80 | count, kind, 0, words]);
            bytes.extend((0..words).flat_map(|_| random.random::<[u8; 4]>()));
        }
        bytes
    }
}

/// A random header extension with a descriptor.
fn extension(random: &mut StdRng, descriptor: &[u8], bytes: &mut Vec<u8>) {
    let is_two_byte = random.random_range(0..3) == 0;
    let mut elements = Vec::new();
    let count = random.random_range(0..6);
    let place = random.random_range(0..=count);
    for index in 0..=count {
        let (id, mut value) = if index == place {
            let mut value = descriptor.to_vec();
            if random.random_range(0..6) == 0 {
                // A structure, or references and places in chains of its own.
                let flags = [0x80, 0, 0x10, 0x08, 0x18, 0x58][random.random_range(0..6)];
                value.extend([flags | random.random_range(0..8u8), random.random(), 2]);
            }
            (3, value)
        } else {
            let length = random.random_range(1..9);
            (
                [1, 2, 4, 5, 7][random.random_range(0..5)],
                (0..length).map(|_| random.random()).collect(),
            )
        };
        if is_two_byte {
            elements.extend([id, value.len() as u8]);
        } else {
            elements.push(id << 4 | (value.len() as u8 - 1));
        }
        elements.append(&mut value);
        if random.random_range(0..6) == 0 {
            elements.push(0);
        }
    }
    elements.resize(elements.len().next_multiple_of(4), 0);
    bytes.extend(if is_two_byte { [0x10, 0x00] } else { [0xbe, 0xde] });
    bytes.extend((elements.len() as u16 / 4).to_be_bytes());
    bytes.extend(elements);
}
