//! The diagnosis of cache misses in turns, computed from the requests after the answer.

use foreword_core::event::Level;
use foreword_core::message::Usage;
use foreword_testkit::Reply;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Setting, alice, configuration, in_group};

/// Large enough for the model's cache.
fn soul(words: &str) -> String {
    format!("You are Ada. {words} {}", "You keep lists of what has to be done. ".repeat(900))
}

async fn fixture(replies: impl IntoIterator<Item = Reply>) -> Fixture {
    let fixture = Fixture::new(replies.into_iter().collect::<Vec<_>>()).await;
    std::fs::write(fixture.folder.path().join("SOUL.md"), soul("Be kind.")).unwrap();
    fixture.workspace.refresh();
    fixture
}

fn wrote(tokens: u64) -> Usage {
    Usage { input: 5, output: 5, cache_write: tokens, ..Usage::default() }
}

fn read(tokens: u64) -> Usage {
    Usage { input: 5, output: 5, cache_read: tokens, cache_write: 50, ..Usage::default() }
}

/// The causes in the log, with their level.
async fn misses(fixture: &Fixture) -> Vec<(Level, Value)> {
    let log = fixture.log().await;
    let misses = log.into_iter().filter(|event| event.event.event_type.as_str() == "cache_miss");
    misses.map(|event| (event.event.level, event.event.metadata.unwrap())).collect()
}

fn answer(usage: Usage) -> Reply {
    Reply::text("Yes.").usage(usage)
}

#[tokio::test]
async fn cache_hit_is_not_reported() {
    let fixture = fixture([answer(wrote(9_000)), answer(read(9_000)), answer(read(9_050))]).await;
    for text in ["one", "two", "three"] {
        fixture.say("c-1", alice(), text).await;
    }
    assert_eq!(misses(&fixture).await, []);
}

#[tokio::test]
async fn unchanged_prefix_miss_is_the_providers() {
    let fixture = fixture([answer(wrote(9_000)), answer(wrote(9_050))]).await;
    fixture.say("c-1", alice(), "one").await;
    fixture.say("c-1", alice(), "two").await;
    let [(level, miss)] = &misses(&fixture).await[..] else { panic!("{:?}", misses(&fixture).await) };
    assert_eq!((*level, &miss["cause"]), (Level::Warn, &json!("provider_missed")), "{miss}");
    assert!(miss["tokens_rewritten"].as_u64() > Some(8_000), "{miss}");
    assert!(miss["cost_usd"].as_f64() > miss["cost_if_hit_usd"].as_f64(), "{miss}");
}

#[tokio::test]
async fn changed_tools_are_listed_in_the_diagnosis() {
    let fixture = fixture([answer(wrote(9_000)), answer(wrote(9_000))]).await;
    fixture.say("c-1", alice(), "one").await;
    let fewer = configuration("tools: { disabled: [bash] }\n");
    std::fs::write(fixture.folder.path().join("foreword.yaml"), fewer).unwrap();
    fixture.workspace.refresh();
    fixture.say("c-1", alice(), "two").await;
    let [(_, miss)] = &misses(&fixture).await[..] else { panic!("{:?}", misses(&fixture).await) };
    assert_eq!(miss["cause"], json!("tools_changed"), "{miss}");
    assert!(miss["detail"].as_str().unwrap().contains("bash"), "{miss}");
}

#[tokio::test]
async fn lower_trust_is_reported_as_expected() {
    let fixture = fixture([answer(wrote(9_000)), answer(wrote(9_000))]).await;
    fixture.say("c-1", alice(), "one").await;
    fixture.say("c-1", in_group("signal:alice"), "two").await;
    let [(level, miss)] = &misses(&fixture).await[..] else { panic!("{:?}", misses(&fixture).await) };
    assert_eq!((*level, &miss["cause"]), (Level::Info, &json!("trust_changed")), "{miss}");
    // The log of this turn must not name anything of the higher trust.
    for field in ["section", "layer", "file", "bytes", "also"] {
        assert_eq!(miss[field], Value::Null, "{miss}");
    }
    assert!(!miss["summary"].as_str().unwrap().contains("diverged"), "{miss}");
}

#[tokio::test]
async fn compaction_is_reported_as_the_cause() {
    let fixture = fixture([
        answer(wrote(9_000)),
        answer(read(9_000)),
        Reply::text("They spoke.").usage(read(9_050)),
        answer(Usage { input: 5, output: 5, cache_read: 0, cache_write: 8_000, ..Usage::default() }),
    ])
    .await;
    fixture.say("c-1", alice(), "one").await;
    fixture.say("c-1", alice(), "two").await;
    fixture.agent.compact(&"c-1".parse().unwrap(), alice()).await.unwrap();
    fixture.say("c-1", alice(), "three").await;
    let causes: Vec<Value> =
        misses(&fixture).await.into_iter().map(|(_, miss)| miss["cause"].clone()).collect();
    assert_eq!(causes, [json!("compaction")]);
}

#[tokio::test]
async fn another_process_compares_with_stored_requests() {
    let fixture = fixture([answer(wrote(9_000)), answer(wrote(9_050))]).await;
    fixture.say("c-1", alice(), "one").await;
    fixture.agent.settled().await;
    let node = fixture.another(Setting::default()).await;
    let inbound = foreword_agent::conversation::inbound::Inbound {
        conversation: "c-1".parse().unwrap(),
        origin: alice(),
        text: "two".to_owned(),
        key: None,
    };
    fixture.follow(node.agent.send(inbound).await.unwrap()).await;
    node.agent.shut_down().await;
    node.flush().await;
    let causes: Vec<Value> =
        misses(&fixture).await.into_iter().map(|(_, miss)| miss["cause"].clone()).collect();
    assert_eq!(causes, [json!("provider_missed")]);
}

#[tokio::test]
async fn comparison_stores_no_request_text() {
    let fixture = fixture([answer(wrote(9_000))]).await;
    fixture.say("c-1", alice(), "the harbour at noon").await;
    fixture.agent.settled().await;
    let kept = fixture.store.last_request("c-1").await.unwrap().unwrap();
    assert!(kept.shape.len() > 200, "{}", kept.shape);
    for words in ["harbour", "kind", "lists"] {
        assert!(!kept.shape.contains(words), "{words}");
    }
}
