//! Owners, and what is left of a room after a new one has said everything.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use southbound::{
    CloseReason, IceCredentials, MessageId, Notice, OpenDirect, OpenTransport, Publication, Subscription,
    SubscriptionId, SubscriptionSettings, TrackId, TrackSource, TransportId,
};
use wire::{ExtensionMap, MediaKind, Ssrc};

use std::sync::Arc;

use super::*;

mod endpoints;
mod link_histories;
mod links;
mod newcomers;
mod owners;

const OLD: ControllerId = ControllerId::new(1);
const NEW: ControllerId = ControllerId::new(2);

fn message_of(room: &str, epoch: u64, content: RoomContent) -> RoomMessage {
    RoomMessage {
        room: room.into(),
        epoch: Epoch(epoch),
        revision: 1,
        content,
    }
}

/// A fence, and the commands that it has let through.
#[derive(Default)]
struct World {
    fence: Fence,
    out: Vec<Command>,
    messages: Vec<(ControllerId, NodeMessage)>,
    held: Vec<MessageId>,
    released: Vec<MessageId>,
    parked: Vec<MessageId>,
}

impl World {
    fn note(&mut self, out: Output) {
        (self.out, self.messages) = (out.commands, out.messages);
        (self.held, self.released, self.parked) = (out.held, out.released, out.parked);
    }

    fn say(&mut self, from: ControllerId, epoch: u64, content: RoomContent) -> Result<(), Refusal> {
        self.say_of("lobby", from, epoch, content)
    }

    fn say_of(&mut self, room: &str, from: ControllerId, epoch: u64, content: RoomContent) -> Result<(), Refusal> {
        let mut out = Output::default();
        let taken = self.fence.take(from, message_of(room, epoch, content), &mut out);
        self.note(out);
        taken
    }

    fn command(&mut self, from: ControllerId, epoch: u64, command: Command) -> Result<(), Refusal> {
        self.say(from, epoch, RoomContent::Command(command))
    }

    fn notice(&mut self, notice: Notice) {
        let mut out = Output::default();
        self.fence.notice(notice, &mut out);
        self.note(out);
    }

    fn connect(&mut self, controller: ControllerId) {
        let mut out = Output::default();
        self.fence.connect(controller, Versions::OURS.newest, &mut out);
        self.note(out);
    }

    fn disconnect(&mut self, controller: ControllerId) {
        let mut out = Output::default();
        self.fence.disconnect(controller, &mut out);
        self.note(out);
    }

    /// An owner says a transport before its tracks, and both before subscriptions.
    fn knows_what_is_needed_for(&self, command: &Command) -> bool {
        let known = format!("{:?}", self.fence.rooms);
        let has = |id: String| known.contains(&format!("{id}: Entry"));
        let has_transport = |id: &TransportId| has(format!("Transport({id:?})"));
        let has_track = |id: &TrackId| has(format!(" Track({id:?})")) || has(format!("{{Track({id:?})"));
        match command {
            Command::Publish(publication) => has_transport(&publication.transport),
            Command::Subscribe(subscription) => {
                has_transport(&subscription.transport) && has_track(&subscription.track)
            }
            Command::SetForwarding { track, .. } => has_track(track),
            Command::SetDownlinkLimit { transport, .. } => has_transport(transport),
            _ => true,
        }
    }

    /// The owner says a call of two people: each publishes a track, and gets the other's.
    fn say_call(&mut self, from: ControllerId, epoch: u64) {
        for command in call() {
            self.command(from, epoch, command.clone()).unwrap();
            assert_eq!(self.out, [command]);
        }
    }
}

fn open(transport: u64) -> Command {
    Command::Open(OpenTransport {
        transport: TransportId(transport),
        local: IceCredentials {
            ufrag: format!("ufrag{transport}"),
            password: "0123456789012345678901".to_owned(),
        },
        channels: Vec::new(),
    })
}

fn open_trunk(transport: u64) -> Command {
    Command::OpenDirect(Box::new(OpenDirect {
        transport: TransportId(transport),
        local: ([192, 0, 2, 1], 7882).into(),
        remote: ([192, 0, 2, 2], 7882).into(),
        rtcp_ssrc_in: Ssrc(2),
        rtcp_ssrc_out: Ssrc(1),
        keys: None,
        extensions_in: ExtensionMap::default(),
        extensions_out: ExtensionMap::default(),
    }))
}

fn publish(track: u64, transport: u64) -> Command {
    Command::Publish(Publication {
        track: TrackId(track),
        transport: TransportId(transport),
        kind: MediaKind::Audio,
        mid: None,
        formats: Vec::new(),
        encodings: Vec::new(),
        muted: false,
        source: TrackSource::Camera,
    })
}

fn subscribe(subscription: u64, transport: u64, track: u64) -> Command {
    Command::Subscribe(Subscription {
        subscription: SubscriptionId(subscription),
        transport: TransportId(transport),
        track: TrackId(track),
        ssrc: Ssrc(1),
        rtx: None,
        mid: None,
        formats: Vec::new(),
        settings: SubscriptionSettings::BEST,
        fill: false,
    })
}

fn call() -> [Command; 6] {
    [
        open(1),
        open(2),
        publish(11, 1),
        publish(12, 2),
        subscribe(21, 1, 12),
        subscribe(22, 2, 11),
    ]
}

fn close(transport: u64) -> Command {
    let transport = TransportId(transport);
    Command::Close { transport }
}

#[test]
fn a_later_owner_shuts_out_an_earlier_one() {
    let mut world = World::default();
    assert_eq!(world.say(OLD, 1, RoomContent::Claim), Ok(()));
    assert_eq!(world.command(OLD, 1, open(1)), Ok(()));
    assert_eq!(world.say(NEW, 2, RoomContent::Claim), Ok(()));
    for content in [
        RoomContent::Command(close(1)),
        RoomContent::Claim,
        RoomContent::Complete,
        RoomContent::End,
    ] {
        assert_eq!(world.say(OLD, 1, content), Err(Refusal::Outdated(Epoch(2))));
        assert_eq!(world.out, [], "nothing of it reaches the agent");
    }
    assert_eq!(world.command(NEW, 2, close(1)), Ok(()));
}

#[test]
fn the_second_of_two_owners_in_one_epoch_is_refused() {
    let mut world = World::default();
    assert_eq!(world.say(OLD, 7, RoomContent::Claim), Ok(()));
    assert_eq!(world.say(NEW, 7, RoomContent::Claim), Err(Refusal::Taken));
    assert_eq!(world.command(NEW, 7, open(1)), Err(Refusal::Taken));
    assert_eq!(world.say(OLD, 7, RoomContent::Claim), Ok(()), "it comes back");
    assert_eq!(world.command(OLD, 7, open(1)), Ok(()));
}

#[test]
fn a_room_is_claimed_before_it_is_commanded() {
    let mut world = World::default();
    assert_eq!(world.command(OLD, 1, open(1)), Err(Refusal::Unclaimed));
    assert_eq!(world.say(OLD, 1, RoomContent::Claim), Ok(()));
    assert_eq!(world.command(OLD, 2, open(1)), Err(Refusal::Unclaimed));
    assert_eq!(
        world.say_of("attic", NEW, 1, RoomContent::Claim),
        Ok(()),
        "each room by itself"
    );
}

#[test]
fn a_trunk_ends_with_its_room() {
    let mut world = World::default();
    world.say(OLD, 1, RoomContent::Claim).unwrap();
    world.command(OLD, 1, open_trunk(1)).unwrap();
    world.say(OLD, 1, RoomContent::End).unwrap();
    assert_eq!(world.out, [close(1)]);
}

#[test]
fn a_track_that_comes_over_another_transport_keeps_its_subscriptions() {
    let mut world = World::default();
    world.say(OLD, 1, RoomContent::Claim).unwrap();
    world.say_call(OLD, 1);
    for command in [open_trunk(3), publish(11, 3), close(1)] {
        world.command(OLD, 1, command).unwrap();
    }
    world.say(OLD, 1, RoomContent::End).unwrap();
    let subscription = SubscriptionId(22);
    let [first, second] = [11, 12].map(|track| Command::Unpublish { track: TrackId(track) });
    assert_eq!(
        world.out,
        [Command::Unsubscribe { subscription }, first, second, close(2), close(3)]
    );
}

#[test]
fn the_rest_ends_when_everything_was_said() {
    let mut world = World::default();
    world.say(OLD, 1, RoomContent::Claim).unwrap();
    world.say_call(OLD, 1);
    world.say(OLD, 1, RoomContent::Complete).unwrap();
    assert_eq!(world.out, [], "it was said");
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    for command in [open(1), publish(11, 1)] {
        world.command(NEW, 2, command).unwrap();
    }
    world.say(NEW, 2, RoomContent::Complete).unwrap();
    let [first, second] = [21, 22].map(|id| Command::Unsubscribe {
        subscription: SubscriptionId(id),
    });
    let track = Command::Unpublish { track: TrackId(12) };
    assert_eq!(world.out, [first, second, track, close(2)]);
    world.say(NEW, 2, RoomContent::Complete).unwrap();
    assert_eq!(world.out, []);
}

#[test]
fn a_setting_that_is_not_said_again_has_its_first_value_again() {
    let mut world = World::default();
    let (track, transport) = (TrackId(11), TransportId(1));
    let hold = |forwarding| Command::SetForwarding { track, forwarding };
    let rank = |rank| Command::SetSpeakerRank { track, rank };
    let limit = |limit| Command::SetDownlinkLimit { transport, limit };
    world.say(OLD, 1, RoomContent::Claim).unwrap();
    world.say_call(OLD, 1);
    for command in [hold(false), rank(Some(0)), limit(Some(1_000_000))] {
        world.command(OLD, 1, command).unwrap();
    }
    world.say(OLD, 1, RoomContent::Claim).unwrap();
    world.say_call(OLD, 1);
    world.say(OLD, 1, RoomContent::Complete).unwrap();
    assert_eq!(world.out, [hold(true), rank(None), limit(None)]);
}

#[test]
fn a_room_that_is_over_leaves_its_epoch() {
    let mut world = World::default();
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    world.say_call(NEW, 2);
    world.say(NEW, 2, RoomContent::End).unwrap();
    assert_eq!(world.out.len(), 6);
    assert_eq!(world.say(OLD, 1, RoomContent::Claim), Err(Refusal::Outdated(Epoch(2))));
}

#[test]
fn a_transport_that_has_closed_by_itself_is_forgotten_with_its_tracks() {
    let mut world = World::default();
    world.say(OLD, 1, RoomContent::Claim).unwrap();
    world.say_call(OLD, 1);
    world.notice(Notice::Closed {
        transport: TransportId(2),
        reason: CloseReason::ConsentExpired,
    });
    world.say(OLD, 1, RoomContent::End).unwrap();
    assert_eq!(world.out, [Command::Unpublish { track: TrackId(11) }, close(1)]);
    assert!(world.fence.places.transports.is_empty());
}

#[test]
fn more_than_a_node_can_have_is_not_remembered() {
    let mut world = World::default();
    world.say(OLD, 1, RoomContent::Claim).unwrap();
    world.command(OLD, 1, open(1)).unwrap();
    for track in 0..8_000 {
        world.command(OLD, 1, publish(track, 1)).unwrap();
    }
    for transport in 2..TRANSPORTS_MAX as u64 + 100 {
        world.command(OLD, 1, open(transport)).unwrap();
        assert_eq!(world.out.len(), 1, "the agent refuses it, and says so");
    }
    assert_eq!(world.fence.places.transports.len(), TRANSPORTS_MAX);
    world.say(OLD, 1, RoomContent::End).unwrap();
    let ended = |is_it: fn(&&Command) -> bool| world.out.iter().filter(is_it).count();
    assert_eq!(
        ended(|command| matches!(command, Command::Close { .. })),
        TRANSPORTS_MAX
    );
    assert!(ended(|command| matches!(command, Command::Unpublish { .. })) < 7_000);
}

#[test]
fn a_room_of_which_nothing_is_left_gives_way_at_the_limit() {
    let mut world = World::default();
    for room in 0..ROOMS_MAX {
        world.say_of(&room.to_string(), OLD, 2, RoomContent::Claim).unwrap();
    }
    let one = RoomContent::Command(open(1));
    world.say_of("0", OLD, 2, one).unwrap();
    world.say_of("attic", OLD, 2, RoomContent::Claim).unwrap();
    assert_eq!(world.fence.rooms().count(), ROOMS_MAX);
    let refused = Err(Refusal::Outdated(Epoch(2)));
    assert_eq!(
        world.say_of("0", NEW, 1, RoomContent::Claim),
        refused,
        "there is something"
    );
    assert_eq!(world.say_of("1", NEW, 1, RoomContent::Claim), Ok(()), "forgotten");
}

/// Any command about few things, so that they meet.
fn any_command(rng: &mut StdRng) -> Command {
    let transport = TransportId(rng.random_range(1..4));
    let track = TrackId(rng.random_range(11..14));
    let subscription = rng.random_range(21..25);
    match rng.random_range(0..9) {
        0 | 1 => open(transport.0),
        2 => Command::Close { transport },
        3 => publish(track.0, transport.0),
        4 => Command::Unpublish { track },
        5 => subscribe(subscription, transport.0, track.0),
        6 => Command::Unsubscribe {
            subscription: SubscriptionId(subscription),
        },
        7 => Command::SetForwarding {
            track,
            forwarding: rng.random(),
        },
        _ => Command::SetDownlinkLimit {
            transport,
            limit: rng.random::<bool>().then_some(1),
        },
    }
}

#[test]
fn after_any_history_a_room_is_as_its_owner_said() {
    for seed in 0..500 {
        let mut rng = StdRng::seed_from_u64(seed);
        let (mut world, mut anew) = (World::default(), World::default());
        world.say(OLD, 1, RoomContent::Claim).unwrap();
        for _ in 0..rng.random_range(0..60) {
            world.command(OLD, 1, any_command(&mut rng)).unwrap();
        }
        for world in [&mut world, &mut anew] {
            world.say(NEW, 2, RoomContent::Claim).unwrap();
        }
        for _ in 0..rng.random_range(0..60) {
            let command = any_command(&mut rng);
            if anew.knows_what_is_needed_for(&command) {
                for world in [&mut world, &mut anew] {
                    world.command(NEW, 2, command.clone()).unwrap();
                }
            }
        }
        for world in [&mut world, &mut anew] {
            world.say(NEW, 2, RoomContent::Complete).unwrap();
            world.say(NEW, 2, RoomContent::End).unwrap();
        }
        assert_eq!(world.out, anew.out, "seed {seed}");
        assert!(world.fence.places.transports.is_empty(), "seed {seed}");
    }
}
