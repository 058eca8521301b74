//! When an answer that a bridge did not take is tried again, and when no more.

use std::time::Duration;

/// The first pause; each is twice the one before.
const FIRST: Duration = Duration::from_secs(1);
/// The longest pause, unless the bridge asks for a longer one.
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// The longest a bridge may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60 * 60);
/// How often it is tried: for about a day.
const ATTEMPTS: u64 = 105;

/// How long to wait after so many attempts, of which the last has failed; `None` if it is enough. `asked` is how long the
/// bridge wants to be left alone.
pub(super) fn pause(attempts: u64, asked: Option<Duration>) -> Option<Duration> {
    if attempts >= ATTEMPTS {
        return None;
    }
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(20);
    let own = FIRST.saturating_mul(2_u32.pow(doublings)).min(LONGEST);
    Some(asked.map_or(own, |asked| asked.min(LONGEST_ASKED).max(own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_grow_and_end_after_about_a_day() {
        assert_eq!(pause(1, None), Some(SECOND));
        assert_eq!(pause(2, None), Some(SECOND * 2));
        assert_eq!(pause(30, None), Some(LONGEST));
        let all: Duration = (1..).map_while(|attempts| pause(attempts, None)).sum();
        let hours = all.as_secs() / 3_600;
        assert!((23..26).contains(&hours), "{hours}");
    }

    #[test]
    fn a_bridge_that_asks_for_a_longer_pause_gets_it_within_reason() {
        assert_eq!(pause(1, Some(SECOND * 90)), Some(SECOND * 90));
        assert_eq!(pause(3, Some(SECOND)), Some(SECOND * 4));
        assert_eq!(pause(1, Some(SECOND * 1_000_000)), Some(LONGEST_ASKED));
    }
}
