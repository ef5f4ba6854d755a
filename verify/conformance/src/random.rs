//! Random histories: tables that grow and change, senders that behave like real ones, and a network
//! that does not.
//!
//! A history is a pure function of its seed and its [`Options`], so a seed is a test.

mod entries;
mod feedback;
mod handed_over;
mod layers;
mod noise;
mod plain;
mod relays;
mod rewriting;
mod sender;
mod tables;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::{Injection, Step};
pub use feedback::with_feedback;
pub use handed_over::handed_over;
pub use plain::{of_formats, plain};
pub use relays::{RelayOptions, relay_history};
pub use rewriting::{disturbed, numbered};
use tables::Tables;

/// The kind of history to make.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many steps.
    pub steps: usize,
    /// Whether legs have keys, and how many of them.
    pub srtp: Srtp,
    /// The behaviour of the network.
    pub network: Network,
    /// Whether legs may share a path, which then are told apart by SSRCs.
    pub shares_paths: bool,
}

/// The behaviour of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Loses, repeats, delays and damages packets; legs are added and removed.
    Rough,
    /// Delivers everything in order to permanent legs, from streams in layers: only the device
    /// leaves packets out.
    Clean,
    /// Loses, repeats and delays packets of streams that name their layers in dependency
    /// descriptors, which have one id on all legs.
    ///
    /// So that a device without a record of frames can select like one with it, key pictures
    /// arrive in order. Those in several sizes also arrive whole, as do frames that larger ones are
    /// predicted from. A sender changes its sizes with key pictures only, and targets change
    /// between two pictures.
    Described,
}

impl Network {
    /// Whether streams have layers, and senders make no mistakes.
    fn is_layered(self) -> bool {
        self != Network::Rough
    }
}

/// Which legs have keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Srtp {
    /// None.
    Never,
    /// About two of three, with any profile.
    Mixed,
}

/// The history of a seed.
pub fn history(seed: u64, options: Options) -> Vec<Step> {
    let mut make = Generator {
        rng: StdRng::seed_from_u64(seed),
        tables: Tables::new(options),
        steps: Vec::with_capacity(options.steps + 8),
    };
    make.opening();
    while make.steps.len() < options.steps {
        make.next();
    }
    make.steps
}

struct Generator {
    rng: StdRng,
    tables: Tables,
    steps: Vec<Step>,
}

impl Generator {
    /// A few legs, streams and replicas, so that there is something to see early.
    fn opening(&mut self) {
        for _ in 0..self.rng.random_range(2..5) {
            self.steps.extend(self.tables.new_leg(&mut self.rng));
        }
        for _ in 0..self.rng.random_range(1..4) {
            self.steps.extend(self.tables.new_stream(&mut self.rng));
        }
        for _ in 0..self.rng.random_range(2..6) {
            self.steps.extend(self.tables.new_replica(&mut self.rng));
        }
    }

    fn next(&mut self) {
        let (rng, tables) = (&mut self.rng, &mut self.tables);
        let steps = &mut self.steps;
        if tables.network.is_layered() {
            match rng.random_range(0..100) {
                0..92 => tables.media(rng, steps),
                92..94 => steps.push(Step::Wait(std::time::Duration::from_millis(20))),
                _ => steps.extend(tables.change_selection(rng)),
            }
            return;
        }
        match rng.random_range(0..1000) {
            0..780 => tables.media(rng, steps),
            780..830 => {
                let time = std::time::Duration::from_micros(rng.random_range(1..60_000));
                // One in twenty is longer than early packets are kept.
                let is_long = time.as_millis() >= 57;
                steps.push(Step::Wait(if is_long { 10 * time } else { time }));
            }
            830..880 => steps.extend(tables.resend(rng)),
            880..910 => steps.extend(tables.noise(rng)),
            910..920 => steps.extend(tables.random_leg(rng).map(|leg| Step::Inject(Injection::Report(leg)))),
            920..930 => steps.extend(tables.inject(rng)),
            930..985 => steps.extend(tables.change(rng)),
            _ => steps.extend(tables.refused(rng)),
        }
    }
}

#[cfg(test)]
mod tests {
    use dataplane::Update;

    use super::*;
    use crate::leg_table::LegTable;
    use crate::text::{Statement, parse, print_history};

    #[test]
    fn a_history_is_a_function_of_its_seed() {
        let options = Options {
            steps: 200,
            srtp: Srtp::Mixed,
            network: Network::Rough,
            shares_paths: true,
        };
        assert_eq!(history(7, options), history(7, options));
        assert_ne!(history(7, options), history(8, options));
    }

    /// How many packets arrive on legs that share a path, and how many legs come to another's path.
    fn shared(options: Options) -> (usize, usize) {
        let (mut packets, mut together) = (0, 0);
        for seed in 0..30 {
            let mut legs = LegTable::default();
            for step in history(seed, options) {
                match step {
                    Step::Write(update) => {
                        if let Update::SetLeg(id, leg) = &update
                            && legs.entry(*id).is_none()
                        {
                            together += usize::from(leg.paths.iter().any(|path| legs.at(*path).is_some()));
                        }
                        legs.apply(&update);
                    }
                    Step::Send(send) => {
                        let leg = legs.of_arrival(send.path, &send.bytes);
                        let entry = leg.and_then(|leg| legs.entry(leg));
                        packets += usize::from(entry.is_some_and(|entry| entry.shared.is_some()));
                    }
                    _ => {}
                }
            }
        }
        (packets, together)
    }

    #[test]
    fn histories_have_media_on_legs_that_share_a_path() {
        for srtp in [Srtp::Mixed, Srtp::Never] {
            for network in [Network::Rough, Network::Clean, Network::Described] {
                let options = Options {
                    steps: 400,
                    srtp,
                    network,
                    shares_paths: true,
                };
                let (packets, together) = shared(options);
                assert!(packets > 500 && together > 10, "{options:?}: {packets}, {together}");
                let alone = Options {
                    shares_paths: false,
                    ..options
                };
                assert_eq!(shared(alone).0, 0, "{options:?}");
            }
        }
    }

    #[test]
    fn a_history_printed_and_read_again_is_the_same() {
        for seed in 0..30 {
            let srtp = if seed % 2 == 0 { Srtp::Never } else { Srtp::Mixed };
            let options = Options {
                steps: 300,
                srtp,
                network: Network::Rough,
                shares_paths: srtp == Srtp::Mixed,
            };
            let relays = RelayOptions {
                steps: 300,
                is_virtual: true,
            };
            let mut steps = history(seed, options);
            steps.extend(relay_history(seed, relays));
            let text = print_history("A random history.", &steps);
            let (vector, _) = parse("printed", &text).unwrap_or_else(|problem| panic!("{problem}"));
            let read: Vec<Step> = vector
                .lines
                .into_iter()
                .map(|line| match line.statement {
                    Statement::Do(step) => step,
                    other => panic!("{other:?} is not a step"),
                })
                .collect();
            for (step, again) in steps.iter().zip(&read) {
                assert_eq!(step, again);
            }
            assert_eq!(steps.len(), read.len());
        }
    }
}
