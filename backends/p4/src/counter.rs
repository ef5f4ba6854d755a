//! Counters of the driver. Those of the program are in [`VERDICTS`].

use dataplane::Counter as Meaning;

counting::counters! {
    /// Events of the driver.
    pub enum Counter {
        /// Connections to the switch on which this controller may write.
        Connected = "connected",
        /// Connections that were lost.
        Lost = "lost",
        /// Attempts to connect that failed.
        Unreachable = "unreachable",
        /// Times that another controller had the mastership.
        NotPrimary = "not_primary",
        /// Programs that were installed on the switch.
        Installed = "installed",
        /// Entries that the switch did not take.
        RefusedWrite = "refused_write",
        /// Entries on the switch that were not of this controller, or no longer. They were deleted.
        ForeignEntry = "foreign_entry",
        /// Leases that were not renewed in time, after which the base continued all replicas.
        LeaseOver = "lease_over",
        /// Requests for hardware addresses and echoes that were answered.
        NeighbourAnswered = "neighbour_answered",
        /// Packets to the switch itself that are not answered.
        NeighbourIgnored = "neighbour_ignored",
        /// Packets to be sent for which there was no room.
        PacketOutFull = "packet_out_full",
        /// Packets of the switch without the metadata of the program, or of an unknown reason.
        UnknownPacket = "unknown_packet",
        /// Structures that cannot be read, or of unknown streams.
        BadStructure = "bad_structure",
        /// Reports of numbers that cannot be read, or of unknown replicas.
        BadReport = "bad_report",
    }
}

/// The program's counters of single packets. Those of copies with a name of the
/// model count as the model's.
pub(crate) const VERDICTS: [&str; 24] = [
    "received",
    "forwarded",
    "malformed",
    "outside_target",
    "awaiting_key_frame",
    "before_switch",
    "too_late",
    "not_negotiated",
    "not_ready",
    "no_cell",
    "padding_only",
    "template_unknown",
    "structure",
    "deep_extension",
    "no_route",
    "to_host",
    "pruned",
    "punted",
    "fragment",
    "options",
    "checksum",
    "ttl",
    "no_ip",
    "mapped_address",
];

/// Verdicts about packets of a stream. The base sees all of these packets and counts them itself.
const SEEN_BY_BASE: [&str; 3] = ["received", "malformed", "padding_only"];

/// The model's counter of a verdict, if only the switch counts it.
pub(crate) fn meaning(verdict: &str) -> Option<Meaning> {
    let is_seen = SEEN_BY_BASE.contains(&verdict);
    let mut meanings = Meaning::ALL.iter().copied().filter(|_| !is_seen);
    meanings.find(|meaning| meaning.name() == verdict)
}
