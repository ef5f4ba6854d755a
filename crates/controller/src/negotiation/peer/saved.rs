//! A peer connection in a form that another process can go on with.
//!
//! Media sections are saved as descriptions of one section, which is what they came as. Equal
//! descriptions are saved once for a peer connection. An offer
//! that is out is not saved: its answer may be lost, and the next offer says all of it again.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use southbound::{Channel, DtlsRole, IceCredentials, TransportId};
use wire::Mid;
use wire::sdp::{MediaSection, SectionKind};

use super::described::{Described, Description, Texts};
use super::{Peer, PeerState, Remote};
use crate::forms::{nameless, read_section, write_section};
use crate::ids::Ssrcs;
use crate::negotiation::offering::Offering;
use crate::negotiation::section::{Section, Usage};
use crate::{DisabledCodecs, IceProtocol};

/// A peer connection in a form that another process can go on with.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedPeer {
    transport: u64,
    state: PeerState,
    /// Our ICE user fragment and password.
    local: (String, String),
    remote: Option<SavedRemote>,
    session_id: u64,
    version: u64,
    last_ssrc: u32,
    last_offer: u32,
    /// There is something to offer, or the answer to an offer may be lost.
    offers: bool,
    /// The data channels that we open.
    opens: Vec<SavedChannel>,
    /// Labels of the data channels that are open.
    channels: Vec<String>,
    downlink_limit: Option<u64>,
    /// The descriptions of its sections, each once.
    texts: Vec<String>,
    sections: Vec<SavedSection>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct SavedRemote {
    /// Credentials and fingerprints, as a section of data channels that has nothing else.
    transport: String,
    /// We send the ClientHello.
    is_client: bool,
    sctp_port: Option<u16>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct SavedChannel {
    label: String,
    ordered: bool,
    retransmits_max: Option<u16>,
    /// The stream by which the peer has known it since before it moved to its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<u16>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct SavedSection {
    #[serde(with = "crate::forms::mid")]
    mid: Mid,
    /// The place of its kind, with the formats and extensions that both sides take.
    agreed: usize,
    /// The place of what the peer has said of it.
    theirs: Option<usize>,
    usage: Usage,
    first_track: Option<String>,
}

impl fmt::Debug for SavedPeer {
    // Passwords have no place in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SavedPeer({})", self.transport)
    }
}

impl SavedPeer {
    /// The transport as the node knows it.
    pub fn transport(&self) -> TransportId {
        TransportId(self.transport)
    }
}

impl Peer {
    /// In a form that another process can go on with.
    pub(crate) fn save(&self) -> SavedPeer {
        let mut texts = Texts::default();
        let sections = self.sections.iter().map(|section| section.save(&mut texts));
        let sections = sections.collect();
        SavedPeer {
            transport: self.transport.0,
            state: self.state,
            local: (self.local.ufrag.clone(), self.local.password.clone()),
            remote: self.remote.as_ref().map(Remote::save),
            session_id: self.session_id,
            version: self.version,
            last_ssrc: self.ssrcs.last(),
            last_offer: self.offering.last_id(),
            offers: self.offering.needed || self.offering.pending.is_some(),
            opens: self.opens.iter().map(SavedChannel::of).collect(),
            channels: self.channels.iter().map(|label| label.to_string()).collect(),
            downlink_limit: self.downlink_limit,
            texts: texts.into_all(),
            sections,
        }
    }

    /// The peer connection that was saved. `None`: a description in it cannot be read.
    pub(crate) fn restore(
        saved: SavedPeer,
        disabled: DisabledCodecs,
        protocol: IceProtocol,
        port_index: usize,
        described: &mut Described,
    ) -> Option<Self> {
        let (ufrag, password) = saved.local;
        let texts = saved.texts.iter().map(|text| described.read(text));
        let texts: Vec<_> = texts.collect::<Option<_>>()?;
        let sections = saved.sections.into_iter();
        let sections: Option<Vec<_>> = sections.map(|section| Section::restore(section, &texts)).collect();
        let mut peer = Self {
            transport: TransportId(saved.transport),
            state: saved.state,
            sections: sections?,
            ssrcs: Ssrcs::after(saved.last_ssrc),
            offering: Offering::after(saved.last_offer, saved.offers),
            channels: saved.channels.into_iter().map(Arc::from).collect(),
            downlink_limit: saved.downlink_limit,
            local: IceCredentials { ufrag, password },
            remote: None,
            session_id: saved.session_id,
            version: saved.version,
            opens: saved.opens.into_iter().map(SavedChannel::restore).collect(),
            disabled,
            protocol,
            port_index,
            has_moved: false,
        };
        if let Some(remote) = saved.remote {
            peer.remote = Some(remote.restore()?);
        }
        Some(peer)
    }
}

impl Remote {
    fn save(&self) -> SavedRemote {
        let section = MediaSection::new(SectionKind::Data, nameless());
        SavedRemote {
            transport: write_section(MediaSection {
                ice: Some(self.ice.clone()),
                fingerprints: self.fingerprints.clone(),
                ..section
            }),
            is_client: self.dtls == DtlsRole::Client,
            sctp_port: self.sctp_port,
        }
    }
}

impl SavedRemote {
    fn restore(self) -> Option<Remote> {
        let section = read_section(&self.transport)?;
        Some(Remote {
            ice: section.ice?,
            fingerprints: section.fingerprints,
            dtls: match self.is_client {
                true => DtlsRole::Client,
                false => DtlsRole::Server,
            },
            sctp_port: self.sctp_port,
        })
    }
}

impl SavedChannel {
    fn of(channel: &Channel) -> Self {
        Self {
            label: channel.label.to_string(),
            ordered: channel.ordered,
            retransmits_max: channel.retransmits_max,
            stream: channel.stream,
        }
    }

    fn restore(self) -> Channel {
        Channel {
            label: Arc::from(self.label),
            ordered: self.ordered,
            retransmits_max: self.retransmits_max,
            stream: self.stream,
        }
    }
}

impl Section {
    fn save(&self, texts: &mut Texts) -> SavedSection {
        SavedSection {
            mid: self.mid,
            agreed: texts.agreed(&self.agreed, &self.kind),
            theirs: self.theirs.as_ref().map(|theirs| texts.theirs(theirs)),
            usage: self.usage.clone(),
            first_track: self.first_track.clone(),
        }
    }

    fn restore(saved: SavedSection, texts: &[Description]) -> Option<Self> {
        let agreed = texts.get(saved.agreed)?;
        let theirs = match saved.theirs {
            Some(place) => Some(texts.get(place)?.theirs.clone()),
            None => None,
        };
        Some(Self {
            mid: saved.mid,
            kind: agreed.theirs.kind.clone(),
            usage: saved.usage,
            theirs,
            agreed: agreed.agreed.clone(),
            first_track: saved.first_track,
        })
    }
}
