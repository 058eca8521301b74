//! Failing inbox turns: their messages stay pending, and are set aside after several failures.

use foreword_agent::background::inbox::TickOutcome;
use foreword_core::sender::InboxState;
use foreword_testkit::{Reply, Script};

use crate::inbox_fixture::{answered, answers_all, has_results, inbox_id, leave, outbox, sovereign, waiting};

fn failed(ticked: &TickOutcome) -> (Vec<&str>, Vec<&str>) {
    let TickOutcome::Inbox { messages, set_aside, error: Some(_), .. } = ticked else { panic!("{ticked:?}") };
    (messages.iter().map(|id| id.as_str()).collect(), set_aside.iter().map(|id| id.as_str()).collect())
}

/// A model that can't be asked about the message called `poison`, and answers all others.
fn poisoned() -> Script {
    Script::answering(|request| {
        if waiting(request).contains(&"poison".to_owned()) {
            return Reply::status(400).message("this can't be read");
        }
        match has_results(request) {
            true => Reply::text("Done."),
            false => waiting(request).into_iter().fold(Reply::text("So."), |reply, id| {
                let input = serde_json::json!({ "message": id, "text": format!("to {id}") });
                reply.and_tool_call("inbox_reply", input)
            }),
        }
    })
}

#[tokio::test]
async fn failing_message_delays_others_only_briefly() {
    let fixture = sovereign(poisoned(), "").await;
    leave(&fixture, "poison", "0xmm", "\u{1f4a3}").await;
    leave(&fixture, "good", "0xaa", "hello").await;
    let first = fixture.agent.tick().await.unwrap();
    assert_eq!(failed(&first), (vec!["poison", "good"], vec![]));
    // Both are pending; the failed one is retried alone, with a growing delay.
    let next = fixture.agent.tick().await.unwrap();
    assert_eq!(failed(&next), (vec!["poison"], vec![]));
    let good = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&good), (vec!["good"], vec![("0xaa", "to good")]));
    let last = fixture.agent.tick().await.unwrap();
    assert_eq!(failed(&last), (vec!["poison"], vec!["poison"]));
    let poison = fixture.store.inbox_message(&inbox_id("poison")).await.unwrap();
    assert_eq!((poison.state, poison.attempts), (InboxState::SetAside, 3));
    assert!(
        poison.error.as_ref().is_some_and(|error| error.for_record().contains("this can't be read")),
        "{poison:?}"
    );
    assert_eq!(poison.body, "\u{1f4a3}", "nothing of it is lost");
}

#[tokio::test]
async fn restored_message_gets_its_own_turn() {
    let failing = [Reply::status(400), Reply::status(400), Reply::status(400)];
    let fixture = sovereign(Script::from(failing).then_always(Reply::text("Here you are.")), "").await;
    leave(&fixture, "m-1", "0xaa", "hello").await;
    for _ in 0..3 {
        failed(&fixture.agent.tick().await.unwrap());
    }
    assert_eq!(fixture.store.staged(10).await.unwrap(), []);
    fixture.store.put_back(&inbox_id("m-1")).await.unwrap();
    let ticked = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&ticked), (vec!["m-1"], vec![("0xaa", "Here you are.")]));
    assert_eq!(outbox(&fixture.store).await.len(), 1);
}

/// Failures of the environment, not of a message.
const IN_THE_WAY: &str = "retry: { max_retries: 0, requeue: { max_attempts: 0 } }\n";

#[tokio::test]
async fn provider_failures_set_no_message_aside() {
    let replies = [401, 403, 429, 500, 529].map(Reply::status).into_iter().chain([Reply::hang_up()]);
    let script = replies.collect::<Vec<_>>();
    let fixture = sovereign(Script::from(script).then_always(Reply::text("Here you are.")), IN_THE_WAY).await;
    leave(&fixture, "m-1", "0xaa", "hello").await;
    for attempts in 1..=6 {
        let ticked = fixture.agent.tick().await.unwrap();
        assert_eq!(failed(&ticked), (vec!["m-1"], vec![]), "{ticked:?}");
        let message = fixture.store.inbox_message(&inbox_id("m-1")).await.unwrap();
        assert_eq!((message.state, message.attempts, message.failures), (InboxState::Staged, attempts, 0));
    }
    let ticked = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&ticked), (vec!["m-1"], vec![("0xaa", "Here you are.")]));
}

#[tokio::test]
async fn unbuildable_prompt_keeps_messages_pending() {
    let fixture = sovereign(answers_all(), "prompt: { budget: { tokens: 10 } }\n").await;
    leave(&fixture, "m-1", "0xaa", "hello").await;
    for attempts in 1..=4 {
        failed(&fixture.agent.tick().await.unwrap());
        let message = fixture.store.inbox_message(&inbox_id("m-1")).await.unwrap();
        assert_eq!((message.state, message.attempts), (InboxState::Staged, attempts));
    }
    assert_eq!(fixture.provider.requests().len(), 0);
}
