//! What has to last of what passed: noted as it comes, and written to the database now and then, the last of each conversation
//! and all together.

use std::collections::HashMap;
use std::time::Duration;

use foreword_core::cache::Link;
use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_store::proxied::{NewLine, ProxiedLine};
use foreword_store::store::Store;
use tokio::time::Instant;

use super::entries::channel;
use super::shapes::Shapes;
use super::threads::{self, Threads};
use crate::proxy::exchange::{Exchange, Payer};

/// How long it may wait to be written.
const WRITTEN_AFTER: Duration = Duration::from_secs(2);
/// The same where another node may be asked next.
const SHARED_AFTER: Duration = Duration::from_millis(100);
/// The most conversations that one payer has in the database.
const MOST_KEPT: u32 = 1_000;
/// The most that are written at once.
const MOST_WRITTEN: usize = 512;
/// The most that wait for a store that is away.
const MOST_UNWRITTEN: usize = 64 * 1_024;

/// The conversations that are to be written, with whoever pays.
#[derive(Default)]
pub(super) struct Unwritten {
    lines: HashMap<ConversationId, Line>,
    due: Option<Instant>,
}

struct Line {
    payer: Payer,
    dialect: &'static str,
    at: Timestamp,
}

impl Unwritten {
    /// When it is to be written.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// How long something may wait to be written to `store`.
    pub(super) fn patience(store: &Store) -> Duration {
        if store.is_shared() { SHARED_AFTER } else { WRITTEN_AFTER }
    }

    /// Notes that a conversation went on. It waits so long to be written at most.
    pub(super) fn note(&mut self, id: &ConversationId, exchange: &Exchange, patience: Duration) {
        match self.lines.get_mut(id) {
            Some(line) => line.at = exchange.began,
            None => {
                let (payer, dialect) = (exchange.payer.clone(), threads::word(exchange.dialect));
                self.lines.insert(id.clone(), Line { payer, dialect, at: exchange.began });
            }
        }
        self.due.get_or_insert_with(|| Instant::now() + patience);
    }

    /// Writes what is not written yet. What fails is tried again with what comes next.
    pub(super) async fn write(&mut self, store: &Store, known: (&Threads, &Shapes), agent: &str) {
        self.due = None;
        let mut lines: Vec<(ConversationId, Line)> = self.lines.drain().collect();
        lines.sort_unstable_by_key(|(_, line)| std::cmp::Reverse(line.at));
        while !lines.is_empty() {
            let rest = lines.split_off(lines.len().min(MOST_WRITTEN));
            if !write_slice(store, &lines, known, agent).await {
                // A store that stays away is not waited for with ever more.
                self.lines.extend(lines.into_iter().chain(rest).take(MOST_UNWRITTEN));
                return;
            }
            lines = rest;
        }
    }
}

/// Writes some of it. Says whether that worked.
async fn write_slice(
    store: &Store,
    lines: &[(ConversationId, Line)],
    (threads, shapes): (&Threads, &Shapes),
    agent: &str,
) -> bool {
    let new = lines.iter().map(|(id, line)| new_line(threads, id, line, agent)).collect();
    let requests = lines.iter().filter_map(|(id, _)| Some(shapes.of(id)?.stored(id)));
    if store.keep_proxied(new, requests.collect()).await.is_err() {
        return false;
    }
    let mut payers: Vec<&str> = lines.iter().map(|(_, line)| line.payer.name()).collect();
    payers.sort_unstable();
    payers.dedup();
    for payer in payers {
        // What is left over goes next time.
        let _ = store.trim_proxied(payer, MOST_KEPT).await;
    }
    true
}

fn new_line(threads: &Threads, id: &ConversationId, line: &Line, agent: &str) -> NewLine {
    // Where many pass it may not be remembered any more how it began; what is stored of that stays.
    let chain = threads.chain(line.payer.name(), id).unwrap_or_default();
    NewLine {
        line: ProxiedLine {
            conversation: id.clone(),
            payer: line.payer.name().to_owned(),
            dialect: line.dialect.to_owned(),
            last_at: line.at,
            chain: Link::store(&chain),
        },
        agent: agent.to_owned(),
        user: line.payer.user().map(str::to_owned),
        channel: channel(&line.payer),
    }
}
