//! The written form of a call: its descriptions and learned addresses, without derived state.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use wire::sdp::IceCredentials;

use super::times::Times;
use super::{are_encrypted_here, is_encrypted_here};
use crate::call::{Agreement, Call, CallName, Dialogue, End, Heard, Identity, Media, Offered, Policy, Side, Source};
use crate::form::{self, Bytes};
use crate::ports::{Pair, PortPool};

#[derive(Serialize, Deserialize)]
pub(crate) struct CallRecord {
    call: Bytes,
    created: u64,
    last_signal: u64,
    metadata: Option<Bytes>,
    dialogues: Vec<DialogueRecord>,
}

#[derive(Serialize, Deserialize)]
struct DialogueRecord {
    ends: [EndRecord; 2],
    branch: Option<Bytes>,
    media: Vec<MediaRecord>,
    /// Absent in records of an earlier version: then all of them.
    #[serde(default)]
    offered: Option<usize>,
    answered: bool,
    kept_until: Option<u64>,
    notify: Option<(String, String)>,
    strong: bool,
    weak: [bool; 2],
    /// The media that are relayed while those above are offered.
    #[serde(default)]
    agreement: Option<AgreementRecord>,
}

#[derive(Serialize, Deserialize)]
struct AgreementRecord {
    media: Vec<MediaRecord>,
    offered: usize,
    interfaces: [IpAddr; 2],
    offerer: usize,
    sections: BTreeSet<usize>,
}

#[derive(Serialize, Deserialize)]
struct EndRecord {
    tags: Vec<Bytes>,
    created: u64,
    label: Option<Bytes>,
    interface: IpAddr,
    identity: Option<Identity>,
}

#[derive(Serialize, Deserialize)]
struct MediaRecord {
    kind: String,
    is_rtp: bool,
    protocols: [String; 2],
    sides: [SideRecord; 2],
    refused: bool,
    #[serde(default)]
    offered: Offered,
    #[serde(default)]
    format: String,
    tos: Option<u8>,
    #[serde(default)]
    passes_ice: bool,
}

#[derive(Serialize, Deserialize)]
struct SideRecord {
    /// Our even port.
    local: Option<SocketAddr>,
    heard: Option<Heard>,
    said: Option<[SocketAddr; 2]>,
    policy: Policy,
    sources: [SourceRecord; 2],
    mux: bool,
    mux_offered: bool,
    mux_fate: Option<bool>,
    #[serde(with = "form::credentials")]
    ice: Option<IceCredentials>,
    #[serde(default)]
    ice_rejected: bool,
    #[serde(default)]
    mid: Option<String>,
}

#[derive(Serialize, Deserialize)]
enum SourceRecord {
    Unknown,
    /// It was being learned, and the window restarts. The end of the window is not written any
    /// more.
    Learning(SocketAddr, u64),
    Settled(SocketAddr),
}

impl CallRecord {
    /// Reads a line; `None` if it is none of this version.
    pub(crate) fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Its line.
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).expect("names of fields are text")
    }

    /// The record of a call; none for a call that is empty or encrypted here.
    pub(crate) fn of(name: &CallName, call: &Call, ports: &PortPool, times: Times) -> Option<Self> {
        if is_encrypted_here(call) {
            return None;
        }
        Some(CallRecord {
            call: Bytes(name.to_vec()),
            created: times.write(call.created),
            last_signal: times.write(call.last_signal),
            metadata: call.metadata.clone().map(Bytes),
            dialogues: call
                .dialogues
                .iter()
                .map(|dialogue| DialogueRecord::of(dialogue, ports, times))
                .collect(),
        })
    }

    pub(crate) fn name(&self) -> CallName {
        self.call.0.as_slice().into()
    }

    /// The even ports it has.
    pub(crate) fn locals(&self) -> impl Iterator<Item = SocketAddr> {
        self.dialogues
            .iter()
            .flat_map(|dialogue| [&dialogue.media[..], dialogue.agreed()].map(locals))
            .flatten()
    }

    /// Whether all of its ports are among `pairs`, each for one dialogue and one of its sides.
    fn has_ports(&self, pairs: &HashMap<SocketAddr, Pair>) -> bool {
        let mut seen = HashSet::new();
        self.dialogues.iter().all(|dialogue| {
            let both = [&dialogue.media[..], dialogue.agreed()].map(|media| {
                let all: Vec<SocketAddr> = locals(media).collect();
                let unique: HashSet<SocketAddr> = all.iter().copied().collect();
                (unique.len() == all.len()).then_some(unique)
            });
            let [Some(offered), Some(agreed)] = both else {
                return false;
            };
            let mut all = offered.union(&agreed);
            all.all(|at| pairs.contains_key(at) && seen.insert(*at))
        })
    }

    /// The call, if all of its ports are among `pairs`; they are taken out of it.
    pub(crate) fn call(
        self,
        now: Instant,
        times: Times,
        ports: &mut PortPool,
        pairs: &mut HashMap<SocketAddr, Pair>,
    ) -> Option<Call> {
        let has_all = self.has_ports(pairs);
        let interfaces: Option<Vec<[usize; 2]>> = self
            .dialogues
            .iter()
            .map(|dialogue| dialogue.interfaces(ports))
            .collect();
        let interfaces = interfaces.filter(|_| has_all)?;
        let mut call = Call::new(times.read(self.created));
        call.last_signal = times.read(self.last_signal);
        call.resumed = Some(now);
        call.metadata = self.metadata.map(|bytes| bytes.0);
        let dialogues = self.dialogues.into_iter().zip(interfaces);
        call.dialogues = dialogues
            .map(|(dialogue, interfaces)| dialogue.dialogue(interfaces, times, ports, pairs))
            .collect();
        Some(call).filter(|call| !call.dialogues.is_empty())
    }
}

impl DialogueRecord {
    fn of(dialogue: &Dialogue, ports: &PortPool, times: Times) -> Self {
        // Keys of an offer are lost, and with them the offer; the call goes on as it was agreed.
        let agreement = dialogue.agreement.as_ref();
        let (kept, agreement) = match agreement.filter(|_| are_encrypted_here(&dialogue.media)) {
            Some(agreed) => ((&agreed.media, agreed.offered), None),
            None => ((&dialogue.media, dialogue.offered), agreement),
        };
        DialogueRecord {
            ends: dialogue.ends.each_ref().map(|end| EndRecord::of(end, ports, times)),
            branch: dialogue.branch.clone().map(Bytes),
            media: kept.0.iter().map(MediaRecord::of).collect(),
            offered: Some(kept.1),
            answered: dialogue.answered,
            kept_until: dialogue.kept_until.map(|until| times.write(until)),
            notify: dialogue.notify.clone(),
            strong: dialogue.strong,
            weak: dialogue.weak,
            agreement: agreement.map(|agreement| AgreementRecord::of(agreement, ports)),
        }
    }

    fn agreed(&self) -> &[MediaRecord] {
        self.agreement.as_ref().map_or(&[], |agreement| &agreement.media)
    }

    fn interfaces(&self, ports: &PortPool) -> Option<[usize; 2]> {
        both_at(self.ends.each_ref().map(|end| end.interface), ports)
    }

    fn dialogue(
        self,
        interfaces: [usize; 2],
        times: Times,
        ports: &mut PortPool,
        pairs: &mut HashMap<SocketAddr, Pair>,
    ) -> Dialogue {
        let [one, other] = self.ends;
        let ends = [one.end(interfaces[0], times), other.end(interfaces[1], times)];
        let mut dialogue = Dialogue::new(ends, self.branch.as_ref().map(|branch| &branch.0[..]));
        dialogue.media = self
            .media
            .into_iter()
            .map(|media| media.media(&mut |at| pairs.remove(&at)))
            .collect();
        dialogue.agreement = self
            .agreement
            .and_then(|agreement| agreement.agreement(&dialogue.media, ports, pairs));
        dialogue.offered = self.offered.unwrap_or(dialogue.media.len());
        dialogue.answered = self.answered;
        dialogue.kept_until = self.kept_until.map(|until| times.read(until));
        dialogue.notify = self.notify;
        dialogue.strong = self.strong;
        dialogue.weak = self.weak;
        dialogue
    }
}

impl AgreementRecord {
    fn of(agreement: &Agreement, ports: &PortPool) -> Self {
        AgreementRecord {
            media: agreement.media.iter().map(MediaRecord::of).collect(),
            offered: agreement.offered,
            interfaces: agreement.interfaces.map(|interface| ports.address_of(interface)),
            offerer: agreement.offerer,
            sections: agreement.sections.clone(),
        }
    }

    /// Beside the offered media, whose ports it may have as well.
    fn agreement(
        self,
        offered: &[Media],
        ports: &mut PortPool,
        pairs: &mut HashMap<SocketAddr, Pair>,
    ) -> Option<Agreement> {
        let interfaces = both_at(self.interfaces, ports)?;
        let mut take = |at| {
            let mut known = offered.iter().flat_map(|media| &media.sides);
            let shared = known.find_map(|side| side.local.as_ref().filter(|pair| pair.rtp() == at));
            pairs.remove(&at).or_else(|| Some(ports.share(shared?)))
        };
        let media = self.media.into_iter().map(|media| media.media(&mut take)).collect();
        let mut agreement = Agreement::resumed(media, self.offered, interfaces, self.offerer & 1);
        agreement.sections = self.sections;
        Some(agreement)
    }
}

/// The interfaces with these addresses.
fn both_at(addresses: [IpAddr; 2], ports: &PortPool) -> Option<[usize; 2]> {
    let [one, other] = addresses.map(|address| ports.interface_at(address));
    Some([one?, other?])
}

fn locals(media: &[MediaRecord]) -> impl Iterator<Item = SocketAddr> {
    media
        .iter()
        .flat_map(|media| &media.sides)
        .filter_map(|side| side.local)
}

impl EndRecord {
    fn of(end: &End, ports: &PortPool, times: Times) -> Self {
        EndRecord {
            tags: end.tags.iter().cloned().map(Bytes).collect(),
            created: times.write(end.created),
            label: end.label.clone().map(Bytes),
            interface: ports.address_of(end.interface),
            identity: end.identity.clone(),
        }
    }

    fn end(self, interface: usize, times: Times) -> End {
        End {
            tags: self.tags.into_iter().map(|tag| tag.0).collect(),
            label: self.label.map(|label| label.0),
            identity: self.identity,
            ..End::new(times.read(self.created), None, interface)
        }
    }
}

impl MediaRecord {
    fn of(media: &Media) -> Self {
        MediaRecord {
            kind: media.kind.clone(),
            is_rtp: media.is_rtp,
            protocols: media.protocols.clone(),
            sides: media.sides.each_ref().map(SideRecord::of),
            refused: media.refused,
            offered: media.offered,
            format: media.format.clone(),
            tos: media.tos,
            passes_ice: media.passes_ice,
        }
    }

    fn media(self, take: &mut impl FnMut(SocketAddr) -> Option<Pair>) -> Media {
        Media {
            is_rtp: self.is_rtp,
            protocols: self.protocols,
            sides: self.sides.map(|side| side.side(take)),
            refused: self.refused,
            offered: self.offered,
            format: self.format,
            tos: self.tos,
            passes_ice: self.passes_ice,
            ..Media::new(&self.kind)
        }
    }
}

impl SideRecord {
    fn of(side: &Side) -> Self {
        SideRecord {
            local: side.local.as_ref().map(Pair::rtp),
            heard: side.heard.clone(),
            said: side.said,
            policy: side.policy,
            sources: side.sources.each_ref().map(|source| match source.address() {
                None => SourceRecord::Unknown,
                Some(from) if source.is_settled() => SourceRecord::Settled(from),
                Some(from) => SourceRecord::Learning(from, 0),
            }),
            mux: side.mux,
            mux_offered: side.mux_offered,
            mux_fate: side.mux_fate,
            mid: side.mid.clone(),
            ice: side.ice.clone(),
            ice_rejected: side.ice_rejected,
        }
    }

    fn side(self, take: &mut impl FnMut(SocketAddr) -> Option<Pair>) -> Side {
        Side {
            local: self.local.and_then(take),
            heard: self.heard,
            said: self.said,
            policy: self.policy,
            sources: self.sources.map(|source| match source {
                SourceRecord::Unknown => Source::default(),
                SourceRecord::Learning(from, _) => Source::resumed(Some(from), false),
                SourceRecord::Settled(from) => Source::resumed(Some(from), true),
            }),
            mux: self.mux,
            mux_offered: self.mux_offered,
            mux_fate: self.mux_fate,
            mid: self.mid,
            ice: self.ice,
            ice_rejected: self.ice_rejected,
            ..Side::default()
        }
    }
}
