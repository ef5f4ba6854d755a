use operator::Observation;
use operator::observation::{Direction, LeaveReason, PathProtocol, TransportState};
use operator::receivers::{Limit, Usage};
use timeline::{Cause, Severity};

use super::calls::Call;

#[test]
fn verdict_names_media_ports_that_are_blocked() {
    let mut call = Call::joining();
    call.pass(15);
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::Transport, (0, 15)));
    assert!(text.contains("no pair of addresses worked"), "{text}");
    call.transport(TransportState::NeverConnected);
    call.note(Observation::Leave {
        reason: LeaveReason::ConnectionTimeout,
    });
    call.has_left = true;
    let causes: Vec<_> = call.faults().iter().map(|fault| fault.cause).collect();
    assert_eq!(causes, [Cause::Transport, Cause::Transport]);
}

#[test]
fn verdict_names_a_handshake_that_failed() {
    let mut call = Call::joining();
    call.path("203.0.113.7:40000", PathProtocol::Udp);
    call.pass(12);
    assert!(call.fault().2.contains("the DTLS handshake did not end"));
    call.transport(TransportState::Handshake);
    let (cause, _, text) = call.fault();
    assert_eq!(cause, Cause::Dtls);
    assert_eq!(text, "the DTLS handshake with the client failed");
}

#[test]
fn verdict_names_a_change_of_address_and_silence() {
    let mut call = Call::new();
    call.transport(TransportState::Disconnected);
    call.pass(6);
    call.path("198.51.100.9:50000", PathProtocol::Udp);
    call.transport(TransportState::Connected);
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::Transport, (10, 16)));
    assert_eq!(
        text,
        "media was cut off until the client came back from another address"
    );
    let mut call = Call::new();
    call.transport(TransportState::Disconnected);
    call.pass(8);
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::Transport, (10, 18)));
    assert_eq!(text, "media was cut off: nothing came from the client");
}

#[test]
fn verdict_notes_that_media_goes_over_tcp() {
    let mut call = Call::joining();
    call.path("203.0.113.7:40000", PathProtocol::Tcp);
    call.transport(TransportState::Connected);
    call.pass(60);
    let (cause, span, text) = call.only_note();
    assert_eq!((cause, span), (Cause::Tcp, (0, 60)));
    assert_eq!(text, "media went over TCP: UDP did not get through");
}

#[test]
fn verdict_names_signalling_that_was_gone() {
    let mut call = Call::new();
    call.note(Observation::Detach);
    call.pass(4);
    call.note(Observation::Reconnect);
    call.pass(60);
    let (cause, span, _) = call.fault();
    assert_eq!((cause, span), (Cause::Signalling, (10, 14)));
}

#[test]
fn verdict_names_the_end_of_the_session() {
    for (reason, severity, cause) in [
        (LeaveReason::ClientInitiated, Severity::Info, Cause::End),
        (LeaveReason::ParticipantRemoved, Severity::Info, Cause::End),
        (LeaveReason::ServerShutdown, Severity::Fault, Cause::End),
        (LeaveReason::SignalClose, Severity::Fault, Cause::Signalling),
        (LeaveReason::MediaFailure, Severity::Fault, Cause::Dtls),
    ] {
        let mut call = Call::new();
        call.note(Observation::Leave { reason });
        call.has_left = true;
        call.pass(500);
        let findings = call.verdict().findings;
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!((findings[0].severity, findings[0].cause), (severity, cause));
        assert_eq!(findings[0].from_ms, findings[0].to_ms);
    }
}

#[test]
fn verdict_names_losses_in_both_directions_and_no_single_ones() {
    for (direction, cause) in [
        (Direction::Uplink, Cause::Uplink),
        (Direction::Downlink, Cause::Downlink),
    ] {
        let mut call = Call::new();
        for _ in 0..10 {
            call.lose(direction, 100, 5);
        }
        call.pass(30);
        let (found, span, text) = call.fault();
        assert_eq!((found, span), (cause, (9, 19)));
        assert!(text.ends_with("lost 5.0 % of its packets (50 of 1000)"), "{text}");
    }
    let mut call = Call::new();
    call.lose(Direction::Uplink, 100, 50);
    for _ in 0..60 {
        call.lose(Direction::Downlink, 1_000, 10);
    }
    assert_eq!(call.verdict().findings, []);
}

#[test]
fn verdict_names_a_long_way_and_no_long_queue() {
    let far = |round_trip_ms, queue_ms| {
        let mut call = Call::new();
        for _ in 0..4 {
            call.note(Observation::Estimate {
                target_bps: 4_000_000,
                allocated_bps: 1_700_000,
                wanted_bps: 1_700_000,
                limit: Limit::Delay,
                usage: Usage::Normal,
                loss_permille: 0,
                round_trip_ms: Some(round_trip_ms),
                queue_ms,
            });
            call.pass(10);
        }
        call
    };
    let (cause, span, text) = far(640, 20).fault();
    assert_eq!((cause, span), (Cause::Distance, (10, 40)));
    assert!(text.contains("up to 620 ms"), "{text}");
    assert_eq!(far(640, 600).verdict().findings, []);
}

#[test]
fn verdict_names_limits_of_the_server() {
    let mut call = Call::new();
    call.note(Observation::Refusal);
    assert_eq!(call.fault().0, Cause::Limit);
}
