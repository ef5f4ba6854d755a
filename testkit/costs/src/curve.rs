//! The slowdown of workers by other workers that are busy at the same time.

use std::fmt::Write as _;

use planning::contention_permille;

use crate::{Failed, Load, Scene, Way, measure};

/// Receivers of a call. With its camera these are the legs that are given to one worker first.
const RECEIVERS: u32 = 63;
/// Packets of a burst, long enough that all workers copy at the same time.
const BURST: u16 = 32;
/// Bursts of one measurement.
const BURSTS: u16 = 120;

/// The times of an encrypted copy on more and more workers of this machine, one for each core.
pub struct Curve(Vec<Times>);

/// The times of one round, by numbers of workers; the first is 1.
type Times = Vec<(u16, f64)>;

impl Curve {
    /// Measures sockets on one worker and on several, by turns.
    ///
    /// Errors: copies are missing.
    pub fn measure(scene: &Scene, cores: u16, rounds: usize) -> Result<Self, Failed> {
        let mut workers: Vec<u16> = (0..16).map(|power| 1 << power).take_while(|it| *it < cores).collect();
        workers.push(cores);
        let time = |workers: &u16| -> Result<(u16, f64), Failed> {
            let load = Load {
                way: Way::Sockets,
                is_encrypted: true,
                workers: *workers,
                receivers: RECEIVERS,
                burst: BURST,
                bursts: BURSTS,
            };
            Ok((*workers, measure(scene, load)? / f64::from(RECEIVERS)))
        };
        let round = |_| workers.iter().map(time).collect();
        (0..rounds).map(round).collect::<Result<_, _>>().map(Self)
    }

    /// Thousandths by which each further busy core lengthens the work, by the medians of the
    /// rounds; `None` on a machine of one core.
    pub fn contention_permille(&self) -> Option<f64> {
        contention_permille(&self.slowdowns())
    }

    /// The times beside those of one worker in the same round: medians, by numbers of workers.
    pub fn slowdowns(&self) -> Vec<(u64, f64)> {
        let workers = self.0.first().into_iter().flatten().map(|(workers, _)| *workers);
        let slowdown = |(at, workers): (usize, u16)| {
            let mut ratios: Vec<f64> = self.0.iter().map(|round| round[at].1 / round[0].1).collect();
            ratios.sort_by(f64::total_cmp);
            (u64::from(workers), ratios[ratios.len() / 2])
        };
        workers.enumerate().map(slowdown).collect()
    }

    /// All times as CSV, below these comments.
    pub fn csv(&self, comments: &[String]) -> String {
        let mut text = String::new();
        for comment in comments {
            let _ = writeln!(text, "# {comment}");
        }
        text.push_str("round,workers,copy_ns\n");
        for (round, times) in self.0.iter().enumerate() {
            for (workers, time) in times {
                let _ = writeln!(text, "{},{workers},{time:.1}", round + 1);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Curve;

    #[test]
    fn curve_has_the_median_slowdown_of_its_rounds() {
        let round = |one: f64, two: f64| vec![(1, one), (2, two)];
        let curve = Curve(vec![round(100.0, 110.0), round(200.0, 208.0), round(100.0, 300.0)]);
        assert_eq!(curve.slowdowns(), [(1, 1.0), (2, 1.1)]);
        assert_eq!(curve.contention_permille().map(f64::round), Some(100.0));
        let csv = curve.csv(&["a machine".to_owned()]);
        assert!(
            csv.starts_with("# a machine\nround,workers,copy_ns\n1,1,100.0\n1,2,110.0\n2,1,200.0\n"),
            "{csv}"
        );
        assert_eq!(Curve(Vec::new()).contention_permille(), None);
    }
}
