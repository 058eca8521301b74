//! Exports all events that pass a filter, page by page, with constant memory.

use foreword_core::event::StoredEvent;

use super::filter::{EventFilter, EventKey, EventPage};
use crate::error::StoreError;
use crate::store::Store;

/// Events per page.
const PAGE: u64 = 1_000;

/// The events that existed when the export began, the oldest first. Concurrent writes and pruning don't affect it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let now = "2026-11-16T08:00:00Z".parse()?;
/// # let location = foreword_store::location::Location::file(folder.path().join("foreword.db"));
/// # let store = foreword_store::store::Store::open(&location, now).await?;
/// use foreword_core::event::{Event, EventType};
/// use foreword_store::events::EventFilter;
///
/// store.add_events(&[Event::new(EventType::TurnStarted, now)]).await?;
/// let mut export = store.export_events(EventFilter::default()).await?;
/// while let Some(events) = export.next_page().await? {
///     for event in events {
///         let line = serde_json::to_string(&event)?;
///         assert!(line.contains(r#""event_type":"turn_started""#));
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct EventExport {
    store: Store,
    filter: EventFilter,
    after: Option<EventKey>,
    ended: bool,
}

impl Store {
    /// Begins an export of the events that pass `filter`.
    pub async fn export_events(&self, mut filter: EventFilter) -> Result<EventExport, StoreError> {
        // Without an upper limit, concurrent writers could keep the export going forever.
        let newest = self.newest_event_id().await?;
        filter.written_up_to = Some(filter.written_up_to.map_or(newest, |given| given.min(newest)));
        Ok(EventExport { store: self.clone(), filter, after: None, ended: false })
    }
}

impl EventExport {
    /// The next page, or `None` at the end.
    ///
    /// # Errors
    /// If the database can't be read. The call can be repeated.
    pub async fn next_page(&mut self) -> Result<Option<Vec<StoredEvent>>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        let page = EventPage { after: self.after, ..EventPage::oldest(PAGE) };
        let events = self.store.events(&self.filter, &page).await?;
        self.after = events.last().map(EventKey::from).or(self.after);
        self.ended = (events.len() as u64) < PAGE;
        Ok(Some(events).filter(|events| !events.is_empty()))
    }
}
