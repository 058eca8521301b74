//! `bash` below full trust: the kernel confines the command to what that trust permits.

use std::fs;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use foreword_agent::tools::ToolSettings;
use foreword_agent::tools::bash::BashSettings;
use foreword_core::event::EventType;
use foreword_prompt::trust::Trust;
use serde_json::json;

use crate::bash_limits::wait_for_living;
use crate::tool_fixture::Fixture;

const HOUSE: [(&str, &str); 9] = [
    ("SOUL.md", "Be kind."),
    ("MEMORY.md", "s3cret"),
    ("notes.md", "one\n"),
    ("project/src/main.rs", "fn main() {}\n"),
    ("memory/private/plan.md", "s3cret"),
    ("memory/shared/trips.md", "to the sea"),
    ("users/alice/USER.md", "s3cret"),
    ("users/bob/notes.md", "bob's own"),
    (".git/config", "s3cret"),
];

/// Whether this kernel can confine a command. Where it can't, the tool must say so and run nothing.
async fn confines(fixture: &Fixture) -> bool {
    let output = fixture.bob("bash", json!({ "command": "echo ran" })).await;
    if output.text == "exit code 0\nran" {
        return true;
    }
    assert!(
        output.text.starts_with("not run: below `full` trust a command has to be confined"),
        "{}",
        output.text
    );
    assert_eq!(output.events[0].event_type, EventType::ToolBlocked);
    false
}

async fn confined_fixture() -> Option<Fixture> {
    let fixture = Fixture::new(&HOUSE).await;
    confines(&fixture).await.then_some(fixture)
}

#[tokio::test]
async fn confined_command_reads_and_writes_permitted_files() {
    let Some(fixture) = confined_fixture().await else { return };
    for (command, expected) in [
        ("cat notes.md SOUL.md", "one\nBe kind."),
        ("cat memory/shared/trips.md users/bob/notes.md", "to the seabob's own"),
        ("wc -l < project/src/main.rs; ls project", "1\nsrc"),
        ("mkdir project/new && echo hi > project/new/x && mv project/new/x project/y && cat project/y", "hi"),
        ("echo two >> notes.md; cat notes.md", "one\ntwo"),
        ("echo $HOME | tail -c 7; echo x > /dev/null; head -c 4 /dev/zero | wc -c", "/house\n4"),
    ] {
        let output = fixture.bob("bash", json!({ "command": command })).await;
        assert_eq!(output.text, format!("exit code 0\n{expected}"), "{command}");
    }
}

#[tokio::test]
async fn confined_command_reads_no_withheld_file() {
    let Some(fixture) = confined_fixture().await else { return };
    fs::write(fixture.outside().join("secret"), "s3cret").unwrap();
    fixture.link("way-out", "../secret");
    fixture.link("way-in", "memory/private/plan.md");
    fixture.link("project/config", "../foreword.yaml");
    let outside = fixture.outside().join("secret").to_string_lossy().into_owned();
    let parent = std::process::id();
    for command in [
        "cat memory/private/plan.md",
        "cat MEMORY.md",
        "cat users/alice/USER.md",
        "cat foreword.yaml",
        "cat project/config",
        "cat way-out",
        "cat way-in",
        "cat .git/config",
        "cat .foreword/foreword.db",
        "ls memory/private",
        "ls .",
        "cat /etc/shadow",
        "ln memory/private/plan.md project/plan; cat project/plan",
        "mv memory/private project/; cat project/private/plan.md",
        "cd project && ln -s ../memory/private p && cat p/plan.md",
        &format!("cat {outside}"),
        &format!("cat /proc/{parent}/environ"),
        "cat /proc/self/environ",
        "bash -c 'setsid -w cat memory/private/plan.md'",
        "sudo cat memory/private/plan.md",
    ] {
        let output = fixture.bob("bash", json!({ "command": command })).await;
        assert!(output.is_error && !output.text.contains("s3cret"), "{command}: {}", output.text);
        assert!(!output.text.contains("plan.md\n"), "{command}: {}", output.text);
    }
}

#[tokio::test]
async fn confined_command_writes_no_prompt_source() {
    let Some(fixture) = confined_fixture().await else { return };
    let outside = fixture.outside().join("planted").to_string_lossy().into_owned();
    for command in [
        "echo planted > SOUL.md",
        "truncate -s 0 SOUL.md",
        "rm SOUL.md",
        "mv notes.md SOUL.md",
        "echo planted > memory/shared/new.md",
        "echo planted > users/bob/USER.md",
        "mkdir -p skills/x",
        "echo planted > foreword.yaml",
        "rm -rf ./.foreword/foreword.db",
        "echo planted > new-at-the-top.md",
        &format!("echo planted > {outside}"),
        "echo planted > /tmp/planted-by-bob",
    ] {
        let output = fixture.bob("bash", json!({ "command": command })).await;
        assert!(output.is_error, "{command}: {}", output.text);
    }
    assert_eq!(
        (fixture.text("SOUL.md"), fixture.text("notes.md")),
        ("Be kind.".to_owned(), "one\n".to_owned())
    );
    assert!(!fs::exists(outside).unwrap() && !fs::exists("/tmp/planted-by-bob").unwrap());
    assert!(fixture.workspace_dir().join(".foreword/foreword.db").exists());
}

#[tokio::test]
async fn confined_command_has_no_network_and_sends_no_signals() {
    let Some(fixture) = confined_fixture().await else { return };
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let output = fixture.bob("bash", json!({ "command": connect })).await;
    assert!(output.is_error, "{}", output.text);
    let owner = fixture.alice("bash", json!({ "command": connect })).await;
    assert!(!owner.is_error, "the owner reaches it: {}", owner.text);
    let mut other = tokio::process::Command::new("sleep").arg("600").kill_on_drop(true).spawn().unwrap();
    let kill = format!("kill -9 {}", other.id().unwrap());
    let output = fixture.bob("bash", json!({ "command": kill })).await;
    assert!(output.is_error && other.try_wait().unwrap().is_none(), "{}", output.text);
}

#[tokio::test]
async fn confined_command_leaves_no_process() {
    let settings = BashSettings { grace: Duration::from_millis(100), ..BashSettings::default() };
    let fixture = Fixture::with(&HOUSE, "", ToolSettings { bash: settings, ..ToolSettings::default() }).await;
    if !confines(&fixture).await {
        return;
    }
    let word = format!("3600.{}777", std::process::id());
    let command = format!("setsid sleep {word} & sleep 0.2; echo done");
    assert_eq!(fixture.bob("bash", json!({ "command": command })).await.text, "exit code 0\ndone");
    wait_for_living(&word, 0).await;
}

#[tokio::test]
async fn confinement_is_limited_to_the_command() {
    let Some(fixture) = confined_fixture().await else { return };
    fixture.bob("bash", json!({ "command": "true" })).await;
    let socket = fixture.outside().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let output = fixture.alice("bash", json!({ "command": "cat memory/private/plan.md; ls .." })).await;
    assert_eq!(output.text, "exit code 0\ns3crethouse\nsocket");
    let familiar = fixture
        .run("bash", json!({ "command": "cat notes.md" }), fixture.call("carol", Trust::Familiar))
        .await;
    assert!(familiar.is_error, "{}", familiar.text);
}
