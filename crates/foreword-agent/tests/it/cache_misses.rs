//! Why the provider's cache was missed, for turns of our own: found after the answer, from the requests themselves.

use foreword_core::event::Level;
use foreword_core::message::Usage;
use foreword_testkit::Reply;
use serde_json::{Value, json};

use crate::scene::{Scene, Setting, alice, configuration, in_group};

/// Large enough for the model's cache.
fn soul(words: &str) -> String {
    format!("You are Ada. {words} {}", "You keep lists of what has to be done. ".repeat(900))
}

async fn scene(replies: impl IntoIterator<Item = Reply>) -> Scene {
    let scene = Scene::new(replies.into_iter().collect::<Vec<_>>()).await;
    std::fs::write(scene.folder.path().join("SOUL.md"), soul("Be kind.")).unwrap();
    scene.workspace.refresh();
    scene
}

fn wrote(tokens: u64) -> Usage {
    Usage { input: 5, output: 5, cache_write: tokens, ..Usage::default() }
}

fn read(tokens: u64) -> Usage {
    Usage { input: 5, output: 5, cache_read: tokens, cache_write: 50, ..Usage::default() }
}

/// The reasons in the log, with how bad they are.
async fn misses(scene: &Scene) -> Vec<(Level, Value)> {
    let log = scene.log().await;
    let misses = log.into_iter().filter(|event| event.event.event_type.as_str() == "cache_miss");
    misses.map(|event| (event.event.level, event.event.metadata.unwrap())).collect()
}

fn answer(usage: Usage) -> Reply {
    Reply::text("Yes.").usage(usage)
}

#[tokio::test]
async fn a_cache_that_is_read_is_nothing_to_tell_of() {
    let scene = scene([answer(wrote(9_000)), answer(read(9_000)), answer(read(9_050))]).await;
    for text in ["one", "two", "three"] {
        scene.say("c-1", alice(), text).await;
    }
    assert_eq!(misses(&scene).await, []);
}

#[tokio::test]
async fn a_prefix_that_stayed_the_same_and_was_not_read_is_the_providers_doing() {
    let scene = scene([answer(wrote(9_000)), answer(wrote(9_050))]).await;
    scene.say("c-1", alice(), "one").await;
    scene.say("c-1", alice(), "two").await;
    let [(level, miss)] = &misses(&scene).await[..] else { panic!("{:?}", misses(&scene).await) };
    assert_eq!((*level, &miss["cause"]), (Level::Warn, &json!("provider_missed")), "{miss}");
    assert!(miss["tokens_rewritten"].as_u64() > Some(8_000), "{miss}");
    assert!(miss["cost_usd"].as_f64() > miss["cost_if_hit_usd"].as_f64(), "{miss}");
}

#[tokio::test]
async fn another_set_of_tools_is_named_with_the_tools() {
    let scene = scene([answer(wrote(9_000)), answer(wrote(9_000))]).await;
    scene.say("c-1", alice(), "one").await;
    let fewer = configuration("tools: { disabled: [bash] }\n");
    std::fs::write(scene.folder.path().join("foreword.yaml"), fewer).unwrap();
    scene.workspace.refresh();
    scene.say("c-1", alice(), "two").await;
    let [(_, miss)] = &misses(&scene).await[..] else { panic!("{:?}", misses(&scene).await) };
    assert_eq!(miss["cause"], json!("tools_changed"), "{miss}");
    assert!(miss["detail"].as_str().unwrap().contains("bash"), "{miss}");
}

#[tokio::test]
async fn falling_trust_is_no_fault_and_is_told_as_such() {
    let scene = scene([answer(wrote(9_000)), answer(wrote(9_000))]).await;
    scene.say("c-1", alice(), "one").await;
    scene.say("c-1", in_group("signal:alice"), "two").await;
    let [(level, miss)] = &misses(&scene).await[..] else { panic!("{:?}", misses(&scene).await) };
    assert_eq!((*level, &miss["cause"]), (Level::Info, &json!("trust_changed")), "{miss}");
    // Whoever reads the log of this turn may not see what there was at the other trust, not even by name.
    for field in ["section", "layer", "file", "bytes", "also"] {
        assert_eq!(miss[field], Value::Null, "{miss}");
    }
    assert!(!miss["summary"].as_str().unwrap().contains("diverged"), "{miss}");
}

#[tokio::test]
async fn a_summary_puts_the_blame_on_itself() {
    let scene = scene([
        answer(wrote(9_000)),
        answer(read(9_000)),
        Reply::text("They spoke.").usage(read(9_050)),
        answer(Usage { input: 5, output: 5, cache_read: 0, cache_write: 8_000, ..Usage::default() }),
    ])
    .await;
    scene.say("c-1", alice(), "one").await;
    scene.say("c-1", alice(), "two").await;
    scene.agent.compact(&"c-1".parse().unwrap(), alice()).await.unwrap();
    scene.say("c-1", alice(), "three").await;
    let causes: Vec<Value> =
        misses(&scene).await.into_iter().map(|(_, miss)| miss["cause"].clone()).collect();
    assert_eq!(causes, [json!("compaction")]);
}

#[tokio::test]
async fn another_process_compares_with_what_this_one_sent() {
    let scene = scene([answer(wrote(9_000)), answer(wrote(9_050))]).await;
    scene.say("c-1", alice(), "one").await;
    scene.agent.settled().await;
    let node = scene.another(Setting::default()).await;
    let inbound = foreword_agent::inbound::Inbound {
        conversation: "c-1".parse().unwrap(),
        occasion: alice(),
        text: "two".to_owned(),
        key: None,
    };
    scene.follow(node.agent.send(inbound).await.unwrap()).await;
    node.agent.shut_down().await;
    node.flush().await;
    let causes: Vec<Value> =
        misses(&scene).await.into_iter().map(|(_, miss)| miss["cause"].clone()).collect();
    assert_eq!(causes, [json!("provider_missed")]);
}

#[tokio::test]
async fn no_words_of_a_request_are_kept_for_the_comparison() {
    let scene = scene([answer(wrote(9_000))]).await;
    scene.say("c-1", alice(), "the harbour at noon").await;
    scene.agent.settled().await;
    let kept = scene.store.last_request("c-1").await.unwrap().unwrap();
    assert!(kept.shape.len() > 200, "{}", kept.shape);
    for words in ["harbour", "kind", "lists"] {
        assert!(!kept.shape.contains(words), "{words}");
    }
}
