use wire::Ssrc;

use super::*;

const LAYER: Layer = Layer {
    spatial: 0,
    temporal: 1,
};

fn packet(at: Instant, layer: Option<Layer>, size: u16, ends_frame: bool) -> Arrival {
    Arrival {
        at,
        ssrc: Ssrc(1),
        sequence: 0,
        recovered: false,
        transport_sequence: None,
        size,
        audio_level: None,
        layer,
        ends_frame,
        needed_above: false,
    }
}

/// 1,000 bytes every 20 ms, every second one of them in layer T1.
fn feed(layer_bitrate: &mut LayerBitrate, start: Instant, millis: std::ops::Range<u64>) {
    for at in millis.step_by(20) {
        let layer = if at % 40 == 0 { Layer::default() } else { LAYER };
        layer_bitrate.arrived(&packet(start + Duration::from_millis(at), Some(layer), 1_000, true));
    }
}

/// Two sizes of 1,000 and 3,000 bytes every 20 ms. A key frame has ten times that.
fn feed_sizes(
    layer_bitrate: &mut LayerBitrate,
    start: Instant,
    millis: std::ops::Range<u64>,
    is_key: impl Fn(u64) -> bool,
    needed_above: impl Fn(u64) -> bool,
) {
    for at in millis.step_by(20) {
        for (spatial, size) in [(0, 1_000), (1, 3_000)] {
            let layer = Layer { spatial, temporal: 0 };
            let size = if is_key(at) { 10 * size } else { size };
            layer_bitrate.arrived(&Arrival {
                needed_above: spatial == 0 && needed_above(at),
                ..packet(start + Duration::from_millis(at), Some(layer), size, true)
            });
        }
    }
}

/// Bit rate of the smaller size that is sent with the larger one, in kbit/s, ten seconds after the
/// start.
fn needed_above(is_key: impl Fn(u64) -> bool, needed: impl Fn(u64) -> bool) -> u64 {
    let (mut layer_bitrate, start) = (LayerBitrate::default(), Instant::now());
    feed_sizes(&mut layer_bitrate, start, 0..10_000, is_key, needed);
    let measured = layer_bitrate
        .measured(start + Duration::from_secs(10))
        .expect("enough has come");
    assert_eq!(measured[1].needed_above, 0, "{measured:?}");
    assert!(measured[0].needed_above <= measured[0].rate, "{measured:?}");
    measured[0].needed_above / 1_000
}

#[test]
fn each_layer_has_its_own_rate_after_a_second() {
    let (mut layer_bitrate, start) = (LayerBitrate::default(), Instant::now());
    feed(&mut layer_bitrate, start, 0..1_000);
    assert_eq!(layer_bitrate.measured(start + Duration::from_millis(999)), None);
    feed(&mut layer_bitrate, start, 1_000..10_000);
    let measured = layer_bitrate.measured(start + Duration::from_secs(10)).unwrap();
    for layer in &measured {
        assert!((190_000..=210_000).contains(&layer.rate), "{measured:?}");
        assert!((24.0..=26.0).contains(&layer.frames), "{measured:?}");
    }
    assert_eq!(measured.len(), 2);
}

#[test]
fn larger_pictures_need_all_of_the_smaller_ones_or_their_key_frames() {
    let never = |_| false;
    assert_eq!(needed_above(never, never), 0);
    assert_eq!(needed_above(never, |_| true), 400);
    let one = |at| at == 8_000;
    assert_eq!(needed_above(one, one), 0, "a key frame that somebody asked for");
    let once = needed_above(one, |_| true);
    assert!((400..=440).contains(&once), "nor is that a much faster stream: {once}");
    let every_second = |at| at % 1_000 == 0;
    let kept = 10_000 * 8 / 2_000..=2 * 10_000 * 8 / 2_000;
    assert!(kept.contains(&needed_above(every_second, every_second)));
}

#[test]
fn a_stream_that_stops_has_no_rate_after_two_seconds_and_its_old_one_when_it_resumes() {
    let (mut layer_bitrate, start) = (LayerBitrate::default(), Instant::now());
    feed(&mut layer_bitrate, start, 0..5_000);
    layer_bitrate.restart(start + Duration::from_secs(60));
    let again = layer_bitrate.measured(start + Duration::from_millis(60_100)).unwrap();
    assert!((190_000..=210_000).contains(&again[0].rate), "{again:?}");
    let silent = layer_bitrate.measured(start + Duration::from_secs(70)).unwrap();
    assert!(silent.iter().all(|layer| layer.rate == 0));
}

#[test]
fn layers_are_bounded() {
    let (mut layer_bitrate, now) = (LayerBitrate::default(), Instant::now());
    for spatial in 0..=u8::MAX {
        layer_bitrate.arrived(&packet(now, Some(Layer { spatial, temporal: 0 }), 1, true));
    }
    assert_eq!(layer_bitrate.layers.len(), LAYERS_MAX);
}

#[test]
fn padding_is_no_part_of_a_stream_in_layers() {
    let (mut layer_bitrate, start) = (LayerBitrate::default(), Instant::now());
    for step in 0..300 {
        let at = start + Duration::from_millis(step * 10);
        layer_bitrate.arrived(&packet(at, None, 1_200, false));
        layer_bitrate.arrived(&packet(at, Some(Layer::default()), 100, true));
        layer_bitrate.arrived(&packet(at, None, 1_200, false));
    }
    let measured = layer_bitrate
        .measured(start + Duration::from_secs(3))
        .expect("enough has come");
    assert!(measured[0].rate < 100_000, "{measured:?}");
}

#[test]
fn a_stream_whose_layers_become_unreadable_is_measured_as_a_whole() {
    let (mut layer_bitrate, start) = (LayerBitrate::default(), Instant::now());
    feed(&mut layer_bitrate, start, 0..5_000);
    for at in (5_000..10_000).step_by(20) {
        layer_bitrate.arrived(&packet(start + Duration::from_millis(at), None, 1_000, true));
    }
    let mut at = |seconds| {
        layer_bitrate
            .measured(start + Duration::from_secs(seconds))
            .expect("enough has come")
    };
    let whole = at(10);
    assert_eq!(whole.len(), 1, "{whole:?}");
    assert!((390_000..=410_000).contains(&whole[0].rate), "{whole:?}");
    assert!((49.0..=51.0).contains(&whole[0].frames), "{whole:?}");
    feed(&mut layer_bitrate, start, 10_000..15_000);
    let mut at = |seconds| {
        layer_bitrate
            .measured(start + Duration::from_secs(seconds))
            .expect("enough has come")
    };
    assert_eq!(at(15).len(), 2, "its layers can be read again");
}

#[test]
fn frames_that_are_left_out_for_a_while_make_no_slower_stream() {
    let (mut layer_bitrate, start) = (LayerBitrate::default(), Instant::now());
    feed(&mut layer_bitrate, start, 0..8_000);
    for at in (8_000..10_000).step_by(80) {
        layer_bitrate.arrived(&packet(start + Duration::from_millis(at), Some(LAYER), 1_000, true));
    }
    let frames = |layer_bitrate: &mut LayerBitrate, seconds| {
        let measured = layer_bitrate
            .measured(start + Duration::from_secs(seconds))
            .expect("enough has come");
        let of = |layer| measured.iter().find(|it| it.layer == layer).expect("it came").frames;
        [of(Layer::default()), of(LAYER)]
    };
    assert_eq!(frames(&mut layer_bitrate, 10), [20.0, 22.5]);
    assert_eq!(frames(&mut layer_bitrate, 13), [0.0, 0.0], "none is no frame rate");
}
