//! The counts of the fence.

use southbound::Refusal;

counting::counters! {
    /// Messages and notices that a fence refuses or drops.
    pub enum Counter {
        /// A message of a controller that a later one has followed as the owner of the room.
        Outdated = "outdated",
        /// A message of the second of two owners in one epoch.
        Taken = "taken",
        /// A message about a room that its controller has not claimed.
        Unclaimed = "unclaimed",
        /// A claim of a room more than the node can have.
        Full = "full",
        /// A part of a snapshot that is too long.
        LongPart = "long_part",
        /// A part more than a room can have.
        FullRoom = "full_room",
        /// A part more than the node can have.
        FullNode = "full_node",
        /// A notice about something that is no room's.
        Homeless = "homeless",
        /// A notice that tells no state, of a room whose owner is not connected.
        Dropped = "dropped",
        /// A message of a data channel that the node passed on to everybody that it was for.
        PassedOn = "passed_on",
        /// A message of a data channel that its sender repeated.
        Repeated = "repeated",
        /// A message of a data channel that its room's owner did not take, or not answer before it
        /// was gone.
        LostMessage = "lost_message",
        /// A message that was sent over a link to another node.
        Linked = "linked",
        /// A message that may be lost and that a link did not take, because it was broken or had
        /// too much to send.
        LinkCongested = "link_congested",
        /// A packet of a data track that was dropped for a later one, because its link had too much
        /// to send.
        LinkOutpaced = "link_outpaced",
        /// A message that came over a link, for endpoints of the node.
        LinkTaken = "link_taken",
        /// A message that came over a link a second time, or by a controller as well.
        LinkRepeated = "link_repeated",
        /// A message that came over a link which its sender had given up.
        LinkLate = "link_late",
        /// A message that came over a link for a room that its sender is not in.
        LinkStranger = "link_stranger",
        /// A packet that came over a link, of a data track that nobody here receives.
        LinkTrackless = "link_trackless",
        /// A message over a link that broke the protocol.
        LinkMalformed = "link_malformed",
        /// A message that came over a link and did not reach newcomers, because too many waited.
        LinkFull = "link_full",
        /// A message that a controller gets because its link has failed.
        LinkFailed = "link_failed",
        /// A message that somebody on another node has missed, and that does not go over the link
        /// because that has failed.
        LinkMissed = "link_missed",
        /// A message that its failed link has lost, because no controller takes it.
        LinkLost = "link_lost",
        /// A participant of another node more than a room can have.
        DistantFull = "distant_full",
        /// A command about a port of relayed calls, which no controller of rooms may give.
        Relay = "relay",
    }
}

impl From<Refusal> for Counter {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Outdated(_) => Counter::Outdated,
            Refusal::Taken => Counter::Taken,
            Refusal::Unclaimed => Counter::Unclaimed,
            Refusal::Full => Counter::Full,
            Refusal::LongPart => Counter::LongPart,
            Refusal::FullRoom => Counter::FullRoom,
            Refusal::FullNode => Counter::FullNode,
        }
    }
}
