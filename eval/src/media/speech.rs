use std::time::{Duration, Instant};

/// Opus packets of 20 ms.
pub const AUDIO_INTERVAL: Duration = Duration::from_millis(20);
/// Packets of 20 ms from one packet of a silent microphone to the next: Opus sends one every 400 ms
/// (DTX).
const SILENCE: u64 = 20;
/// How long a turn lasts, in packets: three seconds.
const TURN: u64 = 150;

/// The times when the owner of a microphone speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// All the time.
    Always,
    /// In turns, as people do: `at_once` of `of` at a time, this one in the given place.
    Turns {
        /// Its place in the row of speakers, from zero.
        place: u32,
        /// How many there are.
        of: u32,
        /// The number of publishers that speak at the same time.
        at_once: u32,
    },
}

impl Speech {
    /// Whether the packet with this number holds speech.
    fn speaks(self, number: u64) -> bool {
        match self {
            Self::Always => true,
            Self::Turns { place, of, at_once } => {
                let (place, of) = (u64::from(place), u64::from(of.max(1)));
                let turn = number / TURN % of;
                (place + of - turn) % of < u64::from(at_once)
            }
        }
    }
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Utterance {
    /// The 20 ms that it holds, counted from the start; by it timestamps advance.
    pub number: u64,
    /// Whether there is speech.
    pub speaking: bool,
    /// Whether speech begins here.
    pub begins: bool,
}

/// When a microphone's next packet is due.
#[derive(Clone, Debug)]
pub(crate) struct SpeechSchedule {
    speech: Speech,
    start: Instant,
    number: u64,
    spoke: bool,
}

impl SpeechSchedule {
    /// The first packet is due at `start`.
    pub(crate) fn new(speech: Speech, start: Instant) -> Self {
        Self {
            speech,
            start,
            number: 0,
            spoke: false,
        }
    }

    /// When the next packet is due.
    pub(crate) fn due(&self) -> Instant {
        // No run lasts 2^32 packets, which are two years.
        self.start + AUDIO_INTERVAL * self.number as u32
    }

    /// The packet to send now, if one is due.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Utterance> {
        if now < self.due() {
            return None;
        }
        let speaking = self.speech.speaks(self.number);
        let utterance = Utterance {
            number: self.number,
            speaking,
            begins: speaking && !self.spoke,
        };
        self.spoke = speaking;
        let until_turn = TURN - self.number % TURN;
        self.number += if speaking { 1 } else { SILENCE.min(until_turn) };
        Some(utterance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(speech: Speech, seconds: u64) -> Vec<Utterance> {
        let start = crate::clock::now();
        let mut schedule = SpeechSchedule::new(speech, start);
        (0..seconds * 200)
            .filter_map(|tick| schedule.poll(start + Duration::from_millis(5 * tick)))
            .collect()
    }

    #[test]
    fn continuous_speech_is_fifty_packets_a_second() {
        let sent = packets(Speech::Always, 10);
        assert_eq!(sent.len(), 500);
        assert_eq!(sent.iter().filter(|packet| packet.begins).count(), 1);
    }

    #[test]
    fn the_turns_go_round_and_the_silent_send_little() {
        for place in 0..5 {
            let (of, at_once) = (5, 2);
            let sent = packets(Speech::Turns { place, of, at_once }, 30);
            let spoken = sent.iter().filter(|packet| packet.speaking).count();
            assert_eq!(spoken, 600, "two of five speak twelve of thirty seconds");
            let silent = sent.len() - spoken;
            assert!((44..=50).contains(&silent), "{silent}");
            assert!(sent.windows(2).all(|pair| pair[0].number < pair[1].number));
        }
    }
}
