//! A process that dies while it makes a history shorter, at every place where it asks its surroundings for something,
//! which is before and behind each thing it does. What another process finds is the old state or the new one, on SQLite
//! and on Postgres, and the conversation goes on from either.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use foreword_agent::agent::Agent;
use foreword_agent::inbound::Inbound;
use foreword_agent::models::Models;
use foreword_agent::shared::Parts;
use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_agent::tools::{self, ToolSettings};
use foreword_core::history::History;
use foreword_core::message::{Kind, Message, Role};
use foreword_core::model::{Model, ModelError};
use foreword_core::models::ModelId;
use foreword_core::provider::WireDialect;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_providers::HttpModel;
use foreword_store::events::{EventQueue, QueueConfig};
use foreword_store::location::Location;
use foreword_store::messages::MessagePage;
use foreword_store::store::Store;
use foreword_testkit::{FakeProvider, Received, Reply, Script};
use foreword_workspace::config::Config;
use foreword_workspace::workspace::{Environment, Workspace};
use jiff::Zoned;
use tokio::runtime::{Builder, Runtime};

use crate::compacting_by_itself::{asks_for_summary, c1};
use crate::scene::{CONFIG, alice, follow, recorder};
use crate::well_formed::all_well_formed;

const LEASE: Duration = Duration::from_millis(400);
/// So often it dies at most before it gets through.
const PLACES: u32 = 90;

/// A machine whose processes die when they have asked it so often.
#[derive(Default)]
struct Mortal {
    /// How many more questions are answered; 0 means all of them.
    left: AtomicU32,
    dead: AtomicU32,
}

impl Mortal {
    fn dies_after(&self, questions: u32) {
        self.left.store(questions, Ordering::SeqCst);
    }

    fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst) != 0
    }

    fn ask(&self) {
        let counts = |left: u32| if left == 0 { None } else { Some(left - 1) };
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, counts) == Ok(1) {
            self.dead.store(1, Ordering::SeqCst);
        }
        // Nothing that process does goes on from here, whichever of its tasks comes by.
        if self.is_dead() {
            std::panic::resume_unwind(Box::new("dead"));
        }
    }
}

impl Surroundings for Mortal {
    fn now(&self) -> Zoned {
        self.ask();
        Machine.now()
    }

    fn random(&self) -> u128 {
        self.ask();
        Machine.random()
    }
}

struct Scripted(Arc<HttpModel>);

impl Models for Scripted {
    fn find(&self, _: &ModelId, _: &Config) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::clone(&self.0) as Arc<dyn Model>)
    }
}

struct Node {
    agent: Agent,
    store: Store,
}

async fn node(
    folder: &Path,
    location: &Location,
    provider: &FakeProvider,
    life: Arc<dyn Surroundings>,
) -> Node {
    let workspace = Arc::new(Workspace::open(folder, Environment::default()).unwrap());
    let now = || Machine.now().timestamp().into();
    let store = Store::open(location, now()).await.unwrap();
    let clock: Arc<dyn Fn() -> _ + Send + Sync> = Arc::new(now);
    let events = EventQueue::start(store.clone(), Arc::clone(&clock), QueueConfig::default());
    let model = HttpModel::new(provider.provider(WireDialect::Anthropic), None, clock).unwrap();
    let parts = Parts {
        workspace,
        store: store.clone(),
        recorder: recorder(&events),
        events,
        models: Arc::new(Scripted(Arc::new(model))),
        outside: None,
        tools: tools::builtin(ToolSettings::default()),
        node: (&Machine as &dyn Surroundings).id("node").unwrap(),
        surroundings: life,
    };
    Node { agent: Agent::with_lease(parts, LEASE), store }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// What the model answers: a request with `which?` and all that was said before is too long for it.
fn answers() -> Script {
    Script::answering(|request: &Received| {
        let conversation = request.conversation();
        if asks_for_summary(request) {
            Reply::text("Two places.")
        } else if conversation.contains("which?") && conversation.contains("remember the harbour") {
            Reply::status(400).message("prompt is too long: 210000 tokens > 200000 maximum")
        } else if conversation.contains("which?") {
            Reply::text("Both.")
        } else {
            Reply::text("Noted.")
        }
    })
}

/// What the process is about when it dies.
#[derive(Debug, Clone, Copy, PartialEq)]
enum About {
    /// Somebody has asked for a summary.
    Asked,
    /// The model can't read it all in the middle of a turn.
    Overflow,
}

async fn say(node: &Node, text: &str) -> (Outcome, String) {
    let inbound = Inbound { conversation: c1(), occasion: alice(), text: text.to_owned(), key: None };
    let seen = follow(node.agent.send(inbound).await.unwrap()).await;
    (seen.ending().0, seen.words())
}

/// A process that has talked, and dies at the `place`-th question it asks from then on. Gives what there was before, and
/// whether it got through instead.
fn die(
    folder: &Path,
    location: &Location,
    provider: &FakeProvider,
    (about, place): (About, u32),
) -> (History, bool) {
    let life = runtime();
    let mortal = Arc::new(Mortal::default());
    let surroundings: Arc<dyn Surroundings> = Arc::clone(&mortal) as _;
    let (before, through) = life.block_on(async {
        let node = node(folder, location, provider, surroundings).await;
        for words in ["remember the harbour", "remember the lighthouse"] {
            assert_eq!(say(&node, words).await.0, Outcome::Done);
        }
        let before = node.store.history(&c1()).await.unwrap();
        mortal.dies_after(place);
        let agent = node.agent.clone();
        let mut work = tokio::spawn(async move {
            match about {
                About::Asked => drop(agent.compact(&c1(), alice()).await.unwrap()),
                About::Overflow => {
                    let text = "which?".to_owned();
                    let inbound = Inbound { conversation: c1(), occasion: alice(), text, key: None };
                    drop(agent.ask(inbound).await.unwrap());
                }
            }
        });
        let end = tokio::time::Instant::now() + Duration::from_secs(20);
        loop {
            if mortal.is_dead() || work.is_finished() {
                break;
            }
            assert!(tokio::time::Instant::now() < end, "neither dead nor through at {place}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        // What was handed to the database before may still be done there.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let through = !mortal.is_dead();
        if through {
            (&mut work).await.unwrap();
        }
        (before, through)
    });
    life.shutdown_background();
    (before, through)
}

async fn settled(node: &Node) {
    node.agent.recover().await.unwrap();
    let end = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        let waiting = node.store.pending(&c1()).await.unwrap();
        let turns = node.store.turns(&c1(), None, 20).await.unwrap();
        if waiting.is_empty() && turns.iter().all(|turn| turn.state != TurnState::Running) {
            return;
        }
        assert!(tokio::time::Instant::now() < end, "nobody goes on with {turns:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn said(messages: &[Message], role: Role) -> usize {
    messages.iter().filter(|one| one.message.role == role && one.message.kind == Kind::Message).count()
}

/// Whether the history was replaced. It is the old one or the new one, and nothing is lost.
async fn judged(node: &Node, before: &History, (about, place): (About, u32)) -> bool {
    let now = node.store.history(&c1()).await.unwrap();
    let all = node.store.all_messages(&c1(), MessagePage::after(0, 1_000)).await.unwrap();
    assert!(all.starts_with(&before.messages), "{about:?} {place}: {all:#?}");
    let epochs = node.store.epochs(&c1()).await.unwrap();
    let is_new = now.compaction == 1;
    if is_new {
        assert_eq!(now.covered_to, before.last(), "{about:?} {place}");
        assert_eq!(now.messages[0].message.kind, Kind::Summary);
        assert!(now.messages[1..].iter().all(|message| message.seq > before.last()));
    } else {
        assert_eq!((now.compaction, now.covered_to), (0, 0));
        assert!(now.messages.starts_with(&before.messages));
    }
    let compacted =
        epochs.iter().filter(|epoch| epoch.reason == foreword_prompt::epoch::Reason::Compaction).count();
    assert_eq!(compacted, usize::from(is_new), "epoch and summary come together: {about:?} {place}");
    if about == About::Asked {
        assert_eq!(said(&all, Role::Assistant), 2, "nobody has answered a summary: {about:?} {place}");
    }
    let report = node.store.check(|_| {}).await.unwrap();
    assert!(report.problems.is_empty(), "{about:?} {place}: {:?}", report.problems);
    is_new
}

/// Dies at one place after the other until it gets through. Gives how often the old and how often the new state was found.
fn sweep(about: About, mut fresh: impl FnMut(&Path) -> Location) -> (u32, u32) {
    let (mut old, mut new) = (0, 0);
    for place in 1..=PLACES {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("foreword.yaml"), CONFIG).unwrap();
        let (location, provider) = (fresh(folder.path()), FakeProvider::start(answers()).unwrap());
        let (before, through) = die(folder.path(), &location, &provider, (about, place));
        std::thread::sleep(LEASE);
        runtime().block_on(async {
            let node = node(folder.path(), &location, &provider, Arc::new(Machine)).await;
            settled(&node).await;
            let is_new = judged(&node, &before, (about, place)).await;
            (old, new) = if is_new { (old, new + 1) } else { (old + 1, new) };
            assert_eq!(say(&node, "and on?").await.0, Outcome::Done, "{about:?} {place}");
            if about == About::Overflow {
                let all = node.store.all_messages(&c1(), MessagePage::after(0, 1_000)).await.unwrap();
                let asked = format!("{all:?}").matches("\"Both.\"").count();
                assert!(asked <= 2, "answered once, and perhaps once more since: {place} {all:#?}");
                assert!(!format!("{all:?}").contains("This turn failed"), "{place} {all:#?}");
            }
            all_well_formed(&provider.requests());
            node.agent.shut_down().await;
        });
        if through {
            return (old, new);
        }
    }
    panic!("it never got through");
}

fn in_folder(folder: &Path) -> Location {
    Location::file(folder.join(".foreword/foreword.db"))
}

#[test]
fn asked_for_a_summary_on_sqlite() {
    let (old, new) = sweep(About::Asked, in_folder);
    assert!(old >= 5 && new >= 2, "old {old}, new {new}");
}

#[test]
fn in_the_middle_of_a_turn_on_sqlite() {
    let (old, new) = sweep(About::Overflow, in_folder);
    // Whoever takes the turn over does what is left, so the new state is what is found most of the time.
    assert!(old + new >= 8 && new >= 2, "old {old}, new {new}");
}

#[test]
fn asked_for_a_summary_on_postgres() {
    let Some(server) = server_under_test() else { return };
    let admin = runtime();
    let mut databases = Vec::new();
    let (old, new) = sweep(About::Asked, |_| {
        let name = format!("compacting_{}_{}", std::process::id(), databases.len());
        admin.block_on(administer(
            &server,
            &format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0"),
        ));
        let (address, options) = server.split_once('?').unwrap_or((&server, ""));
        let (address, _) = address.rsplit_once('/').unwrap();
        let location = Location::parse(&format!("{address}/{name}?{options}"), Path::new("/")).unwrap();
        databases.push(name);
        location
    });
    for name in databases {
        admin.block_on(administer(&server, &format!("DROP DATABASE {name} WITH (FORCE)")));
    }
    assert!(old >= 5 && new >= 2, "old {old}, new {new}");
}

/// The address of the test server; `None` if whoever runs the tests wants to do without.
fn server_under_test() -> Option<String> {
    match std::env::var("FOREWORD_TEST_POSTGRES").ok().as_deref() {
        Some("skip") => {
            println!("SKIPPED: FOREWORD_TEST_POSTGRES=skip");
            None
        }
        Some(address) if !address.is_empty() => Some(address.to_owned()),
        _ => panic!(
            "no Postgres to test with: run `eval \"$(scripts/postgres.sh start)\"` first and `scripts/postgres.sh stop` \
             afterwards; `FOREWORD_TEST_POSTGRES=skip` leaves these tests out"
        ),
    }
}

async fn administer(server: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(server, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
}
