//! Other traffic: other protocols, strangers, garbage; and datagrams that the agent injects.

use dataplane::Path;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom;
use wire::PayloadType;

use super::Srtp;
use super::tables::Tables;
use crate::step::path_of;
use crate::{Injection, Send, Step};

impl Tables {
    /// A datagram that is not media in order.
    pub(crate) fn noise(&mut self, rng: &mut StdRng) -> Option<Step> {
        let path = self.somewhere(rng)?;
        let mut bytes: Vec<u8> = match rng.random_range(0..6) {
            // STUN, DTLS, RTCP by their first bytes; the device does not look further.
            0 => vec![0, 1, 0, 0],
            1 => vec![22, 0xfe, 0xfd],
            2 => {
                let ssrc = self.rtcp_ssrc_at(rng, path).to_be_bytes();
                [[0x80, rng.random_range(192..224), 0, 1], ssrc].concat()
            }
            // An RTP header of an unknown stream, or of none.
            3 => vec![0x80, rng.random(), 0, 1, 0, 0, 0, 0, 0, 0, 0, rng.random_range(0..3)],
            4 => vec![rng.random_range(128..192), rng.random_range(0..192)],
            _ => Vec::new(),
        };
        let len = rng.random_range(0..30);
        bytes.extend((0..len).map(|_| rng.random::<u8>()));
        let tampered = rng.random_bool(0.05);
        Some(Step::Send(Send { path, bytes, tampered }))
    }

    /// Something the agent made.
    pub(crate) fn inject(&mut self, rng: &mut StdRng) -> Option<Step> {
        let mut bytes = vec![0x80, 0xc9, 0, 1, 0, 0, 0, rng.random()];
        // Histories without keys are for offloads too, which fill nothing.
        let kinds = if self.srtp == Srtp::Mixed { 6 } else { 4 };
        Some(Step::Inject(match rng.random_range(0..kinds) {
            0 => Injection::Datagram(self.somewhere(rng)?, vec![1, 1, 0, 0, rng.random()]),
            1 => Injection::Probe {
                leg: self.random_leg(rng)?,
                probe: rng.random(),
                rate: 1_000_000,
                // Sealed packets are larger, so fewer of them may do.
                bytes: match self.srtp {
                    Srtp::Never => rng.random_range(0..2_000),
                    Srtp::Mixed => 0,
                },
                packets: rng.random_range(0..5),
            },
            4.. => Injection::Fill {
                replica: self.random_replica(rng)?,
                payload_type: PayloadType::new(109).expect("below 128"),
                clock_rate: [48_000, 90_000][rng.random_range(0..2)],
                payload: if rng.random() {
                    vec![0xf8, 0xff, 0xfe]
                } else {
                    Vec::new()
                },
            },
            _ => {
                let leg = self.random_leg(rng)?;
                if let Some(ssrc) = self.legs[&leg].shared {
                    bytes[4..].copy_from_slice(&ssrc.0.to_be_bytes());
                }
                Injection::Rtcp(leg, bytes)
            }
        }))
    }

    /// The SSRC of a peer's RTCP: mostly of one whose leg shares the path, if there is such a leg.
    fn rtcp_ssrc_at(&self, rng: &mut StdRng, path: Path) -> u32 {
        let mut known = self.ssrcs_at(path);
        known.retain(|(leg, _)| self.legs[leg].shared.is_some());
        let known = known.into_iter().choose(rng);
        known.filter(|_| rng.random_bool(0.8)).map_or(7, |(_, ssrc)| ssrc.0)
    }

    /// A leg's address, or now and then a stranger's.
    fn somewhere(&mut self, rng: &mut StdRng) -> Option<Path> {
        match rng.random_bool(0.2) {
            true => Some(path_of(900 + rng.random_range(0..5))),
            false => {
                let leg = self.random_leg(rng)?;
                self.path_from(rng, leg)
            }
        }
    }
}
