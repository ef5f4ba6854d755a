//! Counters of the agent: inputs refused, packets repeated and attempts given up, by name.

counting::counters! {
    /// Everything the agent counts.
    pub enum Counter {
        /// Connectivity checks answered.
        CheckAnswered = "check_answered",
        /// Connectivity checks of ours, to addresses that have not proved themselves.
        CheckSent = "check_sent",
        /// Answers to them: each proves an address.
        AnswerReceived = "answer_received",
        /// Answers to no check of ours that waits for one.
        AnswerUnexpected = "answer_unexpected",
        /// Answers with a wrong MESSAGE-INTEGRITY.
        AnswerUnauthenticated = "answer_unauthenticated",
        /// STUN that is neither a well-formed binding request with a fingerprint nor an answer.
        StunMalformed = "stun_malformed",
        /// STUN from the address of a direct transport, which has no ICE.
        StunUnexpected = "stun_unexpected",
        /// Checks for a transport that was closed a moment ago.
        CheckLate = "check_late",
        /// Checks for a user fragment nobody has.
        CheckUnknownUfrag = "check_unknown_ufrag",
        /// Checks with a wrong MESSAGE-INTEGRITY.
        CheckUnauthenticated = "check_unauthenticated",
        /// Checks of a peer that took the controlled role (answered with 487).
        RoleConflict = "role_conflict",
        /// Checks on an address pair that another transport has proved recently.
        PathContested = "path_contested",
        /// Transports refused because another one has the same user fragment.
        UfragCollision = "ufrag_collision",
        /// Transports refused because there are too many.
        TransportsFull = "transports_full",
        /// Transports refused because they are encrypted and the data plane has no SRTP.
        SrtpRefused = "srtp_refused",
        /// Orders for direct transports that were refused, and orders for transports with ICE under
        /// the name of a direct one.
        DirectRefused = "direct_refused",

        /// DTLS before the peer's description, beyond the limit.
        DtlsTooEarly = "dtls_too_early",
        /// DTLS during the computation of a handshake, beyond the limit.
        DtlsTooMany = "dtls_too_many",
        /// Media before the keys, without a handshake under way, too old by its end, or beyond the
        /// limit.
        MediaTooEarly = "media_too_early",
        /// DTLS from a peer that agreed to none.
        DtlsUnexpected = "dtls_unexpected",
        /// DTLS still under way when its transport was closed.
        DtlsLate = "dtls_late",
        /// Handshakes whose certificate has an unknown kind of key or was not proved, or that had
        /// none.
        CertificateRefused = "certificate_refused",
        /// Handshakes that failed otherwise or took too long.
        HandshakeFailed = "handshake_failed",
        /// Handshakes that could not begin yet, because too many others waited to be computed; each
        /// time they tried.
        HandshakePutOff = "handshake_put_off",
        /// Handshakes dropped for newer ones, because too many were half open.
        HandshakeEvicted = "handshake_evicted",
        /// Handshakes whose certificate was not the promised one.
        FingerprintMismatch = "fingerprint_mismatch",

        /// SCTP that its association refused.
        SctpMalformed = "sctp_malformed",
        /// SCTP before the peer's description had a section for it, or after the end of its
        /// association.
        SctpUnexpected = "sctp_unexpected",
        /// SCTP packets whose data was dropped: there was no room for it, or it was far after the
        /// first missing piece. The peer repeats it.
        SctpPutOff = "sctp_put_off",
        /// SCTP associations that ended by an error. An association that the peer ends is not
        /// counted.
        SctpFailed = "sctp_failed",
        /// Data channels beyond the limit, or opened in a malformed way.
        ChannelRefused = "channel_refused",
        /// Messages for a channel that is not open.
        ChannelNotOpen = "channel_not_open",
        /// Messages dropped because the channel may lose messages and its peer is too slow.
        ChannelCongested = "channel_congested",
        /// SCTP associations ended because the peer read a reliable channel too slowly.
        ChannelTooSlow = "channel_too_slow",
        /// Messages for a receiver that left, closed its channel or did not open it in time, before
        /// they were sent, or for which too much waited that has no sender who could wait.
        MessageUnsent = "message_unsent",
        /// Messages larger than a message may be.
        MessageOversized = "message_oversized",
        /// Messages of channels that may lose messages, dropped because earlier ones of their
        /// sender were not dealt with yet.
        MessageCongested = "message_congested",
        /// Times that a sender was held back, because receivers had not read its messages.
        SenderHeld = "sender_held",

        /// RTCP that is malformed.
        RtcpMalformed = "rtcp_malformed",
        /// RTCP about streams or replicas that are not its sender's.
        RtcpNotTheirs = "rtcp_not_theirs",
        /// RTCP of a kind the agent does not use.
        RtcpIgnored = "rtcp_ignored",
        /// RTCP dropped unread, because its sender had sent too much of it.
        RtcpFlood = "rtcp_flood",
        /// Receivers' bandwidth estimates and transport-wide feedback.
        RtcpEstimate = "rtcp_estimate",

        /// Retransmissions asked of publishers, in packets.
        NackSent = "nack_sent",
        /// Packets given up: never repaired.
        LossGivenUp = "loss_given_up",
        /// Retransmissions receivers asked for, in packets.
        NackReceived = "nack_received",
        /// Of those, packets not sent: asked for again within a round trip, or beyond the budget.
        NackThrottled = "nack_throttled",
        /// Key frames asked of publishers.
        KeyFrameRequested = "key_frame_requested",
        /// Requests for key frames that were answered by an earlier one.
        KeyFrameThrottled = "key_frame_throttled",

        /// Subscriptions that were granted another encoding or layer than before.
        TargetChanged = "target_changed",
        /// Changes of the playout delay that a receiver with losses is told.
        PlayoutDelayChanged = "playout_delay_changed",
        /// Subscriptions paused for lack of room.
        VideoPaused = "video_paused",
        /// Subscriptions that went on again.
        VideoResumed = "video_resumed",
        /// Bursts of padding asked for, to find out whether a downlink carries more.
        ProbeSent = "probe_sent",
        /// Observations that were not reported, because there were too many of one subject.
        ObservationLost = "observation_lost",

        /// Streams that no publication explains (yet).
        StreamUnexplained = "stream_unexplained",
        /// Publications and subscriptions refused because there are too many.
        MediaFull = "media_full",
        /// Streams not forwarded because the data plane holds no more.
        StreamsFull = "streams_full",
        /// Subscriptions without media because the data plane holds no more replicas.
        ReplicasFull = "replicas_full",
        /// Publications and subscriptions on transports, and subscriptions to tracks, that are not
        /// there.
        MediaDangling = "media_dangling",
        /// Orders for ports of relayed calls that are not open.
        RelayDangling = "relay_dangling",
        /// Entries the data plane did not take.
        WriteRefused = "write_refused",
    }
}
