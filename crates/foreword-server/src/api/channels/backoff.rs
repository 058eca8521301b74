//! Backoff of webhook deliveries.

use std::time::Duration;

use foreword_core::backoff::Backoff;

/// The pauses, unless the bridge asks for longer ones.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), max: Duration::from_secs(15 * 60) };
/// The longest `Retry-After` that is respected.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);
/// About a day.
const MAX_ATTEMPTS: u64 = 105;

/// The pause after a failed attempt; `None` after the last one. `asked` is the bridge's `Retry-After`.
pub(super) fn pause(attempts: u64, asked: Option<Duration>) -> Option<Duration> {
    if attempts >= MAX_ATTEMPTS {
        return None;
    }
    let own = BACKOFF.delay(u32::try_from(attempts).unwrap_or(u32::MAX));
    Some(asked.map_or(own, |asked| asked.min(MAX_RETRY_AFTER).max(own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_grow_and_end_after_about_a_day() {
        assert_eq!(pause(1, None), Some(SECOND));
        assert_eq!(pause(2, None), Some(SECOND * 2));
        assert_eq!(pause(30, None), Some(BACKOFF.max));
        let all: Duration = (1..).map_while(|attempts| pause(attempts, None)).sum();
        let hours = all.as_secs() / 3_600;
        assert!((23..26).contains(&hours), "{hours}");
    }

    #[test]
    fn retry_after_is_respected_up_to_the_maximum() {
        assert_eq!(pause(1, Some(SECOND * 90)), Some(SECOND * 90));
        assert_eq!(pause(3, Some(SECOND)), Some(SECOND * 4));
        assert_eq!(pause(1, Some(SECOND * 1_000_000)), Some(MAX_RETRY_AFTER));
    }
}
