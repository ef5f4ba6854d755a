//! Every limit, and what happens at it. They protect the server from its peers; no honest client
//! comes near.

use std::time::Duration;

/// Participants in one room. For one more, the oldest whose media has not connected is removed
/// ([`GIVES_WAY_AFTER`]), or else it is refused with 503 before its WebSocket opens.
pub const PARTICIPANTS_MAX: usize = 1000;
/// Media nodes of one controller. One more gets nothing to do, and the log says so.
pub const NODES_MAX: usize = 1000;
/// Rooms on this server. One more is refused with 503. If there are several API keys, each has its
/// share ([`slots`]), and one more is refused with 429.
pub const ROOMS_MAX: usize = 10_000;
/// Tracks one participant publishes or has announced. One more is answered with `LIMIT_EXCEEDED`.
pub const TRACKS_MAX: usize = 64;
/// Announced tracks that have no media section yet. One more is answered with `LIMIT_EXCEEDED`.
pub const PENDING_TRACKS_MAX: usize = 20;
/// Formats of media taken in a media section, apart from retransmissions. Further ones are not
/// answered.
pub const FORMATS_MAX: usize = 32;
/// Subscriptions of one participant. Tracks over it are not sent; they are when others end.
pub const SUBSCRIPTIONS_MAX: usize = 2000;
/// One data packet, in bytes, as session descriptions say it. A larger one is dropped and counted.
pub const DATA_PACKET_MAX: usize = 1 << 16;
/// One data packet with its sender's name in it, in bytes: the most that clients on pion read. A
/// larger one is dropped and counted.
pub const SIGNED_PACKET_MAX: usize = (1 << 16) - 1;
/// Reliable data packets kept for a participant that has not offered a connection yet, in bytes.
/// Further ones are dropped and counted.
pub const EARLY_DATA_MAX: usize = 512 << 10;
/// How long they are kept.
pub const EARLY_DATA_AGE: Duration = Duration::from_secs(10);
/// Reliable data packets kept of each participant for receivers that come back, in bytes. The
/// oldest go first.
pub const DATA_REPLAY_MAX: usize = 1 << 20;
/// Bytes of reliable data packets that are kept for each participant in any case, of its own for
/// receivers that come back, and of those that wait for it.
pub const DATA_SHARE: usize = 64 << 10;
/// Bytes of reliable data packets that all rooms together keep beyond these shares. A room has at
/// most what is free, divided by [`ROOM_SHARED`](slots::ROOM_SHARED), and a key its share
/// ([`slots`]). Beyond it the oldest packets for receivers that come back go first, and packets for
/// a participant without a connection are dropped and counted.
pub const DATA_KEPT_MAX: usize = 64 << 20;
/// How long a reliable data packet is kept for receivers that come back.
pub const DATA_REPLAY_AGE: Duration = Duration::from_secs(30);
/// How long messages of a participant that left are passed on. The agent hands over those that
/// arrived before it left at once.
pub const LEAVING_TIME: Duration = Duration::from_secs(5);
/// Participants that left in the last [`LEAVING_TIME`] and whose messages are passed on. At the
/// limit the oldest is forgotten.
pub const LEAVERS_MAX: usize = 1000;
/// Destinations of one data packet. One with more is dropped and counted.
pub const DESTINATIONS_MAX: usize = 1000;
/// Calls of administrators to participants of one room that are not answered yet. One more is
/// refused.
pub const RPC_CALLS_MAX: usize = 1000;
/// The argument of such a call, in bytes. A longer one is refused.
pub const RPC_PAYLOAD_MAX: usize = 15 << 10;
/// A call that its participant does not confirm in this time has failed.
pub const RPC_ACK_TIMEOUT: Duration = Duration::from_secs(2);
/// The time that a participant has for an answer unless the call says otherwise.
pub const RPC_TIMEOUT: Duration = Duration::from_secs(10);
/// The most time that a call may ask for. More is cut.
pub const RPC_TIMEOUT_MAX: Duration = Duration::from_secs(60);
/// Name of a participant, in bytes. A longer one is answered with `LIMIT_EXCEEDED`, at joining with
/// 400.
pub const NAME_MAX: usize = 1024;
/// Room names and identities, in bytes. A longer one is refused with 400.
pub const IDENTITY_MAX: usize = 256;
/// Metadata of a participant, in bytes. More is answered with `LIMIT_EXCEEDED`, at joining with
/// 400.
pub const METADATA_MAX: usize = 64 << 10;
/// Attributes of a participant, keys and values together, in bytes. More is answered with
/// `LIMIT_EXCEEDED`, at joining with 400.
pub const ATTRIBUTES_MAX: usize = 64 << 10;
/// Data tracks that one participant publishes. One more is answered with `LIMIT_EXCEEDED`.
pub const DATA_TRACKS_MAX: usize = 64;
/// The name of a data track, in bytes. A longer one is answered with `INVALID_NAME`.
pub const DATA_TRACK_NAME_MAX: usize = 256;
/// Data blobs of one participant, keys and contents together, in bytes. More is answered with
/// `LIMIT_EXCEEDED`.
pub const BLOB_BYTES_MAX: usize = 64_000;
/// Data blobs of one participant. One more is answered with `LIMIT_EXCEEDED`.
pub const BLOBS_MAX: usize = 1000;
/// Track ids in one request. The rest are left out and counted.
pub const REQUEST_TRACKS_MAX: usize = 2000;
/// Bytes of participants in one update, in rooms where changes are told together; one participant
/// alone may take more. Beyond it there is another.
pub const UPDATE_BYTES: usize = 128 << 10;
/// Bytes that one identity may make each other participant of its room receive at once, by changing
/// or by coming and going. Beyond it, and beyond [`NEWS_PER_SECOND`], its changes wait and are told
/// together.
pub const NEWS_BURST: u32 = 1 << 20;
/// Bytes a second that one identity may make each other participant of its room receive for long.
pub const NEWS_PER_SECOND: u32 = 128 << 10;
/// Bytes that one message about an identity counts as at least. With it an identity has 512 changes
/// at once, and 64 a second for long; further ones are told together.
pub const NEWS_MESSAGE_MIN: usize = 2 << 10;
/// Bytes of all the others that one identity may be told of at once, by coming in or back. Beyond
/// it, and beyond [`GREETING_PER_SECOND`], it is refused with 429 before its WebSocket opens.
pub const GREETING_BURST: u32 = 32 << 20;
/// Bytes a second of the others that one identity may be told of for long.
pub const GREETING_PER_SECOND: u32 = 2 << 20;
/// The rate at which a client takes what it is told when it joins, or else is lost: its time to
/// answer begins later in a large room. Shape: bytes per second.
pub const GREETING_READ_RATE: u32 = 64 << 10;
/// Bytes that a room keeps for each participant in any case: its name, metadata, attributes,
/// tracks, data tracks, data blobs and lists of receivers.
pub const STORE_SHARE: usize = 8 << 10;
/// Bytes that a room keeps beyond the shares of its participants, for all of them together. More is
/// answered with `LIMIT_EXCEEDED`, by the server API with `resource_exhausted`, and at joining with
/// 429.
pub const STORE_POOL_MAX: usize = 8 << 20;
/// Bytes that all rooms together keep beyond the shares of their participants, and for their own
/// metadata. A room has at most what is free, divided by [`ROOM_SHARED`](slots::ROOM_SHARED), and a
/// key its share ([`slots`]). More is answered as above.
pub const STORED_MAX: usize = 64 << 20;
/// Identities of a room whose news and greetings are accounted for beyond those who are there. Of
/// the others it is forgotten.
pub const NEWS_REMEMBERED_MAX: usize = 1000;
/// Identities of a room whose choice of a protocol for media is remembered. At the limit the oldest
/// choice is forgotten.
pub const PROTOCOLS_REMEMBERED_MAX: usize = 100;
/// How long a choice is remembered.
pub const PROTOCOL_REMEMBERED_FOR: Duration = Duration::from_secs(300);

/// A client that could not join may try again after so many seconds.
pub const JOIN_RETRY_AFTER: u32 = 5;

/// A participant whose media is not connected in this time gives its place up, where somebody else
/// finds no place in its room, or none among those of its API key.
pub const GIVES_WAY_AFTER: Duration = Duration::from_secs(10);
/// A participant whose media is not connected in this time is removed.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// A participant whose signalling connection is gone and whose media has been silent for this time
/// is removed.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(5);
/// A participant whose signalling connection is gone is removed after this time unless it comes
/// back.
pub const RESUME_TIMEOUT: Duration = Duration::from_secs(60);
/// Of a track nobody wants as much of any more its publisher hears after this time.
pub const DEMAND_FALLS_AFTER: Duration = Duration::from_secs(5);
/// A client that closed its transport says in this time that it leaves, or else has to start over.
pub const GOODBYE_TIMEOUT: Duration = Duration::from_secs(2);
/// A client that applies the offer it joined with after the greeting, and has said nothing in this
/// time, is answered all the same.
pub const FIRST_OFFER_WAIT: Duration = Duration::from_millis(500);
/// A client that was asked for media sections and has not offered them is asked again after this
/// time.
pub const ASK_AGAIN: Duration = Duration::from_secs(5);
/// The time between the first key frames at the node that a participant moves to and its move. A
/// stream is asked for another one after half a second.
pub const MOVE_PREPARATION: Duration = Duration::from_millis(600);
/// A participant that moves to another media node comes back in this time, and connects in as much
/// again. One that does not has to join again.
pub const MOVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Participants that move from one media node at a time.
pub const MOVING_MAX: usize = 4;
/// An offer of ours that is not answered in this time makes the client start over.
pub const NEGOTIATION_TIMEOUT: Duration = Duration::from_secs(15);
