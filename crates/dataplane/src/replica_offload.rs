//! Devices in front of a base that send some of its replicas.

use std::sync::Arc;
use std::time::Instant;

use crate::{
    Answer, Counters, Event, LegId, Refused, ReplicaId, ReplicaSnapshot, ReplicaStatistics, Statistics, StreamKey,
    StreamStatistics, Update, WriteId, Written,
};

/// A replica that an offload could send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which replica.
    pub replica: ReplicaId,
    /// Whether the offload begins with a key frame, as of
    /// [`Inject::Release`](crate::Inject::Release). Otherwise it continues with the next packet,
    /// which it can only where packets do not name the frames they depend on. The layer reports
    /// that the replica waits for the key frame ([`Event::Selected`]) once the offload sends it.
    pub at_key_frame: bool,
}

/// A device that sends some of a base's replicas before their packets reach the base.
pub trait ReplicaOffload {
    /// Offers a leg, a stream or a replica that the base has, or reports the removal of one that
    /// the base still has. Never a relay.
    ///
    /// After `Ok` the entry is here; [`sends`](Self::sends) tells whether a replica is sent from
    /// here. After an error it is not, and an earlier value is removed from here. A removal is
    /// never refused. A device that answers later refuses a replica as [`Refused::Pending`], so
    /// that the base sends it, and names it in [`next_candidate`](Self::next_candidate) once it is
    /// written.
    fn offer(&mut self, now: Instant, update: &Update) -> Result<(), Refused>;

    /// The next event, as of a [`DataPlane`](crate::DataPlane).
    fn poll(&mut self) -> Option<Event>;

    /// The sum of all counters so far. They cover packets that did not reach the base, which counts
    /// the others.
    fn counters(&mut self) -> Counters;

    /// Whether a replica is sent from here, so that the base must not send it. Its stream's packets
    /// may still reach the base, for other replicas of it.
    fn sends(&self, replica: ReplicaId) -> bool;

    /// The state from which the base continues a replica, after packets of it were sent from here.
    /// `None` if none were, or if it is still here.
    fn snapshot(&self, replica: ReplicaId) -> Option<ReplicaSnapshot>;

    /// A replica that the base sends and that could be sent from here, as far as is known here.
    /// Each is named once, and room is kept for it until [`take_over`](Self::take_over) is called,
    /// or it is removed.
    fn next_candidate(&mut self) -> Option<Candidate>;

    /// Continues a replica where the base stopped, or not if that state is unknown. The state of a
    /// candidate that begins at a key frame has no source. Its leg's next packet has this
    /// transport-wide number, if they are not numbered here yet. The base sends no more of the
    /// replica after [`Answer::Taken`], and continues it after [`Answer::Refused`], with a key
    /// frame if the state has no source.
    /// After [`Answer::Pending`] neither sends it until [`next_written`](Self::next_written)
    /// reports the outcome, so a device should do as much as possible before it names a candidate.
    fn take_over(
        &mut self,
        write: WriteId,
        replica: ReplicaId,
        from: Option<ReplicaSnapshot>,
        transport_sequence: u16,
    ) -> Answer;

    /// The next outcome of a pending [`take_over`](Self::take_over), in any order. Each is reported
    /// once, as [`Refused::Gone`] where the device no longer answers.
    fn next_written(&mut self) -> Option<Written> {
        None
    }

    /// Ends a pending take-over that was not answered in time. The base continues the replica, from
    /// its [`snapshot`](Self::snapshot) if there is one. A device that has begun to send it, or
    /// begins to, stops. The replica's entry stays, and it may be named as a candidate again after
    /// the answer, whose outcome has no effect.
    fn withdraw(&mut self, _replica: ReplicaId) {}

    /// The next replica that was sent from here and no longer is, for another reason than a write:
    /// for instance, the device is gone. The base continues it, from its
    /// [`snapshot`](Self::snapshot) if there is one.
    fn next_returned(&mut self) -> Option<ReplicaId> {
        None
    }

    /// Packets of a replica that is sent from here, which its receiver asks for again, by the
    /// replica's numbers. No packets are stored here: requests for the publisher are reported as an
    /// [`Event::NackUpstream`], and the receiver is remembered.
    fn nack(&mut self, now: Instant, replica: ReplicaId, sequences: &[u16]);

    /// A leg whose packets get their sending times and transport-wide numbers here from this call
    /// on, each named once. The base must write neither into its packets to the leg, because only
    /// one side can count.
    fn next_stamped(&mut self) -> Option<LegId> {
        None
    }

    /// Whether packets that are sent from here carry transport-wide numbers, where their leg has an
    /// id for them.
    fn writes_transport_numbers(&self) -> bool {
        true
    }

    /// Whether RTCP can be forwarded here: [`Update::SetFeedback`] is offered only then, and is no
    /// business of the base if it is taken.
    fn forwards_rtcp(&self) -> bool {
        false
    }

    /// Starts a probe of a leg, as of [`Inject::Probe`](crate::Inject::Probe); false if the leg's
    /// packets are not numbered here, and the base is to probe.
    fn probe(&mut self, _leg: LegId, _probe: u32, _rate: u64, _bytes: u32, _packets: u32) -> bool {
        false
    }

    /// The counts of a replica that is sent from here, or was: a sender report tells all packets of
    /// an SSRC since its first, wherever they were sent (RFC 3550 section 6.4.1).
    fn replica_statistics(&self, replica: ReplicaId) -> Option<ReplicaStatistics>;

    /// The arrivals of a stream of which replicas are sent from here.
    fn stream_statistics(&self, stream: StreamKey) -> Option<StreamStatistics>;

    /// The name of the place, for operators.
    fn name(&self) -> &'static str {
        "offload"
    }

    /// The numbers and places that operators see.
    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        Vec::new()
    }
}
