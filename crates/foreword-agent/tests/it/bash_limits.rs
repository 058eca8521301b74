//! `bash`: output, limits, and the end of all child processes.

use std::fs;
use std::time::Duration;

use foreword_agent::tools::ToolSettings;
use foreword_agent::tools::bash::BashSettings;
use foreword_core::event::{EventType, Level};
use foreword_prompt::trust::Trust;
use foreword_testkit::{eventually, until};
use serde_json::json;

use crate::tool_fixture::Fixture;

async fn with(settings: BashSettings) -> Fixture {
    Fixture::with(&[("notes.md", "one\n")], "", ToolSettings { bash: settings, ..ToolSettings::default() })
        .await
}

async fn run(fixture: &Fixture, command: &str) -> String {
    fixture.alice("bash", json!({ "command": command })).await.text
}

/// How many processes have `word` among their arguments.
pub(crate) fn living(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok());
    let lines = processes.filter_map(|entry| {
        // A zombie process has no arguments.
        fs::read(entry.path().join("cmdline")).ok()
    });
    lines.filter(|line| line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())).count()
}

/// Waits until as many processes have `word` among their arguments as expected.
pub(crate) async fn wait_for_living(word: &str, expected: usize) {
    eventually(async || if living(word) == expected { Ok(()) } else { Err((living(word), word)) }).await;
}

/// A unique number of seconds.
fn unique_sleep(tail: u32) -> String {
    format!("3600.{}{tail:03}", std::process::id())
}

#[tokio::test]
async fn output_follows_the_exit_code_in_print_order() {
    let fixture = with(BashSettings::default()).await;
    let output = fixture.alice("bash", json!({ "command": "echo a; echo b >&2; echo c; exit 3" })).await;
    assert_eq!(output.text, "exit code 3\na\nb\nc");
    assert!(output.is_error && output.from_outside && output.events.is_empty());
    assert_eq!(run(&fixture, "true").await, "exit code 0\n(it printed nothing)");
    assert_eq!(run(&fixture, "kill -9 $$").await, "ended by signal 9\n(it printed nothing)");
    assert_eq!(run(&fixture, "cat notes.md; pwd | tail -c 7").await, "exit code 0\none\n/house");
    assert_eq!(run(&fixture, "cat; echo done").await, "exit code 0\ndone", "there is nothing to read");
}

#[tokio::test]
async fn command_sees_only_given_variables() {
    let environment =
        [("PATH", "/usr/bin:/bin"), ("ANTHROPIC_API_KEY", "s3cret"), ("LC_ALL", "C"), ("BASH_ENV", "/x")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let fixture = with(BashSettings::default().with_environment(environment)).await;
    let seen = run(&fixture, "env | cut -d= -f1 | sort | tr '\\n' ' '").await;
    assert_eq!(seen, "exit code 0\nFOREWORD_CALL HOME LANG LC_ALL PATH PWD SHLVL TERM _ ");
    let inherited = run(&fixture, "echo [$CARGO_MANIFEST_DIR] [$TERM] $HOME").await;
    assert!(
        inherited.starts_with("exit code 0\n[] [dumb] /") && inherited.ends_with("/house"),
        "{inherited}"
    );
}

#[tokio::test]
async fn long_output_keeps_both_ends_and_is_logged() {
    let fixture = with(BashSettings { max_output_bytes: 200, ..BashSettings::default() }).await;
    let output = fixture.alice("bash", json!({ "command": "seq 1 20000" })).await;
    assert!(
        output.text.starts_with("exit code 0\n1\n2\n") && output.text.ends_with("\n20000"),
        "{}",
        output.text
    );
    assert!(output.text.contains("\n[108,694 bytes left out here]\n"), "{}", output.text);
    let event = &output.events[0];
    assert_eq!((event.event_type.clone(), event.level), (EventType::ToolOutputTruncated, Level::Warn));
    let expected = json!({ "tool": "bash", "originalSize": 108_894, "truncatedSize": 200 });
    assert_eq!(event.metadata, Some(expected));
    assert_eq!(event.turn_id.as_ref().map(|turn| turn.as_str()), Some("t-1"));
}

#[tokio::test]
async fn invalid_utf8_output_can_be_stored() {
    let fixture = with(BashSettings::default()).await;
    assert_eq!(run(&fixture, "printf 'a\\0b\\xff'").await, "exit code 0\na\u{fffd}b\u{fffd}");
}

#[tokio::test]
async fn timeout_kills_the_command_and_its_children() {
    let settings = BashSettings {
        timeout: Duration::from_millis(400),
        grace: Duration::from_millis(200),
        ..BashSettings::default()
    };
    let fixture = with(settings).await;
    let word = unique_sleep(1);
    // One waits, one is in the background, one ignores the request to end, one has left the group.
    let command = format!(
        "echo begun; (trap '' TERM; sleep {word}) & setsid sleep {word} & sleep {word} & sleep {word}; echo never"
    );
    let output = fixture.alice("bash", json!({ "command": command })).await;
    assert!(output.text.starts_with("stopped: it took longer than 0.4 seconds"), "{}", output.text);
    assert!(output.text.ends_with("\nbegun") && output.is_error && output.from_outside, "{}", output.text);
    assert_eq!(output.events[0].event_type, EventType::ToolTimeout);
    assert_eq!(output.events[0].metadata, Some(json!({ "tool": "bash", "timeoutMs": 400 })));
    wait_for_living(&word, 0).await;
}

#[tokio::test]
async fn dropped_call_kills_the_command_and_its_children() {
    let fixture = with(BashSettings { grace: Duration::from_millis(200), ..BashSettings::default() }).await;
    let word = unique_sleep(2);
    let command = format!("(trap '' TERM; sleep {word}) & setsid sleep {word} & sleep {word} & sleep {word}");
    let running = fixture.start("bash", json!({ "command": command }), fixture.call("alice", Trust::Full));
    let running = tokio::spawn(running);
    wait_for_living(&word, 4).await;
    running.abort();
    wait_for_living(&word, 0).await;
}

#[tokio::test]
async fn terminated_command_may_clean_up() {
    let fixture = with(BashSettings { grace: Duration::from_secs(10), ..BashSettings::default() }).await;
    let word = unique_sleep(3);
    let command = format!("trap 'echo cleaned > cleaned.txt; exit' TERM; sleep {word} & wait");
    let running = fixture.start("bash", json!({ "command": command }), fixture.call("alice", Trust::Full));
    let running = tokio::spawn(running);
    wait_for_living(&word, 1).await;
    running.abort();
    wait_for_living(&word, 0).await;
    until("the command cleans up", async || fixture.workspace_dir().join("cleaned.txt").exists()).await;
}

#[test]
fn command_dies_with_the_program() {
    let word = unique_sleep(4);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let fixture = runtime.block_on(with(BashSettings::default()));
    let command = format!("trap '' TERM; setsid sleep {word} & sleep {word}");
    runtime.spawn(fixture.start("bash", json!({ "command": command }), fixture.call("alice", Trust::Full)));
    runtime.block_on(wait_for_living(&word, 2));
    runtime.shutdown_timeout(Duration::from_secs(5));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(wait_for_living(&word, 0));
    drop(fixture);
}

#[tokio::test]
async fn background_processes_end_with_their_command() {
    let fixture = with(BashSettings { grace: Duration::from_millis(200), ..BashSettings::default() }).await;
    let word = unique_sleep(5);
    let command = format!("sleep {word} & (trap '' TERM; sleep {word}) & echo begun");
    assert_eq!(run(&fixture, &command).await, "exit code 0\nbegun");
    wait_for_living(&word, 0).await;
}

#[tokio::test]
async fn blocked_command_is_logged_with_its_reason() {
    let fixture = with(BashSettings::default()).await;
    let output = fixture.alice("bash", json!({ "command": "touch ran; sudo  rm -fr  /*" })).await;
    assert!(output.is_error && !output.from_outside, "{}", output.text);
    assert!(
        output.text.starts_with("not run: it falls under `rm -r /`, which is blocked here."),
        "{}",
        output.text
    );
    assert!(!fixture.workspace_dir().join("ran").exists());
    let event = &output.events[0];
    assert_eq!((event.event_type.clone(), event.level), (EventType::ToolBlocked, Level::Warn));
    let expected = json!({
        "tool": "bash",
        "command": "touch ran; sudo  rm -fr  /*",
        "reason": "it falls under `rm -r /`, which is blocked here",
    });
    assert_eq!(event.metadata, Some(expected));
    assert_eq!(event.session_id.as_ref().map(|id| id.as_str()), Some("c-1"));
}

#[tokio::test]
async fn invalid_command_argument_is_an_error() {
    let fixture = with(BashSettings::default()).await;
    assert_eq!(run(&fixture, "  \n").await, "`command` is empty: give a command line");
    assert!(run(&fixture, "echo a\0b").await.contains("NUL character"));
    let output = run(&fixture, "if").await;
    assert!(output.starts_with("exit code 2\n") && output.contains("syntax error"), "{output}");
}

#[tokio::test]
async fn endless_output_is_bounded_in_memory_and_time() {
    let settings = BashSettings {
        timeout: Duration::from_millis(300),
        max_output_bytes: 1_000,
        ..BashSettings::default()
    };
    let fixture = with(settings).await;
    let output = fixture.alice("bash", json!({ "command": "yes" })).await;
    assert!(output.text.len() < 1_500 && output.text.contains("bytes left out here"), "{}", output.text);
}
