//! Two hundred concurrent responses in one process: the memory per conversation, and the gaps between chunks.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foreword_core::provider::WireDialect;
use tokio::task::JoinHandle;

use super::fixture::{Fixture, follow};
use super::loopback::{Loopback, Pace};
use super::{Found, bare_client, given, runtime};
use crate::Outcome;
use crate::sample::prose;
use crate::storage::spread::Spread;
use crate::table::{Table, readable};
use crate::timing::Comparison;

const STREAMS: usize = 200;
const PIECES: u32 = 100;
const EVERY: Duration = Duration::from_millis(40);
const ROUNDS: usize = 3;
/// When all responses are in progress.
const MIDDLE: Duration = Duration::from_secs(2);

type Stream = JoinHandle<Found<Vec<Duration>>>;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("200 answers at once, in one process", "bare reqwest, as many readers of the same server");
    runtime()?.block_on(compare(table))
}

async fn compare(table: &mut Table) -> Outcome {
    let pace = Pace::Drips { pieces: PIECES, every: EVERY };
    let loopback = Loopback::start(WireDialect::Anthropic, Pace::AtOnce)?;
    let fixture = Fixture::open(&loopback, WireDialect::Anthropic).await?;
    // Warms up everything that does not grow with the number of conversations: files, the page cache, connections.
    for number in 0..STREAMS {
        let before = fixture.say(&format!("signal:before-{number}"), prose(300)).await?.0;
        follow(&before, || ()).await?;
    }
    let body = loopback.newest_body();
    loopback.set_pace(pace);
    let (mut ours, mut theirs) = (Gaps::default(), Gaps::default());
    for round in 0..ROUNDS {
        let before = resident_kilobytes();
        let streams = answers(&fixture).await?;
        tokio::time::sleep(MIDDLE).await;
        let middle = resident_kilobytes();
        ours.take(streams, &loopback).await?;
        if round == 0 {
            table.note(&memory(before, middle));
        }
        theirs.take(bare(&loopback, &body)?, &loopback).await?;
    }
    table.note(&format!("{ROUNDS} rounds of {STREAMS} answers, a piece every {}", readable(EVERY)));
    let (ours, our_server) = (Spread::of(ours.all), ours.servers);
    let (theirs, their_server) = (Spread::of(theirs.all), theirs.servers);
    for (what, permille) in [("p50", 500), ("p99", 990), ("longest", 1_000)] {
        let (subject, peer) = (ours.permille(permille), theirs.permille(permille));
        let ratio = subject.as_secs_f64() / peer.as_secs_f64();
        table.compare(&format!("  between two pieces, {what}"), &Comparison { subject, peer, ratio }, None);
    }
    table.note(&format!(
        "  as the server sent them, the longest was {} (to the peer {})",
        readable(our_server),
        readable(their_server)
    ));
    fixture.close().await
}

/// The times between two chunks of one response.
#[derive(Default)]
struct Gaps {
    all: Vec<Duration>,
    /// The longest of them at the server.
    servers: Duration,
}

impl Gaps {
    async fn take(&mut self, streams: Vec<Stream>, loopback: &Loopback) -> Outcome {
        for stream in streams {
            let gaps = given(stream).await?;
            if gaps.is_empty() {
                return Err("an answer came in one piece".into());
            }
            self.all.extend(gaps);
        }
        self.servers = self.servers.max(loopback.take_longest_rest());
        Ok(())
    }
}

/// Records when chunks arrive.
#[derive(Default)]
struct Watch {
    last: Option<Instant>,
    gaps: Vec<Duration>,
}

impl Watch {
    fn piece(&mut self) {
        let now = Instant::now();
        if let Some(last) = self.last.replace(now) {
            self.gaps.push(now - last);
        }
    }
}

/// Posts a message in every conversation, and follows the responses.
async fn answers(fixture: &Fixture) -> Result<Vec<Stream>, Box<dyn Error>> {
    let mut streams = Vec::new();
    for number in 0..STREAMS {
        let (receipt, _) = fixture.say(&format!("signal:{number:03}"), prose(300)).await?;
        streams.push(tokio::spawn(async move {
            let mut watch = Watch::default();
            follow(&receipt, || watch.piece()).await.map_err(|error| error.to_string())?;
            Found::Ok(watch.gaps)
        }));
    }
    Ok(streams)
}

/// The peer: the same bytes, without parsing the response.
fn bare(loopback: &Loopback, body: &[u8]) -> Result<Vec<Stream>, Box<dyn Error>> {
    let client = bare_client()?;
    let body: Arc<[u8]> = body.into();
    let read = || {
        let (client, url, body) = (client.clone(), loopback.url(), Arc::clone(&body));
        tokio::spawn(async move {
            let mut response = client.post(url).body(body.to_vec()).send().await?;
            let mut watch = Watch::default();
            while response.chunk().await?.is_some() {
                watch.piece();
            }
            // The first and the last event are not text.
            let gaps = watch.gaps.len();
            Found::Ok(watch.gaps.into_iter().take(gaps.saturating_sub(1)).skip(1).collect())
        })
    };
    Ok((0..STREAMS).map(|_| read()).collect())
}

fn memory(before: Option<f64>, middle: Option<f64>) -> String {
    match (before, middle) {
        (Some(before), Some(middle)) => format!(
            "memory: {:.0} KB for each conversation ({:.1} MB before, {:.1} MB with {STREAMS} in the middle of an answer)",
            (middle - before) / STREAMS as f64,
            before / 1024.0,
            middle / 1024.0
        ),
        _ => "memory: not measured here: only Linux tells".to_owned(),
    }
}

/// The resident memory of this process.
fn resident_kilobytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    resident.trim().trim_end_matches(" kB").parse().ok()
}
