//! Every limit, and what happens at it. They protect the server from its peers; no honest client comes near.

use std::time::Duration;

/// Participants in one room. One more is refused with 503 before its WebSocket opens.
pub const PARTICIPANTS_MAX: usize = 1000;
/// Rooms on this server. One more is refused with 503.
pub const ROOMS_MAX: usize = 10_000;
/// Tracks one participant publishes or has announced. One more is answered with `LIMIT_EXCEEDED`.
pub const TRACKS_MAX: usize = 64;
/// Announced tracks that have no media section yet. One more is answered with `LIMIT_EXCEEDED`.
pub const PENDING_TRACKS_MAX: usize = 20;
/// Sizes one track is announced in. A track with more is answered with `LIMIT_EXCEEDED`.
pub const LAYERS_MAX: usize = 8;
/// Formats of media taken in a media section, apart from retransmissions. Further ones are not answered.
pub const FORMATS_MAX: usize = 32;
/// Codecs one track is announced in. A track with more is answered with `LIMIT_EXCEEDED`.
pub const CODECS_MAX: usize = 8;
/// Subscriptions of one participant. Tracks over it are not sent; they are when others end.
pub const SUBSCRIPTIONS_MAX: usize = 2000;
/// One signalling message, in bytes. A larger one closes the connection with 1009.
pub const MESSAGE_MAX: usize = 2 << 20;
/// Signalling messages a connection may send in a burst. Beyond it, and beyond [`MESSAGES_PER_SECOND`], it is closed with 1008.
pub const MESSAGES_BURST: u32 = 1000;
/// Signalling messages a second a connection may send for long.
pub const MESSAGES_PER_SECOND: u32 = 200;
/// A message of this size counts as two, one of twice the size as three.
pub const MESSAGE_UNIT: usize = 16 << 10;
/// This many media sections of an offer or an answer count as one more message.
pub const SECTIONS_UNIT: usize = 4;
/// Values in one message, in lists and maps together. A message with more closes the connection with 1009; at joining it is refused with 400.
pub const FIELDS_MAX: usize = 16_384;
/// A joining client's request after decompression, in bytes. A larger one is refused with 400.
pub const JOIN_REQUEST_MAX: usize = 1 << 20;
/// One data packet, in bytes, as session descriptions say it. A larger one is dropped and counted.
pub const DATA_PACKET_MAX: usize = 1 << 16;
/// One data packet with its sender's name in it, in bytes: the most that clients on pion read. A larger one is dropped and counted.
pub const SIGNED_PACKET_MAX: usize = (1 << 16) - 1;
/// Reliable data packets kept for a participant that has not offered a connection yet, in bytes. Further ones are dropped and counted.
pub const EARLY_DATA_MAX: usize = 512 << 10;
/// How long they are kept.
pub const EARLY_DATA_AGE: Duration = Duration::from_secs(10);
/// Reliable data packets kept of each participant for receivers that come back, in bytes. The oldest go first.
pub const DATA_REPLAY_MAX: usize = 1 << 20;
/// How long a reliable data packet is kept for receivers that come back.
pub const DATA_REPLAY_AGE: Duration = Duration::from_secs(30);
/// Destinations of one data packet. One with more is dropped and counted.
pub const DESTINATIONS_MAX: usize = 1000;
/// Name of a participant, in bytes. A longer one is answered with `LIMIT_EXCEEDED`, at joining with 400.
pub const NAME_MAX: usize = 1024;
/// Room names and identities, in bytes. A longer one is refused with 400.
pub const IDENTITY_MAX: usize = 256;
/// Metadata of a participant, in bytes. More is answered with `LIMIT_EXCEEDED`, at joining with 400.
pub const METADATA_MAX: usize = 64 << 10;
/// Attributes of a participant, keys and values together, in bytes. More is answered with `LIMIT_EXCEEDED`, at joining with 400.
pub const ATTRIBUTES_MAX: usize = 64 << 10;
/// Any other text a client gives: track names, stream names, what it says of its software, in bytes. Longer ones are answered with `LIMIT_EXCEEDED`,
/// at joining with 400.
pub const TEXT_MAX: usize = 1024;
/// A client's own name for a track, and other short words of the protocol, in bytes. Longer ones are answered with `LIMIT_EXCEEDED`.
pub const CID_MAX: usize = 256;
/// The name of a simulcast layer, in bytes. A longer one is answered with `LIMIT_EXCEEDED`.
pub const RID_MAX: usize = 64;
/// Track ids in one request. The rest are left out and counted.
pub const REQUEST_TRACKS_MAX: usize = 2000;
/// Subscription permissions one publisher states. The rest are left out and counted.
pub const PERMISSIONS_MAX: usize = 1000;
/// Data channels a client says it has when it comes back. The rest are left out and counted.
pub const CHANNELS_MAX: usize = 16;
/// Regions in a client's goodbye, which nobody reads. The rest are left out and counted.
pub const REGIONS_MAX: usize = 16;
/// Bytes of participants in one update, in rooms where changes are told together; one participant alone may take more. Beyond it there is another.
pub const UPDATE_BYTES: usize = 128 << 10;
/// Bytes that one identity may make each other participant of its room receive at once, by changing or by coming and going. Beyond it, and beyond
/// [`NEWS_PER_SECOND`], its changes wait and are told together.
pub const NEWS_BURST: u32 = 1 << 20;
/// Bytes a second that one identity may make each other participant of its room receive for long.
pub const NEWS_PER_SECOND: u32 = 128 << 10;
/// Identities of a room whose news are accounted for beyond those who are there. Of the others it is forgotten what they were told.
pub const NEWS_REMEMBERED_MAX: usize = 1000;

/// A participant whose media is not connected in this time is removed.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// A participant whose signalling connection is gone and whose media has been silent for this time is removed.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(5);
/// A participant whose signalling connection is gone is removed after this time unless it comes back.
pub const RESUME_TIMEOUT: Duration = Duration::from_secs(60);
/// Of a track nobody wants as much of any more its publisher hears after this time.
pub const DEMAND_FALLS_AFTER: Duration = Duration::from_secs(5);
/// A client that closed its transport says in this time that it leaves, or else has to start over.
pub const GOODBYE_TIMEOUT: Duration = Duration::from_secs(2);
/// A client that applies the offer it joined with after the greeting, and has said nothing in this time, is answered all the same.
pub const FIRST_OFFER_WAIT: Duration = Duration::from_millis(500);
/// A client that was asked for media sections and has not offered them is asked again after this time.
pub const ASK_AGAIN: Duration = Duration::from_secs(5);
/// An offer of ours that is not answered in this time makes the client start over.
pub const NEGOTIATION_TIMEOUT: Duration = Duration::from_secs(15);
