//! Prompt sources that can't be read or rendered: a running conversation keeps its frozen prompt, a new one uses the
//! last good version of the source.

use std::fs;
use std::path::Path;
use std::time::Duration;

use foreword_agent::conversation::inbound::Inbound;
use foreword_agent::prompt::failing_sources::failing_sources;
use foreword_core::event::Level;
use foreword_core::id::ConversationId;
use foreword_core::provider::WireDialect;
use foreword_store::templates::NewTemplate;
use foreword_testkit::Reply;
use serde_json::Value;

use crate::fixture::{CONFIG, Fixture, Setting, alice, follow, on};

/// A workspace and how one of its sources breaks.
struct Case {
    name: &'static str,
    /// Added to the configuration.
    yaml: &'static str,
    blueprint: &'static str,
    files: &'static [(&'static str, &'static str)],
    break_it: fn(&Path),
}

fn replace_by_directory(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
}

const CASES: [Case; 7] = [
    Case {
        name: "a file that is not UTF-8",
        yaml: "",
        blueprint: "gateway",
        files: &[("TOOLS.md", "Use tools sparingly.")],
        break_it: |folder| fs::write(folder.join("TOOLS.md"), [0xff, 0xfe, 0x00, 0x80]).unwrap(),
    },
    Case {
        name: "a file over 1 MiB",
        yaml: "",
        blueprint: "gateway",
        files: &[("SOUL.md", "You are kind.")],
        break_it: |folder| fs::write(folder.join("SOUL.md"), "a".repeat(1_100_000)).unwrap(),
    },
    Case {
        name: "a token budget that the policies do not fit",
        yaml: "",
        blueprint: "gateway",
        files: &[("SOUL.md", "You are kind.")],
        break_it: |folder| {
            let path = folder.join("foreword.yaml");
            let config = fs::read_to_string(&path).unwrap();
            fs::write(path, format!("{config}prompt: {{ budget: {{ tokens: 50 }} }}\n")).unwrap();
        },
    },
    Case {
        name: "a typo in an agent's Jinja file",
        yaml: "prompt: { instruction_file: ADA.md }\n",
        blueprint: "agent",
        files: &[(".agents/prompt/ADA.md", "You are {{ agent_name }}.")],
        break_it: |folder| {
            fs::write(folder.join(".agents/prompt/ADA.md"), "You are {{ agent_nam }}.").unwrap()
        },
    },
    Case {
        name: "an agent's file that was deleted",
        yaml: "prompt: { instruction_file: ADA.md }\n",
        blueprint: "agent",
        files: &[(".agents/prompt/ADA.md", "You are {{ agent_name }}.")],
        break_it: |folder| fs::remove_file(folder.join(".agents/prompt/ADA.md")).unwrap(),
    },
    Case {
        name: "a template file that became a directory",
        yaml: "prompt: { template_file: prompts/system.md }\n",
        blueprint: "template",
        files: &[("prompts/system.md", "You are Ada.")],
        break_it: |folder| replace_by_directory(&folder.join("prompts/system.md")),
    },
    Case {
        name: "an include that is gone",
        yaml: "prompt: { template_file: prompts/system.md, dialect: jinja }\n",
        blueprint: "template",
        files: &[("prompts/system.md", "{% include 'tone.md' %}"), ("prompts/tone.md", "Be brief.")],
        break_it: |folder| fs::remove_file(folder.join("prompts/tone.md")).unwrap(),
    },
];

impl Case {
    async fn fixture(&self, replies: usize) -> Fixture {
        let fixture = Fixture::new(vec![Reply::text("Yes."); replies]).await;
        self.write(&fixture);
        fixture.workspace.refresh();
        fixture
    }

    fn write(&self, fixture: &Fixture) {
        let folder = fixture.folder.path();
        for (path, text) in self.files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let agent = format!("agent: {{ name: Ada, blueprint: {},", self.blueprint);
        let config = CONFIG.replace("agent: { name: Ada,", &agent);
        fs::write(folder.join("foreword.yaml"), format!("{config}{}", self.yaml)).unwrap();
    }

    fn break_it(&self, fixture: &Fixture) {
        (self.break_it)(fixture.folder.path());
        fixture.workspace.refresh();
    }
}

fn systems(fixture: &Fixture) -> Vec<Value> {
    fixture.provider.requests().iter().map(|request| request.json()["system"].clone()).collect()
}

async fn source_events(fixture: &Fixture) -> Vec<(String, Option<String>)> {
    let log = fixture.log().await;
    let events = log.into_iter().map(|stored| stored.event);
    let of_sources = events.filter(|event| event.event_type.as_str().starts_with("prompt_source_"));
    of_sources.map(|event| (event.event_type.as_str().to_owned(), event.error)).collect()
}

#[tokio::test]
async fn running_conversation_keeps_its_prompt_despite_failing_source() {
    for case in &CASES {
        let fixture = case.fixture(3).await;
        fixture.say("c-1", alice(), "first").await;
        case.break_it(&fixture);
        assert_eq!(fixture.say("c-1", alice(), "second").await.text(), "Yes.", "{}", case.name);
        assert_eq!(fixture.say("c-1", alice(), "third").await.text(), "Yes.", "{}", case.name);
        let systems = systems(&fixture);
        assert!(systems[0] == systems[1] && systems[1] == systems[2], "{}: {systems:#?}", case.name);
        let last = fixture.provider.requests()[2].json()["messages"].to_string();
        assert!(!last.contains("no longer applies") && !last.contains("Note:"), "{}: {last}", case.name);
    }
}

#[tokio::test]
async fn new_conversation_uses_last_good_version_of_failing_source() {
    for case in CASES.iter().filter(|case| !case.name.contains("token budget")) {
        let fixture = case.fixture(2).await;
        fixture.say("c-1", alice(), "first").await;
        case.break_it(&fixture);
        assert_eq!(fixture.say("c-2", alice(), "hello").await.text(), "Yes.", "{}", case.name);
        let systems = systems(&fixture);
        assert_eq!(systems[0], systems[1], "{}", case.name);
    }
}

#[tokio::test]
async fn last_good_version_survives_a_restart() {
    let case = &CASES[3];
    let fixture = case.fixture(2).await;
    fixture.say("c-1", alice(), "first").await;
    case.break_it(&fixture);
    let another = fixture.another(Setting::default()).await;
    let conversation = ConversationId::new("c-2").unwrap();
    let inbound = Inbound { conversation, origin: alice(), text: "hello".to_owned(), key: None };
    assert_eq!(follow(another.agent.send(inbound).await.unwrap()).await.text(), "Yes.");
    let systems = systems(&fixture);
    assert_eq!(systems[0], systems[1]);
}

#[tokio::test]
async fn failing_optional_source_without_good_version_is_omitted() {
    let case = &CASES[0];
    let fixture = Fixture::new([Reply::text("Yes.")]).await;
    case.write(&fixture);
    case.break_it(&fixture);
    assert_eq!(fixture.say("c-1", alice(), "hello").await.text(), "Yes.");
    let events = source_events(&fixture).await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].1.as_ref().unwrap().contains("TOOLS.md"), "{events:?}");
}

#[tokio::test]
async fn failing_required_source_without_good_version_fails_the_turn() {
    let case = &CASES[3];
    let fixture = Fixture::new([Reply::text("Never sent.")]).await;
    case.write(&fixture);
    case.break_it(&fixture);
    let seen = fixture.say("c-1", alice(), "hello").await;
    assert!(fixture.provider.requests().is_empty());
    assert_eq!(seen.text(), "");
}

#[tokio::test]
async fn failing_source_is_logged_once_per_change() {
    let case = &CASES[0];
    let fixture = case.fixture(4).await;
    fixture.say("c-1", alice(), "first").await;
    case.break_it(&fixture);
    fixture.say("c-1", alice(), "second").await;
    fixture.say("c-1", alice(), "third").await;
    fixture.say("c-2", alice(), "elsewhere").await;
    let failed = source_events(&fixture).await;
    assert_eq!(failed.len(), 1, "{failed:?}");
    let log = fixture.log().await;
    let event = log.iter().find(|stored| stored.event.event_type.as_str() == "prompt_source_failed").unwrap();
    assert_eq!(event.event.level, Level::Warn);
    assert_eq!(event.event.metadata.as_ref().unwrap()["replacement"], "last_good");
}

#[tokio::test]
async fn recovered_source_is_logged_once() {
    let case = &CASES[3];
    let fixture = case.fixture(4).await;
    fixture.say("c-1", alice(), "first").await;
    case.break_it(&fixture);
    fixture.say("c-1", alice(), "second").await;
    case.write(&fixture);
    fixture.workspace.refresh();
    fixture.say("c-1", alice(), "third").await;
    fixture.say("c-1", alice(), "fourth").await;
    let names: Vec<String> = source_events(&fixture).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["prompt_source_failed", "prompt_source_recovered"]);
}

#[tokio::test]
async fn status_lists_failing_sources_for_the_owner() {
    let case = &CASES[3];
    let fixture = case.fixture(2).await;
    fixture.say("c-1", alice(), "first").await;
    case.break_it(&fixture);
    fixture.say("c-1", alice(), "second").await;
    fixture.log().await;
    let now = jiff::Zoned::now();
    let failing = failing_sources(&fixture.workspace, Some(&fixture.store), now).await.unwrap();
    assert_eq!((failing.len(), failing[0].source.as_str()), (1, ".agents/prompt/ADA.md"), "{failing:?}");
    assert!(failing[0].error.contains("agent_nam") && failing[0].replacement == "last_good", "{failing:?}");
}

#[tokio::test]
async fn failed_compaction_changes_neither_prompt_nor_history() {
    let case = &CASES[3];
    let fixture = case.fixture(3).await;
    fixture.say("c-1", alice(), "first").await;
    fixture.say("c-1", alice(), "second").await;
    let conversation = ConversationId::new("c-1").unwrap();
    let before = fixture.store.history(&conversation).await.unwrap();
    let epochs = fixture.store.epochs(&conversation).await.unwrap();
    // Without a last good version, nothing can be frozen.
    fixture
        .store
        .save_good_sources(vec![broken_version()], "2026-11-16T08:00:00Z".parse().unwrap())
        .await
        .unwrap();
    case.break_it(&fixture);
    let asked = fixture.provider.requests().len();
    fixture.agent.compact(&conversation, alice()).await.unwrap_err();
    assert_eq!(fixture.provider.requests().len(), asked, "a summary was paid for");
    assert_eq!(fixture.store.history(&conversation).await.unwrap(), before);
    assert_eq!(fixture.store.epochs(&conversation).await.unwrap(), epochs);
    assert_eq!(fixture.say("c-1", alice(), "third").await.text(), "Yes.");
}

fn broken_version() -> foreword_prompt::last_good::SourceVersion {
    let source = ".agents/prompt/ADA.md";
    foreword_prompt::last_good::SourceVersion {
        source: source.into(),
        resolved: source.into(),
        text: "{{ agent_nam }}".into(),
    }
}

#[tokio::test]
async fn forbidden_file_in_a_stored_template_is_blank() {
    let yaml = CONFIG.replace("agent: { name: Ada,", "agent: { name: Ada, blueprint: template,");
    let fixture = Fixture::with([Reply::text("Yes.")], WireDialect::Anthropic, "").await;
    fs::write(fixture.folder.path().join("foreword.yaml"), yaml).unwrap();
    fixture.workspace.refresh();
    let text = "Host:[file:/etc/hostname].[if file:/etc/hostname]yes[else]no[endif]";
    let at = "2026-11-16T08:00:00Z".parse().unwrap();
    fixture.store.add_template(NewTemplate::new(text, "alice", at)).await.unwrap();
    assert_eq!(fixture.say("c-1", alice(), "hello").await.text(), "Yes.");
    assert_eq!(systems(&fixture)[0][0]["text"], "Host:.no");
}

#[tokio::test]
async fn file_edit_is_visible_ten_milliseconds_later() {
    let fixture = Fixture::new(vec![Reply::text("Yes."); 6]).await;
    let _reloads = fixture.agent.watch_workspace();
    fixture.say("c-1", alice(), "first").await;
    for number in 1..=5 {
        fs::write(fixture.folder.path().join("SOUL.md"), format!("You are kind, version {number}.")).unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        fixture.say("c-1", alice(), "next").await;
        let sent = fixture.provider.requests()[number].json()["messages"].to_string();
        assert!(sent.contains(&format!("version {number}.")), "{sent}");
    }
}

#[tokio::test]
async fn last_good_version_needs_the_trust_of_its_file() {
    let fixture = Fixture::new([Reply::text("Yes."), Reply::text("Yes.")]).await;
    let folder = fixture.folder.path();
    fs::create_dir_all(folder.join("memory/private")).unwrap();
    fs::write(folder.join("memory/private/plan.md"), "A surprise for bob.").unwrap();
    std::os::unix::fs::symlink("memory/private/plan.md", folder.join("TOOLS.md")).unwrap();
    fixture.workspace.refresh();
    fixture.say("c-1", alice(), "first").await;
    assert!(systems(&fixture)[0].to_string().contains("A surprise"));
    fs::remove_file(folder.join("TOOLS.md")).unwrap();
    fs::create_dir(folder.join("TOOLS.md")).unwrap();
    fixture.workspace.refresh();
    fixture.say("c-2", on("signal:bob"), "hello").await;
    assert!(!systems(&fixture)[1].to_string().contains("A surprise"));
}
