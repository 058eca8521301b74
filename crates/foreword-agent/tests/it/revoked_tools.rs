//! Tools that are revoked during a turn: after a crash or a compaction only the currently permitted tools run.

use std::time::Duration;

use foreword_agent::conversation::feed::Progress;
use foreword_core::message::{ContentBlock, Message, Role};
use foreword_core::turn_journal::Outcome;
use foreword_testkit::{Received, Reply, Script};
use serde_json::json;

use crate::crashes::{crash, runtime, setting, settled, successor, texts};
use crate::fixture::{Fixture, alice, configuration};
use crate::well_formed::all_well_formed;

const BEFORE: &str = "tools: { disabled: [write_file] }\n";
const AFTER: &str = "tools: { disabled: [bash] }\n";

fn writing_a_file() -> Reply {
    Reply::tool_call("bash", json!({ "command": "echo ran >> ran.txt" }))
}

/// The owner switches `bash` off, and `write_file` on.
fn switch_tools(fixture: &Fixture) {
    std::fs::write(fixture.folder.path().join("foreword.yaml"), configuration(AFTER)).unwrap();
}

fn has_run(fixture: &Fixture) -> bool {
    fixture.folder.path().join("ran.txt").exists()
}

/// Whether the request offers `bash` and `write_file`.
fn told_of(request: &Received) -> [bool; 2] {
    let tools = request.json()["tools"].to_string();
    ["\"bash\"", "\"write_file\""].map(|name| tools.contains(name))
}

fn results(messages: &[Message]) -> Vec<(String, bool)> {
    let of = messages.iter().filter(|message| message.message.role == Role::Tool);
    let results = of.flat_map(|message| &message.message.content).filter_map(|block| match block {
        ContentBlock::ToolResult { content, is_error, .. } => Some((content.clone(), *is_error)),
        _ => None,
    });
    results.collect()
}

#[test]
fn tool_revoked_after_a_crash_is_not_run() {
    let life = runtime();
    let script = Script::from([
        Reply::tool_call("memory_search", json!({ "query": "Carol birthday" })),
        Reply::silence(),
        writing_a_file(),
        Reply::text("It is not to be."),
    ]);
    let fixture = life.block_on(Fixture::set(script, setting(), BEFORE));
    life.block_on(async {
        fixture.send("c-1", alice(), "do it").await;
        fixture.provider.until(|counts| counts.requests == 2).await;
    });
    crash(life);
    switch_tools(&fixture);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let messages = settled(&node).await;
        let requests = fixture.provider.requests();
        all_well_formed(&requests);
        assert_eq!([1, 2, 3].map(|at| told_of(&requests[at])), [[true, false], [false; 2], [false; 2]]);
        assert_eq!(texts(&messages, Role::Assistant), ["It is not to be."]);
        let (refused, is_error) = &results(&messages)[0];
        assert!(*is_error && refused.contains("there is no tool `bash`"), "{refused}");
        assert!(!has_run(&fixture));
    });
}

#[test]
fn tool_revoked_during_confirmation_is_not_run() {
    let life = runtime();
    // Command output taints the turn, so the next call needs a confirmation.
    let script = Script::from([
        Reply::tool_call("bash", json!({ "command": "echo hello" })),
        writing_a_file(),
        Reply::text("Then not."),
    ]);
    let fixture = life.block_on(Fixture::set(script, setting(), BEFORE));
    life.block_on(async {
        let receipt = fixture.send("c-1", alice(), "do it").await;
        let mut next = receipt.from;
        loop {
            let read = tokio::time::timeout(Duration::from_secs(20), receipt.feed.read(next));
            let batch = read.await.expect("nobody is asked");
            next = batch.next;
            if batch.items.iter().any(|item| matches!(&**item, Progress::Question(_))) {
                break;
            }
        }
    });
    crash(life);
    switch_tools(&fixture);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let messages = settled(&node).await;
        assert_eq!(texts(&messages, Role::Assistant), ["Then not."]);
        let gone = ("not run: the tool `bash` is no longer available.".to_owned(), true);
        assert!(results(&messages).contains(&gone), "{:?}", results(&messages));
        let requests = fixture.provider.requests();
        all_well_formed(&requests);
        assert_eq!((told_of(&requests[2]), has_run(&fixture)), ([false; 2], false));
        assert!(requests[2].conversation().contains("no longer available"));
    });
}

#[tokio::test]
async fn tool_revoked_during_compaction_is_not_run() {
    let script = Script::from([
        Reply::text("Noted."),
        Reply::status(400).message("prompt is too long: 210000 tokens > 200000 maximum"),
        Reply::text("The harbour was noted.").after(Duration::from_millis(1_000)),
        writing_a_file(),
        Reply::text("It is not to be."),
    ]);
    let fixture = Fixture::set(script, setting(), BEFORE).await;
    fixture.say("c-1", alice(), "remember the harbour").await;
    let receipt = fixture.send("c-1", alice(), "do it").await;
    fixture.provider.until(|counts| counts.requests == 3).await;
    switch_tools(&fixture);
    fixture.workspace.refresh();
    let seen = fixture.follow(receipt).await;
    assert_eq!((seen.text().as_str(), seen.ending()), ("It is not to be.", (Outcome::Done, None)));
    let requests = fixture.provider.requests();
    assert_eq!([1, 3, 4].map(|at| told_of(&requests[at])), [[true, false], [false; 2], [false; 2]]);
    let [("bash", refused, true)] = seen.results()[..] else { panic!("{:?}", seen.results()) };
    assert!(refused.contains("there is no tool `bash`"), "{refused}");
    assert!(!has_run(&fixture));
}
