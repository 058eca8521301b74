//! Seed 000's heartbeat: HEARTBEAT.md, at full trust, in situation `system`.

use std::fs;

use foreword_core::message::{Provenance, Role};
use foreword_core::schedule::FiringOutcome::{Done, Failed, Skipped};
use foreword_prompt::trust::Trust;
use foreword_testkit::Reply;

use super::stage::{Stage, outcomes};

const HEARTBEAT: &str = "heartbeat: { cron: '*/30 * * * *', heartbeat: true }";

#[tokio::test]
async fn heartbeat_sends_its_file_at_full_trust() {
    let stage = Stage::new([Reply::text("The roses are fine.")], &[HEARTBEAT]).await;
    fs::write(stage.folder.path().join("HEARTBEAT.md"), "# Garden\n\nLook after the roses.\n").unwrap();
    let scheduler = stage.scheduler();
    stage.schedule("heartbeat", |_| true).await;
    stage.clock.set("2026-11-16T08:30:00Z");
    let firings = stage.ended("heartbeat", 1).await;
    scheduler.stop().await;
    assert_eq!(outcomes(&firings), [("16 08:30".to_owned(), Done)]);
    let said = stage.messages("heartbeat", Role::User).await;
    assert_eq!((said[0].message.trust, said[0].message.provenance), (Trust::Full, Provenance::Owner));
    let request = stage.provider.requests().remove(0);
    assert!(request.conversation().contains("Look after the roses."), "{}", request.conversation());
    let conversation = stage.node.store.conversation(&said[0].message.conversation).await.unwrap().unwrap();
    assert_eq!((conversation.id.as_str(), conversation.situation.as_str()), ("schedule-heartbeat", "system"));
}

#[tokio::test]
async fn empty_heartbeat_calls_no_model() {
    let stage = Stage::new([Reply::text("Off I go.")], &[HEARTBEAT]).await;
    let file = stage.folder.path().join("HEARTBEAT.md");
    let scheduler = stage.scheduler();
    stage.schedule("heartbeat", |_| true).await;
    let texts =
        [None, Some(""), Some("# Heartbeat\n\n<!-- Write here what to look after. -->\n"), Some("Go.")];
    for (count, text) in texts.iter().enumerate() {
        if let Some(text) = text {
            fs::write(&file, text).unwrap();
        }
        let minutes = 8 * 60 + (count + 1) * 30;
        stage.clock.set(&format!("2026-11-16T{:02}:{:02}:00Z", minutes / 60, minutes % 60));
        stage.ended("heartbeat", count + 1).await;
    }
    scheduler.stop().await;
    let firings = stage.firings("heartbeat").await;
    assert_eq!(
        firings.iter().map(|firing| firing.outcome.unwrap()).collect::<Vec<_>>(),
        [Skipped, Skipped, Skipped, Done]
    );
    let notes: Vec<_> = firings.iter().map(|firing| firing.note.as_deref().unwrap_or("-")).collect();
    let nothing = "HEARTBEAT.md contains no instructions";
    assert_eq!(notes, ["there is no HEARTBEAT.md", nothing, nothing, "-"]);
    assert_eq!(stage.provider.requests().len(), 1);
    let log = stage.log().await;
    assert_eq!(log[1].event.metadata.as_ref().unwrap()["status"], "skipped");
}

#[tokio::test]
async fn heartbeat_requires_trust_in_its_file() {
    let bobs = "heartbeat: { cron: '*/30 * * * *', heartbeat: true, user: bob }";
    let stage = Stage::new([Reply::text("no")], &[bobs]).await;
    fs::write(stage.folder.path().join("HEARTBEAT.md"), "The alarm's code is 0815.\n").unwrap();
    let scheduler = stage.scheduler();
    stage.schedule("heartbeat", |_| true).await;
    stage.clock.set("2026-11-16T08:30:00Z");
    let firings = stage.ended("heartbeat", 1).await;
    scheduler.stop().await;
    let error = firings[0].error.as_deref().unwrap();
    assert_eq!(firings[0].outcome, Some(Failed));
    assert!(error.contains("`full`") && error.contains("`bob`") && !error.contains("0815"), "{error}");
    assert_eq!(
        (stage.provider.requests().len(), stage.messages("heartbeat", Role::User).await.len()),
        (0, 0)
    );
}
