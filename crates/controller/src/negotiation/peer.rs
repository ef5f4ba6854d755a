//! One peer connection.

mod described;
mod moving;
mod saved;

use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use environment::Random;
use southbound::{
    Channel, Command, DtlsRole, Fingerprint, IceCredentials, Node, OpenTransport, RemoteTransport, TransportId,
};
use wire::sdp::{Candidate, MediaSection, SdpError, SectionKind, SessionDescription, Setup};
use wire::{ExtensionMap, Mid};

pub use self::saved::SavedPeer;
use super::offering::Offering;
use super::remote::Agreed;
use super::section::{Section, Terms};
use super::{Flow, SCTP_PORT, clear_rtp, extensions};
use crate::ids::{Ssrcs, session_id};
use crate::{DisabledCodecs, IceProtocol};
pub(crate) use described::Described;

/// One peer connection, from our side.
pub(crate) struct Peer {
    pub(crate) transport: TransportId,
    pub(crate) state: PeerState,
    pub(crate) sections: Vec<Section>,
    pub(crate) ssrcs: Ssrcs,
    pub(crate) offering: Offering,
    /// Labels of the data channels that are open.
    pub(crate) channels: Vec<Arc<str>>,
    /// The highest rate of its media, as the agent was told. Shape: bits per second.
    pub(crate) downlink_limit: Option<u64>,
    local: IceCredentials,
    remote: Option<Remote>,
    session_id: u64,
    pub(super) version: u64,
    opens: Vec<Channel>,
    /// Codecs the peer must do without.
    pub(super) disabled: DisabledCodecs,
    /// The protocol it is to reach us by.
    protocol: IceProtocol,
    /// Which of the node's UDP ports it is to use, modulo the number of ports.
    port_index: usize,
    /// It is at another node than when the peer last described itself.
    has_moved: bool,
}

/// Whether media flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PeerState {
    /// It never did.
    New,
    /// It does.
    Connected,
    /// It did; the peer is silent.
    Disconnected,
}

/// The peer's description of its transport.
#[derive(Clone, Debug, PartialEq)]
struct Remote {
    ice: IceCredentials,
    fingerprints: Vec<Fingerprint>,
    dtls: DtlsRole,
    sctp_port: Option<u16>,
}

impl Remote {
    /// Whether it offers, and may have, media without encryption.
    fn is_clear(&self) -> bool {
        self.fingerprints.is_empty()
    }
}

/// Why a description cannot be used. The client must act: by starting over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NegotiationError {
    /// It cannot be read.
    Sdp(SdpError),
    /// It has no ICE user fragment and password.
    NoIce,
    /// It has no certificate fingerprint with a hash function we know, and the node forwards
    /// nothing in clear.
    NoFingerprint,
    /// It has other media sections than the descriptions before it.
    SectionsChanged,
    /// Nothing in it can be used.
    Nothing,
}

impl fmt::Display for NegotiationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sdp(error) => error.fmt(f),
            Self::NoIce => f.write_str("session description without ICE credentials"),
            Self::NoFingerprint => f.write_str("session description without a usable fingerprint"),
            Self::SectionsChanged => f.write_str("media sections differ from those negotiated before"),
            Self::Nothing => f.write_str("session description without a usable media section"),
        }
    }
}

impl From<SdpError> for NegotiationError {
    fn from(error: SdpError) -> Self {
        Self::Sdp(error)
    }
}

impl Peer {
    /// `opens` are the data channels that we open.
    pub(crate) fn new(
        transport: TransportId,
        random: &mut Random,
        opens: Vec<Channel>,
        disabled: DisabledCodecs,
        protocol: IceProtocol,
        port_index: usize,
    ) -> Self {
        Self {
            transport,
            state: PeerState::New,
            sections: Vec::new(),
            ssrcs: Ssrcs::new(random),
            offering: Offering::default(),
            channels: Vec::new(),
            downlink_limit: None,
            local: random.credentials(),
            remote: None,
            session_id: session_id(random),
            version: 0,
            opens,
            disabled,
            protocol,
            port_index,
            has_moved: false,
        }
    }

    /// Opens the transport, or gives it the new credentials after [`restart`](Self::restart).
    pub(crate) fn open(&self) -> Command {
        Command::Open(OpenTransport {
            transport: self.transport,
            local: self.local.clone(),
            channels: self.opens.clone(),
        })
    }

    /// New ICE credentials on our side, for the next description.
    pub(crate) fn restart(&mut self, random: &mut Random) {
        self.local = random.credentials();
    }

    /// The peer's transport in the terms of the agent; `None` before the peer has described itself.
    pub(crate) fn connect(&self) -> Option<Command> {
        let remote = self.remote.as_ref()?;
        Some(Command::Connect {
            transport: self.transport,
            remote: RemoteTransport {
                credentials: remote.ice.clone(),
                fingerprints: remote.fingerprints.clone(),
                dtls: remote.dtls,
                extensions_in: self.extensions(Flow::Up),
                extensions_out: self.extensions(Flow::Down),
                sctp_port: remote.sctp_port,
            },
        })
    }

    fn extensions(&self, flow: Flow) -> ExtensionMap {
        let live = self
            .sections
            .iter()
            .filter(|section| section.media_kind().is_some() && !section.formats().is_empty());
        extensions::of_transport(live.filter(|section| section.is_for(flow)), flow)
    }

    /// The peer's own description of its sections.
    pub(super) fn remote_sections(&self) -> HashSet<Arc<MediaSection>> {
        self.sections
            .iter()
            .filter_map(|section| section.theirs.clone())
            .collect()
    }

    /// The formats and extensions that both sides take.
    pub(super) fn agreements(&self) -> HashSet<Arc<Agreed>> {
        self.sections.iter().map(|section| section.agreed.clone()).collect()
    }

    pub(crate) fn section(&self, mid: Mid) -> Option<&Section> {
        self.sections.iter().find(|section| section.mid == mid)
    }

    /// Media sections that we send on: which carries which track.
    pub(crate) fn mid_to_track_id(&self) -> impl Iterator<Item = (String, String)> {
        let sent = self
            .sections
            .iter()
            .filter_map(|section| Some((section, section.downlink()?)));
        sent.map(|(section, downlink)| (section.mid.to_string(), downlink.track_sid.clone()))
    }

    /// Takes over what the peer says of its transport; true when it restarted ICE. `clear` is
    /// whether it may do without encryption.
    pub(super) fn take_transport(
        &mut self,
        theirs: &SessionDescription,
        clear: bool,
    ) -> Result<bool, NegotiationError> {
        let media_section = transport_section(theirs, clear).ok_or(NegotiationError::Nothing)?;
        let ice = media_section.ice.clone().ok_or(NegotiationError::NoIce)?;
        let is_clear = clear && clear_rtp::is_clear(media_section);
        if media_section.fingerprints.is_empty() && !is_clear {
            return Err(NegotiationError::NoFingerprint);
        }
        let known = self.remote.as_ref();
        let restarted = known.is_some_and(|known| known.ice != ice);
        self.remote = Some(Remote {
            ice,
            fingerprints: media_section.fingerprints.clone(),
            // The side that started the handshake keeps that role, whatever a later description
            // offers.
            dtls: known.map_or_else(|| our_role(media_section.setup), |known| known.dtls),
            sctp_port: sctp_port(theirs),
        });
        Ok(restarted)
    }

    /// Writes our description of all sections.
    pub(super) fn describe(&mut self, node: &Node, setup: Setup) -> SessionDescription {
        self.version += 1;
        let terms = if setup == Setup::ActPass {
            Terms::Offered
        } else {
            Terms::Agreed
        };
        let mut sections: Vec<MediaSection> = self
            .sections
            .iter()
            .map(|section| section.write(terms, self.disabled))
            .collect();
        let live = sections.iter_mut().filter(|media_section| !media_section.rejected);
        for (position, media_section) in live.enumerate() {
            self.describe_transport(media_section, node, setup);
            if position == 0 {
                media_section.candidates = candidates(node, self.protocol, self.port_index);
                media_section.end_of_candidates = true;
            }
        }
        SessionDescription {
            session_id: self.session_id,
            version: self.version,
            bundle: sections
                .iter()
                .filter(|media_section| !media_section.rejected)
                .map(|media_section| media_section.mid)
                .collect(),
            ice_lite: true,
            extmap_allow_mixed: true,
            sections,
        }
    }

    fn describe_transport(&self, media_section: &mut MediaSection, node: &Node, setup: Setup) {
        media_section.ice = Some(self.local.clone());
        if self.remote.as_ref().is_some_and(Remote::is_clear) {
            return;
        }
        media_section.fingerprints = vec![node.fingerprint.clone()];
        media_section.setup = Some(setup);
    }

    /// The role our answers state.
    pub(super) fn setup(&self) -> Setup {
        match self.remote.as_ref().map(|remote| remote.dtls) {
            Some(DtlsRole::Client) => Setup::Active,
            _ => Setup::Passive,
        }
    }
}

/// The section whose transport all that are bundled share: the first of the bundle, or the next
/// that says what is needed where the first does not (RFC 8843 section 7.2).
fn transport_section(theirs: &SessionDescription, clear: bool) -> Option<&MediaSection> {
    let live = theirs.sections.iter().filter(|media_section| !media_section.rejected);
    let by_name: HashMap<Mid, &MediaSection> = live
        .clone()
        .map(|media_section| (media_section.mid, media_section))
        .collect();
    let mut bundled = theirs.bundle.iter().filter_map(|mid| by_name.get(mid).copied());
    let is_whole = |media_section: &&MediaSection| {
        media_section.ice.is_some()
            && (!media_section.fingerprints.is_empty() || clear && clear_rtp::is_clear(media_section))
    };
    let first = bundled.clone().next();
    let whole = bundled.find(is_whole);
    whole
        .or(first)
        .or_else(|| live.clone().find(|media_section| media_section.ice.is_some()))
}

/// The SCTP port of data channels: 5000 unless another is said.
fn sctp_port(theirs: &SessionDescription) -> Option<u16> {
    let live = theirs.sections.iter().filter(|media_section| !media_section.rejected);
    let data = live
        .clone()
        .find(|media_section| media_section.kind == SectionKind::Data)?;
    Some(data.sctp_port.unwrap_or(SCTP_PORT))
}

/// The candidates of a node for a peer that is to reach it by `protocol`, at one of its UDP ports.
/// A node without TCP is reached by UDP in any case, and a TURN server reaches it by UDP.
fn candidates(node: &Node, protocol: IceProtocol, port_index: usize) -> Vec<Candidate> {
    let has_udp = protocol != IceProtocol::Tcp || node.tcp_addresses.is_empty();
    let port = port_at(&node.addresses, port_index);
    let at_port = node.addresses.iter().filter(|address| Some(address.port()) == port);
    let udp = (0u16..).zip(at_port).filter(|_| has_udp);
    let tcp = (0u16..).zip(&node.tcp_addresses);
    udp.map(|(preference, address)| Candidate::host(*address, preference))
        .chain(tcp.map(|(preference, address)| Candidate::tcp_host(*address, preference)))
        .collect()
}

/// The port with this index, modulo the number of ports, among all ports of these addresses.
fn port_at(addresses: &[SocketAddr], index: usize) -> Option<u16> {
    let ports: BTreeSet<u16> = addresses.iter().map(SocketAddr::port).collect();
    ports.iter().nth(index % ports.len().max(1)).copied()
}

/// We wait for the handshake unless the peer insists on waiting itself: a server is where many
/// handshakes meet.
fn our_role(theirs: Option<Setup>) -> DtlsRole {
    match theirs {
        Some(Setup::Passive) => DtlsRole::Client,
        Some(Setup::Active | Setup::ActPass) | None => DtlsRole::Server,
    }
}
