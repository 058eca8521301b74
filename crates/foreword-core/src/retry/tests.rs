//! Properties of retries, and the status messages.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const KINDS: [ErrorKind; 10] = [
    ErrorKind::RateLimited,
    ErrorKind::Unavailable,
    ErrorKind::Network,
    ErrorKind::Timeout,
    ErrorKind::BrokenStream,
    ErrorKind::ContextTooLong,
    ErrorKind::Authentication,
    ErrorKind::UnknownModel,
    ErrorKind::BadRequest,
    ErrorKind::NotConfigured,
];

fn error(kind: ErrorKind, status: Option<u16>) -> ModelError {
    ModelError {
        kind,
        provider: "loopback".to_owned(),
        status,
        message: "no".to_owned(),
        retry_after: None,
        request_id: None,
    }
}

fn check(kind: ErrorKind, status: Option<u16>, expected: Result<u64, ErrorCategory>) {
    let expected = match expected {
        Ok(seconds) => RetryDecision::Again { delay: Duration::from_secs(seconds), asked: None },
        Err(category) => RetryDecision::GiveUp { category },
    };
    let decision = RetryPolicy::default().decide(&error(kind, status), 0, 1.0);
    assert_eq!(decision, expected, "{kind} {status:?}");
}

#[test]
fn transient_errors_are_retried_and_permanent_ones_are_not() {
    for status in [429, 500, 502, 503, 529] {
        check(ErrorKind::Unavailable, Some(status), Ok(1));
    }
    for kind in [ErrorKind::Network, ErrorKind::Timeout, ErrorKind::BrokenStream] {
        check(kind, None, Ok(1));
    }
    // A gateway timeout is a timeout.
    check(ErrorKind::Timeout, Some(504), Ok(1));
    // A stream that starts well and then reports an overloaded provider, or ends early.
    check(ErrorKind::Unavailable, Some(200), Ok(1));
    check(ErrorKind::BrokenStream, Some(200), Ok(1));
    let permanent = Err(ErrorCategory::ProviderPermanent);
    check(ErrorKind::Authentication, Some(401), permanent);
    check(ErrorKind::Authentication, Some(403), permanent);
    check(ErrorKind::UnknownModel, Some(404), permanent);
    check(ErrorKind::BadRequest, Some(400), permanent);
    check(ErrorKind::BadRequest, None, permanent);
    check(ErrorKind::Unavailable, Some(501), permanent);
    check(ErrorKind::NotConfigured, None, Err(ErrorCategory::ConfigError));
}

#[test]
fn context_overflow_compacts_without_retry() {
    let too_long = error(ErrorKind::ContextTooLong, Some(400));
    assert_eq!(RetryPolicy::default().decide(&too_long, 0, 0.5), RetryDecision::Compact);
    assert_eq!(RetryPolicy::default().category(&too_long), ErrorCategory::ProviderPermanent);
}

#[test]
fn only_statuses_of_the_policy_are_retried() {
    let policy = RetryPolicy { retryable_statuses: [400, 401, 409].into(), ..RetryPolicy::default() };
    let category = |kind, status| policy.category(&error(kind, Some(status)));
    assert_eq!(category(ErrorKind::RateLimited, 429), ErrorCategory::ProviderPermanent);
    assert_eq!(category(ErrorKind::BadRequest, 409), ErrorCategory::ProviderTransient);
    assert_eq!(category(ErrorKind::BadRequest, 400), ErrorCategory::ProviderPermanent);
    assert_eq!(category(ErrorKind::Authentication, 401), ErrorCategory::ProviderPermanent);
}

#[test]
fn retry_after_is_capped_and_the_cap_reported() {
    let policy = RetryPolicy::default();
    let asked = |seconds| {
        let wish = Some(Duration::from_secs(seconds));
        policy.decide(&ModelError { retry_after: wish, ..error(ErrorKind::Unavailable, Some(503)) }, 2, 0.0)
    };
    let again = |delay, asked: Option<u64>| RetryDecision::Again {
        delay: Duration::from_secs(delay),
        asked: asked.map(Duration::from_secs),
    };
    assert_eq!(asked(0), again(0, None));
    assert_eq!(asked(120), again(120, None));
    assert_eq!(asked(121), again(120, Some(121)));
}

#[test]
fn unattended_message_is_requeued_a_few_times() {
    let policy = RetryPolicy::default();
    let delays: Vec<Option<u64>> =
        (0..6).map(|times| policy.requeue(times).map(|delay| delay.as_secs())).collect();
    assert_eq!(delays, [Some(60), Some(120), Some(240), Some(480), Some(960), None]);
    let patient = RetryPolicy { max_requeues: u32::MAX, ..policy };
    assert_eq!(patient.requeue(5), Some(Duration::from_secs(1_800)));
    assert_eq!(patient.requeue(4_000_000), Some(Duration::from_secs(1_800)));
}

#[test]
fn status_line_has_error_and_retry_delay() {
    for (kind, status, millis, line) in [
        (ErrorKind::RateLimited, Some(429), 3_000, "Rate limited. Retrying in 3s..."),
        (ErrorKind::RateLimited, Some(429), 2_001, "Rate limited. Retrying in 3s..."),
        (ErrorKind::Unavailable, Some(529), 500, "Provider overloaded. Retrying in 1s..."),
        (ErrorKind::Unavailable, Some(503), 4_000, "Provider unavailable. Retrying in 4s..."),
        (ErrorKind::Timeout, None, 1_000, "No answer in time. Retrying in 1s..."),
        (ErrorKind::Network, None, 1_000, "Network error. Retrying in 1s..."),
        (ErrorKind::BrokenStream, None, 1_000, "The answer broke off. Retrying in 1s..."),
    ] {
        assert_eq!(status_line(&error(kind, status), Duration::from_millis(millis)), line);
    }
    let queued = requeue_line(&error(ErrorKind::Unavailable, Some(529)), Duration::from_secs(60));
    assert_eq!(queued, "Provider overloaded. Queued; next attempt in 60s.");
}

fn any_error() -> impl Strategy<Value = ModelError> {
    let status = prop_oneof![Just(None), any::<u16>().prop_map(Some), (400_u16..600).prop_map(Some)];
    let wish = prop_oneof![Just(None), any_duration().prop_map(Some)];
    (select(&KINDS[..]), status, wish)
        .prop_map(|(kind, status, retry_after)| ModelError { retry_after, ..error(kind, status) })
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0..400_000_u64).prop_map(Duration::from_millis),
        1 => (0..3_u64).prop_map(Duration::from_nanos),
        1 => any::<Duration>(),
        1 => Just(Duration::MAX),
    ]
}

fn any_policy() -> impl Strategy<Value = RetryPolicy> {
    let durations = prop::array::uniform3(any_duration());
    let statuses = prop::collection::btree_set(prop_oneof![400_u16..600, any::<u16>()], 0..8);
    (0..20_u32, durations, statuses).prop_map(
        |(max_retries, [base_delay, max_delay, longest_retry_after], retryable_statuses)| RetryPolicy {
            max_retries,
            base_delay,
            max_delay,
            retryable_statuses,
            longest_retry_after,
            ..RetryPolicy::default()
        },
    )
}

/// Any jitter a caller could pass, and some invalid ones.
fn any_chance() -> impl Strategy<Value = f64> {
    prop_oneof![8 => 0.0..=1.0, 1 => any::<f64>(), 1 => Just(f64::NAN)]
}

proptest! {
    #[test]
    fn jittered_delay_is_at_least_half_the_backoff(
        policy in any_policy(), error in any_error(), attempt in any::<u32>(), chance in any_chance(),
    ) {
        let policy = RetryPolicy { max_retries: u32::MAX, ..policy };
        let RetryDecision::Again { delay, asked } = policy.decide(&error, attempt, chance) else { return Ok(()) };
        let Some(wish) = error.retry_after else {
            let due = (0..attempt.min(200)).fold(policy.base_delay, |due, _| due.saturating_mul(2)).min(policy.max_delay);
            prop_assert_eq!(asked, None);
            prop_assert!(delay <= due && delay >= due / 2, "{:?} of {:?}", delay, due);
            return Ok(());
        };
        prop_assert_eq!(delay, wish.min(policy.longest_retry_after));
        prop_assert_eq!(asked, (delay < wish).then_some(wish));
    }

    #[test]
    fn delays_grow_until_they_reach_their_cap(policy in any_policy(), chance in 0.0..=1.0_f64, attempt in 0..80_u32) {
        let now = policy.delay(attempt, chance);
        let then = policy.delay(attempt + 1, chance);
        prop_assert!(now <= then && then <= policy.max_delay);
    }

    #[test]
    fn permanent_errors_are_never_retried(
        policy in any_policy(), error in any_error(), attempt in any::<u32>(), chance in any_chance(),
    ) {
        let decision = policy.decide(&error, attempt, chance);
        let permanent = matches!(error.status, Some(400 | 401))
            || matches!(error.kind, ErrorKind::Authentication | ErrorKind::UnknownModel | ErrorKind::NotConfigured);
        if permanent {
            let again = matches!(decision, RetryDecision::Again { .. });
            prop_assert!(!again, "{:?}", decision);
        }
    }

    #[test]
    fn call_is_retried_as_often_as_the_policy_allows(policy in any_policy(), error in any_error()) {
        let mut tries = 1_u32;
        while let RetryDecision::Again { .. } = policy.decide(&error, tries - 1, 0.5) {
            tries += 1;
        }
        let expected = match policy.category(&error) {
            ErrorCategory::ProviderTransient => 1 + policy.max_retries,
            _ => 1,
        };
        prop_assert_eq!(tries, expected);
    }
}
