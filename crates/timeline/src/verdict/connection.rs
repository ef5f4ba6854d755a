//! Signalling, transports, moves, and the end of sessions.

use operator::Observation;
use operator::observation::{LeaveReason, PathProtocol, TransportState};

use super::{Analysis, Cause, Severity};

/// Media that is not connected so long after joining has a fault.
const CONNECT_MS: u64 = 10_000;

/// The open ends of a participant's session.
#[derive(Default)]
struct Session {
    /// When it joined, until its media connects.
    joined: Option<u64>,
    /// Since when its media is cut off.
    cut: Option<u64>,
    /// Since when its signalling is gone.
    detached: Option<u64>,
    /// Whether an ICE pair was found.
    has_path: bool,
    /// Whether another one was found since its media is cut off.
    has_moved: bool,
    /// Since when its media goes over TCP.
    tcp: Option<u64>,
}

pub(super) fn find(analysis: &mut Analysis<'_>) {
    let mut session = Session::default();
    for entry in analysis.entries {
        session.take(analysis, entry.at_ms, entry.observation);
    }
    let end_ms = analysis.end_ms;
    session.end(analysis, end_ms);
}

impl Session {
    fn take(&mut self, analysis: &mut Analysis<'_>, at: u64, observation: Observation) {
        let mut fault = |cause, text: &str| analysis.add((at, at), Severity::Fault, cause, None, text.to_owned());
        match observation {
            Observation::Join => {
                self.end(analysis, at);
                *self = Session {
                    joined: Some(at),
                    ..Session::default()
                };
            }
            Observation::Path { protocol, .. } => {
                self.has_moved = self.has_path;
                self.has_path = true;
                match protocol {
                    PathProtocol::Tcp => _ = self.tcp.get_or_insert(at),
                    PathProtocol::Udp => self.end_tcp(analysis, at),
                }
            }
            Observation::Transport { state, .. } => match state {
                TransportState::Connected => {
                    self.joined = None;
                    self.end_cut(analysis, at);
                }
                TransportState::Disconnected => {
                    self.has_moved = false;
                    self.cut.get_or_insert(at);
                }
                TransportState::NeverConnected => {
                    self.joined = None;
                    fault(Cause::Transport, self.never_connected());
                }
                TransportState::ConsentExpired => {
                    self.end_cut(analysis, at);
                }
                TransportState::Handshake => {
                    self.joined = None;
                    fault(Cause::Dtls, "the DTLS handshake with the client failed");
                }
                TransportState::Fingerprint => {
                    self.joined = None;
                    fault(
                        Cause::Dtls,
                        "the client's certificate is not the one of its description",
                    );
                }
                TransportState::Peer => {}
            },
            Observation::Detach => _ = self.detached.get_or_insert(at),
            Observation::Reconnect => {
                if let Some(from) = self.detached.take() {
                    let text = "the signalling connection was gone until the client came back".to_owned();
                    analysis.add((from, at), Severity::Fault, Cause::Signalling, None, text);
                }
            }
            Observation::Move => {
                let text = "the participant moved to another media node, as its node drained".to_owned();
                analysis.add((at, at), Severity::Info, Cause::Move, None, text);
            }
            Observation::Refusal => fault(Cause::Limit, "a limit of the server was reached, which its log names"),
            Observation::Leave { reason } => {
                self.joined = self.joined.filter(|_| reason != LeaveReason::ConnectionTimeout);
                self.end(analysis, at);
                *self = Session::default();
                let (severity, cause, text) = end_of_session(reason);
                analysis.add((at, at), severity, cause, None, text.to_owned());
            }
            _ => {}
        }
    }

    /// Ends the findings that last.
    fn end(&mut self, analysis: &mut Analysis<'_>, at: u64) {
        if let Some(joined) = self.joined.take()
            && at.saturating_sub(joined) >= CONNECT_MS
        {
            let text = self.never_connected().to_owned();
            analysis.add((joined, at), Severity::Fault, Cause::Transport, None, text);
        }
        self.end_cut(analysis, at);
        self.end_tcp(analysis, at);
        if let Some(from) = self.detached.take() {
            let text = "the signalling connection was gone, and the client did not come back".to_owned();
            analysis.add((from, at), Severity::Fault, Cause::Signalling, None, text);
        }
    }

    fn end_cut(&mut self, analysis: &mut Analysis<'_>, at: u64) {
        if let Some(from) = self.cut.take() {
            let text = match self.has_moved {
                true => "media was cut off until the client came back from another address",
                false => "media was cut off: nothing came from the client",
            };
            analysis.add((from, at), Severity::Fault, Cause::Transport, None, text.to_owned());
        }
    }

    fn end_tcp(&mut self, analysis: &mut Analysis<'_>, at: u64) {
        if let Some(from) = self.tcp.take() {
            let text = "media went over TCP: UDP did not get through".to_owned();
            analysis.add((from, at), Severity::Info, Cause::Tcp, None, text);
        }
    }

    fn never_connected(&self) -> &'static str {
        match self.has_path {
            true => "media did not connect: a pair of addresses was found, and the DTLS handshake did not end",
            false => {
                "media did not connect: no pair of addresses worked, so the ports of media may be blocked for the client"
            }
        }
    }
}

fn end_of_session(reason: LeaveReason) -> (Severity, Cause, &'static str) {
    use Severity::{Fault, Info};
    match reason {
        LeaveReason::ClientInitiated => (Info, Cause::End, "the client left"),
        LeaveReason::DuplicateIdentity => (
            Info,
            Cause::End,
            "the session ended, as the same identity joined from elsewhere",
        ),
        LeaveReason::ServerShutdown => (Fault, Cause::End, "the session ended, as the server shut down"),
        LeaveReason::ParticipantRemoved => (Info, Cause::End, "an administrator removed the participant"),
        LeaveReason::RoomDeleted => (Info, Cause::End, "the session ended with its room"),
        LeaveReason::StateMismatch => (
            Fault,
            Cause::End,
            "the session ended, as client and server disagreed about it",
        ),
        LeaveReason::JoinFailure => (Fault, Cause::End, "the participant could not join"),
        LeaveReason::Migration => (Info, Cause::Move, "the participant was sent to another server"),
        LeaveReason::SignalClose => (
            Fault,
            Cause::Signalling,
            "the session ended, as the signalling connection was gone and the client did not come back",
        ),
        LeaveReason::ConnectionTimeout => (Fault, Cause::Transport, "the session ended, as media was not connected"),
        LeaveReason::MediaFailure => (Fault, Cause::Dtls, "the session ended, as media could not be secured"),
    }
}
