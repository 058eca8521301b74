//! Compaction on request, and when the history exceeds the context window.

use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_core::message::{ContentBlock, Message};
use foreword_core::provider::WireDialect;
use foreword_core::turn_journal::Outcome;
use foreword_store::messages::MessagePage;
use foreword_testkit::{Reply, Script};

use crate::fixture::{Fixture, Setting, alice};
use crate::prefix_extension::extends;
use crate::well_formed::all_well_formed;

const BOTH: [WireDialect; 2] = [WireDialect::Anthropic, WireDialect::OpenAi];
const TOO_LONG: &str = "prompt is too long: 210000 tokens > 200000 maximum";

fn c1() -> ConversationId {
    ConversationId::new("c-1").unwrap()
}

fn too_long(dialect: WireDialect) -> Reply {
    match dialect {
        WireDialect::Anthropic => Reply::status(400).message(TOO_LONG),
        WireDialect::OpenAi => Reply::status(400).body(
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        ),
    }
}

async fn talked(replies: Vec<Reply>, dialect: WireDialect) -> Fixture {
    let begun = vec![Reply::text("Noted: the harbour."), Reply::text("Noted: the lighthouse.")];
    let fixture = Fixture::with([begun, replies].concat(), dialect, "").await;
    fixture.say("c-1", alice(), "remember the harbour").await;
    fixture.say("c-1", alice(), "remember the lighthouse").await;
    fixture
}

fn text(messages: &[Message]) -> String {
    let blocks = messages.iter().flat_map(|message| &message.message.content);
    blocks.filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn summary_replaces_the_history_without_loss() {
    for dialect in BOTH {
        let replies = vec![Reply::text("Two places were noted."), Reply::text("Both of them.")];
        let fixture = talked(replies, dialect).await;
        let shortened = fixture.agent.compact(&c1(), alice()).await.unwrap();
        assert_eq!(shortened.summary, "Two places were noted.");
        assert!(shortened.removed >= 4, "{shortened:?}");
        let seen = fixture.say("c-1", alice(), "which places?").await;
        assert_eq!((seen.text().as_str(), seen.ending()), ("Both of them.", (Outcome::Done, None)));
        let requests = fixture.provider.requests();
        all_well_formed(&requests);
        assert!(extends(&requests[1], &requests[2]), "the summary is asked for on what is in the cache");
        let last = requests[3].conversation();
        assert!(last.contains("Two places were noted.") && !last.contains("remember the harbour"), "{last}");
        let all = fixture.store.all_messages(&c1(), MessagePage::newest(100)).await.unwrap();
        let all = text(&all);
        assert!(all.contains("remember the harbour") && all.contains("Noted: the lighthouse."), "{all}");
        assert!(fixture.event_names().await.contains(&"session_compacted".to_owned()));
    }
}

#[tokio::test]
async fn failed_summary_changes_nothing() {
    for reply in [Reply::status(401), Reply::empty(), Reply::text("Half a sum").then_error("api_error", "no")]
    {
        let fixture = talked(vec![reply; 4], WireDialect::Anthropic).await;
        let before = fixture.store.history(&c1()).await.unwrap();
        let error = fixture.agent.compact(&c1(), alice()).await.unwrap_err();
        assert!(!error.to_string().is_empty());
        assert_eq!(fixture.store.history(&c1()).await.unwrap(), before);
        let asked = fixture.provider.requests().len();
        (asked..6).for_each(|_| fixture.provider.push(Reply::text("-")));
        let seen = fixture.say("c-1", alice(), "still there?").await;
        // The rest of the script may fail the call, but the request has the whole history.
        assert_ne!(seen.progress.len(), 0);
        let last = fixture.provider.requests().last().unwrap().conversation();
        assert!(last.contains("remember the harbour"), "{last}");
        assert!(!fixture.event_names().await.contains(&"session_compacted".to_owned()));
    }
}

#[tokio::test]
async fn empty_conversation_cannot_be_compacted() {
    let fixture = Fixture::new(Reply::text("Hello.")).await;
    assert!(fixture.agent.compact(&c1(), alice()).await.is_err());
    assert_eq!(fixture.provider.requests().len(), 0);
}

#[tokio::test]
async fn running_turn_prevents_compaction() {
    let fixture =
        talked(vec![Reply::text("Slowly.").paced(Duration::from_millis(100))], WireDialect::Anthropic).await;
    let receipt = fixture.send("c-1", alice(), "third").await;
    fixture.provider.until(|counts| counts.requests == 3).await;
    let error = fixture.agent.compact(&c1(), alice()).await.unwrap_err();
    assert!(error.to_string().contains("a turn is running"), "{error}");
    assert_eq!(fixture.follow(receipt).await.ending().0, Outcome::Done);
}

#[tokio::test]
async fn history_too_long_is_compacted_and_the_call_retried() {
    for dialect in BOTH {
        let replies =
            vec![too_long(dialect), Reply::text("Two places were noted."), Reply::text("Both of them.")];
        let fixture = talked(replies, dialect).await;
        let seen = fixture.say("c-1", alice(), "which places?").await;
        assert_eq!((seen.text().as_str(), seen.ending()), ("Both of them.", (Outcome::Done, None)));
        assert_eq!(seen.statuses(), ["The conversation is too long for the model. Summarising..."]);
        let requests = fixture.provider.requests();
        all_well_formed(&requests);
        assert!(extends(&requests[1], &requests[3]), "the summary is asked for on what is in the cache");
        let last = requests[4].conversation();
        assert!(last.contains("Two places were noted.") && last.contains("which places?"), "{last}");
        assert!(!last.contains("remember the harbour"), "{last}");
        let names = fixture.event_names().await;
        assert!(names.contains(&"session_compacted".to_owned()), "{names:?}");
    }
}

#[tokio::test]
async fn call_too_long_after_compaction_fails_the_turn() {
    for dialect in BOTH {
        let replies =
            vec![too_long(dialect), Reply::text("Two places."), too_long(dialect), Reply::text("Fine.")];
        let fixture = talked(replies, dialect).await;
        let seen = fixture.say("c-1", alice(), "which places?").await;
        let (outcome, failure) = seen.ending();
        assert_eq!(outcome, Outcome::Failed);
        assert!(failure.as_ref().is_some_and(|text| text.contains("larger context")), "{failure:?}");
        let seen = fixture.say("c-1", alice(), "and now?").await;
        assert_eq!((seen.text().as_str(), seen.ending().0), ("Fine.", Outcome::Done));
        all_well_formed(&fixture.provider.requests());
    }
}

#[tokio::test]
async fn first_message_too_long_is_an_error() {
    let fixture = Fixture::new([too_long(WireDialect::Anthropic), Reply::text("Fine.")]).await;
    let seen = fixture.say("c-1", alice(), "very long").await;
    let (outcome, failure) = seen.ending();
    assert_eq!((outcome, fixture.provider.requests().len()), (Outcome::Failed, 1));
    assert!(failure.as_ref().is_some_and(|text| text.contains("too long")), "{failure:?}");
    assert_eq!(fixture.say("c-1", alice(), "short").await.ending().0, Outcome::Done);
}

#[tokio::test]
async fn slow_summary_keeps_its_lease() {
    let setting = Setting::lease(Duration::from_millis(1_500));
    let slow = Reply::text("Two places.").after(Duration::from_secs(2));
    let script = Script::from([
        Reply::text("Noted."),
        too_long(WireDialect::Anthropic),
        slow.clone(),
        Reply::text("Done."),
        slow,
    ]);
    let fixture = Fixture::set(script, setting.clone(), "").await;
    let other = fixture.another(setting).await;
    fixture.say("c-1", alice(), "remember the harbour").await;
    other.agent.recover().await.unwrap();
    let seen = fixture.say("c-1", alice(), "which places?").await;
    assert_eq!((seen.text().as_str(), seen.ending()), ("Done.", (Outcome::Done, None)));
    fixture.agent.compact(&c1(), alice()).await.unwrap();
    assert_eq!(fixture.provider.requests().len(), 5, "nobody else has gone on with it");
}
