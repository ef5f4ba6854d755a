//! Every limit of the agent, and the behaviour at it. Those of the tables are
//! [`dataplane::limits`].

use std::time::Duration;

/// Transports on one node; more are refused with a notice.
pub const TRANSPORTS_MAX: usize = 20_000;

/// Direct transports of one node; more are refused with a notice. There is one for each room and
/// each other node of it.
pub const DIRECT_TRANSPORTS_MAX: usize = 4_096;

/// Keys of direct transports that are remembered, so that none seals twice; the oldest is
/// forgotten.
pub const SPENT_KEYS_MAX: usize = 65_536;

/// Rooms whose owners are remembered. At the limit the room of which nothing is left and that was
/// claimed longest ago is forgotten; without such a room a new one is refused.
pub const ROOMS_MAX: usize = 20_000;

/// Bytes of one part of a room's snapshot; a longer one is refused.
pub const PART_LEN_MAX: usize = 1 << 20;

/// Bytes of the name of such a part; a longer one is refused.
pub const PART_NAME_LEN_MAX: usize = 256;

/// Parts of a room's snapshot that are kept; more are refused.
pub const PARTS_PER_ROOM_MAX: usize = 10_001;

/// Bytes of the parts of one room that are kept, with their names and [`PART_COST`] of each; a part
/// over it is refused, and the call goes on.
pub const PARTS_BYTES_PER_ROOM_MAX: usize = 64 << 20;

/// The same of all rooms.
pub const PARTS_BYTES_MAX: usize = 512 << 20;

/// Bytes that a part is taken to cost beside its content and its name.
pub const PART_COST: usize = 128;

/// Transports of a room that closed by themselves and that its next owner is told of; the oldest is
/// forgotten.
pub const CLOSED_PER_ROOM_MAX: usize = 128;

/// Rooms in one page of a hello. Each has at most 1 KiB of name.
pub const ROOMS_PER_PAGE: usize = 1_024;

/// Handshakes in progress; at the limit the oldest of the address with the most is dropped.
pub const HANDSHAKES_MAX: usize = 1_000;

/// Handshakes that wait to be computed. At the limit, and beyond the share of an address, no new
/// one begins for [`PUT_OFF`]; handshakes in progress continue.
pub const HANDSHAKES_WAITING_MAX: usize = 256;

/// See [`HANDSHAKES_WAITING_MAX`].
pub const PUT_OFF: Duration = Duration::from_millis(100);

/// Failed handshakes that wait to be logged; further ones are counted only.
pub const HANDSHAKE_FAILURES_MAX: usize = 64;

/// How often streams of one transport may take the places of others in a second. A stream beyond
/// that waits until the stream in its place is silent.
pub const STREAM_CHANGES_MAX: u32 = 16;

/// Owners of handshakes of whom media is kept that arrived before the keys.
pub const PROTECTED_MEDIA_OWNERS_MAX: usize = 256;

/// How long media is kept that arrived before the keys. Later it is of no use to a receiver.
pub const PROTECTED_MEDIA_MAX: Duration = Duration::from_millis(500);

/// Datagrams of DTLS kept for a handshake while earlier ones are computed; later ones are dropped,
/// and the peer repeats them.
pub const HANDSHAKE_DATAGRAMS_MAX: usize = 16;

/// Datagrams of DTLS kept for a transport without a description of its peer; later ones are
/// dropped, and the peer repeats them.
pub const EARLY_DTLS_MAX: usize = 4;

/// Sender reports of one party of a relayed call that are remembered until they are answered; the
/// oldest is forgotten.
pub const SENDER_REPORTS_MAX: usize = 8;

/// Closed transports whose user fragments are remembered, so that their peers' last checks are not
/// taken for a stranger's; the oldest is forgotten.
pub const DEPARTED_MAX: usize = 1_000;

/// How long they are remembered.
pub const DEPARTED_AGE: Duration = Duration::from_secs(15);

/// Generations of ICE credentials that are answered: the newest and the one before it.
pub const GENERATIONS_MAX: usize = 2;

/// Connectivity checks of ours that one transport may send at once to addresses without proof. One
/// more may be sent each [`CHECK_INTERVAL`]; at the limit none is sent before another check of the
/// peer.
pub const CHECKS_AT_ONCE_MAX: u32 = 32;

/// See [`CHECKS_AT_ONCE_MAX`].
pub const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Data channels of one transport; more are not answered.
pub const CHANNELS_MAX: usize = 32;

/// How long a track stays whose publisher has closed its transport. A publisher that is at another
/// node by then goes on with it from there, over a trunk.
pub const ABANDONED_MAX: Duration = Duration::from_secs(1);

/// SCTP streams of one transport in each direction. A channel beyond them is refused.
pub const STREAMS_MAX: u16 = 1024;

/// Bytes of a data channel's label; a longer one refuses the channel.
pub const LABEL_MAX: usize = 256;

/// Bytes of one message, in both directions; a larger one is dropped.
pub const MESSAGE_MAX: usize = 65_536;

/// How far after the first missing piece of data a peer may send; later pieces are dropped, and the
/// peer repeats them.
pub const DATA_AHEAD_MAX: i32 = 4_096;

/// Pieces of incomplete messages of one transport; beyond this its association ends.
pub const FRAGMENTS_MAX: usize = 4_096;

/// Overhead of a message beside its bytes, in every queue.
pub const MESSAGE_COST: usize = 64;

/// Bytes of incoming messages of one transport in pieces, and the widest window that its peer is
/// told. SCTP holds the peer back; data beyond the window is dropped, and the peer repeats it.
pub const RECEIVE_BUFFER_MAX: u32 = 512 * 1024;

/// Whole messages of one transport that cannot be passed on yet, in bytes. They are taken off the
/// window; at the limit no more are read.
pub const INBOX_MAX: usize = 1024 * 1024;

/// Messages of one sender that were passed on and that not every receiver has taken, in bytes; at
/// the limit the sender is not read until half of it is taken.
pub const SENDER_WINDOW: usize = 512 * 1024;

/// Messages that may be with the controller, of all senders together; at the limit no sender is
/// read until it has handled some. The limit is small, so that a join is not queued after much
/// data.
pub const WITH_CONTROLLER_MAX: usize = 1_024;

/// The same in bytes.
pub const WITH_CONTROLLER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Messages whose controller is away and that hold back their own senders alone, in bytes. Further
/// ones count as with the controller.
pub const PARKED_BYTES_MAX: usize = 32 << 20;

/// Messages of one sender from lossy channels that the controller has, in bytes; at the limit the
/// newest is dropped.
pub const LOSSY_WITH_CONTROLLER_MAX: usize = 128 * 1024;

/// Bytes of all messages together that wait for receivers, their copies in SCTP included; at the
/// limit nobody is read until there is less.
pub const DATA_MAX: usize = 256 * 1024 * 1024;

/// The divisor of the free rest of [`DATA_MAX`]: SCTP may have as much of one channel, so that many
/// receivers that read slowly leave room to others.
pub const DATA_SHARED: usize = 512;

/// Bytes of messages that wait for receivers and have no sender that could wait: those of an
/// administrator, and those sent again. Further ones are dropped and counted.
pub const UNPACED_MAX: usize = 64 * 1024 * 1024;

/// The divisor of the free rest of [`UNPACED_MAX`]: as much of it may wait for one receiver.
pub const UNPACED_SHARED: usize = 16;

/// Bytes waiting to be sent on a channel that may lose messages; at the limit the newest message is
/// dropped.
pub const LOSSY_BUFFER_MAX: usize = 128 * 1024;

/// Bytes that SCTP may have of a channel that may not lose messages, sent or to be sent; further
/// messages wait, which holds back their senders.
pub const SCTP_BUFFER_MAX: usize = 512 * 1024;

/// The same in messages.
pub const SCTP_MESSAGES_MAX: usize = 4_096;

/// Time that a message may wait for a receiver that acknowledges less than [`TOO_SLOW_BYTES`] in
/// it; then the receiver's SCTP association ends, and its call continues.
pub const TOO_SLOW: Duration = Duration::from_secs(30);

/// A receiver that acknowledges this many bytes of a channel within [`TOO_SLOW`] is not too slow.
pub const TOO_SLOW_BYTES: u64 = 256 << 10;

/// How long messages wait for a channel that is not open yet; then they are dropped, and later ones
/// do not wait.
pub const OPENING_MAX: Duration = Duration::from_secs(10);

/// Messages of data channels that a node keeps until a controller has dealt with them, so that
/// another one gets them if it dies, in bytes. Further ones are lost with their controller.
pub const KEPT_MESSAGES_BYTES_MAX: usize = 64 << 20;

/// Reliable messages of one sender that a node remembers for receivers that come back, in bytes.
pub const SENT_MESSAGES_MAX: usize = 1 << 20;

/// The bytes of them that a sender has in any case. The rest is shared.
pub const SENT_MESSAGES_SHARE: usize = 64 << 10;

/// The bytes of them beyond the shares of senders, of all senders of the node.
pub const SENT_MESSAGES_BYTES_MAX: usize = 64 << 20;

/// Messages that a node has sent over a link and that the other end has not taken. With one more
/// the link counts as failed. Shape: messages, and bytes with about 256 for each.
pub const LINK_MESSAGES_MAX: usize = 8_192;

/// The bytes of them.
pub(crate) const LINK_BYTES_MAX: usize = 32 << 20;

/// Messages of a link whose names the receiving node remembers, in case it gets them from a
/// controller as well. More than can be on their way.
pub(crate) const LINKED_NAMES_MAX: usize = 2 * LINK_MESSAGES_MAX;

/// Bytes of messages that came over the link of one node and that receivers do not have yet; then
/// nothing more is taken from it until they have some.
pub(crate) const LINK_OPEN_MAX: usize = DATA_MAX / 4;

/// About the bytes of a message or packet for a link, besides its payload.
pub(crate) const LINKED_COST: usize = 256;

/// Names of receivers in a message that comes over a link; with more the link is cut off.
pub(crate) const LINKED_RECEIVERS_MAX: usize = 1_000;

/// Nodes that have links to a node, and nodes that are remembered after their links have ended.
pub const LINK_PEERS_MAX: usize = 1_024;

/// Bytes of messages that came over links and that wait, in one room and from one node, until what
/// went by the controller has arrived.
pub(crate) const LINK_WAITING_ROOM_MAX: usize = 4 << 20;

/// The same of one node in all rooms.
pub(crate) const LINK_WAITING_NODE_MAX: usize = 16 << 20;

/// The same of all rooms and nodes together.
pub(crate) const LINK_WAITING_MAX: usize = 64 << 20;

/// Bytes of messages that came over the link of one node, for rooms that no owner has claimed here
/// yet.
pub(crate) const LINK_EARLY_MAX: usize = 128 << 10;

/// Participants of a room on other nodes that a node knows.
pub(crate) const DISTANT_ENDPOINTS_MAX: usize = 16_384;

/// Bytes of messages of one room that somebody has missed and that wait for an owner; with one more
/// that one is lost. The same of those that an owner gets at once, and of those that wait for
/// newcomers without an owner.
pub(crate) const MISSED_BYTES_MAX: usize = 4 << 20;

/// Data tracks of a room whose packets come to a node over links; more are not passed on there.
pub(crate) const DISTANT_TRACKS_MAX: usize = 4_096;

/// Packets of data tracks that wait for one link. With one more the oldest of the sender with the
/// most bytes is dropped.
pub(crate) const LINK_PACKETS_MAX: usize = 1_024;

/// The same in bytes.
pub(crate) const LINK_PACKETS_BYTES_MAX: usize = 2 << 20;

/// Participants on other nodes who left last, whose last messages may still come over links.
pub(crate) const DISTANT_DEPARTED_MAX: usize = 64;

/// Transports that were closed last, whose rooms a node remembers for their last messages.
pub const CLOSED_MAX: usize = 4_096;

/// Tracks one transport may publish; more are refused with a notice.
pub const TRACKS_PER_TRANSPORT_MAX: usize = 128;

/// The same of a trunk, which carries the tracks of a whole room.
pub const TRACKS_PER_TRUNK_MAX: usize = 2_048;

/// Subscriptions one transport may have; more are refused with a notice.
pub const SUBSCRIPTIONS_PER_TRANSPORT_MAX: usize = 2_048;

/// The same of a trunk, which has one for each encoding that it carries.
pub const SUBSCRIPTIONS_PER_TRUNK_MAX: usize = dataplane::limits::STREAMS_PER_SHARED_LEG_MAX;

/// Streams of one transport that no publication explains yet; at the limit the oldest is forgotten.
pub const UNBOUND_STREAMS_MAX: usize = dataplane::limits::UNKNOWN_STREAMS_MAX;

/// Missing packets of one stream that are asked for; a larger gap asks for a key frame instead.
pub const MISSING_MAX: usize = 256;

/// How often one missing packet is asked for.
pub const NACKS_PER_PACKET_MAX: u8 = 10;

/// How long a missing packet is waited for.
pub const MISSING_AGE_MAX: Duration = Duration::from_secs(1);

/// Retransmissions per second to one receiver for one subscription; further ones are not sent. If
/// its downlink is known to carry less, the limit is what it carries, but at least
/// [`RESENDS_PER_SECOND_MIN`].
pub const RESENDS_PER_SECOND_MAX: u32 = 1_000;

/// Retransmissions per second to one receiver under any capacity of its downlink.
pub const RESENDS_PER_SECOND_MIN: u32 = 50;

/// Packets a publisher is asked for in one second on one stream because receivers miss them, all of
/// these together, where the data plane keeps none; further ones are not asked for.
pub const UPSTREAM_NACKS_PER_SECOND_MAX: u32 = 200;

/// The share of one receiver in those, so that one that asks for everything leaves some to the
/// others.
pub const UPSTREAM_NACKS_OF_ONE_PER_SECOND_MAX: u32 = 100;

/// The highest downlink bit rate that a receiver may report, in bits per second. A higher report is
/// taken as this value.
pub const ESTIMATE_MAX: u64 = 50_000_000;

/// Key frames that one receiver may ask for of one subscription in [`KEY_FRAMES_WINDOW`]; further
/// requests are ignored, since a key frame costs all other viewers. Key frames needed for a switch
/// are not counted.
pub const KEY_FRAMES_MAX: u32 = 10;

/// See [`KEY_FRAMES_MAX`].
pub const KEY_FRAMES_WINDOW: Duration = Duration::from_secs(10);

/// Observations of one kind and one subject that are reported in one second; further ones are
/// counted and dropped. A subject is a subscription or a downlink.
pub const OBSERVATIONS_PER_SECOND_MAX: u32 = 5;

/// RTCP read from one peer in one second, in units of cost: 8 for each packet, 1 for each number
/// that it lists. Further RTCP in the same second is dropped unread.
pub const RTCP_PER_SECOND_MAX: u32 = 100_000;

/// Layers of one stream whose rates are measured; packets of further ones are not counted.
pub const LAYERS_MAX: usize = 16;

/// Packets sent to one receiver in place of a track's media; after these, no more are sent without
/// media.
pub const FILLS_MAX: u8 = 50;

/// Packets remembered for the next transport-wide feedback; at the limit it is sent at once.
pub const FEEDBACK_PACKETS_MAX: usize = 200;
