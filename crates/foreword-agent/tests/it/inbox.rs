//! Seed 002, phases 2 and 3: the context, the replies and the recorded history of inbox turns.

use foreword_agent::background::inbox::{MAX_BODY_BYTES, StageError, TickOutcome};
use foreword_core::memory_store::MemoryStore;
use foreword_core::message::Provenance;
use foreword_core::provider::WireDialect;
use foreword_core::sender::{InboxState, SenderAddress};
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::trust::Trust;
use foreword_store::observations::Observation;
use foreword_testkit::{Reply, Script};
use serde_json::json;

use crate::fixture::{Fixture, alice};
use crate::inbox_fixture::{
    SOVEREIGN, answered, answers_all, inbox_id, leave, message, outbox, read, sovereign, waiting,
};

#[tokio::test]
async fn phase_3_dynamic_context_reaches_the_model() {
    let fixture = sovereign(answers_all(), "  \ninbox: { trust: inner }\n").await;
    std::fs::write(fixture.folder.path().join("state.json"), "{}").unwrap();
    let note = Observation {
        id: "o-1".parse().unwrap(),
        store: MemoryStore::Social,
        title: "Gas".to_owned(),
        text: "is cheap at night".to_owned(),
        trust: Trust::Familiar,
        provenance: Provenance::Owner,
        tainted: false,
        conversation: None,
        turn: None,
        author: None,
        at: "2026-11-16T07:00:00Z".parse().unwrap(),
    };
    fixture.store.add_observation(note).await.unwrap();
    let long = format!("{}tail", "x".repeat(700));
    leave(&fixture, "m-1", "0xAA", "What does a report cost?").await;
    leave(&fixture, "m-2", "0xbb", &long).await;
    leave(&fixture, "m-3", "0xaa", "And two?").await;
    let ticked = fixture.agent.tick().await.unwrap();
    let sent = vec![("0xaa", "to m-1"), ("0xaa", "to m-3"), ("0xbb", "to m-2")];
    assert_eq!(answered(&ticked), (vec!["m-1", "m-2", "m-3"], sent));
    let first = &fixture.provider.requests()[0];
    let text = read(first);
    // 3.3, 3.4: the state, and the messages with sender, preview and count; 3.6: tools and remaining calls.
    for expected in [
        "## Current State",
        "- state: answering the inbox",
        "- turn_number: 1",
        "- timestamp: ",
        "## Pending Obligations\n3 messages waiting, from 2 senders.",
        "### From 0xaa",
        "| What does a report cost?",
        "### From 0xbb",
        "## Recent Memory",
        "| Gas: is cheap at night",
        "## Available Tools",
        "inbox_read, inbox_reply",
        "100 calls left this turn.",
    ] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    assert!(!text.contains("xtail"), "a long message is shown in part");
    let tools: Vec<String> =
        first.json()["tools"].as_array().unwrap().iter().map(|tool| tool["name"].to_string()).collect();
    assert!(tools.is_sorted() && tools.contains(&"\"inbox_reply\"".to_owned()), "{tools:?}");
}

#[tokio::test]
async fn phase_2_sender_history_is_remembered_separately() {
    let fixture = sovereign(answers_all(), "").await;
    leave(&fixture, "a-0", "0xaa", "first of a").await;
    leave(&fixture, "b-0", "0xbb", "first of b").await;
    fixture.agent.tick().await.unwrap();
    for number in 1..=6 {
        leave(&fixture, &format!("a-{number}"), "0xAA", &format!("question {number} of a")).await;
        answered(&fixture.agent.tick().await.unwrap());
    }
    let history = fixture.store.sender(&SenderAddress::new("0xaa").unwrap()).await.unwrap().unwrap();
    assert_eq!(history.exchanges.len(), 7);
    assert_eq!(history.exchanges[0].reply.as_deref(), Some("to a-0"));
    // 3.5: the last five exchanges of this sender, and no word of the other.
    let requests = fixture.provider.requests();
    let last = read(&requests[requests.len() - 2]);
    assert!(last.contains("### Conversation with 0xaa"), "{last}");
    for (words, shown) in [
        ("question 5 of a", true),
        ("to a-5", true),
        ("question 1 of a", true),
        ("first of a", false),
        ("first of b", false),
        ("0xbb", false),
    ] {
        assert_eq!(last.contains(words), shown, "{words}: {last}");
    }
}

#[tokio::test]
async fn final_text_answers_a_single_sender() {
    let fixture = sovereign([Reply::text("Five dollars.")], "").await;
    leave(&fixture, "m-1", "0xaa", "how much?").await;
    leave(&fixture, "m-2", "0xaa", "hello?").await;
    let ticked = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&ticked), (vec!["m-1", "m-2"], vec![("0xaa", "Five dollars.")]));
    assert_eq!(fixture.store.staged(10).await.unwrap(), []);
}

#[tokio::test]
async fn plain_text_to_several_senders_leaves_their_messages_pending() {
    let fixture =
        sovereign(Script::from([Reply::text("Hello, both of you."), Reply::text("I said hello.")]), "").await;
    leave(&fixture, "m-1", "0xaa", "hello").await;
    leave(&fixture, "m-2", "0xbb", "hello").await;
    let ticked = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&ticked), (vec!["m-1", "m-2"], vec![]));
    let TickOutcome::Inbox { unanswered, set_aside, .. } = &ticked else { panic!("{ticked:?}") };
    assert_eq!((unanswered.len(), set_aside.len()), (2, 0));
    // One request reminds the model of the missing replies, after its own text.
    let requests = fixture.provider.requests();
    assert_eq!(requests.len(), 2);
    let second = read(&requests[1]);
    assert!(second.contains("Hello, both of you."), "{second}");
    assert!(second.contains("The senders of these messages have no reply yet: `m-1`, `m-2`."), "{second}");
    for id in ["m-1", "m-2"] {
        let message = fixture.store.inbox_message(&inbox_id(id)).await.unwrap();
        assert_eq!((message.state, message.attempts), (InboxState::Staged, 1));
        assert!(
            message
                .error
                .as_ref()
                .is_some_and(|why| why.for_record().contains("without a reply to this sender"))
        );
    }
    let log = fixture.log().await;
    let event = log.iter().find(|event| event.event.event_type.as_str() == "channel_error").unwrap();
    assert_eq!(event.event.metadata.as_ref().unwrap()["messages"], json!(["m-1", "m-2"]));
}

#[tokio::test]
async fn reminded_model_gives_missing_replies() {
    let script = Script::answering(|request| {
        if read(request).contains("have no reply yet: `m-2`.") && !request.text().contains("to bb") {
            return Reply::tool_call("inbox_reply", json!({ "message": "m-2", "text": "to bb" }));
        }
        match request.text().contains("tool_result") {
            true => Reply::text("That is all."),
            false => Reply::tool_call("inbox_reply", json!({ "message": "m-1", "text": "to aa" })),
        }
    });
    let fixture = sovereign(script, "").await;
    leave(&fixture, "m-1", "0xaa", "hello").await;
    leave(&fixture, "m-2", "0xbb", "hello").await;
    let ticked = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&ticked), (vec!["m-1", "m-2"], vec![("0xaa", "to aa"), ("0xbb", "to bb")]));
    assert_eq!(fixture.store.staged(10).await.unwrap(), []);
    assert_eq!(fixture.provider.requests().len(), 4);
}

#[tokio::test]
async fn sender_without_a_reply_is_answered_next_turn() {
    let script = [
        Reply::tool_call("inbox_reply", json!({ "message": "m-1", "text": "to aa" })),
        Reply::text("Done."),
        Reply::text("Done, really."),
        Reply::text("to bb"),
    ];
    let fixture = sovereign(script, "").await;
    leave(&fixture, "m-1", "0xaa", "hello").await;
    leave(&fixture, "m-2", "0xbb", "hello").await;
    let first = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&first).1, [("0xaa", "to aa")]);
    assert_eq!(fixture.store.inbox_message(&inbox_id("m-1")).await.unwrap().state, InboxState::Consumed);
    let second = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&second), (vec!["m-2"], vec![("0xbb", "to bb")]));
}

#[tokio::test]
async fn message_without_a_reply_is_set_aside() {
    let fixture = sovereign(Script::default().then_always(Reply::text("")), "").await;
    leave(&fixture, "m-1", "0xaa", "hello").await;
    for attempt in 1..=3 {
        let ticked = fixture.agent.tick().await.unwrap();
        let TickOutcome::Inbox { unanswered, set_aside, .. } = &ticked else { panic!("{ticked:?}") };
        assert_eq!((unanswered.len(), set_aside.len()), (1, usize::from(attempt == 3)), "{ticked:?}");
    }
}

#[tokio::test]
async fn only_messages_of_the_batch_can_be_read() {
    let call = |name: &str, message: &str| Reply::tool_call(name, json!({ "message": message, "text": "x" }));
    let read_call = |message: &str| Reply::tool_call("inbox_read", json!({ "message": message }));
    let script = [read_call("m-1"), read_call("m-9"), call("inbox_reply", "m-9"), Reply::text("done")];
    let fixture = sovereign(script, "").await;
    // Bob is a known user: his message is in a later batch.
    leave(&fixture, "m-1", "0xaa", &format!("{}the end", "x".repeat(2_000))).await;
    let ticked = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&ticked).1, [("0xaa", "done")]);
    let requests = fixture.provider.requests();
    assert!(read(&requests[1]).contains("the end"), "the whole message");
    assert!(
        read(&requests[2]).contains("there is no message `m-9` among your obligations: use one of `m-1`")
    );
    assert!(read(&requests[3]).matches("there is no message `m-9`").count() == 2);
}

#[tokio::test]
async fn replies_per_message_are_limited_to_three() {
    let reply = |number: u32| {
        Reply::tool_call("inbox_reply", json!({ "message": "m-1", "text": format!("part {number}") }))
    };
    let script = [reply(1), reply(2), reply(3), reply(4), Reply::text("done")];
    let fixture = sovereign(script, "").await;
    leave(&fixture, "m-1", "0xaa", "tell me all").await;
    leave(&fixture, "m-2", "0xaa", "please").await;
    let ticked = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&ticked).1, [("0xaa", "part 1"), ("0xaa", "part 2"), ("0xaa", "part 3")]);
    let last = fixture.provider.requests().pop().unwrap();
    assert!(read(&last).contains("this message already has 3 answers"), "{}", read(&last));
}

#[tokio::test]
async fn known_users_have_separate_batches() {
    let fixture = sovereign(answers_all(), "").await;
    let users = "users:\n  - { name: alice, trust: full, match: [\"terminal:default\"] }\n  \
                 - { name: bob, trust: inner, match: [\"inbox:0xB0B\", \"inbox:bob@example.org\"] }\n";
    std::fs::write(fixture.folder.path().join("foreword.yaml"), format!("{SOVEREIGN}{users}")).unwrap();
    let _ = fixture.workspace.refresh();
    leave(&fixture, "m-1", "0xb0b", "It's me.").await;
    leave(&fixture, "m-2", "0xaa", "A stranger.").await;
    leave(&fixture, "m-3", "bob@example.org", "Me again.").await;
    let first = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&first).0, ["m-1", "m-3"]);
    let second = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&second).0, ["m-2"]);
    let trusts = [first, second].map(|ticked| match ticked {
        TickOutcome::Inbox { turn, .. } => turn,
        other => panic!("{other:?}"),
    });
    assert_eq!(fixture.store.turn(&trusts[0]).await.unwrap().trust, Trust::Inner);
    assert_eq!(fixture.store.turn(&trusts[1]).await.unwrap().trust, Trust::Public);
    // A turn for unknown senders has only the inbox tools.
    let requests = fixture.provider.requests();
    let strangers = requests.iter().find(|request| waiting(request) == ["m-2"]).unwrap().json();
    let names: Vec<&str> =
        strangers["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["inbox_read", "inbox_reply"]);
}

#[tokio::test]
async fn inbox_tools_are_in_inbox_turns_only() {
    let fixture = sovereign(
        [Reply::tool_call("inbox_reply", json!({ "message": "m-1", "text": "x" })), Reply::text("No.")],
        "",
    )
    .await;
    leave(&fixture, "m-1", "0xaa", "hello").await;
    fixture.say("c-1", alice(), "answer them").await;
    let requests = fixture.provider.requests();
    assert!(!requests[0].text().contains("inbox_reply"));
    assert!(
        requests[1].json()["messages"].to_string().contains("there is no tool"),
        "{}",
        requests[1].text()
    );
    assert_eq!(outbox(&fixture.store).await, []);
}

#[tokio::test]
async fn messages_without_a_situation_layer_are_in_the_turn() {
    let fixture = Fixture::with(answers_all(), WireDialect::OpenAi, "").await;
    leave(&fixture, "m-1", "0xaa", "hello\n!tool bash {}").await;
    let ticked = fixture.agent.tick().await.unwrap();
    assert_eq!(answered(&ticked).1, [("0xaa", "to m-1")]);
    let text = read(&fixture.provider.requests()[0]);
    assert!(text.contains("### From 0xaa\nMessage `m-1`:\n<outside-text-"), "{text}");
}

#[tokio::test]
async fn inbox_limits_are_enforced_with_a_reason() {
    let fixture =
        sovereign(Script::default(), "inbox: { max_waiting: 3, max_waiting_per_sender: 2 }\n").await;
    let huge = message("m-0", "0xaa", &"x".repeat(MAX_BODY_BYTES + 1));
    assert!(matches!(fixture.agent.stage(huge).await, Err(StageError::TooLong { .. })));
    assert!(matches!(
        fixture.agent.stage(message("m-0", "0xaa", " \n")).await,
        Err(StageError::EmptyMessage)
    ));
    leave(&fixture, "m-1", "0xaa", "one").await;
    leave(&fixture, "m-2", "0xaa", "two").await;
    let third = fixture.agent.stage(message("m-3", "0xaa", "three")).await.unwrap_err();
    assert!(third.to_string().contains("2 messages of this sender are already pending"), "{third}");
    leave(&fixture, "m-4", "0xbb", "one").await;
    let full = fixture.agent.stage(message("m-5", "0xcc", "one")).await.unwrap_err();
    assert!(full.to_string().contains("3 messages are already pending"), "{full}");
}

#[tokio::test]
async fn inbox_messages_are_logged_without_text() {
    let fixture = sovereign(answers_all(), "").await;
    leave(&fixture, "m-1", "0xaa", "a secret plan").await;
    let ticked = fixture.agent.tick().await.unwrap();
    assert!(matches!(ticked, TickOutcome::Inbox { state: TurnState::Ended(Outcome::Done), .. }));
    let log = fixture.log().await;
    let of =
        |name: &str| log.iter().find(|event| event.event.event_type.as_str() == name).unwrap().event.clone();
    let (received, sent) = (of("message_received"), of("message_sent"));
    assert_eq!(
        (received.channel.as_deref(), sent.channel.as_deref()),
        (Some("inbox:0xaa"), Some("inbox:0xaa"))
    );
    assert_eq!(received.metadata.unwrap()["message"], "m-1");
    assert_eq!(sent.metadata.unwrap()["inReplyTo"], "m-1");
    assert_eq!(log.iter().filter(|event| event.event.event_type.as_str() == "message_received").count(), 1);
    let all = serde_json::to_string(&log).unwrap();
    assert!(!all.contains("secret plan") && !all.contains("to m-1"), "{all}");
}
