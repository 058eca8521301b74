//! A row of numbers as one line of bars.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The means of `values` in at most `most` stretches of the same length.
pub(crate) fn in_stretches(values: &[f64], most: usize) -> Vec<f64> {
    let length = values.len().div_ceil(most.max(1)).max(1);
    values.chunks(length).map(|stretch| stretch.iter().sum::<f64>() / stretch.len() as f64).collect()
}

/// A bar for each of `values`, as high as it is next to `highest`.
pub(crate) fn sparkline(values: &[f64], highest: f64) -> String {
    let steps = BARS.len() as f64;
    let bar = |value: &f64| {
        let share = if highest > 0.0 { (value / highest).clamp(0.0, 1.0) } else { 0.0 };
        BARS[((share * steps).ceil() as usize).clamp(1, BARS.len()) - 1]
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_share_of_the_highest() {
        assert_eq!(sparkline(&[0.0, 1.0, 4.0, 8.0], 8.0), "▁▁▄█");
        assert_eq!(sparkline(&[0.0, 0.0], 0.0), "▁▁");
        assert_eq!(sparkline(&[9.0], 8.0), "█");
    }

    #[test]
    fn many_numbers_become_the_means_of_stretches() {
        assert_eq!(in_stretches(&[1.0, 3.0, 5.0, 7.0, 9.0], 3), [2.0, 6.0, 9.0]);
        assert_eq!(in_stretches(&[1.0, 3.0], 50), [1.0, 3.0]);
        assert!(in_stretches(&[], 50).is_empty());
    }
}
