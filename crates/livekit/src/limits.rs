//! Limits on what clients say, and what happens at them. They protect the server from its peers; no
//! honest client comes near.
//!
//! Limits on stored values are the controller's.

pub(crate) use controller::limits::{
    ATTRIBUTES_MAX, BLOB_BYTES_MAX, DATA_PACKET_MAX, IDENTITY_MAX, METADATA_MAX, NAME_MAX, PARTICIPANTS_MAX,
    PENDING_TRACKS_MAX, REQUEST_TRACKS_MAX, TRACKS_MAX,
};

/// One signalling message, in bytes. A larger one closes the connection with 1009.
pub(crate) const MESSAGE_MAX: usize = 2 << 20;
/// Signalling messages a connection may send in a burst. Beyond it, and beyond
/// [`MESSAGES_PER_SECOND`], it is closed with 1008.
pub(crate) const MESSAGES_BURST: u32 = 1000;
/// Signalling messages a second a connection may send for long.
pub(crate) const MESSAGES_PER_SECOND: u32 = 200;
/// A message of this size counts as two, one of twice the size as three.
pub(crate) const MESSAGE_UNIT: usize = 16 << 10;
/// This many media sections of an offer or an answer count as one more message.
pub(crate) const SECTIONS_UNIT: usize = 4;
/// This many values, in lists and maps together, count as one more message: each is work for the
/// controller, however short it is.
pub(crate) const VALUES_UNIT: usize = 64;
/// Values in one message, in lists and maps together. A message with more closes the connection
/// with 1009; at joining it is refused with 400.
pub(crate) const FIELDS_MAX: usize = 16_384;
/// A joining client's request after decompression, in bytes. A larger one is refused with 400.
pub(crate) const JOIN_REQUEST_MAX: usize = 1 << 20;
/// Sizes one track is announced in. A track with more is answered with `LIMIT_EXCEEDED`.
pub(crate) const LAYERS_MAX: usize = 8;
/// Codecs one track is announced in. A track with more is answered with `LIMIT_EXCEEDED`.
pub(crate) const CODECS_MAX: usize = 8;
/// Any other text a client gives: track names, stream names, what it says of its software, in
/// bytes. Longer ones are answered with `LIMIT_EXCEEDED`, at joining with 400.
pub(crate) const TEXT_MAX: usize = 1024;
/// A client's own name for a track, and other short words of the protocol, in bytes. Longer ones
/// are answered with `LIMIT_EXCEEDED`.
pub(crate) const CID_MAX: usize = 256;
/// The name of an encoding of data tracks that has no number, in bytes. A longer one is answered
/// with `INVALID_REQUEST` for a data blob, and with `LIMIT_EXCEEDED` for a data track.
pub(crate) const ENCODING_MAX: usize = 32;
/// The name of a simulcast layer, in bytes. A longer one is answered with `LIMIT_EXCEEDED`.
pub(crate) const RID_MAX: usize = 64;
/// Subscription permissions one publisher states. The rest are left out and counted.
pub(crate) const PERMISSIONS_MAX: usize = 1000;
/// Data channels a client says it has when it comes back. The rest are left out and counted.
pub(crate) const CHANNELS_MAX: usize = 16;
/// Regions in a client's goodbye, which nobody reads. The rest are left out and counted.
pub(crate) const REGIONS_MAX: usize = 16;

/// Messages that wait for one receiver of webhooks. Further ones are dropped and counted.
pub(crate) const WEBHOOK_MESSAGES_MAX: usize = 10_000;

/// The bytes of the bodies of these messages. Further messages are dropped and counted.
pub(crate) const WEBHOOK_BYTES_MAX: usize = 16 << 20;

/// Attempts at a time to deliver to one receiver. Further messages wait.
pub(crate) const WEBHOOK_ATTEMPTS_MAX: usize = 16;

/// Workers of agents. For a further one, an unregistered one is closed with 1013, or else itself.
pub(crate) const WORKERS_MAX: usize = 1000;

/// One message of a worker, in bytes. A larger one closes the connection with 1009.
pub(crate) const WORKER_MESSAGE_MAX: usize = 256 << 10;

/// Jobs that one worker runs. It is offered no further ones.
pub(crate) const WORKER_JOBS_MAX: usize = 1000;

/// Jobs that are offered to one worker and not answered. Further ones wait.
pub(crate) const WORKER_OFFERS_MAX: usize = 16;

/// Dispatches of one room. A further one is refused with `resource_exhausted`, and a list of more
/// in a token or in `CreateRoom` with `invalid_argument`.
pub(crate) const DISPATCHES_MAX: usize = 64;

/// Bytes of the dispatches of a room that are kept in any case.
pub(crate) const DISPATCH_SHARE: usize = 64 << 10;

/// Bytes of dispatches that all rooms together keep beyond these shares. A room has at most what is
/// free, divided by [`ROOM_SHARED`](slots::ROOM_SHARED). A further dispatch is refused with
/// `resource_exhausted`, and one that a token or `CreateRoom` asks for is left out and counted.
pub(crate) const DISPATCHES_KEPT_MAX: usize = 64 << 20;

/// Ended jobs that a dispatch lists. The oldest ones are left out.
pub(crate) const ENDED_JOBS_MAX: usize = 100;

/// The name of a deployment, in bytes. A longer one is refused.
pub(crate) const DEPLOYMENT_MAX: usize = 64;
