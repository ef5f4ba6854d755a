//! Capacity of a link, over time.

use std::time::Duration;

/// A rate that holds, jumps and slides.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    at: Duration,
    rate: f64,
    /// Whether the rate slides from here to the next point.
    slides: bool,
}

impl Capacity {
    /// Always the same. Shape: kilobits per second.
    pub fn constant(kilobits: u32) -> Self {
        Self { points: Vec::new() }.then(0, kilobits)
    }

    /// From this second on another rate.
    pub fn then(mut self, second: u64, kilobits: u32) -> Self {
        self.points.push(Point {
            at: Duration::from_secs(second),
            rate: f64::from(kilobits) * 1e3,
            slides: false,
        });
        self
    }

    /// From the last point until this second slide to another rate.
    pub fn slide(mut self, second: u64, kilobits: u32) -> Self {
        if let Some(last) = self.points.last_mut() {
            last.slides = true;
        }
        self.then(second, kilobits)
    }

    /// The rate at a time. Shape: bits per second.
    pub fn at(&self, time: Duration) -> f64 {
        let next = self.points.partition_point(|point| point.at <= time);
        let point = self.points[next.saturating_sub(1)];
        match self.points.get(next) {
            Some(end) if point.slides => {
                let part = (time - point.at).as_secs_f64() / (end.at - point.at).as_secs_f64();
                point.rate + part * (end.rate - point.rate)
            }
            _ => point.rate,
        }
    }

    /// The stretches in which it holds, as (from, to), until `end`.
    pub fn phases(&self, end: Duration) -> Vec<(Duration, Duration)> {
        let ends = self.points.iter().skip(1).map(|point| point.at).chain([end]);
        let stretches = self.points.iter().zip(ends);
        stretches
            .filter(|(point, _)| !point.slides)
            .map(|(point, end)| (point.at, end))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_jumps_and_slides() {
        let capacity = Capacity::constant(1000).then(10, 500).slide(20, 1500);
        let at = |second| capacity.at(Duration::from_secs(second));
        assert_eq!(
            [at(0), at(9), at(10), at(15), at(20), at(99)],
            [1e6, 1e6, 5e5, 1e6, 1.5e6, 1.5e6]
        );
    }
}
