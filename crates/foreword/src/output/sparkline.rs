//! Draws numbers as a line of bars.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One bar for each of `values`, scaled to `highest`.
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
    fn bars_are_scaled_to_the_highest() {
        assert_eq!(sparkline(&[0.0, 1.0, 4.0, 8.0], 8.0), "▁▁▄█");
        assert_eq!(sparkline(&[0.0, 0.0], 0.0), "▁▁");
        assert_eq!(sparkline(&[9.0], 8.0), "█");
    }
}
