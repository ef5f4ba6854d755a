//! A controller's commands to the agent for a meeting: participants, their tracks, and the
//! subscriptions.

use dataplane::LegId;
use is::stun::{StunMessage, TransId};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};
use southbound::{
    Command, DtlsRole, Encoding, IceCredentials, OpenTransport, PayloadFormat, Publication, RemoteTransport,
    Subscription, SubscriptionId, SubscriptionSettings, TrackId, TrackSource, TransportId,
};
use wire::{Codec, MediaKind, Ssrc};

use crate::entries::{extensions, payload_type, rtx_type};
use crate::publisher::stream_key;

/// Opens a transport and describes its peer, which gets clear RTP: handshakes are not measured
/// here.
pub(crate) fn connect(peer: LegId) -> [Command; 2] {
    let open = OpenTransport {
        transport: transport(peer),
        local: credentials("node", peer),
        channels: Vec::new(),
    };
    let remote = RemoteTransport {
        credentials: credentials("peer", peer),
        fingerprints: Vec::new(),
        dtls: DtlsRole::Server,
        extensions_in: extensions(),
        extensions_out: extensions(),
        sctp_port: None,
    };
    let transport = transport(peer);
    [Command::Open(open), Command::Connect { transport, remote }]
}

/// The password with which the peer answers checks.
pub(crate) fn password(peer: LegId) -> String {
    credentials("peer", peer).password
}

/// The peer's proof that it is there.
pub(crate) fn check(peer: LegId) -> Vec<u8> {
    let (local, remote) = (credentials("node", peer), credentials("peer", peer));
    let username = format!("{}:{}", local.ufrag, remote.ufrag);
    let check = StunMessage::binding_request(&username, TransId::new(), true, 7, 100, true);
    let hmac = |key: &[u8], parts: &[&[u8]]| DefaultSha1HmacProvider.sha1_hmac(key, parts);
    let mut bytes = vec![0; 256];
    let len = check
        .to_bytes(Some(local.password.as_bytes()), &mut bytes, hmac)
        .expect("a check fits");
    bytes.truncate(len);
    bytes
}

pub(crate) fn publish(peer: LegId, kind: MediaKind) -> Command {
    let (width, height) = match kind {
        MediaKind::Video => (1_280, 720),
        MediaKind::Audio => (0, 0),
    };
    Command::Publish(Publication {
        track: track(kind),
        transport: transport(peer),
        kind,
        mid: None,
        formats: vec![format(kind)],
        encodings: vec![Encoding {
            rid: None,
            ssrc: Some(stream_key(peer, kind).ssrc),
            rtx: None,
            width,
            height,
            layers: Vec::new(),
        }],
        muted: false,
        source: TrackSource::Camera,
    })
}

pub(crate) fn subscribe(peer: LegId, kind: MediaKind) -> Command {
    let ssrc = match kind {
        MediaKind::Video => 0x1000,
        MediaKind::Audio => 0x2000,
    };
    let format = format(kind);
    Command::Subscribe(Subscription {
        subscription: SubscriptionId(u64::from(ssrc) << 32 | u64::from(peer.0)),
        transport: transport(peer),
        track: track(kind),
        ssrc: Ssrc(ssrc),
        rtx: format.rtx.map(|_| Ssrc(ssrc + 1)),
        mid: None,
        formats: vec![(format.payload_type, format)],
        settings: SubscriptionSettings::BEST,
        fill: false,
    })
}

fn transport(peer: LegId) -> TransportId {
    TransportId(peer.0.into())
}

/// There is one track of each kind.
fn track(kind: MediaKind) -> TrackId {
    TrackId(match kind {
        MediaKind::Video => 1,
        MediaKind::Audio => 2,
    })
}

fn format(kind: MediaKind) -> PayloadFormat {
    let rtx = rtx_type(kind);
    PayloadFormat {
        payload_type: payload_type(kind),
        codec: match kind {
            MediaKind::Video => Codec::Vp8,
            MediaKind::Audio => Codec::Opus,
        },
        rtx,
        nack: rtx.is_some(),
    }
}

fn credentials(side: &str, peer: LegId) -> IceCredentials {
    IceCredentials {
        ufrag: format!("{side}{}", peer.0),
        password: format!("{side}{}-password-of-22-characters", peer.0),
    }
}
