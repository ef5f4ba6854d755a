//! Sockets for transport-wide feedback, which is read in batches so that it does not wake a worker
//! one by one.

use std::time::{Duration, Instant};

use dataplane::Path;

use super::receive::Receiver;
use super::socket::Socket;
use crate::channel::FEEDBACK_DELAY;

/// How long the sockets are not polled once something has arrived, which is the longest wait of
/// feedback. Feedback contains the arrival times of packets, and the kernel stamps its own arrival.
/// The agent is told a few milliseconds later of all receivers' feedback at once. Feedback that has
/// waited here does not wait again.
const PAUSE: Duration = FEEDBACK_DELAY;

/// The shortest wait: a worker that is awake for something else after it reads them.
const PAUSE_MIN: Duration = PAUSE.checked_div(2).expect("two is not zero");

/// After so many in one pause the sockets stay paused once more, even if none arrived in the next.
const MANY: usize = 4;

/// The most batches read at a time, which bounds the work a hostile peer can cause.
const BATCHES_MAX: usize = 32;

/// A worker's sockets for feedback.
pub(super) struct FeedbackSockets {
    sockets: Vec<Socket>,
    receivers: Vec<Receiver>,
    /// Since when they are not polled; `None` while they are.
    paused: Option<Instant>,
    /// Whether the last sleep found something to read.
    has_data: bool,
    /// How many arrived before the last read.
    arrived: usize,
}

impl FeedbackSockets {
    pub(super) fn new(sockets: Vec<Socket>) -> Self {
        FeedbackSockets {
            receivers: sockets.iter().map(|_| Receiver::new()).collect(),
            sockets,
            paused: None,
            has_data: true,
            arrived: 0,
        }
    }

    /// Reads what has arrived, if it is time.
    pub(super) fn receive(&mut self, now: Instant, take: &mut impl FnMut(Instant, Path, &[u8])) -> (usize, u64) {
        let is_time = self
            .paused
            .is_some_and(|since| now.saturating_duration_since(since) >= PAUSE_MIN)
            || std::mem::take(&mut self.has_data);
        if !is_time {
            return (0, 0);
        }
        let (mut received, mut dropped) = (0, 0);
        for (socket, receiver) in self.sockets.iter().zip(&mut self.receivers) {
            receiver.expect(true);
            for _ in 0..BATCHES_MAX {
                let (datagrams, lost) = receiver.receive(socket, &mut *take);
                received += datagrams;
                dropped += u64::from(lost);
                if datagrams == 0 {
                    break;
                }
            }
        }
        let arrived = std::mem::replace(&mut self.arrived, received);
        self.paused = (received > 0 || arrived >= MANY).then_some(now);
        (received, dropped)
    }

    /// The sockets to poll in a sleep that starts at about `now`, and the longest sleep.
    pub(super) fn to_poll(&self, now: Instant, at_most: Option<Duration>) -> (&[Socket], Option<Duration>) {
        match self.paused {
            None => (&self.sockets, at_most),
            Some(since) => {
                let left = (since + PAUSE).saturating_duration_since(now);
                (&[], Some(at_most.map_or(left, |time| time.min(left))))
            }
        }
    }

    /// Tells whether the last sleep found something to read.
    pub(super) fn expect(&mut self, something: bool) {
        self.has_data |= something;
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn taken(feedback: &mut FeedbackSockets, now: Instant) -> usize {
        feedback
            .receive(now, &mut |_, _, datagram| assert_eq!(datagram, b"report"))
            .0
    }

    #[test]
    fn the_first_is_read_at_once_and_later_ones_together() {
        let socket = Socket::bind("127.0.0.1:0".parse().unwrap(), false, 1 << 20, 1 << 16).unwrap();
        let to = socket.local();
        let mut feedback = FeedbackSockets::new(vec![socket]);
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let report = || {
            peer.send_to(b"report", to).unwrap();
        };
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let minute = Some(Duration::from_secs(60));

        assert_eq!(taken(&mut feedback, start), 0);
        let (listened, at_most) = feedback.to_poll(start, minute);
        assert_eq!(
            (listened.len(), at_most),
            (1, minute),
            "nothing comes, so nobody wakes by the clock"
        );
        report();
        feedback.expect(true);
        assert_eq!(taken(&mut feedback, start), 1);

        (0..50).for_each(|_| report());
        let (listened, at_most) = feedback.to_poll(after(1), minute);
        assert_eq!((listened.len(), at_most), (0, Some(Duration::from_millis(19))));
        assert_eq!(feedback.to_poll(after(1), None).1, at_most);
        assert_eq!(feedback.to_poll(after(1), Some(Duration::ZERO)).1, Some(Duration::ZERO));
        feedback.expect(false);
        assert_eq!(taken(&mut feedback, after(9)), 0);
        assert_eq!(taken(&mut feedback, after(10)), 50, "by who is awake anyway");

        assert_eq!(taken(&mut feedback, after(30)), 0);
        assert_eq!(feedback.to_poll(after(30), minute).0.len(), 0, "many came lately");
        assert_eq!(taken(&mut feedback, after(50)), 0);
        assert_eq!(
            feedback.to_poll(after(50), minute).0.len(),
            1,
            "it was quiet for so long"
        );
    }
}
