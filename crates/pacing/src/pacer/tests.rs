use proptest::prelude::*;

use super::*;

#[allow(clippy::disallowed_methods, reason = "tests start the clock")]
fn start() -> Instant {
    Instant::now()
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A pacer whose packets are named by their sizes, driven as a thread would: woken when it is due,
/// a little late.
struct Driven {
    pacer: Pacer<usize>,
    now: Instant,
    /// When, how many bytes, and the probe they were part of; padding is `PADDING` bytes.
    sent: Vec<(Instant, usize, Option<u32>)>,
}

const PADDING: usize = 290;

impl Driven {
    fn new(pace: u64) -> Self {
        let now = start();
        Driven {
            pacer: Pacer::new(now, pace),
            now,
            sent: Vec::new(),
        }
    }

    fn offer(&mut self, class: Class, bytes: usize) {
        match self.pacer.may_leave(self.now, class) {
            true => self.leave(bytes),
            false => self.pacer.push(self.now, class, bytes, bytes).unwrap(),
        }
    }

    fn leave(&mut self, bytes: usize) {
        let probe = self.pacer.left(self.now, bytes);
        self.sent.push((self.now, bytes, probe));
    }

    fn poll(&mut self) {
        while let Some(leave) = self.pacer.poll(self.now) {
            match leave {
                Leave::Packet(bytes) => self.leave(bytes),
                Leave::Padding => self.leave(PADDING),
            }
        }
    }

    /// Runs until `end`, waking up at the millisecond after each requested time. Returns the number
    /// of wake-ups.
    fn run_until(&mut self, end: Instant) -> usize {
        let mut wakes = 0;
        while let Some(due) = self.pacer.due().filter(|due| *due < end) {
            let late = due.saturating_duration_since(self.now).as_nanos().div_ceil(1_000_000);
            self.now += ms(late as u64);
            self.poll();
            wakes += 1;
            assert!(wakes < 10_000, "it spins: {:?}", self.pacer);
        }
        self.now = end;
        wakes
    }

    fn sent_within(&self, from: Instant, to: Instant) -> usize {
        let within = self.sent.iter().filter(|(at, ..)| (from..to).contains(at));
        within.map(|(_, bytes, _)| bytes).sum()
    }
}

#[test]
fn a_picture_leaves_at_the_pace() {
    let mut driven = Driven::new(1_000_000);
    let start = driven.now;
    (0..50).for_each(|_| driven.offer(Class::Video, 1000));
    driven.run_until(start + ms(1000));
    // 400 kbit at 1 Mbit/s, less the part that is sent at once.
    let last = driven.sent.last().unwrap().0;
    assert!((ms(385)..=ms(400)).contains(&(last - start)), "{:?}", last - start);
    for from in (0..360).step_by(40) {
        let bytes = driven.sent_within(start + ms(from), start + ms(from + 40));
        assert!((4000..=6000).contains(&bytes), "{bytes} bytes in 40 ms from {from} ms");
    }
}

#[test]
fn nothing_waits_for_longer_than_the_limit_and_the_pace_is_even() {
    let mut driven = Driven::new(100_000);
    let start = driven.now;
    (0..300).for_each(|_| driven.offer(Class::Video, 1000));
    driven.run_until(start + ms(2000));
    let last = driven.sent.last().unwrap().0 - start;
    assert!((ms(480)..=WAIT_MAX).contains(&last), "{last:?}");
    let half = driven.sent_within(start, start + ms(250));
    assert!((145_000..=158_000).contains(&half), "{half}");
}

#[test]
fn it_wakes_up_for_a_few_packets_at_a_time() {
    let mut driven = Driven::new(50_000_000);
    let start = driven.now;
    (0..1000).for_each(|_| driven.offer(Class::Video, 1200));
    let wakes = driven.run_until(start + ms(1000));
    // 9.6 Mbit at 50 Mbit/s take 192 ms.
    assert!(wakes <= 75, "{wakes}");
    let last = driven.sent.last().unwrap().0 - start;
    assert!((ms(185)..=ms(195)).contains(&last), "{last:?}");
}

#[test]
fn audio_does_not_wait_and_retransmissions_precede_video() {
    let mut driven = Driven::new(100_000);
    (0..10).for_each(|_| driven.offer(Class::Video, 1000));
    driven.offer(Class::Resend, 900);
    driven.offer(Class::Audio, 100);
    driven.run_until(driven.now + ms(400));
    let sizes: Vec<usize> = driven.sent.iter().map(|sent| sent.1).collect();
    assert_eq!(sizes[..4], [1000, 100, 900, 1000]);
}

#[test]
fn too_much_sound_starves_no_picture() {
    let mut driven = Driven::new(50_000);
    let start = driven.now;
    for step in 0..200 {
        driven.run_until(start + ms(step * 20));
        driven.offer(Class::Audio, 1000);
        driven.offer(Class::Video, 500);
    }
    driven.run_until(start + ms(4500));
    let videos = driven.sent.iter().filter(|sent| sent.1 == 500).count();
    assert_eq!(videos, 200);
    assert_eq!(driven.pacer.queued(), 0);
}

#[test]
fn a_new_pace_holds_at_once() {
    let mut driven = Driven::new(10_000);
    let start = driven.now;
    driven.offer(Class::Video, 1000);
    driven.offer(Class::Video, 1000);
    driven.now += ms(10);
    driven.pacer.set_pace(driven.now, 1_000_000);
    driven.run_until(start + ms(30));
    assert_eq!(driven.sent.len(), 2);
}

#[test]
fn a_probe_is_filled_up_with_padding_at_its_own_rate() {
    let mut driven = Driven::new(300_000);
    let start = driven.now;
    (0..4).for_each(|_| driven.offer(Class::Video, 1000));
    driven.pacer.probe(Probe {
        id: 7,
        rate: 2_000_000,
        bytes: 10_000,
        packets: 5,
    });
    driven.run_until(start + ms(20));
    driven.offer(Class::Audio, 200);
    driven.run_until(start + ms(1000));
    let probed: Vec<_> = driven.sent.iter().filter(|sent| sent.2 == Some(7)).collect();
    let bytes: usize = probed.iter().map(|sent| sent.1).sum();
    assert!((10_000..10_000 + PADDING).contains(&bytes), "{bytes}");
    let took = probed.last().unwrap().0 - probed[0].0;
    assert!((ms(37)..=ms(41)).contains(&took), "{took:?}");
    let sizes: Vec<usize> = probed.iter().map(|sent| sent.1).collect();
    assert_eq!(sizes[..4], [1000, 1000, 1000, PADDING]);
    assert!(sizes.contains(&200));
    assert_eq!(driven.pacer.due(), None);
}

#[test]
fn a_probe_that_makes_no_sense_delays_pictures_no_longer_than_anything() {
    let mut driven = Driven::new(1_000_000);
    let start = driven.now;
    driven.pacer.probe(Probe {
        id: 1,
        rate: 0,
        bytes: u32::MAX,
        packets: u32::MAX,
    });
    driven.poll();
    driven.offer(Class::Video, 1000);
    driven.run_until(start + ms(600));
    assert_eq!(
        driven.sent.last().map(|sent| (sent.0, sent.1)),
        Some((start + WAIT_MAX, 1000))
    );
}

#[test]
fn a_full_pacer_gives_packets_back() {
    let mut pacer = Pacer::new(start(), 1);
    let now = pacer.at;
    pacer.push(now, Class::Video, BYTES_MAX, 1).unwrap();
    assert_eq!(pacer.push(now, Class::Video, 1, 2), Err(Full(2)));
    assert_eq!(pacer.take(), Some(1));
    (0..PACKETS_MAX).for_each(|item| pacer.push(now, Class::Resend, 1, item).unwrap());
    assert_eq!(pacer.push(now, Class::Video, 1, 2), Err(Full(2)));
    pacer.retain(|item| *item == 5);
    assert_eq!((pacer.queued(), pacer.take(), pacer.take()), (1, Some(5), None));
}

proptest! {
    /// Any offered packets leave in order and within the limit, and the thread that waits for them
    /// never spins.
    #[test]
    fn everything_leaves_in_time_and_in_order(
        pace in 1_000u64..5_000_000,
        steps in prop::collection::vec((0u64..40, 0u8..10, 50usize..1200), 1..200),
    ) {
        let mut driven = Driven::new(pace);
        let mut offered = Vec::new();
        for (number, (wait, what, bytes)) in steps.into_iter().enumerate() {
            let wakes = driven.run_until(driven.now + ms(wait));
            prop_assert!(wakes <= 1 + wait as usize, "{} wakes in {} ms", wakes, wait);
            match what {
                0 => driven.pacer.set_pace(driven.now, pace / 2),
                1 => driven.pacer.probe(Probe { id: 1, rate: 2 * pace, bytes: bytes as u32, packets: 3 }),
                2 => driven.offer(Class::Audio, 10),
                3 => driven.offer(Class::Resend, 20),
                _ => {
                    // Sizes name packets.
                    let name = 1000 + number;
                    driven.offer(Class::Video, name);
                    offered.push((driven.now, name));
                }
            }
        }
        driven.run_until(driven.now + ms(600));
        let left: Vec<(Instant, usize)> = driven.sent.iter().filter(|sent| sent.1 >= 1000).map(|sent| (sent.0, sent.1)).collect();
        prop_assert_eq!(left.len(), offered.len());
        for ((left, name), (at, offered)) in left.into_iter().zip(offered) {
            prop_assert_eq!(name, offered);
            prop_assert!(left - at <= WAIT_MAX + ms(40));
        }
    }
}
