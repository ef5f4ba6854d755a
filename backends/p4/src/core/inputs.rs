//! Packets that the switch sends to its controller.

use wire::RtpPacket;
use wire::codec::Layer;
use wire::codec::vp8::Vp8Descriptor;

use super::{Core, PacketOut};
use crate::counter::Counter;
use crate::frame::udp_payload;
use crate::neighbour;
use crate::rooms::Report;

/// The program's reasons to send a packet to its controller.
const STRUCTURE: u8 = 1;
const NEIGHBOUR: u8 = 2;
const NUMBERS: u8 = 3;

/// A packet of the switch, with the program's metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketIn {
    /// Why it is sent.
    pub reason: u8,
    /// The port it arrived at.
    pub port: u16,
    /// The index and epoch of a replica,
    pub index: u32,
    pub epoch: u8,
    /// the number of its packet at the source, as sent, and its frame's,
    pub source_number: u16,
    pub sent_number: u16,
    pub frame_number: u16,
    /// and its highest layer: spatial above three bits of temporal.
    pub layer: u8,
    /// The number of a stream.
    pub stream: u32,
    /// The frame.
    pub frame: Vec<u8>,
}

impl Core {
    /// The switch has sent a packet. `None` stands for one whose metadata cannot be read.
    pub(crate) fn packet_in(&mut self, packet: Option<PacketIn>) {
        let Some(packet) = packet else {
            return self.counters.count(Counter::UnknownPacket);
        };
        match packet.reason {
            STRUCTURE => self.structure(&packet),
            NEIGHBOUR => self.neighbour(&packet),
            NUMBERS => self.numbers(&packet),
            _ => self.counters.count(Counter::UnknownPacket),
        }
    }

    fn structure(&mut self, packet: &PacketIn) {
        let media = udp_payload(&packet.frame).unwrap_or_default();
        let done = self.with(|_, rooms, context| rooms.structure(context, packet.stream, media));
        if done.is_err() {
            self.counters.count(Counter::BadStructure);
        }
    }

    fn numbers(&mut self, packet: &PacketIn) {
        let media = udp_payload(&packet.frame).and_then(|media| RtpPacket::parse_protected(media).ok());
        let report = Report {
            source: packet.source_number,
            sent: packet.sent_number,
            frame: packet.frame_number,
            layer: Layer {
                spatial: packet.layer >> 3,
                temporal: packet.layer & 7,
            },
            timestamp: media.as_ref().map(|media| media.timestamp().0),
            picture: media.as_ref().and_then(|media| picture(media.payload())),
        };
        let done = self.with(|_, rooms, context| rooms.reported(context, packet.index, packet.epoch, report));
        if done.is_err() {
            self.counters.count(Counter::BadReport);
        }
    }

    fn neighbour(&mut self, packet: &PacketIn) {
        match neighbour::answer(&self.config, packet.port, &packet.frame) {
            Some((port, frame)) => {
                self.counters.count(Counter::NeighbourAnswered);
                self.send(PacketOut { port, frame });
            }
            None => self.counters.count(Counter::NeighbourIgnored),
        }
    }
}

/// The picture id and TL0PICIDX in a payload of VP8.
fn picture(payload: &[u8]) -> Option<(u16, u8)> {
    let descriptor = Vp8Descriptor::parse(payload).ok()?;
    Some((descriptor.picture_id?.value(), descriptor.tl0_pic_idx.unwrap_or(0)))
}
