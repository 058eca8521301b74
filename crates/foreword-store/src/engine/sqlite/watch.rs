//! Sees what other processes have changed in the file. SQLite tells nobody, but keeps a number for each connection that
//! moves when another one commits; the writing thread, which alone writes here, looks at its own now and then.

use std::time::{Duration, Instant};

use rusqlite::Connection;

/// How often to look.
const EVERY: Duration = Duration::from_secs(1);

/// Whether and when to look.
#[derive(Debug)]
pub(super) struct Watch {
    /// The number that was seen last; what has happened since the file was opened counts.
    seen: Option<i64>,
    next: Option<Instant>,
}

impl Watch {
    pub(super) fn new(connection: &Connection) -> Self {
        Self { seen: number(connection), next: None }
    }

    /// Looks from now on: somebody wants to know.
    pub(super) fn begin(&mut self) {
        self.next.get_or_insert_with(Instant::now);
    }

    /// How long until the next look; `None` if nobody wants to know.
    pub(super) fn pause(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Looks, if it is time. Says whether another process has written.
    pub(super) fn look(&mut self, connection: &Connection) -> bool {
        if self.pause() != Some(Duration::ZERO) {
            return false;
        }
        self.next = Some(Instant::now() + EVERY);
        let found = number(connection);
        // A file that can't be read just now is looked at again.
        let moved = found.is_some() && found != self.seen;
        self.seen = found.or(self.seen);
        moved
    }
}

fn number(connection: &Connection) -> Option<i64> {
    connection.prepare_cached("PRAGMA data_version").ok()?.query_row([], |row| row.get(0)).ok()
}
