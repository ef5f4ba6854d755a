//! Counters of the relay: requests refused, values ignored and attempts given up, by name.

counting::counters! {
    /// Everything the relay counts.
    pub enum Counter {
        /// Messages without a cookie, or with too long a one; not answered.
        CookieMissing = "cookie_missing",
        /// Messages whose cookie is not printable text, as of media; not answered.
        CookieRefused = "cookie_refused",
        /// Messages from a port of a call or another socket of this program; not answered.
        ControlFromMedia = "control_from_media",
        /// Requests answered again from memory.
        CookieRepeated = "cookie_repeated",
        /// `ng` payloads that are neither bencode nor JSON.
        NgMalformed = "ng_malformed",
        /// Unknown `ng` commands.
        NgUnknownCommand = "ng_unknown_command",
        /// `ng` commands that are known and not done.
        NgUnsupported = "ng_unsupported",
        /// `ng` requests that lack something, or have too long a name.
        NgIncomplete = "ng_incomplete",
        /// Keys and flags that are not known; ignored.
        FlagUnknown = "flag_unknown",
        /// Keys, flags and modifiers that are known and not done; ignored.
        FlagIgnored = "flag_ignored",
        /// rtpproxy commands that cannot be read.
        RtpproxyRefused = "rtpproxy_refused",
        /// Descriptions that cannot be read.
        SdpMalformed = "sdp_malformed",
        /// Descriptions that lack an address.
        SdpNoAddress = "sdp_no_address",
        /// Media addresses that are not to be sent to, in descriptions and flags; the request is
        /// refused.
        AddressRefused = "address_refused",
        /// Streams that are not relayed, because they would come back to their own port or reach an
        /// address that is refused.
        HopRefused = "hop_refused",
        /// Media sections that cannot be relayed; they are refused in the description.
        SectionNotRelayed = "section_not_relayed",
        /// Sections whose keys cannot be used, so that both sides could not be joined.
        KeysUnusable = "keys_unusable",
        /// Interfaces asked for that are not there; another one was used.
        InterfaceUnknown = "interface_unknown",
        /// Requests about calls that are not there.
        CallUnknown = "call_unknown",
        /// Calls refused because there are too many, or because the relay is to be replaced.
        CallsFull = "calls_full",
        /// Requests refused because a call has too many parties.
        DialoguesFull = "dialogues_full",
        /// Requests refused because no port was free.
        PortsExhausted = "ports_exhausted",
        /// Ports the media node could not open; another pair was taken.
        PortsRefused = "ports_refused",
        /// Requests not answered because too many waited for the media node.
        RequestsFull = "requests_full",
        /// Deleted calls that gave their ports back early, because none was free.
        PortsReclaimed = "ports_reclaimed",
        /// Calls without an answer that ended for others, because no port was free or there were
        /// too many calls.
        CallsEvicted = "calls_evicted",

        /// `ping` commands.
        Pings = "pings",
        /// `offer` commands, and `U`.
        Offers = "offers",
        /// `answer` commands, and `L`.
        Answers = "answers",
        /// `delete` commands, and `D`.
        Deletes = "deletes",
        /// `query` commands, and `Q`.
        Queries = "queries",
        /// `list` commands.
        Lists = "lists",
        /// `statistics` commands.
        StatisticsAsked = "statistics",
        /// Requests answered with an error, of both protocols.
        Errors = "errors",

        /// Calls begun.
        CallsBegun = "calls_begun",
        /// Calls of an earlier process that continue.
        CallsResumed = "calls_resumed",
        /// Calls of an earlier process that cannot continue: their ports are not ours any more, or
        /// are in other use.
        CallsNotResumed = "calls_not_resumed",
        /// Calls ended by a command.
        CallsEnded = "calls_ended",
        /// Calls ended because no media arrived.
        CallsMediaTimeout = "calls_media_timeout",
        /// Calls ended because they were on hold for too long.
        CallsSilentTimeout = "calls_silent_timeout",
        /// Calls ended because nobody answered.
        CallsOfferTimeout = "calls_offer_timeout",
        /// Addresses learned from packets.
        SourceLearned = "source_learned",
        /// Sources reported that were not to be learned.
        SourceRefused = "source_refused",
        /// Reports from the data plane about ports that are not in use.
        ReportStale = "report_stale",
        /// Requests that did not wait any longer for the media node.
        NodeSilent = "node_silent",

        /// Requests that were passed on to the machine of their call.
        PeerPassed = "peer_passed",
        /// Requests that another machine has answered.
        PeerAnswered = "peer_answered",
        /// Requests of other machines' proxies that were carried out here.
        PeerTaken = "peer_taken",
        /// Requests of other machines' proxies whose call is not here.
        PeerUnknown = "peer_unknown",
        /// Requests that a machine did not take, because the call is not there any more; it is
        /// looked for again.
        PeerDenied = "peer_denied",
        /// Requests that are placed anew because the connection of their machine is gone.
        PeerLost = "peer_lost",
        /// Requests refused because their machine did not answer in time.
        PeerTimeouts = "peer_timeouts",
        /// Requests refused because their machine is busy, gave no usable answer or was not found.
        PeerFailed = "peer_failed",
        /// Questions of other machines for a call.
        PeerAsked = "peer_asked",
        /// Calls that this machine and another one were about to begin, and that the other has.
        PeerRival = "peer_rival",
        /// Machines that did not say in time whether they have a call.
        PeerSilent = "peer_silent",
        /// Answers of other machines that nobody waits for any more.
        PeerStale = "peer_stale",
        /// Requests of other machines that are about no call, messages that do not belong there,
        /// and machines beyond the limit.
        PeerRefused = "peer_refused",
        /// Starts at which not all other machines were connected in time.
        PeersMissing = "peers_missing",
    }
}
