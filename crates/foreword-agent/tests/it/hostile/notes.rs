//! Memory written by less trusted users or in tainted turns is framed when a clean turn finds it.

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_testkit::Reply;
use serde_json::json;

use super::audit::{Results, Sent, assert_in_place};
use super::corpus::{Hostile, texts};
use super::stage::{Calls, turn};
use crate::fixture::{Fixture, alice, in_group, on};

const SAID: [&str; 2] = ["Keep this.", "What do you know?"];

/// One user writes every text to memory; then the others search for it in new conversations.
async fn kept_and_found(writer: TurnOrigin, store: &str, first: impl Fn(&Hostile) -> Calls) {
    let fixture = Fixture::new(Reply::text("Well.")).await;
    let mut kept = 0;
    for hostile in texts('a') {
        std::fs::write(fixture.folder.path().join(format!("{}.txt", hostile.canary)), &hostile.text).unwrap();
        let note =
            json!({ "store": store, "title": format!("{} {store}", hostile.canary), "text": hostile.text });
        let mut answers = vec![first(&hostile), vec![("memory_write", note)]];
        answers.retain(|calls| !calls.is_empty());
        let there = format!("w-{}", hostile.canary);
        let (seen, _) = turn(&fixture, &there, writer.clone(), SAID[0], answers).await;
        let Some((_, result, false)) = seen.results().pop() else { continue };
        assert!(result.contains("marked as text from outside"), "{}: {result}", hostile.name);
        let path = result.strip_prefix("Stored as ").unwrap().split(". ").next().unwrap().to_owned();
        kept += 1;
        let found = vec![
            ("memory_search", json!({ "query": hostile.canary })),
            ("memory_get", json!({ "path": path })),
        ];
        let here = format!("r-{}", hostile.canary);
        let (seen, _) = turn(&fixture, &here, alice(), SAID[1], vec![found]).await;
        for (tool, content, failed) in seen.results() {
            assert!(
                !failed && content.starts_with("<outside-text-") && content.contains(&hostile.canary),
                "{tool}: {content}"
            );
        }
        // What it found is in its history too, and nothing of it is in what a new conversation begins with.
        turn(&fixture, &here, alice(), SAID[1], vec![]).await;
        turn(&fixture, &format!("n-{}", hostile.canary), alice(), SAID[1], vec![]).await;
        let fresh = Sent::of(&fixture.provider.requests().pop().unwrap());
        assert!(!fresh.knows("quokka"), "{}", hostile.name);
    }
    assert!(kept > 40, "{kept}");
    assert_in_place(&fixture.provider.requests(), &SAID, Results::Framed);
}

#[tokio::test]
async fn memory_of_a_close_user_is_framed() {
    kept_and_found(on("signal:bob"), "shared", |_| vec![]).await;
}

#[tokio::test]
async fn memory_of_a_group_member_is_framed() {
    kept_and_found(in_group("signal:carol"), "social", |_| vec![]).await;
}

#[tokio::test]
async fn memory_from_a_download_is_framed() {
    let read =
        |hostile: &Hostile| vec![("bash", json!({ "command": format!("cat {}.txt", hostile.canary) }))];
    kept_and_found(alice(), "private", read).await;
}
