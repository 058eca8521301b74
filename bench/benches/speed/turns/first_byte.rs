//! The time from an accepted message to the first byte of the provider request, at 50 turns per second.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foreword_core::provider::WireDialect;
use tokio::time::MissedTickBehavior;

use super::fixture::{Fixture, follow};
use super::loopback::{Loopback, MARK, Pace};
use super::{Found, bare_client, given, runtime};
use crate::Outcome;
use crate::sample::prose;
use crate::storage::spread::Spread;
use crate::table::{Table, readable};
use crate::timing::Comparison;

const CONVERSATIONS: usize = 200;
/// Earlier turns per conversation, of two messages each.
const TURNS_BEFORE: usize = 10;
/// How many of those run at once.
const AT_ONCE: usize = 20;
const PER_SECOND: u32 = 50;
const SECONDS: usize = 20;
/// The size of a message.
const SAID_BYTES: usize = 300;
const AIM: Duration = Duration::from_millis(1);

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section(
        "From an accepted message to the first byte of the request",
        "bare reqwest, the same bytes to the same server in turns",
    );
    for (dialect, name) in [(WireDialect::Anthropic, "Anthropic"), (WireDialect::OpenAi, "OpenAI")] {
        runtime()?.block_on(one(table, dialect, name))?;
    }
    Ok(())
}

async fn one(table: &mut Table, dialect: WireDialect, name: &str) -> Outcome {
    let loopback = Arc::new(Loopback::start(dialect, Pace::AtOnce)?);
    let fixture = Fixture::open(&loopback, dialect).await?;
    warm_up(&fixture).await?;
    let bare = Arc::new(Bare::new(&loopback)?);
    // The first request opens the connection.
    bare.post(number_of_peer(0)).await.map_err(|error| error.to_string())?;
    let (ours, theirs) = pace(&fixture, &bare, &loopback).await?;
    table.note(&format!(
        "{name}: {} turns, {PER_SECOND} a second, in {CONVERSATIONS} conversations; the last request has {} bytes",
        ours.count(),
        loopback.newest_body().len()
    ));
    for (what, permille) in [("p50", 500), ("p90", 900), ("p99", 990)] {
        let (subject, peer) = (ours.permille(permille), theirs.permille(permille));
        let ratio = subject.as_secs_f64() / peer.as_secs_f64();
        table.compare(&format!("  {what}"), &Comparison { subject, peer, ratio }, None);
    }
    let within = ours.share_up_to(AIM);
    table.note(&format!(
        "  aim: p99 under {}; {:.1} % are; longest {} (peer {})",
        readable(AIM),
        within * 100.0,
        readable(ours.longest()),
        readable(theirs.longest())
    ));
    fixture.close().await
}

fn conversation(number: usize) -> String {
    format!("signal:{:03}", number % CONVERSATIONS)
}

/// Numbers of turns are even, those of the peer's requests odd.
fn number_of_turn(number: usize) -> usize {
    2 * number
}

fn number_of_peer(number: usize) -> usize {
    2 * number + 1
}

fn numbered_prose(number: usize) -> String {
    format!("{} ({MARK}{})", prose(SAID_BYTES), number_of_turn(number))
}

/// Creates the earlier turns.
async fn warm_up(fixture: &Fixture) -> Outcome {
    for round in 0..TURNS_BEFORE {
        for first in (0..CONVERSATIONS).step_by(AT_ONCE) {
            let mut turns = Vec::new();
            for number in first..first + AT_ONCE {
                let text = format!("{} ({round})", prose(SAID_BYTES));
                turns.push(fixture.say(&conversation(number), text).await?.0);
            }
            for turn in &turns {
                follow(turn, || ()).await?;
            }
        }
    }
    Ok(())
}

/// Sends messages and bare requests of the same size alternately at a fixed pace.
async fn pace(
    fixture: &Fixture,
    bare: &Arc<Bare>,
    loopback: &Arc<Loopback>,
) -> Result<(Spread, Spread), Box<dyn Error>> {
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / (2 * PER_SECOND));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let (mut turns, mut posts) = (Vec::new(), Vec::new());
    for number in 1..=SECONDS * PER_SECOND as usize {
        ticks.tick().await;
        let fixture = fixture.clone();
        turns.push(tokio::spawn(async move {
            let (receipt, accepted) = fixture.say(&conversation(number), numbered_prose(number)).await?;
            follow(&receipt, || ()).await.map_err(|error| error.to_string())?;
            Found::Ok(accepted)
        }));
        ticks.tick().await;
        let bare = Arc::clone(bare);
        posts.push(tokio::spawn(async move { bare.post(number_of_peer(number)).await }));
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for (index, (turn, post)) in turns.into_iter().zip(posts).enumerate() {
        let number = index + 1;
        let arrived = |number| loopback.first_byte(number).ok_or("a request never arrived");
        let (accepted, posted) = (given(turn).await?, given(post).await?);
        ours.push(arrived(number_of_turn(number))? - accepted);
        theirs.push(arrived(number_of_peer(number))? - posted);
    }
    Ok((Spread::of(ours), Spread::of(theirs)))
}

/// The peer: a bare HTTP client.
struct Bare {
    client: reqwest::Client,
    url: reqwest::Url,
    body: Vec<u8>,
}

impl Bare {
    fn new(loopback: &Loopback) -> Result<Self, Box<dyn Error>> {
        let client = bare_client()?;
        Ok(Self { client, url: loopback.url().parse()?, body: loopback.newest_body() })
    }

    /// Sends a request, and returns when it began.
    async fn post(&self, number: usize) -> Found<Instant> {
        let body = self.body.clone();
        let began = Instant::now();
        let request =
            self.client.post(self.url.clone()).header("x-number", format!("{MARK}{number}")).body(body);
        request.send().await?.bytes().await?;
        Ok(began)
    }
}
