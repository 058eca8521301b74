//! Kills a writing process at random moments, again and again on the same database. Everything it acknowledged must
//! be durable, and no write may be partial.

mod workloads;

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use foreword_store::location::Location;
use foreword_store::store::Store;

use tokio::task::JoinSet;

use crate::child;
use crate::contract::{create_database, drop_database, now, server_under_test};
use workloads::{WORKLOADS, Writer};

/// How long a process lives, in milliseconds.
const LIFE: std::ops::Range<u64> = 20..300;

#[test]
#[ignore = "a process that other tests start"]
fn writes_until_killed() {
    let Some(place) = child::place() else { return };
    let (round, url) = place.split_once(' ').unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let location = Location::parse(url, Path::new("/")).unwrap();
        let store = Store::open(&location, now()).await.unwrap();
        let mut writers = JoinSet::new();
        for workload in WORKLOADS {
            let run = format!("{round}-{}", workload.name);
            writers.spawn((workload.write)(Writer { store: store.clone(), run, workload: workload.name }));
        }
        // If one writer ends, all end, and the parent notices the unexpected exit.
        if let Some(ended) = writers.join_next().await {
            ended.unwrap();
        }
    });
}

/// The result of all rounds.
#[derive(Debug, Default)]
struct Counts {
    kills: u32,
    acknowledged: usize,
    /// The kinds of acknowledged writes.
    kinds: BTreeSet<&'static str>,
    lost: BTreeSet<String>,
}

/// A seeded pseudo-random number generator.
struct Chance(u64);

impl Chance {
    fn from(&mut self, range: std::ops::Range<u64>) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        range.start + (self.0 >> 33) % (range.end - range.start)
    }
}

/// Starts a process, kills it after a while, and returns its lines.
fn live_and_die(round: u32, url: &str, life: Duration) -> Vec<String> {
    let mut child = child::spawn("kill::writes_until_killed", &format!("{round} {url}"));
    let said = child::output_lines(&mut child);
    let listening = thread::spawn(move || said.collect());
    thread::sleep(life);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "it ended by itself");
    listening.join().unwrap()
}

async fn rounds(engine: &str, url: &str, rounds: u32) -> Counts {
    let seed = env::var("FOREWORD_KILL_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());
    println!("{engine}: FOREWORD_KILL_SEED={seed}");
    let location = Location::parse(url, Path::new("/")).unwrap();
    let mut chance = Chance(seed);
    let mut counts = Counts::default();
    let mut everything: Vec<Vec<String>> = Vec::new();
    for round in 0..rounds {
        let said = live_and_die(round, url, Duration::from_millis(chance.from(LIFE)));
        let store = Store::open(&location, now()).await.unwrap();
        counts.kills += 1;
        counts.acknowledged += said.len();
        let kinds = WORKLOADS.iter().map(|workload| workload.name);
        counts
            .kinds
            .extend(kinds.filter(|kind| said.iter().any(|line| line.starts_with(&format!("{kind} ")))));
        counts.lost.extend(missing(&store, &said).await);
        if round % 5 == 4 || round + 1 == rounds {
            let report = store.check(|_| {}).await.unwrap();
            assert_eq!(report.problems, [], "after round {round}");
        }
        if round + 1 == rounds {
            // Later rounds must not lose anything either.
            for said in &everything {
                counts.lost.extend(missing(&store, said).await);
            }
        }
        store.close().await.unwrap();
        everything.push(said);
    }
    counts
}

/// Acknowledged writes that are missing.
async fn missing(store: &Store, said: &[String]) -> Vec<String> {
    let mut missing = Vec::new();
    for workload in WORKLOADS {
        let acknowledged = said.iter().filter_map(|line| line.strip_prefix(workload.name)?.strip_prefix(' '));
        let acknowledged: Vec<String> = acknowledged.map(str::to_owned).collect();
        if !acknowledged.is_empty() {
            missing.extend((workload.missing)(store.clone(), acknowledged).await);
        }
    }
    missing
}

fn report(engine: &str, rounds: u32, counts: &Counts) {
    let Counts { kills, acknowledged, kinds, lost } = counts;
    println!("{engine}: {kills} kills, {acknowledged} acknowledged writes, {} lost", lost.len());
    assert!(lost.is_empty(), "{lost:?}");
    assert_eq!(*kills, rounds);
    // Some processes are killed before they write anything, but not all.
    assert!(*acknowledged > rounds as usize, "hardly anything was written");
    assert_eq!(kinds.len(), WORKLOADS.len(), "only {kinds:?} were written");
}

#[test]
fn acknowledged_writes_survive_100_kills_on_sqlite() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".foreword/foreword.db");
    let counts = runtime.block_on(rounds("SQLite", path.to_str().unwrap(), 100));
    report("SQLite", 100, &counts);
}

#[test]
fn acknowledged_writes_survive_25_kills_on_postgres() {
    let Some(server) = server_under_test() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(create_database(&server));
    let counts = runtime.block_on(rounds("Postgres", &database, 25));
    runtime.block_on(drop_database(&server, &database));
    report("Postgres", 25, &counts);
}
