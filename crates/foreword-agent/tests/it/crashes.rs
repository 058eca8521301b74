//! A process that dies during a turn: another one resumes or reports it. No message is answered twice, and no side
//! effect is repeated.

use std::path::{Path, PathBuf};
use std::time::Duration;

use foreword_agent::conversation::inbound::{Inbound, TurnOrigin};
use foreword_core::id::ConversationId;
use foreword_core::message::{ContentBlock, Message, Role};
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_store::messages::MessagePage;
use foreword_testkit::{FakeProvider, Reply, Script, eventually, eventually_blocking, until};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::bash_limits::living;
use crate::fixture::{Fixture, Node, Setting, alice, on, unwatched};
use crate::well_formed::all_well_formed;

pub(crate) const LEASE: Duration = Duration::from_millis(500);

fn c1() -> ConversationId {
    ConversationId::new("c-1").unwrap()
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn setting() -> Setting {
    Setting::lease(LEASE)
}

/// Ends a process: its tasks stop wherever they are.
pub(crate) fn crash(life: Runtime) {
    life.shutdown_timeout(Duration::from_secs(5));
}

/// A node that starts after the lease of the crashed one has expired.
pub(crate) async fn successor(fixture: &Fixture) -> Node {
    fixture.another(setting().later(LEASE)).await
}

/// A process that gets a message and dies when `dies` returns true; its workspace and provider survive.
fn die(script: Script, occasion: TurnOrigin, dies: impl Fn(&FakeProvider, &Path) -> bool) -> Fixture {
    let life = runtime();
    let fixture = life.block_on(Fixture::set(script, setting(), ""));
    let path: PathBuf = fixture.folder.path().to_owned();
    life.block_on(async {
        fixture.send("c-1", occasion, "do it").await;
        until("the place where it dies", async || dies(&fixture.provider, &path)).await;
    });
    crash(life);
    fixture
}

/// Everything in the conversation once no turn is unfinished and nothing waits.
pub(crate) async fn settled(node: &Node) -> Vec<Message> {
    node.agent.recover().await.unwrap();
    eventually(async || {
        // In this order: a message that is no longer pending has a turn.
        let waiting = node.store.pending(&c1()).await.unwrap();
        let turns = node.store.turns(&c1(), None, 10).await.unwrap();
        let idle = turns.iter().all(|turn| turn.state != TurnState::Running);
        if waiting.is_empty() && idle { Ok(()) } else { Err(turns) }
    })
    .await;
    node.store.all_messages(&c1(), MessagePage::newest(1_000)).await.unwrap()
}

pub(crate) fn texts(messages: &[Message], role: Role) -> Vec<String> {
    let of = messages.iter().filter(|message| message.message.role == role);
    let blocks = of.flat_map(|message| &message.message.content);
    blocks.filter_map(ContentBlock::as_text).map(str::to_owned).collect()
}

/// The answer, and that it is one: in front of it may stand only what the dying process had shown and had time to put
/// on record, for a runtime that is torn down sees its connections break before it is gone.
fn answer(messages: &[Message], shown: &str) -> String {
    let newest_first = texts(messages, Role::Assistant);
    let (answer, before) = newest_first.split_first().unwrap();
    assert!(before.len() <= 1 && before.iter().all(|part| shown.starts_with(part.trim_end())), "{before:?}");
    answer.clone()
}

/// Asserts that the conversation is usable and its history well-formed.
async fn assert_conversation_usable(fixture: &Fixture, node: &Node) {
    fixture.provider.push(Reply::text("Here I am."));
    let (occasion, text) = (alice(), "are you there?".to_owned());
    let inbound = Inbound { conversation: c1(), origin: occasion, text, key: None };
    let seen = crate::fixture::follow(node.agent.send(inbound).await.unwrap()).await;
    assert_eq!((seen.text().as_str(), seen.ending()), ("Here I am.", (Outcome::Done, None)));
    all_well_formed(&fixture.provider.requests());
}

#[test]
fn crash_while_streaming_is_answered_once() {
    let script = Script::from([Reply::text("Half an ans").then_silence(), Reply::text("The whole answer.")]);
    let fixture = die(script, alice(), |provider, _| provider.counts().requests == 1);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let messages = settled(&node).await;
        assert_eq!(answer(&messages, "Half an ans"), "The whole answer.");
        assert_conversation_usable(&fixture, &node).await;
    });
}

#[test]
fn crash_after_a_read_tool_keeps_its_result() {
    let script = Script::from([
        Reply::tool_call("memory_search", json!({ "query": "Carol birthday" })),
        Reply::text("On 14").then_silence(),
        Reply::text("On 14 March."),
    ]);
    let fixture = die(script, alice(), |provider, _| provider.counts().requests == 2);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let messages = settled(&node).await;
        assert_eq!(answer(&messages, "On 14"), "On 14 March.");
        // The tool's result from before the crash was kept.
        let last = fixture.provider.requests()[2].conversation();
        assert!(last.contains("14 March"), "{last}");
        assert_conversation_usable(&fixture, &node).await;
    });
}

#[test]
fn crash_during_a_command_is_reported_and_not_repeated() {
    let seconds = format!("3600.{}88", std::process::id());
    let command = format!("echo ran >> ran.txt; sleep {seconds}");
    let script = Script::from([Reply::tool_call("bash", json!({ "command": command }))])
        .then_always(Reply::text("Well."));
    let fixture = die(script, alice(), |_, folder| {
        std::fs::read_to_string(folder.join("ran.txt")).is_ok_and(|ran| ran == "ran\n")
    });
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let messages = settled(&node).await;
        let notices = texts(&messages, Role::System);
        assert_eq!(notices.len(), 1);
        assert!(notices[0].contains("`bash`") && notices[0].contains("may have taken effect"), "{notices:?}");
        let ran = std::fs::read_to_string(fixture.folder.path().join("ran.txt")).unwrap();
        assert_eq!((ran.as_str(), living(&seconds)), ("ran\n", 0));
        assert_conversation_usable(&fixture, &node).await;
        let sent = fixture.provider.requests().last().unwrap().conversation();
        assert!(sent.contains("do it") && sent.contains("may have taken effect"), "{sent}");
    });
}

#[test]
fn crash_after_a_command_does_not_repeat_it() {
    let command = json!({ "command": "echo ran >> ran.txt" });
    let script =
        Script::from([Reply::tool_call("bash", command), Reply::silence(), Reply::text("It ran once.")]);
    let fixture = die(script, alice(), |provider, _| provider.counts().requests == 2);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let messages = settled(&node).await;
        assert_eq!(texts(&messages, Role::Assistant), ["It ran once."]);
        let ran = std::fs::read_to_string(fixture.folder.path().join("ran.txt")).unwrap();
        assert_eq!(ran, "ran\n");
        assert_conversation_usable(&fixture, &node).await;
    });
}

#[test]
fn crash_with_a_queued_message_answers_it_once() {
    let script = Script::from(vec![Reply::status(429); 4]).then_always(Reply::text("Good morning."));
    let occasion = unwatched(on("signal:bob"));
    let fixture = die(script, occasion, |provider, _| provider.counts().requests >= 4);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let messages = settled(&node).await;
        assert_eq!(texts(&messages, Role::Assistant), ["Good morning."]);
        assert_eq!(fixture.provider.requests().len(), 5);
    });
}

#[test]
fn crash_with_pending_messages_answers_all_in_order() {
    let life = runtime();
    let script = Script::from([Reply::silence()]).then_always(Reply::text("Answered."));
    let fixture = life.block_on(Fixture::set(script, setting(), ""));
    life.block_on(async {
        fixture.send("c-1", alice(), "one").await;
        fixture.provider.until(|counts| counts.requests == 1).await;
        fixture.send("c-1", on("signal:bob"), "two").await;
        fixture.send("c-1", alice(), "three").await;
    });
    crash(life);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let messages = settled(&node).await;
        assert_eq!(texts(&messages, Role::Assistant), ["Answered."; 3]);
        let requests = fixture.provider.requests();
        all_well_formed(&requests);
        let said: Vec<bool> = ["one", "two", "three"]
            .iter()
            .zip(&requests[1..])
            .map(|(word, request)| request.conversation().contains(word))
            .collect();
        assert_eq!(said, [true; 3]);
    });
}

#[test]
fn downtime_does_not_count_towards_the_turn_limit() {
    let limits = "agent: { name: Ada, model: anthropic/claude-haiku-4-5, limits: { seconds: 1 } }\n";
    let life = runtime();
    let script = Script::from([Reply::silence()]).then_always(Reply::text("Still in time."));
    let fixture = life.block_on(Fixture::set(script, setting(), limits));
    life.block_on(async {
        fixture.send("c-1", alice(), "do it").await;
        fixture.provider.until(|counts| counts.requests == 1).await;
    });
    crash(life);
    runtime().block_on(async {
        let node = fixture.another(setting().later(Duration::from_millis(1_500))).await;
        assert_eq!(texts(&settled(&node).await, Role::Assistant), ["Still in time."]);
    });
}

#[test]
fn turn_that_kills_every_node_is_abandoned() {
    let script = Script::default().then_always(Reply::silence());
    let mut fixture = die(script, alice(), |provider, _| provider.counts().requests == 1);
    for times in 2..=3 {
        let life = runtime();
        let node = life.block_on(fixture.another(setting().later(LEASE * (times as u32 - 1))));
        life.block_on(async {
            node.agent.recover().await.unwrap();
            fixture.provider.until(|counts| counts.requests == times).await;
        });
        crash(life);
        drop(node);
    }
    let port: u16 = fixture.provider.base_url().rsplit(':').next().unwrap().parse().unwrap();
    drop(std::mem::replace(&mut fixture.provider, FakeProvider::start(Reply::text("-")).unwrap()));
    eventually_blocking(|| std::net::TcpStream::connect(("127.0.0.1", port)).err().ok_or("still there"));
    fixture.provider = FakeProvider::start_on(port, Vec::new()).unwrap();
    runtime().block_on(async {
        let node = fixture.another(setting().later(LEASE * 3)).await;
        let notices = texts(&settled(&node).await, Role::System);
        assert!(notices.len() == 1 && notices[0].contains("interrupted 4 times"), "{notices:?}");
        assert_conversation_usable(&fixture, &node).await;
    });
}

#[test]
fn lowered_trust_withholds_interrupted_results() {
    let script = Script::from([
        Reply::tool_call("memory_search", json!({ "query": "Carol birthday" })),
        Reply::text("On 14").then_silence(),
    ])
    .then_always(Reply::text("Never."));
    let fixture = die(script, alice(), |provider, _| provider.counts().requests == 2);
    let file = fixture.folder.path().join("foreword.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, yaml.replace("name: alice, trust: full", "name: alice, trust: familiar")).unwrap();
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let messages = settled(&node).await;
        assert_eq!(fixture.provider.requests().len(), 2, "nothing is sent again");
        let notices = texts(&messages, Role::System);
        assert!(notices[0].contains("the user's trust has fallen since"), "{notices:?}");
        let seen = node.store.history_at(&c1(), foreword_prompt::trust::Trust::Familiar).await.unwrap();
        assert!(!format!("{seen:?}").contains("14 March"), "{seen:?}");
    });
}

#[test]
fn crash_during_requested_compaction_calls_no_model() {
    let life = runtime();
    let script = Script::from([Reply::text("One."), Reply::silence()]).then_always(Reply::text("Unasked."));
    let fixture = life.block_on(Fixture::set(script, setting(), ""));
    life.block_on(async {
        fixture.say("c-1", alice(), "hello").await;
        let agent = fixture.agent.clone();
        tokio::spawn(async move { agent.compact(&c1(), alice()).await });
        fixture.provider.until(|counts| counts.requests == 2).await;
    });
    crash(life);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let messages = settled(&node).await;
        assert_eq!(texts(&messages, Role::Assistant), ["One."]);
        assert_eq!(fixture.provider.requests().len(), 2);
    });
}
