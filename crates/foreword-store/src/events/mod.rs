//! The event log: written in batches by a background task, pruned by age, queried and exported.
//!
//! [`EventQueue`] records events without waiting or failing. [`Store::events`] and [`EventExport`] read them page by
//! page, using indexes. [`Store::prune_events`] deletes old events in small batches.

mod costs;
mod export;
#[cfg(test)]
mod faults;
mod filter;
mod queue;
mod requests;
mod retention;
mod rows;
mod totals;
mod worker;

use std::ops::Range;
use std::sync::Arc;

use foreword_core::event::{Event, StoredEvent};

use crate::engine::{Access, Operation, Transaction, Value, values};
use crate::error::StoreError;
use crate::store::Store;

pub use costs::{CostBy, CostFilter};
pub use export::EventExport;
pub use filter::{EventFilter, EventKey, EventPage, Order};
pub use queue::{Clock, EventQueue, QueueClosed, QueueConfig};
pub use retention::{Pruned, RetentionConfig};
pub use totals::SpendTotal;

/// Events written after a given one, in write order.
#[derive(Debug, Clone, PartialEq)]
pub struct EventTail {
    pub events: Vec<StoredEvent>,
    /// The id to continue from.
    pub last_id: u64,
}

impl Store {
    /// Writes events in one transaction, and returns when they are durable. Use an [`EventQueue`] where the caller
    /// must not wait.
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

    /// A page of the events that pass `filter`, ordered by time and id.
    ///
    /// # Errors
    /// If the database can't be read.
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

    /// At most `limit` events that pass `filter` and have an id above `after`, in write order, which may differ from
    /// time order. To follow the log, begin with [`Store::newest_event_id`] and continue with [`EventTail::last_id`].
    pub async fn events_written_after(
        &self,
        filter: &EventFilter,
        after: u64,
        limit: u64,
    ) -> Result<EventTail, StoreError> {
        self.run(filter::ByNumber { filter: filter.clone(), after, limit }).await
    }

    /// The id of the newest event; 0 if there is none.
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

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        // Ids must become visible in order: otherwise a follower would miss an event whose id is lower than one it
        // has seen.
        sql.lock("events").await?;
        sql.insert_many(rows::INSERT, self.rows.get(self.range.clone()).unwrap_or_default()).await
    }
}

struct Newest;

impl Operation for Newest {
    type Output = u64;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        newest(sql).await
    }
}

async fn newest(sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
    let row = sql.query_optional("SELECT COALESCE(MAX(id), 0) FROM events", values![]).await?;
    row.map_or(Ok(0), |row| row.get(0))
}
