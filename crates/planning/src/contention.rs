/// The contention that slowdowns show: their least squares by Amdahl's law.
///
/// Shape: each slowdown is a number of busy cores, and the time of a piece of work beside its time
/// on one core alone. The result is in thousandths for each further core, and at least zero. `None`
/// without a slowdown of several cores.
pub fn contention_permille(slowdowns: &[(u64, f64)]) -> Option<f64> {
    let further = |cores: u64| cores.saturating_sub(1) as f64;
    let squares: f64 = slowdowns.iter().map(|(cores, _)| further(*cores).powi(2)).sum();
    let products = slowdowns
        .iter()
        .map(|(cores, slowdown)| further(*cores) * (slowdown - 1.0));
    let contention = 1_000.0 * products.sum::<f64>() / squares;
    (squares > 0.0).then(|| contention.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::contention_permille;

    #[test]
    fn contention_is_that_of_each_further_core() {
        let found = |slowdowns: &[(u64, f64)]| contention_permille(slowdowns).map(f64::round);
        assert_eq!(found(&[(2, 1.05)]), Some(50.0));
        assert_eq!(found(&[(1, 1.0), (2, 1.02), (4, 1.06)]), Some(20.0));
        assert_eq!(found(&[(2, 0.9)]), Some(0.0), "cores do not help each other");
        assert_eq!(found(&[(1, 1.0)]), None);
        assert_eq!(found(&[]), None);
    }
}
