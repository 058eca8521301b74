//! One turn at a time: messages wait in order, none is answered twice, and unattended messages are queued.

use std::time::Duration;

use foreword_agent::conversation::inbound::Inbound;
use foreword_core::id::ConversationId;
use foreword_core::turn_journal::Outcome;
use foreword_store::messages::{IdempotencyKey, MessagePage};
use foreword_testkit::{Reply, Script, until};

use crate::fixture::{Fixture, Setting, alice, follow, on, unwatched};
use crate::snapshot_text::{feed_text, logged};
use crate::well_formed::all_well_formed;

fn c1() -> ConversationId {
    ConversationId::new("c-1").unwrap()
}

/// What the agent has said in the conversation, in order.
async fn answers(fixture: &Fixture) -> Vec<String> {
    let messages = fixture.store.all_messages(&c1(), MessagePage::newest(1_000)).await.unwrap();
    let said = messages.iter().filter(|message| message.message.role.as_str() == "assistant");
    said.map(|message| format!("{:?}", message.message.content)).collect()
}

#[tokio::test]
async fn unattended_message_is_queued_until_the_provider_returns() {
    let refusals = vec![Reply::status(429); 6];
    let fixture = Fixture::new(Script::from(refusals).then_always(Reply::text("Good morning."))).await;
    let seen = fixture.say("c-1", unwatched(on("signal:bob")), "are you there?").await;
    assert_eq!((seen.text().as_str(), seen.ending()), ("Good morning.", (Outcome::Done, None)));
    insta::assert_snapshot!(format!("{}\n{}", feed_text(&seen), logged(&fixture.log().await)).trim_end());
    assert_eq!(answers(&fixture).await.len(), 1, "answered once");
    all_well_formed(&fixture.provider.requests());
}

#[tokio::test]
async fn message_fails_after_the_maximum_requeues() {
    let more = "retry: { max_retries: 1, base_delay_ms: 5, max_delay_ms: 10, \
                requeue: { max_attempts: 2, delay_ms: 20, max_delay_ms: 40 } }\n";
    let fixture = Fixture::set(Reply::status(503), Setting::default(), more).await;
    let seen = fixture.say("c-1", unwatched(on("signal:bob")), "are you there?").await;
    assert_eq!(seen.ending().0, Outcome::Failed);
    // Three times in all, and each time once more.
    assert_eq!(fixture.provider.requests().len(), 6);
    let names = fixture.event_names().await;
    assert_eq!(names.iter().filter(|name| *name == "message_queued").count(), 2);
    fixture.provider.push(Reply::text("Here."));
    let seen = fixture.say("c-1", unwatched(on("signal:bob")), "and now?").await;
    assert_eq!((seen.text().as_str(), seen.ending().0), ("Here.", Outcome::Done));
}

#[tokio::test]
async fn attended_and_permanently_failed_messages_are_not_queued() {
    let fixture = Fixture::new(Reply::status(429)).await;
    assert_eq!(fixture.say("c-1", alice(), "hello").await.ending().0, Outcome::Failed);
    let refused = Fixture::new(Reply::status(401)).await;
    assert_eq!(refused.say("c-1", unwatched(alice()), "hello").await.ending().0, Outcome::Failed);
    for fixture in [&fixture, &refused] {
        assert!(!fixture.event_names().await.contains(&"message_queued".to_owned()));
    }
}

#[tokio::test]
async fn messages_during_a_turn_are_answered_in_order() {
    let echo = Script::answering(|request| Reply::text(format!("Answer {}.", request.number)));
    let fixture = Fixture::with(echo, foreword_core::provider::WireDialect::Anthropic, "").await;
    fixture.say("c-1", alice(), "zero").await;
    fixture.provider.push(Reply::text("Answer slowly.").paced(Duration::from_millis(100)));
    let mut receipts = Vec::new();
    receipts.push(fixture.send("c-1", alice(), "one").await);
    fixture.provider.until(|counts| counts.requests == 2).await;
    receipts.push(fixture.send("c-1", alice(), "two").await);
    receipts.push(fixture.send("c-1", alice(), "three").await);
    receipts.push(fixture.send("c-1", on("signal:bob"), "four").await);
    receipts.push(fixture.send("c-1", alice(), "five").await);
    for receipt in receipts {
        assert_eq!(follow(receipt).await.ending(), (Outcome::Done, None));
    }
    let requests = fixture.provider.requests();
    all_well_formed(&requests);
    // Consecutive messages of one user are answered together; those of others are not.
    let last_said =
        |number: usize| requests[number].conversation().lines().last().unwrap_or_default().to_owned();
    assert_eq!(requests.len(), 5);
    let sent = requests[2].conversation();
    assert!(sent.find("two") < sent.find("three") && !sent.contains("four"), "{sent}");
    assert!(last_said(3).contains("four") && last_said(4).contains("five"), "{}", last_said(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_senders_wait_for_no_lease() {
    let fixture = std::sync::Arc::new(Fixture::new(Reply::text("Yes.")).await);
    let asking = (0..24).map(|number| {
        let fixture = std::sync::Arc::clone(&fixture);
        let channel = ["terminal:default", "signal:bob", "signal:carol"][number % 3];
        tokio::spawn(async move {
            let seen = fixture.say("c-1", on(channel), &format!("question {number}?")).await;
            (number, seen.ending())
        })
    });
    let asked = futures_util::future::join_all(asking.collect::<Vec<_>>());
    let asked = tokio::time::timeout(Duration::from_secs(25), asked).await.expect("a lease is 30 seconds");
    for answered in asked {
        assert_eq!(answered.unwrap().1, (Outcome::Done, None));
    }
    let requests = fixture.provider.requests();
    all_well_formed(&requests);
    let everything = requests.iter().map(|request| request.conversation()).collect::<String>();
    for number in 0..24 {
        assert!(everything.contains(&format!("question {number}?")), "{number} was never asked");
    }
}

#[tokio::test]
async fn early_subscriber_sees_the_first_answer() {
    let fixture = Fixture::new(Reply::text("Hello.")).await;
    let feed = fixture.agent.feed(&c1());
    fixture.agent.cancel(&c1());
    let seen = fixture.say("c-1", alice(), "hello").await;
    assert_eq!((seen.text().as_str(), seen.ending().0), ("Hello.", Outcome::Done));
    assert!(feed.read(0).await.items.len() >= seen.progress.len());
}

#[tokio::test]
async fn duplicate_message_is_answered_once() {
    let fixture = Fixture::new(Reply::text("Once.").after(Duration::from_millis(50))).await;
    let key = Some(IdempotencyKey { scope: "signal".to_owned(), key: "17".to_owned() });
    let again = || {
        let (occasion, text) = (unwatched(on("signal:bob")), "are you there?".to_owned());
        fixture.agent.send(Inbound { conversation: c1(), origin: occasion, text, key: key.clone() })
    };
    let first = again().await.unwrap();
    let second = again().await.unwrap();
    assert_eq!((first.before, second.before), (false, true));
    assert_eq!(first.message.message.id, second.message.message.id);
    follow(first).await;
    assert!(again().await.unwrap().before, "long afterwards, too");
    fixture.say("c-1", alice(), "and now?").await;
    assert_eq!(fixture.provider.requests().len(), 2);
    let received = fixture.event_names().await.iter().filter(|name| *name == "message_received").count();
    assert_eq!(received, 2, "a delivery that is no news is not logged as a message");
}

#[tokio::test]
async fn conversation_never_has_two_running_turns() {
    let fixture = Fixture::new(Reply::text("One after the other.").paced(Duration::from_millis(60))).await;
    let other = fixture.another(Setting::default()).await;
    let here = fixture.send("c-1", alice(), "here").await;
    fixture.provider.until(|counts| counts.requests == 1).await;
    let (occasion, text) = (alice(), "and there".to_owned());
    let there =
        other.agent.send(Inbound { conversation: c1(), origin: occasion, text, key: None }).await.unwrap();
    follow(here).await;
    // Whichever of the two answers it: it is answered, once, and behind the first.
    until("both are answered", async || {
        fixture.store.pending(&c1()).await.unwrap().is_empty() && answers(&fixture).await.len() >= 2
    })
    .await;
    assert!(!there.before);
    let requests = fixture.provider.requests();
    all_well_formed(&requests);
    assert_eq!((requests.len(), answers(&fixture).await.len()), (2, 2));
    assert!(requests[1].conversation().contains("One after the other."), "the second knows of the first");
    let log = fixture.log().await;
    let order: Vec<String> = log
        .iter()
        .map(|event| event.event.event_type.to_string())
        .filter(|name| ["turn_started", "turn_completed"].contains(&name.as_str()))
        .collect();
    assert!(order.starts_with(&["turn_started".to_owned(), "turn_completed".to_owned()]), "{order:?}");
}

#[tokio::test]
async fn slow_answer_keeps_its_lease() {
    let words = "a long story that goes on and on and on and on and on until it ends";
    let fixture = Fixture::set(
        Reply::text(words).paced(Duration::from_millis(150)),
        Setting::lease(Duration::from_millis(1_500)),
        "",
    )
    .await;
    let other = fixture.another(Setting::lease(Duration::from_millis(1_500))).await;
    let receipt = fixture.send("c-1", alice(), "tell me").await;
    other.agent.recover().await.unwrap();
    fixture.agent.recover().await.unwrap();
    let seen = follow(receipt).await;
    assert_eq!((seen.text().as_str(), seen.ending()), (words, (Outcome::Done, None)));
    assert_eq!((fixture.provider.requests().len(), answers(&fixture).await.len()), (1, 1));
}

#[tokio::test]
async fn unbuildable_prompt_blocks_no_other_conversation() {
    let fixture = Fixture::new(Reply::text("Yes.").paced(Duration::from_millis(80))).await;
    let first = fixture.send("c-1", alice(), "one").await;
    fixture.provider.until(|counts| counts.requests == 1).await;
    let second = fixture.send("c-1", alice(), "two").await;
    let third = fixture.send("c-1", on("signal:bob"), "three").await;
    let tiny = crate::fixture::configuration("prompt: { budget: { tokens: 10 } }\n");
    std::fs::write(fixture.folder.path().join("foreword.yaml"), tiny).unwrap();
    fixture.workspace.refresh();
    assert_eq!(follow(first).await.ending().0, Outcome::Done);
    // The second uses the frozen prompt. The third has lower trust, for which no prompt can be frozen.
    assert_eq!(follow(second).await.ending().0, Outcome::Done);
    assert_eq!(follow(third).await.ending().0, Outcome::Failed);
}
