//! Seed 001, section 15: error handling. Schedules are tested elsewhere.

use std::time::Duration;

use foreword_core::event::{Level, StoredEvent};
use foreword_core::turn_journal::Outcome;
use foreword_testkit::Reply;
use serde_json::Value;

use crate::fixture::{Fixture, Setting, alice};
use crate::well_formed::all_well_formed;

/// What the log says of failed calls: level, attempt, delay.
async fn errors(fixture: &Fixture) -> Vec<(Level, u64, Option<u64>)> {
    let log = fixture.log().await;
    let errors = log.iter().filter(|event| event.event.event_type.to_string() == "api_error");
    let of = |StoredEvent { event, .. }: &StoredEvent| {
        let metadata: &Value = event.metadata.as_ref().unwrap();
        (event.level, metadata["retryAttempt"].as_u64().unwrap(), metadata["delayMs"].as_u64())
    };
    errors.map(of).collect()
}

/// The base delay is 200 ms, the maximum 500 ms: longer delays come from `retry-after`.
const SLOWER: &str = "retry: { base_delay_ms: 200, max_delay_ms: 500 }\n";

async fn slower(replies: Vec<Reply>) -> Fixture {
    Fixture::set(replies, Setting::default(), SLOWER).await
}

#[tokio::test]
async fn s15_1_rate_limit_is_retried_with_exponential_backoff() {
    let fixture = slower([vec![Reply::status(429); 3], vec![Reply::text("Here.")]].concat()).await;
    let seen = fixture.say("c-1", alice(), "hello").await;
    assert_eq!((seen.text().as_str(), seen.ending().0), ("Here.", Outcome::Done));
    let delays: Vec<u64> = errors(&fixture).await.iter().map(|(_, _, delay)| delay.unwrap()).collect();
    // Half of it is chance; a millisecond passes until it is logged.
    for (delay, longest) in delays.iter().zip([200, 400, 500]) {
        assert!((longest / 2 - 20..=longest).contains(delay), "{delays:?}");
    }
    let requests = fixture.provider.requests();
    for (pair, delay) in requests.windows(2).zip(&delays) {
        let waited = pair[1].first_byte_at - pair[0].first_byte_at;
        assert!(waited >= Duration::from_millis(*delay), "{waited:?} is less than {delay} ms");
    }
}

#[tokio::test]
async fn s15_2_retry_after_header_sets_the_delay() {
    let fixture = slower(vec![Reply::status(429).header("retry-after", "1"), Reply::text("Here.")]).await;
    let seen = fixture.say("c-1", alice(), "hello").await;
    assert_eq!(seen.statuses(), ["Rate limited. Retrying in 1s..."]);
    let [(_, _, Some(delay))] = errors(&fixture).await[..] else { panic!("one error") };
    assert!((900..=1_000).contains(&delay), "{delay}");
}

#[tokio::test]
async fn s15_2_retry_after_date_is_awaited() {
    let date = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3);
    let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date).unwrap();
    let fixture = slower(vec![Reply::status(429).header("retry-after", date), Reply::text("Here.")]).await;
    fixture.say("c-1", alice(), "hello").await;
    let [(_, _, Some(delay))] = errors(&fixture).await[..] else { panic!("one error") };
    assert!((501..=3_000).contains(&delay), "{delay}: without the date it would be less");
}

#[tokio::test]
async fn s15_3_a_401_fails_at_once() {
    let fixture = Fixture::new([Reply::status(401).message("invalid x-api-key")]).await;
    let seen = fixture.say("c-1", alice(), "hello").await;
    assert_eq!((seen.statuses().len(), fixture.provider.requests().len()), (0, 1));
    let (outcome, failure) = seen.ending();
    assert_eq!(outcome, Outcome::Failed);
    assert!(failure.unwrap().contains("check the provider's key"));
}

#[tokio::test]
async fn s15_4_exhausted_retries_are_shown_to_the_user() {
    let fixture = Fixture::new(Reply::status(503).message("down for repairs")).await;
    let seen = fixture.say("c-1", alice(), "hello").await;
    assert_eq!(fixture.provider.requests().len(), 4);
    let (outcome, failure) = seen.ending();
    let failure = failure.unwrap();
    assert_eq!(outcome, Outcome::Failed);
    assert!(failure.contains("down for repairs") && failure.contains("send the message again"), "{failure}");
}

#[tokio::test]
async fn s15_5_each_attempt_logs_number_and_delay() {
    let fixture = Fixture::new(Reply::status(500)).await;
    fixture.say("c-1", alice(), "hello").await;
    let errors = errors(&fixture).await;
    let attempts: Vec<(Level, u64)> = errors.iter().map(|(level, attempt, _)| (*level, *attempt)).collect();
    let (warn, error) = (Level::Warn, Level::Error);
    assert_eq!(attempts, [(warn, 0), (warn, 1), (warn, 2), (error, 3)]);
    let waits: Vec<bool> = errors.iter().map(|(_, _, delay)| delay.is_some()).collect();
    assert_eq!(waits, [true, true, true, false]);
}

#[tokio::test]
async fn s15_6_status_precedes_the_text_for_each_wait() {
    let fixture = Fixture::new([Reply::status(429), Reply::status(500), Reply::text("Here.")]).await;
    let seen = fixture.say("c-1", alice(), "hello").await;
    assert_eq!(
        seen.statuses(),
        ["Rate limited. Retrying in 1s...", "Provider unavailable. Retrying in 1s..."]
    );
}

#[tokio::test]
async fn s15_7_session_is_usable_after_a_provider_error() {
    let fixture = Fixture::new([Reply::status(401), Reply::text("Back again.")]).await;
    fixture.say("c-1", alice(), "first").await;
    let seen = fixture.say("c-1", alice(), "second").await;
    assert_eq!((seen.text().as_str(), seen.ending()), ("Back again.", (Outcome::Done, None)));
    let requests = fixture.provider.requests();
    all_well_formed(&requests);
    let said = requests[1].conversation();
    assert!(said.contains("first") && said.contains("This turn failed") && said.contains("second"), "{said}");
}

#[tokio::test]
async fn s15_9_silent_network_is_retried() {
    let setting = Setting { timeout: Duration::from_millis(300), ..Setting::default() };
    let fixture = Fixture::set([Reply::silence(), Reply::text("Here.")], setting, "").await;
    let seen = fixture.say("c-1", alice(), "hello").await;
    assert_eq!(seen.statuses(), ["No answer in time. Retrying in 1s..."]);
    assert_eq!((seen.text().as_str(), seen.ending().0), ("Here.", Outcome::Done));
}
