//! Counters for the result of every packet, by name.

counting::counters! {
    /// Everything a data plane counts. Every device counts a packet in the same way: counters are
    /// part of conformance.
    pub enum Counter {
        /// Datagrams that arrived.
        Received = "received",
        /// Replicas that went out.
        Forwarded = "forwarded",
        /// Retransmissions that went out.
        Resent = "resent",
        /// Padding that went out as part of a probe.
        Probed = "probed",
        /// Packets in place of media that does not arrive.
        Filled = "filled",
        /// STUN handed to the agent.
        PuntedStun = "punted_stun",
        /// DTLS handed to the agent.
        PuntedDtls = "punted_dtls",
        /// RTCP handed to the agent, unprotected.
        PuntedRtcp = "punted_rtcp",
        /// RTP and RTCP that arrived before the keys, handed to the agent as it is.
        PuntedProtected = "punted_protected",
        /// First packets of streams that are not in the table, handed to the agent by description.
        PuntedStream = "punted_stream",
        /// Media packets that arrived as retransmissions and were unwrapped.
        Recovered = "recovered",
        /// Datagrams that went on from a relay.
        Relayed = "relayed",
        /// Media packets that no replica here gets, of a stream of which an offload sends copies.
        CopiedByOffload = "copied_by_offload",

        /// Dropped: neither STUN nor DTLS nor RTP nor RTCP.
        NotMedia = "not_media",
        /// Dropped: larger than a datagram may be.
        Oversized = "oversized",
        /// Dropped: not STUN, and from an address of no leg, or with an SSRC of none that share it.
        UnknownSource = "unknown_source",
        /// Dropped: not from a source that the relay accepts.
        ForeignSource = "foreign_source",
        /// Dropped: the relay has no destination for this kind.
        NoDestination = "no_destination",
        /// Dropped: not RTP, RTCP or retransmission by its own fields.
        Malformed = "malformed",
        /// Dropped: the leg, or this side of the relay, has no keys yet, and enough is kept for it.
        NoKeys = "no_keys",
        /// Dropped: wrong authentication tag.
        Unauthenticated = "unauthenticated",
        /// Dropped: its index was received before (SRTP), or its number was (clear RTP, or a
        /// retransmission of a packet that had arrived).
        Duplicate = "duplicate",
        /// Dropped: too far behind the newest packet to be placed.
        TooLate = "too_late",
        /// Dropped: an SSRC that is not in the table, after its first packet.
        UnknownStream = "unknown_stream",
        /// Dropped: a payload type its stream does not have.
        UnknownFormat = "unknown_format",
        /// Consumed: padding only; the numbers close up after it.
        PaddingOnly = "padding_only",
        /// Dropped: the stream has no replica.
        NoReplica = "no_replica",
        /// Dropped: the stream has replicas, but none gets this packet.
        NotSelected = "not_selected",

        /// Not sent to this replica: it is paused.
        Paused = "paused",
        /// Not sent to this replica: it waits for a key frame of this stream.
        AwaitingKeyFrame = "awaiting_key_frame",
        /// Not sent to this replica: it arrived late, from before the replica switched to this
        /// stream.
        BeforeSwitch = "before_switch",
        /// Not sent to this replica: its frame is not part of the layers it gets.
        OutsideTarget = "outside_target",
        /// Not sent to this replica: its frame depends on one that was held back.
        Undecodable = "undecodable",
        /// Not sent to this replica: it is within the target, but the workers were overloaded, so
        /// only the lowest frame rate was sent.
        Overloaded = "overloaded",
        /// Not sent to this replica: the receiver did not negotiate this payload type.
        NotNegotiated = "not_negotiated",
        /// Not sent to this replica: its leg has no address or no keys. An early packet counts here
        /// on arrival, and as forwarded if it is sent later. Dropped: the relay accepts no source
        /// yet, or its other side has no port or no keys.
        NotReady = "not_ready",
        /// An early packet was forgotten: it was kept too long or with too many others, or its leg
        /// got keys but has no address.
        EarlyForgotten = "early_forgotten",
        /// Not sent to this replica: with its header it would be larger than a datagram may be.
        ReplicaOversized = "replica_oversized",

        /// A retransmission asked for was not sent: its packet never arrived or is no longer kept.
        NotInCache = "not_in_cache",
        /// A retransmission asked for was not sent: the replica negotiated none. Its publisher may
        /// send it again instead.
        NoRetransmission = "no_retransmission",

        /// Lost here: the socket's buffer was full before a worker read it.
        ReceiveOverflow = "receive_overflow",
        /// Lost here: the queue to the agent was full.
        PuntQueueFull = "punt_queue_full",
        /// Lost here: the queue between two workers was full, or too many packets waited in a
        /// worker, or for too long.
        WorkerQueueFull = "worker_queue_full",
        /// Lost here: the pacer's queue of a slow leg was full.
        PaceQueueFull = "pace_queue_full",
        /// Lost here: the socket did not take it.
        SendFailed = "send_failed",
        /// Refused: the leg's keys have protected all the packets they may.
        KeysExhausted = "keys_exhausted",
    }
}

/// The result for one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// At least one replica went out, or a relay passed it on.
    Forward,
    /// The agent got it.
    Punt,
    /// No destination got it, for the reason this counter names.
    Drop(Counter),
}
