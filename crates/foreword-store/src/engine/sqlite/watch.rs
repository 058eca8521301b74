//! Detects writes of other processes by polling `PRAGMA data_version`, which changes when another connection commits.
//! The writer thread polls its own connection.

use std::time::{Duration, Instant};

use rusqlite::Connection;

/// How often to poll.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The state of the poll.
#[derive(Debug)]
pub(super) struct Watch {
    /// The last `data_version`, initially from when the file was opened.
    seen: Option<i64>,
    next: Option<Instant>,
}

impl Watch {
    pub(super) fn new(connection: &Connection) -> Self {
        Self { seen: number(connection), next: None }
    }

    /// Starts polling, since there is a subscriber.
    pub(super) fn begin(&mut self) {
        self.next.get_or_insert_with(Instant::now);
    }

    /// The time until the next poll; `None` if there is no subscriber.
    pub(super) fn pause(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Polls if it is due. Returns whether another process has written.
    pub(super) fn poll(&mut self, connection: &Connection) -> bool {
        if self.pause() != Some(Duration::ZERO) {
            return false;
        }
        self.next = Some(Instant::now() + POLL_INTERVAL);
        let found = number(connection);
        // If the read fails, the next poll tries again.
        let moved = found.is_some() && found != self.seen;
        self.seen = found.or(self.seen);
        moved
    }
}

fn number(connection: &Connection) -> Option<i64> {
    connection.prepare_cached("PRAGMA data_version").ok()?.query_row([], |row| row.get(0)).ok()
}
