//! Getting a track to who should have it: a media section, an agreement, an order to the agent.

use southbound::{Command, SubscriptionId, TrackId};
use wire::Mid;
use wire::sdp::Msid;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::negotiation::{Down, Downlink, Section, codecs};
use crate::participant::Participant;
use crate::room::roster::Roster;
use crate::room::subscribing::Subscribers;
use crate::room::updates::Updates;
use crate::subscription::{Subscription, SubscriptionState};
use crate::track::{Track, Version};
use crate::{Notification, SubscriptionError};

/// A subscription with everybody it concerns.
struct Delivery<'a> {
    receiver: &'a Participant,
    subscription: &'a Subscription,
    publisher: &'a Participant,
    track: &'a Track,
}

impl Subscribers {
    /// Both sides agree on a subscription's section: the agent may send, in a codec the receiver
    /// can decode.
    pub(in crate::room) fn activate(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        receiver: ParticipantKey,
        id: SubscriptionId,
    ) {
        let Some(subscription) = subscription(roster, receiver, id) else {
            return;
        };
        let (SubscriptionState::Offered(mid) | SubscriptionState::Awaiting(mid)) = subscription.state else {
            return;
        };
        let (publisher, track) = (subscription.publisher, subscription.track);
        let state = match delivery(roster, receiver, id).map(|delivery| delivery.choice(mid)) {
            Some(Choice::Version(version)) => SubscriptionState::Active(mid, version),
            Some(Choice::NotYet) => SubscriptionState::Awaiting(mid),
            Some(Choice::None) | None => return self.refuse_subscription(ctx, roster, receiver, id),
        };
        if let Some(subscription) = roster
            .get_mut(receiver)
            .and_then(|found| found.subscriptions.get_mut(id))
        {
            subscription.state = state;
        }
        self.demand(track);
        if !self.is_brought(roster, receiver, id) {
            self.trunking.review(ctx, roster, track);
        }
        send_subscription(ctx, roster, receiver, id);
        tell_first_subscription(ctx, roster, publisher, track);
    }

    /// Whether the track of a subscription arrives at its receiver's node, or needs no trunk.
    fn is_brought(&self, roster: &Roster, receiver: ParticipantKey, id: SubscriptionId) -> bool {
        let Some(receiver) = roster.get(receiver) else {
            return true;
        };
        let Some(subscription) = receiver.subscriptions.get(id) else {
            return true;
        };
        let (SubscriptionState::Active(_, version), Some(publisher)) =
            (subscription.state, roster.get(subscription.publisher))
        else {
            return true;
        };
        let (from, to) = (publisher.media.node, receiver.media.node);
        let track = publisher.publications.tracks.get(&subscription.track);
        let media = track.and_then(|track| track.media_in(version));
        from == to || media.is_none_or(|media| self.trunking.brings(media.publication.track, to))
    }

    /// Begins anew the subscriptions of which what is sent can no longer be decoded: their receiver
    /// may still take the other codec. One that is under way cannot change, since what is on an
    /// SSRC has one codec for good.
    pub(in crate::room) fn review_decoders(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        receiver: ParticipantKey,
    ) {
        let Some(participant) = roster.get(receiver) else {
            return;
        };
        let active = participant.subscriptions.iter();
        let active: Vec<_> = active
            .filter(|subscription| matches!(subscription.state, SubscriptionState::Active(..)))
            .map(|subscription| subscription.id)
            .collect();
        for id in active {
            if describe(roster, receiver, id).is_none() {
                self.restart_subscription(ctx, roster, updates, receiver, id);
            }
        }
    }

    /// The receiver cannot decode what the publisher sends. The wish is turned into its opposite,
    /// or it would be tried for ever.
    pub(in crate::room) fn refuse_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        receiver: ParticipantKey,
        id: SubscriptionId,
    ) {
        let Some(delivery) = delivery(roster, receiver, id) else {
            return;
        };
        let track_sid = delivery.track.sid().to_owned();
        self.end_subscription(ctx, roster, receiver, id);
        let participant = roster.get_mut(receiver).expect("it was there a moment ago");
        participant.subscriptions.wish(track_sid.clone(), false);
        let error = SubscriptionError::CodecUnsupported;
        participant.notify(ctx, Notification::SubscriptionFailed { track_sid, error });
    }

    /// A track arrives differently now in one of its codecs: what the receivers of that were told
    /// to translate it to has changed with it.
    pub(in crate::room) fn refresh_subscriptions_to(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        publisher: ParticipantKey,
        track: TrackId,
        version: Version,
    ) {
        for receiver in roster.others(publisher) {
            let found = roster[receiver].subscriptions.to(track);
            let Some(subscription) = found.filter(|found| found.version() == version) else {
                continue;
            };
            let (id, state) = (subscription.id, subscription.state);
            match state {
                SubscriptionState::Awaiting(_) => self.activate(ctx, roster, receiver, id),
                SubscriptionState::Active(..) if describe(roster, receiver, id).is_none() => {
                    self.review_decoders(ctx, roster, updates, receiver)
                }
                _ => send_subscription(ctx, roster, receiver, id),
            }
        }
    }
}

/// Gives waiting subscriptions a media section: on a connection we offer a free one or a new
/// one, on one the client offers a free one if there is any. Returns those that got one.
pub(in crate::room) fn place_subscriptions(
    roster: &mut Roster,
    receiver: ParticipantKey,
    may_add: bool,
) -> Vec<SubscriptionId> {
    let Some(participant) = roster.get(receiver) else {
        return Vec::new();
    };
    let waiting = participant.subscriptions.waiting().map(|subscription| subscription.id);
    let waiting: Vec<_> = waiting.collect();
    waiting
        .into_iter()
        .filter(|id| place_subscription(roster, receiver, *id, may_add).is_some())
        .collect()
}

fn place_subscription(roster: &mut Roster, receiver: ParticipantKey, id: SubscriptionId, may_add: bool) -> Option<()> {
    let delivery = delivery(roster, receiver, id)?;
    let kind = delivery.subscription.kind;
    let (by_stream, by_track) = (delivery.msid_by_stream(), delivery.msid_by_track());
    let (cname, track_sid) = (delivery.publisher.profile.sid.clone(), delivery.track.sid().to_owned());
    let stereo = delivery.track.audio_wish().stereo;
    let sent = delivery.track.all_media().flat_map(|media| &media.formats);
    let rare = codecs::rare(sent);
    let participant = roster.get_mut(receiver)?;
    let peer = participant.media.downlink_mut()?;
    let (ssrc, repair) = (peer.ssrcs.next(), peer.ssrcs.next());
    let section: &mut Section = if may_add {
        peer.section_for(kind, &track_sid)
    } else {
        // One that the peer sends on as well is taken when there is no other.
        let free = peer.sections.iter_mut().filter(|section| section.is_free_for(kind));
        free.min_by_key(|section| !section.is_silent())?
    };
    let is_first = !may_add || *section.first_track.get_or_insert_with(|| track_sid.clone()) == track_sid;
    let mid = section.mid;
    section.sides_mut()?.down = Down::Track(Downlink {
        subscription: id,
        ssrc,
        repair,
        msid: by_stream.filter(|_| is_first).unwrap_or(by_track),
        cname,
        track_sid,
        stereo,
        rare,
    });
    participant.subscriptions.get_mut(id)?.state = SubscriptionState::Offered(mid);
    Some(())
}

fn subscription(roster: &Roster, receiver: ParticipantKey, id: SubscriptionId) -> Option<&Subscription> {
    roster.get(receiver)?.subscriptions.get(id)
}

fn tell_first_subscription(ctx: &mut Context<'_>, roster: &mut Roster, publisher: ParticipantKey, track: TrackId) {
    let Some(publisher) = roster.get_mut(publisher) else {
        return;
    };
    let Some(track) = publisher
        .publications
        .tracks
        .get_mut(&track)
        .filter(|track| !track.subscribed)
    else {
        return;
    };
    track.subscribed = true;
    let track_sid = track.sid().to_owned();
    publisher.notify(ctx, Notification::TrackSubscribed { track_sid });
}

/// Tells the agent how a subscription is now.
pub(in crate::room) fn send_subscription(
    ctx: &mut Context<'_>,
    roster: &Roster,
    receiver: ParticipantKey,
    id: SubscriptionId,
) {
    if let Some(command) = describe(roster, receiver, id) {
        roster.command(ctx, receiver, Command::Subscribe(command));
    }
}

fn delivery(roster: &Roster, receiver: ParticipantKey, id: SubscriptionId) -> Option<Delivery<'_>> {
    let receiver = roster.get(receiver)?;
    let subscription = receiver.subscriptions.get(id)?;
    let publisher = roster.get(subscription.publisher)?;
    let track = publisher.publications.tracks.get(&subscription.track)?;
    Some(Delivery {
        receiver,
        subscription,
        publisher,
        track,
    })
}

/// An active subscription in the terms of the agent; `None` when receiver and publisher have no
/// codec in common.
pub(in crate::room) fn describe(
    roster: &Roster,
    receiver: ParticipantKey,
    id: SubscriptionId,
) -> Option<southbound::Subscription> {
    let delivery = delivery(roster, receiver, id)?;
    let SubscriptionState::Active(mid, version) = delivery.subscription.state else {
        return None;
    };
    let media = delivery.track.media_in(version)?;
    let peer = delivery.receiver.media.downlink()?;
    let section = peer.section(mid)?;
    let downlink = section.downlink()?;
    Some(southbound::Subscription {
        subscription: id,
        transport: peer.transport,
        track: media.publication.track,
        ssrc: downlink.ssrc,
        rtx: section.repair(downlink),
        mid: mid.written(),
        formats: media.formats_for(section.formats())?,
        settings: delivery.subscription.settings.wanted(media),
        fill: delivery.receiver.client.traits.learns_tracks_by_packets,
    })
}

/// In which codec a receiver can have a track.
enum Choice {
    Version(Version),
    /// In the second, once its publisher sends it.
    NotYet,
    None,
}

impl Delivery<'_> {
    /// The first codec for whoever can decode it, the second for the others.
    fn choice(&self, mid: Mid) -> Choice {
        let Some(section) = self.receiver.media.downlink().and_then(|peer| peer.section(mid)) else {
            return Choice::None;
        };
        let decodes = |version: &Version| {
            let media = self.track.media_in(*version);
            media.is_some_and(|media| media.formats_for(section.formats()).is_some())
        };
        if let Some(version) = [Version::Primary, Version::Backup].into_iter().find(decodes) {
            return Choice::Version(version);
        }
        match &self.track.backup {
            Some(backup) if backup.media.is_none() && section.knows(backup.codec) => Choice::NotYet,
            _ => Choice::None,
        }
    }

    /// Clients find the participant before the bar, and the track by its own id, or by their map
    /// from media sections to tracks. Tracks of one stream are played in step. `None` for clients
    /// that can do neither, and for streams whose name does not fit: publishers choose it,
    /// receivers have to read it.
    fn msid_by_stream(&self) -> Option<Msid> {
        const STREAM_MAX: usize = 32;
        let stream = self.track.info.stream.as_str();
        let is_plain = stream.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_fit = is_plain && (1..=STREAM_MAX).contains(&stream.len());
        let knows = self.receiver.client.traits.plays_streams_in_step;
        (is_fit && knows).then(|| self.msid(stream))
    }

    /// With the track behind the bar, where clients look first. It is not played in step with
    /// others then, but found even where the browser calls it by the name of a track that was on
    /// its media section before.
    fn msid_by_track(&self) -> Msid {
        self.msid(self.track.sid())
    }

    fn msid(&self, behind: &str) -> Msid {
        Msid {
            stream: format!("{}|{behind}", self.publisher.profile.sid),
            track: Some(self.track.sid().to_owned()),
        }
    }
}

/// A section whose subscription is over. Its receiver must hear of it before it carries another
/// track.
pub(in crate::room) fn release(participant: &mut Participant, id: SubscriptionId) {
    let Some(peer) = participant.media.downlink_mut() else {
        return;
    };
    for sides in peer.sections.iter_mut().filter_map(Section::sides_mut) {
        if matches!(&sides.down, Down::Track(downlink) if downlink.subscription == id) {
            sides.down = Down::Releasing { told: false };
        }
    }
}
