//! A duration histogram.

/// The upper bounds in seconds: a tool may take milliseconds, a turn minutes.
pub(super) const BOUNDS: [f64; 14] =
    [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];

/// Counts durations.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Histogram {
    /// The count of each bucket; the last bucket has no upper bound.
    counts: [u64; BOUNDS.len() + 1],
    sum: f64,
}

impl Histogram {
    pub(super) fn observe(&mut self, milliseconds: u64) {
        let seconds = milliseconds as f64 / 1_000.0;
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum += seconds;
    }

    /// The cumulative counts by upper bound.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut total = 0;
        BOUNDS.into_iter().zip(self.counts).map(move |(bound, count)| {
            total += count;
            (bound, total)
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_inclusive() {
        let mut times = Histogram::default();
        [10, 11, 600_000, 600_001].into_iter().for_each(|took| times.observe(took));
        let counts: Vec<u64> = times.cumulative().map(|(_, count)| count).collect();
        assert_eq!((counts[0], counts[1], counts[13]), (1, 2, 3));
        assert_eq!((times.count(), times.sum()), (4, 1_200.022));
    }
}
