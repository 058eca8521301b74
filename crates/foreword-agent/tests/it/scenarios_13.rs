//! Seed 001, section 13: the prompt of a local agent, as sent to the provider.

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_store::conversation_settings::ConversationSettings;
use foreword_testkit::Reply;
use serde_json::Value;

use crate::fixture::{Fixture, Setting, alice, configuration};

const MACHINE: &str = "\
agent: { name: Ada, model: anthropic/claude-haiku-4-5, blueprint: vm }
prompt:
  system_prompt: { identity: You keep this machine., custom_instructions_file: instructions.md }
";
const WORKFLOW: &str = "\
name: disk-report
description: Find out what fills a disk.
steps:
  - prompt: Measure it.
";

/// A machine with these files, and the system prompt and tools a provider is sent when alice says something.
async fn machine(files: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::set(Reply::text("Done."), Setting::default(), MACHINE).await;
    for (path, text) in files {
        let path = fixture.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    fixture.workspace.refresh();
    fixture
}

async fn sent(fixture: &Fixture, occasion: TurnOrigin) -> (String, Vec<String>) {
    fixture.say("c-1", occasion, "go on").await;
    let body = fixture.provider.requests().last().unwrap().json();
    let texts = |part: &Value| part.as_array().unwrap().clone();
    let system =
        texts(&body["system"]).iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect();
    let tools = texts(&body["tools"]).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    (system, tools)
}

#[tokio::test]
async fn s13_1_request_starts_with_the_configured_identity() {
    let (system, _) = sent(&machine(&[]).await, alice()).await;
    assert!(system.starts_with("You keep this machine."), "{system}");
}

#[tokio::test]
async fn s13_2_every_offered_tool_is_described() {
    let (system, tools) = sent(&machine(&[]).await, alice()).await;
    assert!(tools.contains(&"bash".to_owned()) && tools.is_sorted(), "{tools:?}");
    for tool in tools {
        assert!(system.contains(&format!("- **{tool}**: ")), "{tool} is not in {system}");
    }
}

#[tokio::test]
async fn s13_3_configured_workflows_are_in_the_request() {
    let with = machine(&[("workflows/disk-report.yaml", WORKFLOW)]).await;
    let (system, _) = sent(&with, alice()).await;
    assert!(system.contains("## Available Workflows\n\n- **disk-report**: Find out"), "{system}");
    let (system, _) = sent(&machine(&[]).await, alice()).await;
    assert!(!system.contains("Available Workflows"), "{system}");
}

#[tokio::test]
async fn s13_4_session_instructions_are_in_their_session_only() {
    let fixture = machine(&[]).await;
    let settings = ConversationSettings {
        session_instructions: Some("Only look.".to_owned()),
        ..ConversationSettings::default()
    };
    fixture.agent.set_settings(&"c-1".parse().unwrap(), &alice(), settings.into()).await.unwrap();
    let (system, _) = sent(&fixture, alice()).await;
    assert!(system.contains("## Session Instructions\n\nOnly look."), "{system}");
    fixture.say("c-2", alice(), "and here?").await;
    let other = fixture.provider.requests().last().unwrap().text();
    assert!(!other.contains("Session Instructions"), "{other}");
}

#[tokio::test]
async fn s13_5_custom_instructions_close_the_system_prompt() {
    let fixture = machine(&[("instructions.md", "Sizes in GB.")]).await;
    let (system, _) = sent(&fixture, alice()).await;
    assert!(system.ends_with("Sizes in GB."), "{system}");
}

#[tokio::test]
async fn s13_6_turn_works_without_custom_instructions() {
    let fixture = machine(&[]).await;
    let (system, _) = sent(&fixture, alice()).await;
    assert!(system.starts_with("You keep this machine.") && !system.contains("instructions.md"), "{system}");
}

#[tokio::test]
async fn s13_7_tool_switch_applies_without_a_restart() {
    let fixture = machine(&[]).await;
    let write = |more: &str| {
        std::fs::write(fixture.folder.path().join("foreword.yaml"), configuration(more)).unwrap();
        fixture.workspace.refresh();
    };
    let (system, tools) = sent(&fixture, alice()).await;
    assert!(system.contains("**bash**") && tools.contains(&"bash".to_owned()));
    write(&format!("{MACHINE}tools: {{ disabled: [bash] }}\n"));
    let (system, tools) = sent(&fixture, alice()).await;
    assert!(!system.contains("**bash**") && !tools.contains(&"bash".to_owned()), "{tools:?}");
    write(MACHINE);
    let (system, tools) = sent(&fixture, alice()).await;
    assert!(system.contains("**bash**") && tools.contains(&"bash".to_owned()), "{tools:?}");
    let log = fixture.log().await;
    let built = log.iter().filter(|event| event.event.event_type.to_string() == "prompt_built");
    let opened: Vec<String> =
        built.map(|event| event.event.metadata.as_ref().unwrap()["opened"].to_string()).collect();
    assert_eq!(opened.len(), 3);
    assert!(opened[1].contains("tool") && opened[2].contains("tool"), "{opened:?}");
}
