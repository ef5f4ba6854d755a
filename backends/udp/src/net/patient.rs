//! Sockets whose datagrams may wait a little, so that they do not wake a worker one by one.

use std::time::{Duration, Instant};

use dataplane::Path;

use super::receive::Receiver;
use super::socket::Socket;
use crate::shard::notes::REPORT_PATIENCE;

/// How long they are not listened to once something has come, which is how long a report waits at
/// most. It says when packets arrived, and the kernel when it did itself; who decides by it hears
/// of it a few milliseconds later, of all receivers' reports at once: what has waited here is not
/// made to wait again.
const PAUSE: Duration = REPORT_PATIENCE;

/// How long at least: whoever is awake for something else from then on takes them, and need not be
/// woken for them.
const PAUSE_MIN: Duration = PAUSE.checked_div(2).expect("two is not zero");

/// Where so many came in one pause more will come, even if none did in the next.
const MANY: usize = 4;

/// How many batches are taken at a time: so much that it is all there is, unless somebody means
/// ill.
const BATCHES_MAX: usize = 32;

/// A worker's sockets for what may wait.
pub(super) struct Patient {
    sockets: Vec<Socket>,
    receivers: Vec<Receiver>,
    /// Since when they are not listened to; `None` while they are.
    paused: Option<Instant>,
    /// Whether they were heard.
    heard: bool,
    /// How many came before the last look.
    came: usize,
}

impl Patient {
    pub(super) fn new(sockets: Vec<Socket>) -> Self {
        Patient {
            receivers: sockets.iter().map(|_| Receiver::new()).collect(),
            sockets,
            paused: None,
            heard: true,
            came: 0,
        }
    }

    /// Takes what has come, if it is time.
    pub(super) fn receive(&mut self, now: Instant, take: &mut impl FnMut(Instant, Path, &[u8])) -> (usize, u64) {
        let is_time = self
            .paused
            .is_some_and(|since| now.saturating_duration_since(since) >= PAUSE_MIN)
            || std::mem::take(&mut self.heard);
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
        let came = std::mem::replace(&mut self.came, received);
        self.paused = (received > 0 || came >= MANY).then_some(now);
        (received, dropped)
    }

    /// Which of them to listen to for somebody who goes to sleep at about `now`, and how long to
    /// sleep at most.
    pub(super) fn listens(&self, now: Instant, at_most: Option<Duration>) -> (&[Socket], Option<Duration>) {
        match self.paused {
            None => (&self.sockets, at_most),
            Some(since) => {
                let left = (since + PAUSE).saturating_duration_since(now);
                (&[], Some(at_most.map_or(left, |time| time.min(left))))
            }
        }
    }

    /// Whoever listened has heard something, or not.
    pub(super) fn expect(&mut self, something: bool) {
        self.heard |= something;
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn taken(patient: &mut Patient, now: Instant) -> usize {
        patient
            .receive(now, &mut |_, _, datagram| assert_eq!(datagram, b"report"))
            .0
    }

    #[test]
    fn the_first_is_heard_at_once_and_those_behind_it_together() {
        let socket = Socket::bind("127.0.0.1:0".parse().unwrap(), false, 1 << 20, 1 << 16).unwrap();
        let to = socket.local();
        let mut patient = Patient::new(vec![socket]);
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let report = || {
            peer.send_to(b"report", to).unwrap();
        };
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let minute = Some(Duration::from_secs(60));

        assert_eq!(taken(&mut patient, start), 0);
        let (listened, at_most) = patient.listens(start, minute);
        assert_eq!(
            (listened.len(), at_most),
            (1, minute),
            "nothing comes, so nobody wakes by the clock"
        );
        report();
        patient.expect(true);
        assert_eq!(taken(&mut patient, start), 1);

        (0..50).for_each(|_| report());
        let (listened, at_most) = patient.listens(after(1), minute);
        assert_eq!((listened.len(), at_most), (0, Some(Duration::from_millis(19))));
        assert_eq!(patient.listens(after(1), None).1, at_most);
        assert_eq!(patient.listens(after(1), Some(Duration::ZERO)).1, Some(Duration::ZERO));
        patient.expect(false);
        assert_eq!(taken(&mut patient, after(9)), 0);
        assert_eq!(taken(&mut patient, after(10)), 50, "by who is awake anyway");

        assert_eq!(taken(&mut patient, after(30)), 0);
        assert_eq!(patient.listens(after(30), minute).0.len(), 0, "many came lately");
        assert_eq!(taken(&mut patient, after(50)), 0);
        assert_eq!(
            patient.listens(after(50), minute).0.len(),
            1,
            "it was quiet for so long"
        );
    }
}
