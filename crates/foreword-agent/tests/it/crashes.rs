//! A process that dies in the middle of a turn: another goes on with it or reports it. Nobody is answered twice, and
//! nothing that changes the world is done twice.

use std::path::{Path, PathBuf};
use std::time::Duration;

use foreword_agent::inbound::{Inbound, Occasion};
use foreword_core::id::ConversationId;
use foreword_core::message::{ContentBlock, Message, Role};
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_store::messages::MessagePage;
use foreword_testkit::{FakeProvider, Reply, Script};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::bash_limits::living;
use crate::scene::{Node, Scene, Setting, alice, on, unwatched};
use crate::well_formed::all_well_formed;

pub(crate) const LEASE: Duration = Duration::from_millis(500);

fn c1() -> ConversationId {
    ConversationId::new("c-1").unwrap()
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn setting() -> Setting {
    Setting { lease: LEASE, ..Setting::default() }
}

/// A process that is told something and dies as soon as `dies` says so; its workspace and its provider live on.
fn die(script: Script, occasion: Occasion, dies: impl Fn(&FakeProvider, &Path) -> bool) -> Scene {
    let life = runtime();
    let scene = life.block_on(Scene::set(script, setting(), ""));
    let path: PathBuf = scene.folder.path().to_owned();
    life.block_on(async {
        scene.send("c-1", occasion, "do it").await;
        let end = tokio::time::Instant::now() + Duration::from_secs(20);
        while !dies(&scene.provider, &path) {
            assert!(tokio::time::Instant::now() < end, "it does not come to the place where it dies");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    life.shutdown_background();
    std::thread::sleep(LEASE);
    scene
}

/// Everything in the conversation once no turn is unfinished and nothing waits.
pub(crate) async fn settled(node: &Node) -> Vec<Message> {
    node.agent.recover().await.unwrap();
    let end = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        // In this order: what does not wait any more has its turn by then.
        let waiting = node.store.pending(&c1()).await.unwrap();
        let turns = node.store.turns(&c1(), None, 10).await.unwrap();
        if waiting.is_empty() && turns.iter().all(|turn| turn.state != TurnState::Running) {
            return node.store.all_messages(&c1(), MessagePage::newest(1_000)).await.unwrap();
        }
        assert!(tokio::time::Instant::now() < end, "nobody goes on with {turns:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn words(messages: &[Message], role: Role) -> Vec<String> {
    let of = messages.iter().filter(|message| message.message.role == role);
    let texts = of.flat_map(|message| &message.message.content).filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

/// The answer, and that it is one: in front of it may stand only what the dying process had shown and had time to put on
/// record, for a runtime that is torn down sees its connections break before it is gone.
fn answer(messages: &[Message], shown: &str) -> String {
    let newest_first = words(messages, Role::Assistant);
    let (answer, before) = newest_first.split_first().unwrap();
    assert!(before.len() <= 1 && before.iter().all(|part| shown.starts_with(part.trim_end())), "{before:?}");
    answer.clone()
}

/// The conversation can be gone on with, on a history every provider takes.
async fn goes_on(scene: &Scene, node: &Node) {
    scene.provider.push(Reply::text("Here I am."));
    let (occasion, text) = (alice(), "are you there?".to_owned());
    let inbound = Inbound { conversation: c1(), occasion, text, key: None };
    let seen = crate::scene::follow(node.agent.send(inbound).await.unwrap()).await;
    assert_eq!((seen.words().as_str(), seen.ending()), ("Here I am.", (Outcome::Done, None)));
    all_well_formed(&scene.provider.requests());
}

#[test]
fn while_it_streams_it_is_answered_again_and_once() {
    let script = Script::from([Reply::text("Half an ans").then_silence(), Reply::text("The whole answer.")]);
    let scene = die(script, alice(), |provider, _| provider.counts().requests == 1);
    runtime().block_on(async {
        let node = scene.another(setting()).await;
        let messages = settled(&node).await;
        assert_eq!(answer(&messages, "Half an ans"), "The whole answer.");
        goes_on(&scene, &node).await;
    });
}

#[test]
fn behind_a_tool_that_read_something_it_goes_on_with_what_was_read() {
    let script = Script::from([
        Reply::tool_call("memory_search", json!({ "query": "Carol birthday" })),
        Reply::text("On 14").then_silence(),
        Reply::text("On 14 March."),
    ]);
    let scene = die(script, alice(), |provider, _| provider.counts().requests == 2);
    runtime().block_on(async {
        let node = scene.another(setting()).await;
        let messages = settled(&node).await;
        assert_eq!(answer(&messages, "On 14"), "On 14 March.");
        // What the tool gave before the crash was kept.
        let last = scene.provider.requests()[2].conversation();
        assert!(last.contains("14 March"), "{last}");
        goes_on(&scene, &node).await;
    });
}

#[test]
fn while_a_command_runs_it_is_reported_and_not_run_again() {
    let seconds = format!("3600.{}88", std::process::id());
    let command = format!("echo ran >> ran.txt; sleep {seconds}");
    let script = Script::from([Reply::tool_call("bash", json!({ "command": command }))])
        .then_always(Reply::text("Well."));
    let scene = die(script, alice(), |_, folder| {
        std::fs::read_to_string(folder.join("ran.txt")).is_ok_and(|ran| ran == "ran\n")
    });
    runtime().block_on(async {
        let node = scene.another(setting()).await;
        let messages = settled(&node).await;
        let notices = words(&messages, Role::System);
        assert_eq!(notices.len(), 1);
        assert!(notices[0].contains("`bash`") && notices[0].contains("may have taken effect"), "{notices:?}");
        let ran = std::fs::read_to_string(scene.folder.path().join("ran.txt")).unwrap();
        assert_eq!((ran.as_str(), living(&seconds)), ("ran\n", 0));
        goes_on(&scene, &node).await;
        let told = scene.provider.requests().last().unwrap().conversation();
        assert!(told.contains("do it") && told.contains("may have taken effect"), "{told}");
    });
}

#[test]
fn behind_a_command_that_has_ended_it_goes_on_and_does_not_run_it_again() {
    let command = json!({ "command": "echo ran >> ran.txt" });
    let script =
        Script::from([Reply::tool_call("bash", command), Reply::silence(), Reply::text("It ran once.")]);
    let scene = die(script, alice(), |provider, _| provider.counts().requests == 2);
    runtime().block_on(async {
        let node = scene.another(setting()).await;
        let messages = settled(&node).await;
        assert_eq!(words(&messages, Role::Assistant), ["It ran once."]);
        let ran = std::fs::read_to_string(scene.folder.path().join("ran.txt")).unwrap();
        assert_eq!(ran, "ran\n");
        goes_on(&scene, &node).await;
    });
}

#[test]
fn in_its_queue_it_is_answered_later_and_once() {
    let script = Script::from(vec![Reply::status(429); 4]).then_always(Reply::text("Good morning."));
    let occasion = unwatched(on("signal:bob"));
    let scene = die(script, occasion, |provider, _| provider.counts().requests >= 4);
    runtime().block_on(async {
        let node = scene.another(setting()).await;
        let messages = settled(&node).await;
        assert_eq!(words(&messages, Role::Assistant), ["Good morning."]);
        assert_eq!(scene.provider.requests().len(), 5);
    });
}

#[test]
fn with_messages_waiting_behind_it_all_are_answered_in_order() {
    let life = runtime();
    let script = Script::from([Reply::silence()]).then_always(Reply::text("Answered."));
    let scene = life.block_on(Scene::set(script, setting(), ""));
    life.block_on(async {
        scene.send("c-1", alice(), "one").await;
        scene.provider.until(|counts| counts.requests == 1).await;
        scene.send("c-1", on("signal:bob"), "two").await;
        scene.send("c-1", alice(), "three").await;
    });
    life.shutdown_background();
    std::thread::sleep(LEASE);
    runtime().block_on(async {
        let node = scene.another(setting()).await;
        let messages = settled(&node).await;
        assert_eq!(words(&messages, Role::Assistant), ["Answered."; 3]);
        let requests = scene.provider.requests();
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
fn the_time_nobody_was_there_is_not_the_turns() {
    let limits = "agent: { name: Ada, model: anthropic/claude-haiku-4-5, limits: { seconds: 1 } }\n";
    let life = runtime();
    let script = Script::from([Reply::silence()]).then_always(Reply::text("Still in time."));
    let scene = life.block_on(Scene::set(script, setting(), limits));
    life.block_on(async {
        scene.send("c-1", alice(), "do it").await;
        scene.provider.until(|counts| counts.requests == 1).await;
    });
    life.shutdown_background();
    std::thread::sleep(Duration::from_millis(1_500));
    runtime().block_on(async {
        let node = scene.another(setting()).await;
        assert_eq!(words(&settled(&node).await, Role::Assistant), ["Still in time."]);
    });
}

#[test]
fn a_turn_that_kills_every_node_is_given_up_and_reported() {
    let script = Script::default().then_always(Reply::silence());
    let mut scene = die(script, alice(), |provider, _| provider.counts().requests == 1);
    for times in 2..=3 {
        let life = runtime();
        let node = life.block_on(scene.another(setting()));
        life.block_on(async {
            node.agent.recover().await.unwrap();
            scene.provider.until(|counts| counts.requests == times).await;
        });
        life.shutdown_background();
        std::thread::sleep(LEASE);
        drop(node);
    }
    let port: u16 = scene.provider.base_url().rsplit(':').next().unwrap().parse().unwrap();
    drop(std::mem::replace(&mut scene.provider, FakeProvider::start(Reply::text("-")).unwrap()));
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
        std::thread::sleep(Duration::from_millis(5));
    }
    scene.provider = FakeProvider::start_on(port, Vec::new()).unwrap();
    runtime().block_on(async {
        let node = scene.another(setting()).await;
        let notices = words(&settled(&node).await, Role::System);
        assert!(notices.len() == 1 && notices[0].contains("interrupted 4 times"), "{notices:?}");
        goes_on(&scene, &node).await;
    });
}

#[test]
fn what_was_read_at_a_trust_that_has_fallen_meanwhile_is_reported_and_stays_withheld() {
    let script = Script::from([
        Reply::tool_call("memory_search", json!({ "query": "Carol birthday" })),
        Reply::text("On 14").then_silence(),
    ])
    .then_always(Reply::text("Never."));
    let scene = die(script, alice(), |provider, _| provider.counts().requests == 2);
    let file = scene.folder.path().join("foreword.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, yaml.replace("name: alice, trust: full", "name: alice, trust: familiar")).unwrap();
    runtime().block_on(async {
        let node = scene.another(setting()).await;
        let messages = settled(&node).await;
        assert_eq!(scene.provider.requests().len(), 2, "nothing is sent again");
        let notices = words(&messages, Role::System);
        assert!(notices[0].contains("trusted with less by now"), "{notices:?}");
        let seen = node.store.history_at(&c1(), foreword_prompt::trust::Trust::Familiar).await.unwrap();
        assert!(!format!("{seen:?}").contains("14 March"), "{seen:?}");
    });
}

#[test]
fn while_it_was_making_a_history_shorter_on_request_nothing_is_asked_of_the_model_afterwards() {
    let life = runtime();
    let script = Script::from([Reply::text("One."), Reply::silence()]).then_always(Reply::text("Unasked."));
    let scene = life.block_on(Scene::set(script, setting(), ""));
    life.block_on(async {
        scene.say("c-1", alice(), "hello").await;
        let agent = scene.agent.clone();
        tokio::spawn(async move { agent.compact(&c1(), alice()).await });
        scene.provider.until(|counts| counts.requests == 2).await;
    });
    life.shutdown_background();
    std::thread::sleep(LEASE);
    runtime().block_on(async {
        let node = scene.another(setting()).await;
        let messages = settled(&node).await;
        assert_eq!(words(&messages, Role::Assistant), ["One."]);
        assert_eq!(scene.provider.requests().len(), 2);
    });
}
