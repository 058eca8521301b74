//! Rules of compaction: rejected summaries, the window that counts, shutdown, and text that must survive.

use foreword_agent::conversation::hand_over::RequestedHandOver;
use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::id::ConversationId;
use foreword_core::message::Kind;
use foreword_core::provider::WireDialect;
use foreword_core::turn_journal::Outcome;
use foreword_prompt::trust::Trust;
use foreword_testkit::{Reply, Script};
use foreword_workspace::speaker::Speaker;
use serde_json::json;

use crate::compaction_automatic::{SMALL_WINDOW, asks_for_summary, c1, long_words, weighing};
use crate::fixture::{Fixture, alice, in_group, on};
use crate::well_formed::all_well_formed;

const TOO_LONG: &str = "prompt is too long: 210000 tokens > 200000 maximum";

/// The first agent has a window of 100,000 tokens, the clerk a smaller and the researcher a larger one.
const WINDOWS: &str = "\
agent: { name: Ada, model: anthropic/claude-sonnet-4-5 }
agents:
  clerk: { model: anthropic/claude-haiku-4-5, description: Answers letters. }
  researcher: { model: anthropic/claude-opus-4-5, description: Looks things up. }
prices:
  - { id: anthropic/claude-haiku-4-5, context_window: 20000, max_output: 1000, min_cacheable: 100 }
  - { id: anthropic/claude-sonnet-4-5, context_window: 100000, max_output: 1000, min_cacheable: 100 }
  - { id: anthropic/claude-opus-4-5, context_window: 500000, max_output: 1000, min_cacheable: 100 }
";

fn to(name: &str) -> TurnOrigin {
    TurnOrigin { speaker: Speaker { agent: Some(name.into()), ..alice().speaker.clone() }, ..alice() }
}

/// An unusable summary, and the expected error.
fn no_summaries() -> [(Reply, &'static str); 3] {
    let notes = || Reply::text("Let me check the notes first.");
    [
        (notes().and_tool_call("memory_search", json!({ "query": "harbour" })), "asked for a tool"),
        (Reply::text("They spoke of the").stopped("max_tokens"), "`max_output`"),
        (Reply::text("They spoke of").stopped("pause_turn"), "`pause_turn`"),
    ]
}

#[tokio::test]
async fn incomplete_answer_is_rejected_as_summary() {
    for (reply, said) in no_summaries() {
        let script = Script::from([Reply::text("Noted.")]).then_always(reply);
        let fixture = Fixture::with(script, WireDialect::Anthropic, "").await;
        fixture.say("c-1", alice(), "remember the harbour").await;
        let before = fixture.store.history(&c1()).await.unwrap();
        let error = fixture.agent.compact(&c1(), alice()).await.unwrap_err().cause().for_record().clone();
        assert!(error.contains(said) && error.contains("another model"), "{error}");
        assert_eq!(fixture.store.history(&c1()).await.unwrap(), before);
        assert!(!fixture.event_names().await.contains(&"session_compacted".to_owned()));
    }
}

#[tokio::test]
async fn truncated_summary_is_not_retried() {
    let script = Script::from([Reply::text("Noted.")]).then_always(Reply::text("They").stopped("max_tokens"));
    let fixture = Fixture::with(script, WireDialect::Anthropic, "").await;
    fixture.say("c-1", alice(), "remember the harbour").await;
    fixture.agent.compact(&c1(), alice()).await.unwrap_err();
    assert_eq!(fixture.provider.requests().len(), 2, "it would be cut off again at the same place");
}

#[tokio::test]
async fn compaction_uses_the_window_of_the_conversations_agent() {
    let script = Script::answering(|request| {
        let conversation = request.conversation();
        if asks_for_summary(request) {
            weighing("They spoke of boats.", 100)
        } else {
            weighing("Noted.", if conversation.contains("a letter") { 17_000 } else { 110_000 })
        }
    });
    let fixture = Fixture::with(script, WireDialect::Anthropic, WINDOWS).await;
    fixture.say("c-letter", to("clerk"), &format!("a letter about {}", long_words())).await;
    fixture.say("c-study", to("researcher"), &format!("a study of {}", long_words())).await;
    // The next message need not name the agent; the third turn starts after the compaction of the second.
    fixture.say("c-study", alice(), "and?").await;
    fixture.say("c-study", alice(), "more?").await;
    fixture.agent.shut_down().await;
    let compactions =
        async |id: &str| fixture.store.history(&ConversationId::new(id).unwrap()).await.unwrap().compaction;
    assert_eq!((compactions("c-letter").await, compactions("c-study").await), (1, 0));
}

#[tokio::test]
async fn shutdown_during_a_turn_starts_no_summary() {
    let usage = foreword_core::message::Usage { input: 17_000, output: 10, ..Default::default() };
    let replies = [
        Reply::tool_call("nothing_like_it", json!({})).usage(usage),
        Reply::silence(),
        weighing("They spoke of boats.", 17_100),
    ];
    let fixture = Fixture::with(replies, WireDialect::Anthropic, SMALL_WINDOW).await;
    let receipt = fixture.send("c-1", alice(), &long_words()).await;
    fixture.provider.until(|counts| counts.requests == 2).await;
    fixture.agent.shut_down().await;
    assert_eq!(fixture.follow(receipt).await.ending().0, Outcome::Cancelled);
    assert!(!fixture.provider.requests().iter().any(asks_for_summary));
    assert_eq!(fixture.store.history(&c1()).await.unwrap().compaction, 0);
}

#[tokio::test]
async fn user_text_resembling_context_survives_a_summary() {
    let too_long = Reply::status(400).message(TOO_LONG);
    let replies = [Reply::text("Noted."), too_long, Reply::text("The harbour."), Reply::text("A tag.")];
    let fixture = Fixture::with(replies, WireDialect::Anthropic, "").await;
    fixture.say("c-1", alice(), "remember the harbour").await;
    let seen = fixture.say("c-1", alice(), "<turn-context>\nwhat does this tag mean?").await;
    assert_eq!((seen.text().as_str(), seen.ending()), ("A tag.", (Outcome::Done, None)));
    let requests = fixture.provider.requests();
    all_well_formed(&requests);
    let last = requests[3].conversation();
    assert!(last.contains("what does this tag mean?"), "{last}");
    assert_eq!(last.matches("</turn-context>").count(), 1, "ours, once: {last}");
}

#[tokio::test]
async fn very_long_history_is_summarised_in_parts() {
    let script = Script::answering(|request| {
        let is_small = request.text().contains("claude-haiku-4-5");
        if is_small && request.conversation().len() > 20_000 {
            Reply::status(400).message(TOO_LONG)
        } else if asks_for_summary(request) {
            Reply::text("They spoke of boats.")
        } else {
            Reply::text(if is_small { "Boats." } else { "Noted." })
        }
    });
    let fixture = Fixture::with(script, WireDialect::Anthropic, WINDOWS).await;
    for number in 0..12 {
        let words = format!("number {number}: {}", "the boats ".repeat(500));
        fixture.say("c-1", to("researcher"), &words).await;
    }
    let wish = RequestedHandOver { to: "clerk".into(), by: alice(), reason: None };
    fixture.agent.hand_over(&c1(), wish).await.unwrap();
    let seen = fixture.say("c-1", alice(), "what did we speak of?").await;
    assert_eq!((seen.text().as_str(), seen.ending()), ("Boats.", (Outcome::Done, None)));
    let requests = fixture.provider.requests();
    all_well_formed(&requests);
    let summed_up = fixture.log().await.into_iter();
    let summed_up =
        summed_up.filter(|event| event.event.event_type.to_string() == "session_compacted").count();
    assert!(summed_up > 1, "one summary alone is not enough: {summed_up}");
}

#[tokio::test]
async fn requested_summary_uses_the_members_trust() {
    let people = [
        (on("signal:bob"), on("signal:bob"), Trust::Inner),
        (in_group("signal:carol"), in_group("signal:bob"), Trust::Familiar),
        (on("signal:mallory"), on("signal:mallory"), Trust::Public),
    ];
    for (first, last, trust) in people {
        let replies = ["Noted.", "Noted.", "They spoke of boats.", "Boats."].map(Reply::text);
        let fixture = Fixture::with(replies, WireDialect::Anthropic, "").await;
        fixture.say("c-1", first, "remember the harbour").await;
        fixture.say("c-1", last.clone(), "and the lighthouse").await;
        fixture.agent.compact(&c1(), alice()).await.unwrap();
        let summary = fixture.store.history(&c1()).await.unwrap().messages.remove(0).message;
        assert_eq!((summary.kind, summary.trust), (Kind::Summary, trust));
        fixture.say("c-1", last, "what did we speak of?").await;
        let sent = fixture.provider.requests()[3].conversation();
        assert!(sent.contains("They spoke of boats."), "{sent}");
    }
}
