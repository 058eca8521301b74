//! Seed 000's example, end to end: the provider answers 429 at night; the message is retried, queued and delivered. In
//! the morning the agent explains this from its own log.

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::turn_journal::Outcome;
use foreword_testkit::{Reply, Script};
use foreword_workspace::speaker::Speaker;

use crate::fixture::{Fixture, alice, on, unwatched};

#[tokio::test]
async fn agent_explains_a_past_failure_from_its_log() {
    let refusals = vec![Reply::status(429); 4];
    let fixture = Fixture::new(Script::from(refusals).then_always(Reply::text("Good night."))).await;
    let night = fixture.say("night", unwatched(on("signal:alice")), "are you there?").await;
    assert_eq!((night.text().as_str(), night.ending().0), ("Good night.", Outcome::Done));

    let offline = TurnOrigin {
        speaker: Speaker { model: Some("offline/echo".into()), ..alice().speaker.clone() },
        ..alice()
    };
    let morning = fixture.say("morning", offline, "Why did my message fail?").await;
    let answer = morning.text();
    let [logs, trace] = &morning.results()[..] else { panic!("{:?}", morning.results()) };
    assert_eq!((logs.0, trace.0), ("foreword_logs", "foreword_trace"));
    // When, why, each attempt with the wait behind it, that it was queued, and that it went out in the end.
    let attempts = answer.lines().filter(|line| line.contains("api_error")).collect::<Vec<_>>();
    assert_eq!(attempts.len(), 4, "{answer}");
    for (attempt, line) in attempts.iter().enumerate() {
        assert!(line.contains("statusCode=429"), "{line}");
        assert!(line.contains(&format!("retryAttempt={attempt}")), "{line}");
        assert!(line.contains("delayMs="), "{line}");
    }
    for part in ["message_queued", "api_call", "message_sent", "signal:alice"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    let year = jiff::Zoned::now().strftime("%Y-").to_string();
    assert!(answer.contains(&year), "it says when: {answer}");
}
