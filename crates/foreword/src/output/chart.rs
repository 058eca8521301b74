//! Small text charts: bars beside a table, and one character per day.

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar of at most `columns`, scaled to `most`. Every value above zero is visible.
pub(crate) fn bar(value: f64, most: f64, columns: usize) -> String {
    let Some(share) = share(value, most).filter(|_| columns > 0) else { return String::new() };
    let eighths = ((share * (columns * 8) as f64).round() as usize).max(1);
    let part = (eighths % 8).checked_sub(1).map(|place| EIGHTHS[place]);
    "█".repeat(eighths / 8).chars().chain(part).collect()
}

/// One character per value, scaled to the largest; a dot for zero.
pub(crate) fn line(values: &[f64]) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    let height = |value: &f64| match share(*value, most) {
        Some(share) => HEIGHTS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1],
        None => '·',
    };
    values.iter().map(height).collect()
}

fn share(value: f64, most: f64) -> Option<f64> {
    (value > 0.0 && most > 0.0).then(|| (value / most).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_is_scaled_and_never_invisible() {
        let bars = [0.0, 0.001, 5.0, 7.5, 10.0, f64::NAN].map(|value| bar(value, 10.0, 4));
        assert_eq!(bars, ["", "▏", "██", "███", "████", ""]);
        assert_eq!((bar(1.0, 0.0, 4), bar(1.0, 1.0, 0)), (String::new(), String::new()));
    }

    #[test]
    fn line_scales_to_the_highest_and_marks_zero() {
        assert_eq!(line(&[0.0, 1.0, 4.0, 8.0, 0.01]), "·▁▄█▁");
        assert_eq!(line(&[0.0, 0.0]), "··");
        assert_eq!(line(&[]), "");
    }
}
