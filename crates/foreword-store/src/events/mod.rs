//! What happened: written in batches off the caller's path, kept for a time, read and exported.
//!
//! [`EventQueue`] is the way in: recording never waits and never fails. [`Store::events`] and [`EventExport`] are the
//! ways out, page by page, each led by an index. [`Store::prune_events`] forgets what is old, a slice at a time.

mod costs;
mod export;
#[cfg(test)]
mod faults;
mod filter;
mod queue;
mod requests;
mod retention;
mod rows;
mod tallies;
mod worker;

use std::ops::Range;
use std::sync::Arc;

use foreword_core::event::{Event, StoredEvent};

use crate::engine::{Access, Operation, Sql, Value, values};
use crate::error::StoreError;
use crate::store::Store;

pub use costs::{CostBy, CostFilter};
pub use export::EventExport;
pub use filter::{EventFilter, EventKey, EventPage, Order};
pub use queue::{Clock, EventQueue, QueueClosed, QueueConfig};
pub use retention::{Pruned, RetentionConfig};
pub use tallies::Spent;

/// Events that were written after one that is known, in the order they were written.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// The events.
    pub events: Vec<StoredEvent>,
    /// Where to go on from.
    pub last_id: u64,
}

impl Store {
    /// Writes events, all or none, and returns when they are durable. Whoever must not wait uses an [`EventQueue`].
    ///
    /// # Errors
    /// If they can't be written.
    pub async fn add_events(&self, events: &[Event]) -> Result<(), StoreError> {
        self.add_event_rows(Arc::new(events.iter().map(rows::to_values).collect()), 0..events.len()).await
    }

    pub(super) async fn add_event_rows(
        &self,
        rows: Arc<Vec<Vec<Value>>>,
        range: Range<usize>,
    ) -> Result<(), StoreError> {
        self.run(Add { rows, range }).await
    }

    /// A page of the events that pass `filter`, by time; those of one moment by their numbers.
    ///
    /// # Errors
    /// If they can't be read.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let now = "2026-11-16T08:00:00Z".parse()?;
    /// # let location = foreword_store::location::Location::file(folder.path().join("foreword.db"));
    /// # let store = foreword_store::store::Store::open(&location, now).await?;
    /// use foreword_core::event::{Event, EventType, Level};
    /// use foreword_store::events::{EventFilter, EventPage};
    ///
    /// store.add_events(&[Event::new(EventType::ApiCall, now), Event::new(EventType::ApiError, now)]).await?;
    /// let errors = EventFilter { levels: vec![Level::Error], ..EventFilter::default() };
    /// let page = store.events(&errors, &EventPage::newest(10)).await?;
    /// assert_eq!(page[0].event.event_type, EventType::ApiError);
    /// # Ok(()) }
    /// ```
    pub async fn events(
        &self,
        filter: &EventFilter,
        page: &EventPage,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.run(filter::ByTime { filter: filter.clone(), page: page.clone() }).await
    }

    /// At most `limit` events that pass `filter` and were written after the one numbered `after`, in the order they
    /// were written, which is not always that of their times. For whoever follows: begin with
    /// [`Store::newest_event_id`], and go on from [`Followed::last_id`].
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn events_written_after(
        &self,
        filter: &EventFilter,
        after: u64,
        limit: u64,
    ) -> Result<Followed, StoreError> {
        self.run(filter::ByNumber { filter: filter.clone(), after, limit }).await
    }

    /// The number of the event that was written last; 0 if there is none.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn newest_event_id(&self) -> Result<u64, StoreError> {
        self.run(Newest).await
    }
}

struct Add {
    rows: Arc<Vec<Vec<Value>>>,
    range: Range<usize>,
}

impl Operation for Add {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<(), StoreError> {
        // Numbers are given in the order in which they become visible: otherwise a follower would miss an event whose
        // number is lower than one it has already seen.
        sql.lock("events").await?;
        sql.insert_many(rows::INSERT, self.rows.get(self.range.clone()).unwrap_or_default()).await
    }
}

struct Newest;

impl Operation for Newest {
    type Output = u64;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<u64, StoreError> {
        newest(sql).await
    }
}

async fn newest<S: Sql>(sql: &mut S) -> Result<u64, StoreError> {
    let row = sql.query_optional("SELECT COALESCE(MAX(id), 0) FROM events", values![]).await?;
    row.map_or(Ok(0), |row| row.get(0))
}
