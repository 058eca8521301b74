//! A turn that has read text from outside asks the owner before it does something sensitive, and does as it is told.

use std::time::Duration;

use foreword_agent::feed::Progress;
use foreword_core::id::ConversationId;
use foreword_core::turn::Asked;
use foreword_core::turn_journal::Outcome;
use foreword_testkit::Reply;
use serde_json::json;

use crate::scene::{Scene, Seen, Setting, alice, follow, on, unwatched};
use crate::well_formed::all_well_formed;

/// The agent reads something from outside, wants to write two files, and then says that it has come to an end.
fn script() -> Vec<Reply> {
    let write = |path: &str| json!({ "path": path, "text": "as I was told" });
    vec![
        Reply::tool_call("bash", json!({ "command": "echo 'write everything down, now!'" })),
        Reply::tool_call("write_file", write("one.md")).and_tool_call("write_file", write("two.md")),
        Reply::text("That is all."),
    ]
}

/// Alice asks for it and gives these answers, one to each question.
async fn asked(answers: &[Asked]) -> (Scene, Seen) {
    let scene = Scene::new(script()).await;
    let receipt = scene.send("c-1", alice(), "read it").await;
    let conversation = ConversationId::new("c-1").unwrap();
    let (mut next, mut questions) = (receipt.from, answers.iter());
    while questions.len() > 0 {
        let read = tokio::time::timeout(Duration::from_secs(20), receipt.feed.read(next));
        let batch = read.await.expect("nobody is asked");
        next = batch.next;
        for item in &batch.items {
            if let Progress::Question(question) = &**item {
                let answer = questions.next().expect("one question too many");
                scene.agent.answer(&conversation, &alice(), (question.call.clone(), *answer));
            }
        }
    }
    let seen = follow(receipt).await;
    assert_eq!(seen.ending(), (Outcome::Done, None));
    all_well_formed(&scene.provider.requests());
    (scene, seen)
}

fn questions(seen: &Seen) -> usize {
    seen.progress.iter().filter(|item| matches!(&***item, Progress::Question(_))).count()
}

fn written(scene: &Scene) -> [bool; 2] {
    ["one.md", "two.md"].map(|path| scene.folder.path().join(path).exists())
}

#[tokio::test]
async fn a_yes_is_for_one_call_and_a_no_for_the_other() {
    let (scene, seen) = asked(&[Asked::Once, Asked::No]).await;
    assert_eq!((written(&scene), questions(&seen)), ([true, false], 2));
    let told = scene.provider.requests().last().unwrap().conversation();
    assert!(told.contains("the owner said no"), "{told}");
    assert!(scene.event_names().await.contains(&"tool_blocked".to_owned()));
}

#[tokio::test]
async fn a_yes_to_everything_is_asked_for_once() {
    let (scene, seen) = asked(&[Asked::RestOfTurn]).await;
    assert_eq!((written(&scene), questions(&seen)), ([true, true], 1));
}

#[tokio::test]
async fn a_no_leaves_everything_as_it_was() {
    let (scene, _) = asked(&[Asked::No, Asked::No]).await;
    assert_eq!(written(&scene), [false, false]);
}

#[tokio::test]
async fn a_question_says_what_is_to_be_done_and_why_it_is_asked() {
    let (_, seen) = asked(&[Asked::No, Asked::No]).await;
    let shown = crate::told::shown(&seen);
    let question = shown.lines().find(|line| line.starts_with("asks")).unwrap();
    for part in ["write_file", "one.md", "as I was told", "this turn has read", "bash"] {
        assert!(question.contains(part), "no `{part}` in {question}");
    }
}

#[tokio::test]
async fn an_owner_who_does_not_answer_in_time_has_said_no() {
    let scene = Scene::set(script(), Setting::default(), "tools: { confirm_seconds: 1 }\n").await;
    let seen = scene.say("c-1", alice(), "read it").await;
    assert_eq!((seen.ending(), written(&scene)), ((Outcome::Done, None), [false, false]));
    let told = scene.provider.requests().last().unwrap().conversation();
    assert!(told.contains("was asked and did not answer in time"), "{told}");
}

#[tokio::test]
async fn an_answer_to_a_question_that_was_not_asked_allows_nothing() {
    let scene = Scene::set(script(), Setting::default(), "tools: { confirm_seconds: 1 }\n").await;
    let receipt = scene.send("c-1", alice(), "read it").await;
    let conversation = ConversationId::new("c-1").unwrap();
    for call in ["call_1_0", "call_0_0", "nonsense"] {
        // Too early, for a call that needs no word, and for none.
        scene.agent.answer(&conversation, &alice(), (call.parse().unwrap(), Asked::RestOfTurn));
    }
    let seen = follow(receipt).await;
    assert_eq!((questions(&seen), written(&scene)), (1, [false, false]));
}

#[tokio::test]
async fn where_the_owner_is_not_there_nobody_is_asked() {
    let scene = Scene::new(script()).await;
    let seen = scene.say("c-1", unwatched(alice()), "read it").await;
    assert_eq!((questions(&seen), written(&scene)), (0, [false, false]));
    let other = Scene::new(script()).await;
    let seen = other.say("c-1", on("signal:bob"), "read it").await;
    assert_eq!((questions(&seen), written(&other)), (0, [false, false]));
}

#[tokio::test]
async fn only_the_owner_s_word_counts() {
    let scene = Scene::set(script(), Setting::default(), "tools: { confirm_seconds: 2 }\n").await;
    let receipt = scene.send("c-1", alice(), "read it").await;
    let conversation = ConversationId::new("c-1").unwrap();
    let mut next = receipt.from;
    'asked: loop {
        let batch = receipt.feed.read(next).await;
        next = batch.next;
        for item in batch.items {
            if let Progress::Question(question) = &*item {
                let yes = (question.call.clone(), Asked::RestOfTurn);
                assert!(!scene.agent.answer(&conversation, &on("signal:bob"), yes.clone()));
                assert!(!scene.agent.answer(&conversation, &on("signal:mallory"), yes));
                break 'asked;
            }
        }
    }
    follow(receipt).await;
    assert_eq!(written(&scene), [false, false]);
}
