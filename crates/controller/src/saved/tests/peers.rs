//! Peer connections of any kind.

use std::sync::Arc;

use environment::Random;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use southbound::{
    Capabilities, Channel, Fingerprint, HashFunction, Node, NodeId, SubscriptionId, TrackId, TransportId,
};
use wire::sdp::{Msid, SectionKind, SessionDescription};
use wire::{MediaKind, Mid, Ssrc};

use super::values::{codec, kind, name};
use crate::negotiation::{AudioWish, Down, Downlink, Peer, PeerState, SavedPeer, Section, Sides, Up, Uplink, Usage};
use crate::saved::SavedTrack;
use crate::{DisabledCodecs, IceProtocol};

/// As a browser offers a microphone, a camera in two sizes and data channels.
const OFFER: &str = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1 2\r\n\
    a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\na=setup:actpass\r\n\
    a=fingerprint:sha-256 AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB\r\n\
    m=audio 9 UDP/TLS/RTP/SAVPF 111 63\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=sendonly\r\na=rtcp-mux\r\na=rtcp-rsize\r\n\
    a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level\r\na=msid:- microphone\r\na=rtpmap:111 opus/48000/2\r\n\
    a=fmtp:111 minptime=10;useinbandfec=1\r\na=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\na=ssrc:7 cname:ada\r\n\
    m=video 9 UDP/TLS/RTP/SAVPF 96 97\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\na=sendrecv\r\na=rtcp-mux\r\na=msid:- camera\r\n\
    a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\na=rtpmap:96 VP8/90000\r\na=rtcp-fb:96 nack\r\n\
    a=rtcp-fb:96 nack pli\r\na=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\na=rid:q send\r\na=rid:f send\r\n\
    a=simulcast:send q;f\r\n\
    m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:2\r\na=sctp-port:5000\r\n";

fn up() -> impl Strategy<Value = Up> {
    let uplink = (1000..2000_u64, any::<[bool; 3]>(), option::of(codec())).prop_map(|(track, flags, codec)| {
        let [dtx, stereo, red] = flags;
        Up::Track(Uplink {
            track: TrackId(track),
            audio: AudioWish { dtx, stereo, red },
            codec,
        })
    });
    prop_oneof![Just(Up::Nothing), Just(Up::Unclaimed), Just(Up::Forbidden), uplink]
}

fn down() -> impl Strategy<Value = Down> {
    let downlink = (any::<[u32; 3]>(), name(), option::of(name()), any::<bool>());
    let downlink = downlink.prop_map(|(numbers, stream, track, stereo)| {
        let rare = SessionDescription::parse(OFFER).expect("the offer is one").sections[1]
            .formats
            .clone();
        Down::Track(Downlink {
            subscription: SubscriptionId(numbers[0].into()),
            ssrc: Ssrc(numbers[1]),
            repair: Ssrc(numbers[2]),
            msid: Msid { stream, track },
            cname: "PA_ada".to_owned(),
            track_sid: "TR_1".to_owned(),
            stereo,
            rare: if stereo { rare } else { Vec::new() },
        })
    });
    let releasing = any::<bool>().prop_map(|told| Down::Releasing { told });
    prop_oneof![Just(Down::Idle), releasing, downlink]
}

fn usage() -> impl Strategy<Value = Usage> {
    let media = (up(), down()).prop_map(|(up, down)| Usage::Media(Sides { up, down }));
    prop_oneof![media, Just(Usage::Data), Just(Usage::Rejected)]
}

fn section_kind() -> impl Strategy<Value = SectionKind> {
    let other = || SectionKind::Other {
        media: "text".to_owned(),
        formats: "t140".to_owned(),
    };
    prop_oneof![
        kind().prop_map(SectionKind::Media),
        Just(SectionKind::Data),
        Just(other())
    ]
}

fn node() -> Node {
    Node {
        node: NodeId(1),
        addresses: vec![([192, 0, 2, 1], 7882).into()],
        tcp_addresses: Vec::new(),
        fingerprint: Fingerprint {
            hash: HashFunction::Sha256,
            digest: vec![0xab; 32],
        },
        clear_rtp: false,
        clear_trunks: false,
        capabilities: Capabilities::ALL,
    }
}

/// The values of a peer connection besides its tracks.
#[derive(Clone, Debug)]
pub(super) struct PeerValues {
    seed: u8,
    state: PeerState,
    /// Whether an offer was taken.
    is_offered: bool,
    /// Sections after those of the offer.
    sections: Vec<(SectionKind, Usage, Option<String>)>,
    needed: bool,
    downlink_limit: Option<u64>,
}

pub(super) fn peer_values() -> impl Strategy<Value = PeerValues> {
    let states = select(vec![PeerState::New, PeerState::Connected, PeerState::Disconnected]);
    let sections = vec((section_kind(), usage(), option::of(name())), 0..4);
    let flags = any::<[bool; 2]>();
    (any::<u8>(), states, flags, sections, option::of(any::<u64>())).prop_map(
        |(seed, state, [is_offered, needed], sections, downlink_limit)| PeerValues {
            seed,
            state,
            is_offered,
            sections,
            needed,
            downlink_limit,
        },
    )
}

/// A peer connection that carries the tracks that have arrived.
pub(super) fn peer(transport: u64, values: PeerValues, tracks: &[SavedTrack]) -> SavedPeer {
    let channel = Channel {
        label: Arc::from("_lossy"),
        ordered: false,
        retransmits_max: Some(0),
        stream: Some(2),
    };
    let (transport, mut random) = (TransportId(transport), Random::new([values.seed; 32]));
    let disabled = DisabledCodecs::default();
    let mut peer = Peer::new(transport, &mut random, vec![channel], disabled, IceProtocol::Any, 0);
    if values.is_offered {
        let offer = SessionDescription::parse(OFFER).expect("the offer is one");
        peer.take_offer(&offer, &node(), true).expect("the offer can be used");
        peer.answer(&node());
    }
    for (kind, usage, first_track) in values.sections {
        let mut section = Section::new(next_mid(&peer), kind, usage);
        section.first_track = first_track;
        peer.sections.push(section);
    }
    for (track, kind) in arrived(tracks) {
        let up = Up::Track(Uplink {
            track: TrackId(track),
            audio: AudioWish::default(),
            codec: None,
        });
        let usage = Usage::Media(Sides { up, down: Down::Idle });
        let section = Section::new(next_mid(&peer), SectionKind::Media(kind), usage);
        peer.sections.push(section);
    }
    peer.ssrcs.next();
    (peer.state, peer.offering.needed, peer.downlink_limit) = (values.state, values.needed, values.downlink_limit);
    peer.channels = vec![Arc::from("_reliable")];
    peer.save()
}

fn next_mid(peer: &Peer) -> Mid {
    Mid::new(&peer.sections.len().to_string()).expect("a number is a token")
}

/// The tracks that have arrived, in each codec, as the node knows them.
fn arrived(tracks: &[SavedTrack]) -> impl Iterator<Item = (u64, MediaKind)> {
    tracks.iter().flat_map(|track| {
        let backup = track.backup.as_ref().filter(|backup| backup.has_arrived);
        let ids = [track.has_arrived.then_some(track.id), backup.map(|backup| backup.id)];
        ids.into_iter().flatten().map(|id| (id, track.info.kind))
    })
}
