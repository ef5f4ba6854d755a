use operator::Observation;
use operator::observation::{Direction, SwitchCause};
use operator::receivers::{Limit, Usage};
use timeline::Cause;

use super::calls::{Call, START_MS};

#[test]
fn verdict_about_a_good_call_finds_nothing() {
    let mut call = Call::new();
    call.pass(60);
    let verdict = call.verdict();
    assert_eq!(verdict.findings, []);
    assert_eq!(
        verdict.summary,
        "nothing wrong was found: the downlink was estimated at 4.0 Mbit/s or more, 0 % of its packets and 0 % of \
         those of the uplink were lost"
    );
    assert_eq!((verdict.from_ms, verdict.to_ms), (START_MS, START_MS + 70_000));
}

#[test]
fn verdict_names_a_downlink_with_losses() {
    let mut call = Call::new();
    call.estimate(310_000, Limit::Loss, 40);
    call.switch(Some(2), 0, SwitchCause::Downlink);
    call.pass(126);
    call.switch(Some(0), 1, SwitchCause::Downlink);
    call.pass(1);
    call.estimate(3_000_000, Limit::Delay, 0);
    call.switch(Some(1), 2, SwitchCause::Downlink);
    call.pass(30);
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::Downlink, (10, 137)));
    assert_eq!(
        text,
        "small picture from ada: the downlink was estimated at 310 kbit/s after 4.0 % loss; the uplink was fine"
    );
}

#[test]
fn verdict_names_a_narrow_downlink_and_a_bad_uplink_beside_it() {
    let mut call = Call::new();
    call.note(Observation::Estimate {
        target_bps: 620_000,
        allocated_bps: 600_000,
        wanted_bps: 1_700_000,
        limit: Limit::Delay,
        usage: Usage::Over,
        loss_permille: 0,
        round_trip_ms: Some(400),
        queue_ms: 350,
    });
    call.switch(Some(2), 1, SwitchCause::Downlink);
    call.lose(Direction::Uplink, 50, 5);
    call.lose(Direction::Uplink, 50, 4);
    call.pass(5);
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::Downlink, (10, 17)));
    assert_eq!(
        text,
        "small picture from ada: the downlink was estimated at 620 kbit/s as packets waited up to 350 ms on it; the \
         uplink lost 9.0 %"
    );
}

#[test]
fn verdict_names_a_picture_that_was_paused() {
    let mut call = Call::new();
    call.estimate(60_000, Limit::Delay, 0);
    call.switch(Some(2), 0, SwitchCause::Downlink);
    call.pass(1);
    call.see(Observation::Pause { paused: true });
    call.pass(20);
    call.see(Observation::Pause { paused: false });
    call.pass(1);
    call.switch(None, 2, SwitchCause::Start);
    call.estimate(4_000_000, Limit::Delay, 0);
    call.pass(5);
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::Downlink, (11, 31)));
    assert!(
        text.starts_with("no picture from ada: the downlink was estimated at 60 kbit/s"),
        "{text}"
    );
}

#[test]
fn verdict_names_a_downlink_that_was_narrow_from_the_start() {
    let mut call = Call::joining();
    call.estimate(300_000, Limit::Start, 0);
    call.see(Observation::Subscribe);
    call.switch(None, 0, SwitchCause::Start);
    call.pass(2);
    call.estimate(250_000, Limit::Delay, 0);
    call.transport(operator::observation::TransportState::Connected);
    call.pass(40);
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::Downlink, (0, 42)));
    assert!(
        text.contains("estimated at 250 kbit/s") && text.contains("where 1.7 Mbit/s were wanted"),
        "{text}"
    );
}

#[test]
fn verdict_tells_a_small_window_from_a_small_link() {
    let mut call = Call::new();
    call.switch(Some(2), 0, SwitchCause::Request);
    call.pass(30);
    let (cause, span, text) = call.only_note();
    assert_eq!((cause, span), (Cause::Request, (10, 40)));
    assert_eq!(text, "small picture from ada: the client asked for no larger one");
}

#[test]
fn verdict_tells_a_publisher_that_sends_less() {
    let mut call = Call::new();
    call.switch(Some(2), 1, SwitchCause::Publisher);
    call.pass(30);
    call.switch(Some(1), 2, SwitchCause::Publisher);
    let (cause, span, text) = call.fault();
    assert_eq!((cause, span), (Cause::Publisher, (10, 40)));
    assert_eq!(text, "small picture from ada: the client of ada sent no larger one");
}

#[test]
fn verdict_ignores_moments_and_temporal_layers() {
    let mut call = Call::new();
    call.switch(Some(2), 1, SwitchCause::Downlink);
    call.pass(1);
    call.switch(Some(1), 2, SwitchCause::Downlink);
    let mut fewer_frames = super::calls::target(2);
    fewer_frames.temporal = Some(0);
    call.see(Observation::LayerSwitch {
        from: Some(super::calls::target(2)),
        to: fewer_frames,
        cause: SwitchCause::Downlink,
    });
    call.pass(30);
    assert_eq!(call.verdict().findings, []);
}
