//! A turn from message to answer, with tools, history and users of different trust.

use foreword_agent::conversation::inbound::Inbound;
use foreword_core::turn_journal::Outcome;
use foreword_testkit::Reply;
use serde_json::json;

use crate::fixture::{CONFIG, Fixture, alice, follow, in_group};

#[tokio::test]
async fn alices_question_is_answered_from_memory() {
    let fixture = Fixture::new([
        Reply::text("Let me look. ").and_tool_call("memory_search", json!({ "query": "Carol birthday" })),
        Reply::text("On 14 March."),
    ])
    .await;
    let seen = fixture.say("c-1", alice(), "what's Carol's birthday?").await;
    assert_eq!(seen.ending(), (Outcome::Done, None));
    assert_eq!(seen.text(), "Let me look. On 14 March.");
    let [(tool, found, false)] = seen.results()[..] else { panic!("{:?}", seen.results()) };
    assert!(tool == "memory_search" && found.contains("14 March"), "{found}");
    let second = fixture.provider.requests()[1].text();
    assert!(second.contains("14 March"), "{second}");
    assert_eq!(
        fixture.event_names().await,
        [
            "session_created",
            "message_received",
            "turn_started",
            "trust_resolved",
            "prompt_built",
            "api_call",
            "memory_search",
            "tool_call",
            // The prompt is too small for the model's cache.
            "cache_miss",
            "api_call",
            "turn_completed",
            "message_sent"
        ]
    );
}

#[tokio::test]
async fn bob_in_the_group_gets_no_private_answer() {
    let fixture = Fixture::new([
        Reply::text("On 14 March."),
        Reply::tool_call("memory_search", json!({ "query": "Carol birthday" })),
        Reply::text("I don't know."),
    ])
    .await;
    fixture.say("c-1", alice(), "Carol's birthday is on 14 March").await;
    let seen = fixture.say("c-1", in_group("signal:bob"), "what's Carol's birthday?").await;
    let [(_, found, _)] = seen.results()[..] else { panic!("{:?}", seen.results()) };
    assert!(found.contains("number 7") && !found.contains("14 March"), "{found}");
    for request in &fixture.provider.requests()[1..] {
        let text = request.text();
        assert!(!text.contains("14 March") && !text.contains("peonies"), "{text}");
        assert!(text.contains("A message of this conversation is withheld here"), "{text}");
    }
}

#[tokio::test]
async fn requests_of_an_epoch_extend_each_other() {
    let fixture = Fixture::new([
        Reply::tool_call("memory_search", json!({ "query": "Carol" })),
        Reply::text("One."),
        Reply::text("Two."),
    ])
    .await;
    fixture.say("c-1", alice(), "first").await;
    fixture.say("c-1", alice(), "second").await;
    let bodies: Vec<_> = fixture.provider.requests().iter().map(|request| request.json()).collect();
    for pair in bodies.windows(2) {
        for part in ["tools", "system"] {
            assert_eq!(pair[0][part], pair[1][part], "{part}");
        }
        let (earlier, later) = (unmarked(&pair[0]), unmarked(&pair[1]));
        assert!(later.starts_with(&earlier), "{earlier:#?}\n{later:#?}");
    }
}

#[tokio::test]
async fn written_layer_applies_from_the_next_epoch() {
    let new = |version| json!({ "layer_id": "6", "content": "Check the runway first.", "expected_version": version });
    let yaml = CONFIG.replace("agent: { name: Ada,", "agent: { name: Ada, blueprint: sovereign,");
    let replies = [
        Reply::tool_call("update_prompt_layer", new(7)),
        Reply::tool_call("update_prompt_layer", new(0)),
        Reply::text("Written."),
        Reply::text("As before."),
        Reply::text("A new conversation."),
    ];
    let fixture = Fixture::new(replies).await;
    std::fs::write(fixture.folder.path().join("foreword.yaml"), yaml).unwrap();
    fixture.workspace.refresh();
    let seen = fixture.say("c-1", alice(), "look after your runway").await;
    // What was refused does not count as the one write a turn has.
    assert_eq!(seen.results().iter().map(|result| result.2).collect::<Vec<_>>(), [true, false]);
    fixture.say("c-1", alice(), "and now?").await;
    fixture.say("c-2", alice(), "and now?").await;
    let bodies: Vec<_> = fixture.provider.requests().iter().map(|request| request.json()).collect();
    assert_eq!(bodies[0]["system"], bodies[3]["system"]);
    let texts = bodies[3]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(!texts.contains("runway first"), "{texts}");
    assert!(bodies[4]["system"].to_string().contains("Check the runway first."));
}

#[tokio::test]
async fn group_has_the_trust_of_its_least_trusted_speaker() {
    let fixture =
        Fixture::new([Reply::text("One."), Reply::text("Two."), Reply::text("Three."), Reply::text("Four.")])
            .await;
    fixture.say("group-7", in_group("signal:bob"), "hello").await;
    fixture.say("group-7", in_group("signal:mallory"), "hello").await;
    fixture.say("group-7", in_group("signal:bob"), "what do you know of Carol?").await;
    fixture.say("c-2", alice(), "and in private?").await;
    let texts: Vec<String> = fixture.provider.requests().iter().map(|request| request.text()).collect();
    assert!(texts[0].contains("social/people.md") && texts[0].contains("memory_search"));
    assert!(!texts[2].contains("social/people.md") && !texts[2].contains("memory_search"), "{}", texts[2]);
    assert!(texts[3].contains("private/people.md"));
}

/// The messages of a request without cache markers, which are not part of what is cached.
fn unmarked(body: &serde_json::Value) -> Vec<serde_json::Value> {
    let mut messages = body["messages"].as_array().unwrap().clone();
    for block in messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten() {
        block.as_object_mut().unwrap().remove("cache_control");
    }
    messages
}

#[tokio::test]
async fn messages_through_another_process_are_read() {
    let fixture = Fixture::new([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]).await;
    let other = fixture.another(Default::default()).await;
    fixture.say("c-1", alice(), "the first").await;
    let conversation = foreword_core::id::ConversationId::new("c-1").unwrap();
    let second = Inbound { conversation, origin: alice(), text: "the second".to_owned(), key: None };
    follow(other.agent.send(second).await.unwrap()).await;
    fixture.say("c-1", alice(), "the third").await;
    let last = fixture.provider.requests()[2].text();
    let places: Vec<_> = ["the first", "One.", "the second", "Two.", "the third"]
        .iter()
        .map(|words| last.find(words).unwrap_or_else(|| panic!("no `{words}` in {last}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}
