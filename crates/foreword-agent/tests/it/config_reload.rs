//! A workspace that is edited while its agent runs.

use std::time::Duration;

use foreword_agent::prompt::workspace_reload::Reloaded;
use foreword_core::message::Usage;
use foreword_testkit::Reply;

use crate::fixture::{CONFIG, Fixture, alice};

async fn next(changes: &mut tokio::sync::broadcast::Receiver<Reloaded>) -> Reloaded {
    tokio::time::timeout(Duration::from_secs(60), changes.recv()).await.expect("told").unwrap()
}

#[tokio::test]
async fn changed_configuration_is_applied_and_reported() {
    let fixture = Fixture::new([Reply::text("One."), Reply::text("Two.")]).await;
    let mut changes = fixture.agent.watch_workspace();
    fixture.say("c-1", alice(), "first").await;
    let file = fixture.folder.path().join("foreword.yaml");
    std::fs::write(&file, format!("{CONFIG}tools: {{ disabled: [bash] }}\n")).unwrap();
    assert_eq!(next(&mut changes).await, Reloaded::Changed(vec!["tools"]));
    fixture.say("c-1", alice(), "second").await;
    let requests = fixture.provider.requests();
    let names = |at: usize| requests[at].json()["tools"].to_string();
    assert!(names(0).contains("\"bash\"") && !names(1).contains("\"bash\""), "{}", names(1));
    let log = fixture.log().await;
    let reload = log.iter().find(|event| event.event.event_type.as_str() == "config_reloaded").unwrap();
    assert_eq!(reload.event.metadata, Some(serde_json::json!({ "changedSections": ["tools"] })));
    let built: Vec<_> =
        log.iter().filter(|event| event.event.event_type.as_str() == "prompt_built").collect();
    let why = built[1].event.metadata.as_ref().unwrap()["opened"].to_string();
    assert!(why.contains("tool set changed"), "{why}");
}

#[tokio::test]
async fn invalid_configuration_is_refused() {
    let fixture = Fixture::new([Reply::text("Still here.")]).await;
    let mut changes = fixture.agent.watch_workspace();
    std::fs::write(fixture.folder.path().join("foreword.yaml"), "agent: { nam: Eve }\n").unwrap();
    let Reloaded::Refused(why) = next(&mut changes).await else { panic!() };
    assert!(why.contains("nam"), "{why}");
    let seen = fixture.say("c-1", alice(), "are you there?").await;
    assert_eq!(seen.text(), "Still here.");
    let log = fixture.log().await;
    let refused = log.iter().find(|event| event.event.event_type.as_str() == "config_reloaded").unwrap();
    assert!(refused.event.error.is_some());
}

#[tokio::test]
async fn edited_file_is_announced_without_a_prompt_change() {
    let fixture = Fixture::new([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]).await;
    fixture.say("c-1", alice(), "first").await;
    std::fs::write(fixture.folder.path().join("SOUL.md"), "You are very kind.").unwrap();
    fixture.workspace.refresh();
    fixture.say("c-1", alice(), "second").await;
    fixture.say("c-1", alice(), "third").await;
    let bodies: Vec<_> = fixture.provider.requests().iter().map(|request| request.json()).collect();
    assert_eq!(bodies[0]["system"], bodies[2]["system"]);
    let last = bodies[2]["messages"].to_string();
    assert_eq!(last.matches("You are very kind.").count(), 1, "told once: {last}");
}

#[tokio::test]
async fn token_estimates_are_calibrated_by_the_provider() {
    let counted = |input| Reply::text("Yes.").usage(Usage { input, output: 1, ..Usage::default() });
    let fixture =
        Fixture::with([counted(2_000), counted(2_000)], foreword_core::provider::WireDialect::Anthropic, "")
            .await;
    fixture.say("c-1", alice(), &"words and more words ".repeat(200)).await;
    let log = fixture.log().await;
    let call = log.iter().find(|event| event.event.event_type.as_str() == "api_call").unwrap();
    let metadata = call.event.metadata.as_ref().unwrap();
    let estimated = metadata["estimatedTokens"].as_u64().unwrap();
    assert!(estimated > 1_000 && call.event.tokens_in == Some(2_000), "{metadata}");
}

#[tokio::test]
async fn clock_in_a_template_is_not_announced_every_turn() {
    let yaml = CONFIG.replace("agent: { name: Ada,", "agent: { name: Ada, blueprint: template,");
    let fixture = Fixture::new([Reply::text("One."), Reply::text("Two.")]).await;
    std::fs::write(
        fixture.folder.path().join("foreword.yaml"),
        format!("{yaml}prompt: {{ template_file: t.md }}\n"),
    )
    .unwrap();
    std::fs::write(fixture.folder.path().join("t.md"), "It is [system:time] now.").unwrap();
    fixture.workspace.refresh();
    fixture.say("c-1", alice(), "first").await;
    fixture.say("c-1", alice(), "second").await;
    let bodies: Vec<_> = fixture.provider.requests().iter().map(|request| request.json()).collect();
    assert_eq!(bodies[0]["system"], bodies[1]["system"]);
    assert!(bodies[0]["system"].to_string().contains("It is 20"), "{}", bodies[0]["system"]);
    let later = bodies[1]["messages"].to_string();
    assert!(!later.contains("has changed"), "{later}");
}
