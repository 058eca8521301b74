//! Conversation settings: they are in every request of their conversation, whichever turn sends it and on whichever
//! node.

use std::fs;

use foreword_agent::background::workflows::StartWorkflow;
use foreword_agent::conversation::inbound::Inbound;
use foreword_agent::conversation::settings::{MAX_CONTEXT_BYTES, MAX_SESSION_INSTRUCTIONS_BYTES};
use foreword_agent::error::AgentError;
use foreword_core::id::ConversationId;
use foreword_core::template_context::TemplateContext;
use foreword_core::turn_journal::Outcome;
use foreword_store::conversation_settings::{ConversationSettings, SettingChange, SettingsUpdate};
use foreword_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::crashes::{crash, runtime, setting, settled, successor};
use crate::fixture::{Fixture, Setting, alice, configuration, follow, on};

const VM: &str = "agent: { name: Ada, model: anthropic/claude-haiku-4-5, blueprint: vm }\n";
const JINJA: &str = "\
agent: { name: Ada, model: anthropic/claude-haiku-4-5, blueprint: agent }
";
const TEMPLATE: &str = "\
agent: { name: Ada, model: anthropic/claude-haiku-4-5, blueprint: template }
prompt: { template_file: prompt.txt }
";

fn id(text: &str) -> ConversationId {
    text.parse().unwrap()
}

fn instructions(text: &str) -> SettingsUpdate {
    SettingsUpdate { session_instructions: SettingChange::Set(text.to_owned()), ..SettingsUpdate::default() }
}

fn cwd(path: &str) -> SettingsUpdate {
    SettingsUpdate { cwd: SettingChange::Set(path.to_owned()), ..SettingsUpdate::default() }
}

fn context(value: Value) -> SettingsUpdate {
    context_in_order(&value.to_string())
}

fn context_in_order(json: &str) -> SettingsUpdate {
    let context: TemplateContext = serde_json::from_str(json).unwrap();
    SettingsUpdate { context: SettingChange::Set(context), ..SettingsUpdate::default() }
}

/// A Jinja agent whose instructions list the map `ctx.steps`.
async fn lists_steps(more: &str) -> Fixture {
    let fixture = fixture(&format!("{JINJA}{more}")).await;
    fs::create_dir_all(fixture.folder.path().join(".agents/prompt")).unwrap();
    let instructions = "{% for name, text in ctx.steps | items %}{{ name }}={{ text }};{% endfor %}";
    fs::write(fixture.folder.path().join(".agents/prompt/ADA.md"), instructions).unwrap();
    fixture.workspace.refresh();
    fixture
}

async fn fixture(more: &str) -> Fixture {
    Fixture::set(Reply::text("Done."), Setting::default(), more).await
}

/// The system prompt of the last request.
fn system(fixture: &Fixture) -> String {
    let body = fixture.provider.requests().last().unwrap().json();
    let blocks = body["system"].as_array().cloned().unwrap_or_default();
    blocks.iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect()
}

async fn reasons(fixture: &Fixture, conversation: &str) -> Vec<String> {
    let epochs = fixture.store.epochs(&id(conversation)).await.unwrap();
    epochs.iter().map(|epoch| epoch.reason.to_string()).collect()
}

#[tokio::test]
async fn settings_apply_to_all_turns_on_every_node() {
    let fixture = fixture(VM).await;
    fixture.agent.set_settings(&id("c-1"), &alice(), instructions("Only look.")).await.unwrap();
    for _ in 0..2 {
        fixture.say("c-1", alice(), "go on").await;
        assert!(system(&fixture).contains("## Session Instructions\n\nOnly look."), "{}", system(&fixture));
    }
    fixture.say("c-1", on("signal:bob"), "and me?").await;
    assert!(system(&fixture).contains("Only look."), "{}", system(&fixture));
    let other = fixture.another(Setting::default()).await;
    let inbound = Inbound { conversation: id("c-1"), origin: alice(), text: "go on".to_owned(), key: None };
    follow(other.agent.send(inbound).await.unwrap()).await;
    assert!(system(&fixture).contains("Only look."), "{}", system(&fixture));
    fixture.say("c-2", alice(), "and here?").await;
    assert!(!system(&fixture).contains("Only look."), "{}", system(&fixture));
}

#[tokio::test]
async fn setting_change_opens_an_epoch_with_its_reason() {
    let fixture = fixture(VM).await;
    fixture.say("c-1", alice(), "go on").await;
    // What the next turn needs is read ahead by now.
    fixture.agent.settled().await;
    for (update, what, expected) in [
        (instructions("First."), "session instructions", "First."),
        (instructions("Second."), "session instructions", "Second."),
        (context(json!({ "locale": "pt" })), "context", "Second."),
        (cwd("memory"), "working directory", "Second."),
    ] {
        fixture.agent.update_settings(&id("c-1"), update).await.unwrap();
        fixture.say("c-1", alice(), "go on").await;
        assert!(system(&fixture).contains(expected), "{}", system(&fixture));
        let last = reasons(&fixture, "c-1").await.pop().unwrap();
        assert!(last.starts_with(&format!("{what} changed from `")), "{last}");
    }
    let remove = SettingsUpdate { session_instructions: SettingChange::Remove, ..SettingsUpdate::default() };
    fixture.agent.update_settings(&id("c-1"), remove).await.unwrap();
    fixture.say("c-1", alice(), "go on").await;
    assert!(!system(&fixture).contains("Session Instructions"), "{}", system(&fixture));
    assert_eq!(reasons(&fixture, "c-1").await.len(), 6);
    // Nothing has changed, so the epoch stays.
    fixture.agent.update_settings(&id("c-1"), cwd("memory")).await.unwrap();
    fixture.say("c-1", alice(), "go on").await;
    assert_eq!(reasons(&fixture, "c-1").await.len(), 6);
}

#[tokio::test]
async fn every_blueprint_shows_session_instructions() {
    for blueprint in ["gateway", "sovereign", "template", "agent"] {
        let more = format!(
            "agent: {{ name: Ada, model: anthropic/claude-haiku-4-5, blueprint: {blueprint} }}\n\
             prompt: {{ instructions: Be kind. }}\n"
        );
        let fixture = fixture(&more).await;
        fixture.agent.set_settings(&id("c-1"), &alice(), instructions("Only look.")).await.unwrap();
        fixture.say("c-1", alice(), "go on").await;
        let system = system(&fixture);
        assert!(system.contains("## Session Instructions\n\nOnly look."), "{blueprint}: {system}");
    }
}

#[tokio::test]
async fn templates_see_context_and_working_directory() {
    let jinja = fixture(JINJA).await;
    fs::create_dir_all(jinja.folder.path().join(".agents/prompt")).unwrap();
    let instructions = "Locale {{ ctx.locale | default('none') }}.\n";
    fs::write(jinja.folder.path().join(".agents/prompt/ADA.md"), instructions).unwrap();
    jinja.workspace.refresh();
    jinja.agent.set_settings(&id("c-1"), &alice(), context(json!({ "locale": "pt-PT" }))).await.unwrap();
    jinja.say("c-1", alice(), "go on").await;
    assert_eq!(system(&jinja), "Locale pt-PT.");
    jinja.agent.compact(&id("c-1"), alice()).await.unwrap();
    jinja.say("c-1", alice(), "go on").await;
    assert_eq!(system(&jinja), "Locale pt-PT.");
    jinja.say("c-2", alice(), "go on").await;
    assert_eq!(system(&jinja), "Locale none.");

    let bracket = fixture(TEMPLATE).await;
    let folder = bracket.folder.path();
    fs::write(folder.join("prompt.txt"), "In [prompt:cwd]: [file:NOTE.md]").unwrap();
    fs::create_dir(folder.join("site")).unwrap();
    fs::write(folder.join("site/NOTE.md"), "This is the site.").unwrap();
    bracket.workspace.refresh();
    bracket.agent.set_settings(&id("c-1"), &alice(), cwd("site")).await.unwrap();
    bracket.say("c-1", alice(), "go on").await;
    let expected = folder.canonicalize().unwrap().join("site");
    assert_eq!(system(&bracket), format!("In {}: This is the site.", expected.display()));
}

#[tokio::test]
async fn revoked_directory_fails_the_turn() {
    let elsewhere = tempfile::tempdir().unwrap();
    let root = elsewhere.path().display();
    let fixture = fixture(&format!("{VM}conversations: {{ cwd_roots: [{root}] }}\n")).await;
    fixture.agent.set_settings(&id("c-1"), &alice(), cwd(&root.to_string())).await.unwrap();
    fixture.say("c-1", alice(), "go on").await;
    let before = fixture.provider.requests().len();
    fs::write(fixture.folder.path().join("foreword.yaml"), configuration(VM)).unwrap();
    fixture.workspace.refresh();
    let (outcome, error) = fixture.say("c-1", alice(), "go on").await.ending();
    assert_eq!(outcome, Outcome::Failed);
    assert!(error.unwrap().contains("working directory"), "the owner learns why");
    assert_eq!(fixture.provider.requests().len(), before);
    let remove = SettingsUpdate { cwd: SettingChange::Remove, ..SettingsUpdate::default() };
    fixture.agent.update_settings(&id("c-1"), remove).await.unwrap();
    assert_eq!(fixture.say("c-1", alice(), "go on").await.ending().0, Outcome::Done);
}

#[tokio::test]
async fn missing_directory_leaves_the_conversation_usable() {
    let fixture = fixture(VM).await;
    fs::create_dir(fixture.folder.path().join("site")).unwrap();
    fixture.agent.set_settings(&id("c-1"), &alice(), cwd("site")).await.unwrap();
    fixture.say("c-1", alice(), "go on").await;
    fs::remove_dir(fixture.folder.path().join("site")).unwrap();
    assert_eq!(fixture.say("c-1", alice(), "go on").await.ending().0, Outcome::Done);
}

#[tokio::test]
async fn settings_have_limits() {
    let fixture = fixture(VM).await;
    let codes = [
        (instructions(" \n"), "empty_setting"),
        (instructions(&"x".repeat(MAX_SESSION_INSTRUCTIONS_BYTES + 1)), "setting_too_long"),
        (context(json!({ "text": "x".repeat(MAX_CONTEXT_BYTES) })), "setting_too_long"),
        (cwd("/"), "cwd_not_allowed"),
        (cwd("missing"), "bad_cwd"),
        (cwd("SOUL.md"), "bad_cwd"),
    ];
    for (update, code) in codes {
        let refused = fixture.agent.set_settings(&id("c-1"), &alice(), update).await;
        let Err(AgentError::Settings(error)) = refused else { panic!("{code}: {refused:?}") };
        assert_eq!(error.code(), code, "{error}");
    }
    assert!(fixture.store.conversation(&id("c-1")).await.unwrap().is_none());
}

#[tokio::test]
async fn schedules_apply_their_stated_settings() {
    let schedule = "\
schedules:
  morning: { cron: '@daily', prompt: Good morning, session_instructions: Be brief., context: { locale: pt } }
";
    let fixture = fixture(&format!("{VM}{schedule}")).await;
    fixture.agent.fire_now("morning").await.unwrap();
    assert!(system(&fixture).contains("## Session Instructions\n\nBe brief."), "{}", system(&fixture));
    let settings = fixture.store.conversation_settings(&id("schedule-morning")).await.unwrap();
    assert_eq!(settings.context.unwrap()["locale"], "pt");
    // What the schedule does not state is the owner's to set.
    fixture.agent.update_settings(&id("schedule-morning"), cwd("memory")).await.unwrap();
    fixture.agent.fire_now("morning").await.unwrap();
    let settings = fixture.store.conversation_settings(&id("schedule-morning")).await.unwrap();
    assert_eq!(settings.cwd.as_deref(), Some("memory"));
}

#[tokio::test]
async fn workflow_settings_come_from_file_and_starter() {
    let file = "\
name: greet
description: Greets.
session_instructions: Be brief.
context: { locale: pt }
steps:
  - prompt: Say hello.
";
    let fixture = fixture(VM).await;
    crate::workflows::furnish(&fixture, &[("greet", file)]);
    let end = fixture.agent.run_workflow(StartWorkflow::new("greet", alice())).await.unwrap();
    assert_eq!(end.outcome, Outcome::Done, "{:?}", end.error);
    assert!(system(&fixture).contains("## Session Instructions\n\nBe brief."), "{}", system(&fixture));
    let settings = ConversationSettings {
        session_instructions: Some("Be polite.".to_owned()),
        ..ConversationSettings::default()
    };
    let start = StartWorkflow { settings, ..StartWorkflow::new("greet", alice()) };
    let end = fixture.agent.run_workflow(start).await.unwrap();
    assert!(system(&fixture).contains("Be polite.") && !system(&fixture).contains("Be brief."));
    let stored = fixture.store.conversation_settings(&id(&format!("workflow-{}", end.run))).await.unwrap();
    assert_eq!(stored.context.unwrap()["locale"], "pt");
}

#[tokio::test]
async fn context_maps_keep_their_written_order() {
    const STEPS: &str = "{ steps: { wash: 1, cook: 2, bake: 3 } }";
    let schedule =
        format!("schedules:\n  morning: {{ cron: '@daily', prompt: Good morning, context: {STEPS} }}\n");
    let fixture = lists_steps(&schedule).await;
    let stored = r#"{"steps":{"wash":1,"cook":2,"bake":3}}"#;
    fixture.agent.set_settings(&id("c-1"), &alice(), context_in_order(stored)).await.unwrap();
    fixture.say("c-1", alice(), "go on").await;
    assert_eq!(system(&fixture), "wash=1;cook=2;bake=3;");
    // The same values in another order are another prompt.
    let other = r#"{"steps":{"bake":3,"cook":2,"wash":1}}"#;
    fixture.agent.update_settings(&id("c-1"), context_in_order(other)).await.unwrap();
    fixture.say("c-1", alice(), "go on").await;
    assert_eq!(system(&fixture), "bake=3;cook=2;wash=1;");

    fixture.agent.fire_now("morning").await.unwrap();
    assert_eq!(system(&fixture), "wash=1;cook=2;bake=3;");
    let file =
        format!("name: greet\ndescription: Greets.\ncontext: {STEPS}\nsteps:\n  - prompt: Say hello.\n");
    crate::workflows::furnish(&fixture, &[("greet", &file)]);
    fixture.agent.run_workflow(StartWorkflow::new("greet", alice())).await.unwrap();
    assert_eq!(system(&fixture), "wash=1;cook=2;bake=3;");
}

#[tokio::test]
async fn git_variables_read_the_stored_working_directory() {
    let fixture = fixture(TEMPLATE).await;
    let folder = fixture.folder.path();
    fs::write(folder.join("prompt.txt"), "On [git:branch].").unwrap();
    fs::create_dir(folder.join("site")).unwrap();
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=alice", "-c", "user.email=alice@example.org"];
        let mut git = std::process::Command::new("git");
        assert!(git.args(identity).args(words).current_dir(folder.join("site")).status().unwrap().success());
    };
    git(&["init", "-q", "-b", "release-7", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    fixture.workspace.refresh();
    fixture.agent.set_settings(&id("c-1"), &alice(), cwd("site")).await.unwrap();
    fixture.say("c-1", alice(), "go on").await;
    assert_eq!(system(&fixture), "On release-7.");
}

#[test]
fn resumed_turn_keeps_its_settings() {
    let script = Script::from([Reply::text("Half an ans").then_silence(), Reply::text("The whole answer.")]);
    let first = runtime();
    let fixture = first.block_on(async {
        let fixture = Fixture::set(script, setting(), VM).await;
        fixture.agent.set_settings(&id("c-1"), &alice(), instructions("Only look.")).await.unwrap();
        fixture.send("c-1", alice(), "do it").await;
        fixture.provider.until(|counts| counts.requests == 1).await;
        fixture
    });
    crash(first);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        settled(&node).await;
        assert_eq!(fixture.provider.counts().requests, 2);
        assert!(system(&fixture).contains("Only look."), "{}", system(&fixture));
    });
}
