//! State that every part of the agent may use while it handles one input.

pub(crate) mod handshake_queue;
pub(crate) mod protected_media;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::{Clock, DataPlane, Inject, LegId, Path, ReplicaId, Update, WriteError};
use rand::rngs::StdRng;
use southbound::{CloseReason, DtlsRole, Linked, Notice, PayloadFormat, TransportId};

use crate::config::Config;
use crate::counters::{Counter, Counters};
use crate::dtls::{HandshakeFailure, HandshakeFault};
use crate::ids::Ids;
use crate::ledger::Ledger;
use crate::limits::HANDSHAKE_FAILURES_MAX;
use crate::timers::{Timer, Timers};
use handshake_queue::HandshakeQueue;
use protected_media::ProtectedMedia;

/// Interval of routine work, done for many transports together: each round wakes the agent and the
/// workers once, for any number of transports.
const ROUTINE: Duration = Duration::from_millis(50);

/// State that outlives one input and belongs to no single part.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) rng: StdRng,
    pub(crate) timers: Timers,
    pub(crate) counters: Counters,
    /// Handshakes that wait to be computed.
    pub(crate) handshakes: HandshakeQueue,
    /// Media that arrived before the keys that open it.
    pub(crate) protected_media: ProtectedMedia,
    /// Handshakes that failed and are not logged yet.
    pub(crate) failures: VecDeque<HandshakeFailure>,
    /// Messages on their way from one peer to others.
    pub(crate) ledger: Ledger,
    /// Numbers for the legs of all transports.
    pub(crate) leg_ids: Ids,
}

/// One input's surroundings: when it is, and where results go.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) plane: &'a mut dyn DataPlane,
    pub(crate) out: &'a mut Vec<Notice>,
    pub(crate) shared: &'a mut Shared,
}

impl Context<'_> {
    /// Counts one more.
    pub(crate) fn count(&mut self, counter: Counter) {
        self.count_many(counter, 1);
    }

    /// Counts `many` more.
    pub(crate) fn count_many(&mut self, counter: Counter, many: u64) {
        self.shared.counters[counter] += many;
    }

    /// Counts a handshake that failed, and has it logged.
    pub(crate) fn handshake_failed(&mut self, from: Path, role: DtlsRole, fault: &HandshakeFault) -> CloseReason {
        self.count(match fault {
            HandshakeFault::Fingerprint => Counter::FingerprintMismatch,
            fault if fault.is_of_certificate() => Counter::CertificateRefused,
            _ => Counter::HandshakeFailed,
        });
        if self.shared.failures.len() < HANDSHAKE_FAILURES_MAX {
            self.shared.failures.push_back(HandshakeFailure {
                peer: from.remote,
                role,
                fault: fault.clone(),
            });
        }
        match fault {
            HandshakeFault::Fingerprint => CloseReason::Fingerprint,
            _ => CloseReason::Handshake,
        }
    }

    /// Writes a table entry. A refusal is counted: the tables then hold less than was asked, never
    /// something wrong.
    pub(crate) fn write(&mut self, update: Update) {
        // An error is counted; nothing else can be done about it.
        let _ = self.try_write(update);
    }

    /// Writes a new table entry, which may be one too many.
    pub(crate) fn try_write(&mut self, update: Update) -> Result<(), WriteError> {
        let result = self.plane.write(self.now, update);
        if result.is_err() {
            self.count(Counter::WriteRefused);
        }
        result
    }

    /// A number for a new leg.
    pub(crate) fn take_leg_id(&mut self) -> LegId {
        LegId(self.shared.leg_ids.take())
    }

    /// Takes the leg of a closed transport out of the table, after everything that used it.
    pub(crate) fn remove_leg(&mut self, leg: LegId) {
        self.write(Update::RemoveLeg(leg));
        self.shared.leg_ids.release(leg.0);
    }

    /// Tells the controller that an entry of this transport was not written, where that is a limit
    /// and not a peer's doing.
    pub(crate) fn refused(&mut self, transport: TransportId, error: WriteError, why: &str) {
        if error == WriteError::TableFull {
            self.notice(Notice::Refused {
                transport,
                why: why.into(),
            });
        }
    }

    /// Sends a datagram unchanged.
    pub(crate) fn send(&mut self, path: Path, bytes: &[u8]) {
        self.plane.inject(self.now, Inject::Datagram { path, bytes });
    }

    /// Sends compound RTCP over a leg.
    pub(crate) fn send_rtcp(&mut self, leg: LegId, bytes: &[u8]) {
        self.plane.inject(self.now, Inject::Rtcp { leg, bytes });
    }

    /// Has the data plane send something of a replica in place of media.
    pub(crate) fn fill(&mut self, replica: ReplicaId, format: &PayloadFormat, payload: &[u8]) {
        let fill = Inject::Fill {
            replica,
            payload_type: format.payload_type,
            clock_rate: format.codec.clock_rate(),
            payload,
        };
        self.plane.inject(self.now, fill);
    }

    /// Makes `timer` due at `at`.
    pub(crate) fn timer(&mut self, timer: Timer, at: Instant) {
        self.shared.timers.set(timer, at);
    }

    /// Makes `timer` due at `at` unless it is due earlier.
    pub(crate) fn timer_by(&mut self, timer: Timer, at: Instant) {
        self.shared.timers.set_by(timer, at);
    }

    /// Makes `timer` due at `at`, or soon after it with that of others.
    pub(crate) fn routine_timer(&mut self, timer: Timer, at: Instant) {
        self.timer(timer, self.round_from(at));
    }

    /// As [`routine_timer`](Self::routine_timer), unless it is due earlier.
    pub(crate) fn routine_timer_by(&mut self, timer: Timer, at: Instant) {
        self.timer_by(timer, self.round_from(at));
    }

    /// The first round at or after `at`.
    fn round_from(&self, at: Instant) -> Instant {
        let origin = self.shared.clock.origin;
        let (since, round) = (
            at.saturating_duration_since(origin).as_nanos() as u64,
            ROUTINE.as_nanos() as u64,
        );
        origin + Duration::from_nanos(since.div_ceil(round) * round)
    }

    /// Opens a message in the ledger and tells the controller of it.
    pub(crate) fn tell_received(
        &mut self,
        transport: TransportId,
        label: Arc<str>,
        payload: Arc<[u8]>,
        is_lossy: bool,
    ) {
        let message = self.shared.ledger.open(transport, payload.len(), is_lossy);
        self.notice(Notice::MessageReceived {
            transport,
            label,
            payload,
            message,
            reliable: !is_lossy,
            passed_on: None,
            linked: Linked::default(),
        });
    }

    /// Tells the controller.
    pub(crate) fn notice(&mut self, notice: Notice) {
        self.out.push(notice);
    }
}
