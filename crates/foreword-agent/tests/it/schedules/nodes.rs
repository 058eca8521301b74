//! Several nodes on one store: each due time fires once, and no firing is lost when a node dies.

use std::env;
use std::io::{BufRead, BufReader, Lines, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::background::schedules::Scheduler;
use foreword_core::id::{ConversationId, NodeId};
use foreword_core::message::{Kind, Message, Role};
use foreword_core::schedule::FiringOutcome;
use foreword_core::timestamp::Timestamp;
use foreword_store::location::Location;
use foreword_store::messages::MessagePage;
use foreword_store::schedules::Firing;
use foreword_store::store::Store;
use foreword_testkit::{FakeProvider, Reply, Script, eventually};
use std::collections::BTreeSet;

use super::clock::FileClock;
use super::stage::{LOOK, MORNING, Stage};
use crate::fixture::{Node, Setting};

/// Number of simulated minutes.
const TICKS: u64 = 200;
/// The minute from which a busy node may be killed.
const KILL_FROM: u64 = 60;
const CHILD: &str = "FOREWORD_TEST_SCHEDULE_CHILD";
/// The lease.
const LEASE: Duration = Duration::from_secs(1);

#[tokio::test]
async fn interrupted_firing_is_resumed_and_sends_one_message() {
    let slow = Reply::text("Slowly.").after(Duration::from_secs(30));
    let news = "news: { cron: '0 * * * *', prompt: What is new? }";
    let stage = Stage::new([slow, Reply::text("Here.")], &[news]).await;
    let scheduler = stage.scheduler();
    stage.schedule("news", |_| true).await;
    stage.clock.set("2026-11-16T09:00:00Z");
    stage.provider.until(|counts| counts.requests == 1).await;
    scheduler.stop().await;
    stage.node.agent.shut_down().await;
    assert_eq!(stage.firings("news").await[0].ended_at, None);
    // The schedule's text has changed; the sent message stays.
    stage.configure(&["news: { cron: '0 * * * *', prompt: Something else. }"]);
    // The old node holds the turn until its lease expires.
    stage.clock.set("2026-11-16T09:01:00Z");
    let other = stage.another("node-b").await;
    other.agent.recover().await.unwrap();
    let scheduler = Scheduler::start_with_interval(&other.agent, LOOK);
    let firings = stage.ended("news", 1).await;
    scheduler.stop().await;
    assert_eq!((firings.len(), firings[0].node.as_str()), (1, "node-b"));
    assert_eq!(stage.messages("news", Role::User).await.len(), 1);
}

#[test]
#[ignore = "a process that another test starts"]
fn fires_until_it_is_killed() {
    let Ok(place) = env::var(CHILD) else { return };
    let [name, folder, url] = place.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{place}") };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (folder, location) = (Path::new(folder), Location::parse(url, Path::new("/")).unwrap());
        let clock = Arc::new(FileClock::new(folder));
        let setting = Setting { clock, name: Some(name.to_owned()), ..Setting::lease(LEASE) };
        let provider = FakeProvider::start(Script::default()).unwrap();
        let node = Node::open_at(folder, &provider, setting, &location).await;
        node.agent.recover().await.unwrap();
        let _scheduler = Scheduler::start_with_interval(&node.agent, LOOK);
        println!("ready");
        // The parent may be killed as well and can't kill this process then.
        let _ = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await;
    });
}

/// A process that fires what is due.
struct Process {
    child: Child,
    name: NodeId,
    /// Kept open: otherwise the harness's warning about slow tests ends the process.
    _says: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(name: &str, folder: &Path, url: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["schedules::nodes::fires_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
            .env(CHILD, format!("{name} {} {url}", folder.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.by_ref().any(|line| line.is_ok_and(|line| line.ends_with("ready")));
        assert!(ready, "{name} did not start");
        Self { child, name: name.parse().unwrap(), _says: lines }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn minute(number: u64) -> Timestamp {
    let start: Timestamp = MORNING.parse().unwrap();
    start.plus(Duration::from_secs(number * 60))
}

/// The firing that is due then, once there is one and it is what the test waits for.
async fn firing(store: &Store, due_at: Timestamp, is: impl Fn(&Firing) -> bool) -> Firing {
    eventually(async || {
        let firings = store.firings("tick", 3).await.unwrap();
        let found = firings.iter().find(|firing| firing.due_at == due_at && is(firing)).cloned();
        found.ok_or((due_at, firings))
    })
    .await
}

/// Two processes, 200 minutes, and one of the two killed while it is at a firing. Gives who was killed, and at which.
async fn two_hundred_minutes(folder: &Path, url: &str, store: &Store) -> (NodeId, Timestamp) {
    let clock = FileClock::new(folder);
    let [first, second] = ["node-a", "node-b"].map(|name| Process::start(name, folder, url));
    let (mut doomed, mut killed) = (Some(first), None);
    for number in 1..=TICKS {
        let due_at = minute(number);
        clock.set(due_at);
        let begun = firing(store, due_at, |_| true).await;
        let is_at_it = |process: &mut Process| process.name == begun.node && begun.ended_at.is_none();
        if number >= KILL_FROM
            && let Some(process) = doomed.take_if(is_at_it)
        {
            killed = Some((process.name.clone(), due_at));
            process.kill();
        }
        firing(store, due_at, |firing| firing.ended_at.is_some()).await;
    }
    second.kill();
    killed.expect("the first node was at a firing at least once")
}

async fn check(store: &Store, killed: NodeId, at: Timestamp) {
    let firings = store.firings("tick", 1_000).await.unwrap();
    assert_eq!(firings.len() as u64, TICKS);
    assert!(firings.iter().all(|firing| firing.outcome == Some(FiringOutcome::Done)), "{firings:?}");
    let due: BTreeSet<_> = firings.iter().map(|firing| firing.due_at).collect();
    assert_eq!(due, (1..=TICKS).map(minute).collect());
    let conversation = ConversationId::new("schedule-tick").unwrap();
    let messages = store.all_messages(&conversation, MessagePage::after(0, 2_000)).await.unwrap();
    let is_said =
        |message: &&Message, role| message.message.role == role && message.message.kind == Kind::Message;
    let count = |role| messages.iter().filter(|message| is_said(message, role)).count() as u64;
    assert_eq!((count(Role::User), count(Role::Assistant)), (TICKS, TICKS));
    let said: BTreeSet<_> = firings.iter().map(|firing| firing.links.message.clone().unwrap()).collect();
    assert_eq!(said.len() as u64, TICKS, "each has a message of its own");
    let taken_over = firings.iter().find(|firing| firing.due_at == at).unwrap();
    assert_ne!(taken_over.node, killed);
    let nodes: BTreeSet<_> = firings.iter().map(|firing| firing.node.as_str()).collect();
    assert_eq!(nodes, ["node-a", "node-b"].into(), "both had some");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_process_on_postgres_loses_and_repeats_no_firing() {
    let server = match env::var("FOREWORD_TEST_POSTGRES").ok().as_deref() {
        Some("skip") => return println!("SKIPPED: FOREWORD_TEST_POSTGRES=skip"),
        Some(address) if !address.is_empty() => address.to_owned(),
        _ => panic!("no Postgres to test with: run `eval \"$(scripts/postgres.sh start)\"` first"),
    };
    let folder = tempfile::tempdir().unwrap();
    let tick = "agent: { model: offline/echo }\nschedules:\n  \
        tick: { cron: '* * * * *', prompt: \"!wait 25ms\\n!say tick\" }\n";
    std::fs::write(folder.path().join("foreword.yaml"), tick).unwrap();
    FileClock::new(folder.path()).set(minute(0));
    let name = format!("schedules_{}", std::process::id());
    administer(&server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    administer(&server, &format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")).await;
    let (address, options) = server.split_once('?').unwrap_or((&server, ""));
    let url = format!("{}/{name}?{options}", address.rsplit_once('/').unwrap().0);
    let location = Location::parse(&url, Path::new("/")).unwrap();
    let store = Store::open(&location, minute(0)).await.unwrap();
    let (killed, at) = two_hundred_minutes(folder.path(), &url, &store).await;
    check(&store, killed, at).await;
    store.close().await.unwrap();
    administer(&server, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
}

async fn administer(server: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(server, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
}
