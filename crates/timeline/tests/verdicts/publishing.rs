use operator::Observation;
use operator::observation::Direction;
use timeline::Cause;

use super::calls::Call;

/// A call in which Ben publishes his camera in three encodings.
fn publishing() -> Call {
    let mut call = Call::new();
    call.own(Observation::Publish);
    call.own(Observation::Arrival { encodings: 7 });
    call.own(Observation::KeyFrameQuery { attempt: 1 });
    call.pass(10);
    call
}

#[test]
fn verdict_names_a_publisher_whose_picture_froze() {
    let mut call = publishing();
    call.own(Observation::Arrival { encodings: 0 });
    for attempt in [1, 2, 4, 8] {
        call.pass(2);
        call.own(Observation::KeyFrameQuery { attempt });
    }
    call.pass(2);
    call.own(Observation::Arrival { encodings: 7 });
    call.pass(20);
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::Publisher, (20, 30)));
    assert_eq!(text, "the client sent nothing of its picture, which is not muted");
}

#[test]
fn verdict_notes_what_nobody_waits_for_or_is_muted() {
    let mut call = publishing();
    call.own(Observation::Arrival { encodings: 0 });
    call.pass(20);
    assert_eq!(call.only_note().0, Cause::Publisher);
    let mut call = publishing();
    call.own(Observation::Mute { muted: true });
    call.own(Observation::Arrival { encodings: 0 });
    call.pass(20);
    call.own(Observation::Mute { muted: false });
    call.own(Observation::Arrival { encodings: 7 });
    call.pass(5);
    let (cause, span, text) = call.only_note();
    assert_eq!((cause, span), (Cause::Mute, (20, 40)));
    assert_eq!(text, "the participant had muted its picture");
}

#[test]
fn verdict_names_key_frames_that_do_not_come() {
    let mut call = publishing();
    for attempt in [1, 2, 4, 8, 16] {
        call.own(Observation::KeyFrameQuery { attempt });
        call.lose(Direction::Uplink, 100, 10);
    }
    call.pass(5);
    let faults = call.faults();
    let causes: Vec<_> = faults.iter().map(|fault| fault.cause).collect();
    assert!(
        causes.contains(&Cause::KeyFrames) && causes.contains(&Cause::Uplink),
        "{faults:?}"
    );
    let text = &faults
        .iter()
        .find(|fault| fault.cause == Cause::KeyFrames)
        .unwrap()
        .text;
    assert!(text.ends_with("asked 16 times; the uplink lost 10.0 %"), "{text}");
}

#[test]
fn verdict_names_a_picture_whose_decoder_asks_again_and_again() {
    let mut call = Call::new();
    for _ in 0..8 {
        call.see(Observation::KeyFrameRequest);
        call.lose(Direction::Downlink, 200, 2);
    }
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::KeyFrames, (10, 17)));
    assert!(
        text.starts_with("broken picture from ada: the client asked for 8 key frames"),
        "{text}"
    );
    let mut call = publishing();
    for _ in 0..8 {
        // Others ask for Ben's.
        call.own(Observation::KeyFrameRequest);
        call.pass(1);
    }
    assert_eq!(call.verdict().findings, []);
}

#[test]
fn verdict_names_permissions_that_were_taken() {
    let mut call = publishing();
    let permission = |publish| Observation::Permission {
        publish,
        subscribe: true,
        data: true,
    };
    call.note(permission(false));
    call.own(Observation::Unpublish);
    call.pass(5);
    call.note(permission(false));
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::Permission, (20, 20)));
    assert_eq!(
        text,
        "the participant may not publish any more: its permission was taken"
    );
}
