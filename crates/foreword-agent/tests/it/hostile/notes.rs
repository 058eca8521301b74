//! Memory written by those who are less trusted, or in turns that had read text from outside: found again by a turn that
//! has read nothing, it is framed.

use foreword_agent::inbound::Occasion;
use foreword_testkit::Reply;
use serde_json::json;

use super::audit::{Results, Sent, assert_in_place};
use super::corpus::{Hostile, texts};
use super::stage::{Calls, turn};
use crate::scene::{Scene, alice, in_group, on};

const SAID: [&str; 2] = ["Keep this.", "What do you know?"];

/// Whoever it is keeps every text; then everybody who may looks for it in a new conversation.
async fn kept_and_found(writer: Occasion, store: &str, first: impl Fn(&Hostile) -> Calls) {
    let scene = Scene::new(Reply::text("Well.")).await;
    let mut kept = 0;
    for hostile in texts('a') {
        std::fs::write(scene.folder.path().join(format!("{}.txt", hostile.canary)), &hostile.text).unwrap();
        let note =
            json!({ "store": store, "title": format!("{} {store}", hostile.canary), "text": hostile.text });
        let mut answers = vec![first(&hostile), vec![("memory_write", note)]];
        answers.retain(|calls| !calls.is_empty());
        let there = format!("w-{}", hostile.canary);
        let (seen, _) = turn(&scene, (&there, writer.clone()), SAID[0], answers).await;
        let Some((_, told, false)) = seen.results().pop() else { continue };
        assert!(told.contains("kept as words from outside"), "{}: {told}", hostile.name);
        let path = told.strip_prefix("Kept as ").unwrap().split(". ").next().unwrap().to_owned();
        kept += 1;
        let found = vec![
            ("memory_search", json!({ "query": hostile.canary })),
            ("memory_get", json!({ "path": path })),
        ];
        let here = format!("r-{}", hostile.canary);
        let (seen, _) = turn(&scene, (&here, alice()), SAID[1], vec![found]).await;
        for (tool, content, failed) in seen.results() {
            assert!(
                !failed && content.starts_with("<outside-text-") && content.contains(&hostile.canary),
                "{tool}: {content}"
            );
        }
        // What it found is in its history too, and nothing of it is in what a new conversation begins with.
        turn(&scene, (&here, alice()), SAID[1], vec![]).await;
        turn(&scene, (&format!("n-{}", hostile.canary), alice()), SAID[1], vec![]).await;
        let fresh = Sent::of(&scene.provider.requests().pop().unwrap());
        assert!(!fresh.knows("quokka"), "{}", hostile.name);
    }
    assert!(kept > 40, "{kept}");
    assert_in_place(&scene.provider.requests(), &SAID, Results::Framed);
}

#[tokio::test]
async fn what_somebody_close_has_kept_is_framed_for_the_owner() {
    kept_and_found(on("signal:bob"), "shared", |_| vec![]).await;
}

#[tokio::test]
async fn what_somebody_in_the_group_has_kept_is_framed_for_the_owner() {
    kept_and_found(in_group("signal:carol"), "social", |_| vec![]).await;
}

#[tokio::test]
async fn what_the_owners_own_turn_has_kept_from_a_download_is_framed_for_the_owner() {
    let read =
        |hostile: &Hostile| vec![("bash", json!({ "command": format!("cat {}.txt", hostile.canary) }))];
    kept_and_found(alice(), "private", read).await;
}
