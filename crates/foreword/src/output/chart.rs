//! Small charts made of letters: bars beside a table, and a line of days.

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar of at most `columns`, as long as `value` is of `most`. Whatever is more than nothing can be seen.
pub(crate) fn bar(value: f64, most: f64, columns: usize) -> String {
    let Some(share) = share(value, most).filter(|_| columns > 0) else { return String::new() };
    let eighths = ((share * (columns * 8) as f64).round() as usize).max(1);
    let part = (eighths % 8).checked_sub(1).map(|place| EIGHTHS[place]);
    "█".repeat(eighths / 8).chars().chain(part).collect()
}

/// A letter for each value, as high as it is among them; a dot for nothing.
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
    fn a_bar_is_as_long_as_its_share_and_never_invisible() {
        let bars = [0.0, 0.001, 5.0, 7.5, 10.0, f64::NAN].map(|value| bar(value, 10.0, 4));
        assert_eq!(bars, ["", "▏", "██", "███", "████", ""]);
        assert_eq!((bar(1.0, 0.0, 4), bar(1.0, 1.0, 0)), (String::new(), String::new()));
    }

    #[test]
    fn a_line_of_days_shows_the_highest_and_those_without_anything() {
        assert_eq!(line(&[0.0, 1.0, 4.0, 8.0, 0.01]), "·▁▄█▁");
        assert_eq!(line(&[0.0, 0.0]), "··");
        assert_eq!(line(&[]), "");
    }
}
