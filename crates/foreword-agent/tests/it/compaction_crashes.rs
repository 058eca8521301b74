//! A process that crashes during compaction, at each call to its clock and random source. Another process finds the old
//! or the new state, on SQLite and on Postgres, and can continue from either.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_agent::conversation::inbound::Inbound;
use foreword_core::history::History;
use foreword_core::message::{Kind, Message, Role};
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_store::location::Location;
use foreword_store::messages::MessagePage;
use foreword_testkit::{FakeProvider, Received, Reply, Script, eventually};
use jiff::Zoned;
use tokio::runtime::{Builder, Runtime};

use crate::compaction_automatic::{asks_for_summary, c1};
use crate::fixture::{CONFIG, Node, Setting, alice, follow};
use crate::well_formed::all_well_formed;

const LEASE: Duration = Duration::from_millis(400);
/// Maximum number of crashes.
const PLACES: u32 = 90;

/// A clock and random source that kills its process after a number of calls.
#[derive(Default)]
struct Mortal {
    /// Remaining calls; 0 means unlimited.
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
        // No task of the process continues from here.
        if self.is_dead() {
            std::panic::resume_unwind(Box::new("dead"));
        }
    }
}

impl ClockAndRng for Mortal {
    fn now(&self) -> Zoned {
        self.ask();
        Machine.now()
    }

    fn random(&self) -> u128 {
        self.ask();
        Machine.random()
    }
}

async fn node(folder: &Path, location: &Location, provider: &FakeProvider, setting: Setting) -> Node {
    Node::open_at(folder, provider, setting, location).await
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The model's answer: a request with `which?` and the whole history is too long.
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

/// The operation during which the process dies.
#[derive(Debug, Clone, Copy, PartialEq)]
enum About {
    /// Compaction on request.
    Asked,
    /// Compaction in a turn, because the history exceeds the window.
    Overflow,
}

async fn say(node: &Node, text: &str) -> (Outcome, String) {
    let inbound = Inbound { conversation: c1(), origin: alice(), text: text.to_owned(), key: None };
    let seen = follow(node.agent.send(inbound).await.unwrap()).await;
    (seen.ending().0, seen.text())
}

/// A process that has talked, and dies at the `place`-th question it asks from then on. Gives what there was before,
/// and whether it got through instead.
fn die(
    folder: &Path,
    location: &Location,
    provider: &FakeProvider,
    about: About,
    place: u32,
) -> (History, bool) {
    let life = runtime();
    let mortal = Arc::new(Mortal::default());
    let setting = Setting { clock: Arc::clone(&mortal) as _, ..Setting::lease(LEASE) };
    let (before, through) = life.block_on(async {
        let node = node(folder, location, provider, setting).await;
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
                    let inbound = Inbound { conversation: c1(), origin: alice(), text, key: None };
                    drop(agent.ask(inbound).await.unwrap());
                }
            }
        });
        eventually(async || {
            if mortal.is_dead() || work.is_finished() { Ok(()) } else { Err("neither dead nor through") }
        })
        .await;
        // Waits for submitted statements, which the database would still execute.
        let _ = node.store.clone().close().await;
        let through = !mortal.is_dead();
        if through {
            (&mut work).await.unwrap();
        }
        (before, through)
    });
    life.shutdown_timeout(Duration::from_secs(5));
    (before, through)
}

async fn settled(node: &Node) {
    node.agent.recover().await.unwrap();
    eventually(async || {
        let waiting = node.store.pending(&c1()).await.unwrap();
        let turns = node.store.turns(&c1(), None, 20).await.unwrap();
        let idle = turns.iter().all(|turn| turn.state != TurnState::Running);
        if waiting.is_empty() && idle { Ok(()) } else { Err(turns) }
    })
    .await;
}

fn count(messages: &[Message], role: Role) -> usize {
    messages.iter().filter(|one| one.message.role == role && one.message.kind == Kind::Message).count()
}

/// Whether the history was replaced. Asserts that it is the old or the new one, complete.
async fn judged(node: &Node, before: &History, about: About, place: u32) -> bool {
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
        assert_eq!(count(&all, Role::Assistant), 2, "nobody has answered a summary: {about:?} {place}");
    }
    let report = node.store.check(|_| {}).await.unwrap();
    assert!(report.problems.is_empty(), "{about:?} {place}: {:?}", report.problems);
    is_new
}

/// Dies at one place after the other until it gets through. Gives how often the old and how often the new state was
/// found.
fn sweep(about: About, mut fresh: impl FnMut(&Path) -> Location) -> (u32, u32) {
    let (mut old, mut new) = (0, 0);
    for place in 1..=PLACES {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("foreword.yaml"), CONFIG).unwrap();
        let (location, provider) = (fresh(folder.path()), FakeProvider::start(answers()).unwrap());
        let (before, through) = die(folder.path(), &location, &provider, about, place);
        runtime().block_on(async {
            let setting = Setting::lease(LEASE).later(LEASE);
            let node = node(folder.path(), &location, &provider, setting).await;
            settled(&node).await;
            let is_new = judged(&node, &before, about, place).await;
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
fn crash_during_requested_compaction_on_sqlite() {
    let (old, new) = sweep(About::Asked, in_folder);
    assert!(old >= 5 && new >= 2, "old {old}, new {new}");
}

#[test]
fn crash_during_compaction_in_a_turn_on_sqlite() {
    let (old, new) = sweep(About::Overflow, in_folder);
    // The node that takes the turn over completes it, so the new state is found most of the time.
    assert!(old + new >= 8 && new >= 2, "old {old}, new {new}");
}

#[test]
fn crash_during_requested_compaction_on_postgres() {
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

/// The address of the test server; `None` if Postgres tests are skipped.
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
