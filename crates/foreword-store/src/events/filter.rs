//! Selects events. Each statement uses the most selective index, and keyset pagination makes every page cost the
//! same.

use foreword_core::event::{Category, EventType, Level, StoredEvent, TraceId};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::timestamp::Timestamp;

use super::rows::{columns, stored_event};
use super::{EventTail, newest};
use crate::engine::{Access, Operation, Row, Transaction, Value, values};
use crate::error::StoreError;

/// Which events; `None` matches all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventFilter {
    /// In this conversation.
    pub session: Option<ConversationId>,
    /// At one of these levels; empty matches all.
    pub levels: Vec<Level>,
    /// In this category.
    pub category: Option<Category>,
    pub event_type: Option<EventType>,
    pub user: Option<String>,
    /// On this channel.
    pub channel: Option<String>,
    pub turn: Option<TurnId>,
    pub trace: Option<TraceId>,
    /// At or after this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
    /// With an id up to this one.
    pub written_up_to: Option<u64>,
}

/// The sort key of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// When it happened.
    pub timestamp: Timestamp,
    /// Its id, which orders events of the same time.
    pub id: u64,
}

impl From<&StoredEvent> for EventKey {
    fn from(stored: &StoredEvent) -> Self {
        Self { timestamp: stored.event.timestamp, id: stored.id }
    }
}

/// The sort order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Oldest event first.
    OldestFirst,
    /// Newest event first.
    NewestFirst,
}

/// A page of the events that pass a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// The sort order.
    pub order: Order,
    /// The last event of the previous page.
    pub after: Option<EventKey>,
    /// The maximum number of events.
    pub limit: u64,
}

impl EventPage {
    /// The newest events, newest first.
    #[must_use]
    pub fn newest(limit: u64) -> Self {
        Self { order: Order::NewestFirst, after: None, limit }
    }

    /// The oldest events, oldest first.
    #[must_use]
    pub fn oldest(limit: u64) -> Self {
        Self { order: Order::OldestFirst, after: None, limit }
    }
}

/// The indexed condition of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Trace,
    Turn,
    Session,
    Errors,
    Warnings,
    Type,
    Time,
}

impl EventFilter {
    /// The indexes to scan; two for warnings and errors, which have separate index entries.
    fn leads(&self) -> &'static [Lead] {
        let bad = |level: &Level| matches!(level, Level::Warn | Level::Error);
        if self.trace.is_some() {
            &[Lead::Trace]
        } else if self.turn.is_some() {
            &[Lead::Turn]
        } else if self.session.is_some() {
            &[Lead::Session]
        } else if !self.levels.is_empty() && self.levels.iter().all(bad) {
            match (self.levels.contains(&Level::Warn), self.levels.contains(&Level::Error)) {
                (true, true) => &[Lead::Errors, Lead::Warnings],
                (true, false) => &[Lead::Warnings],
                _ => &[Lead::Errors],
            }
        } else if self.event_type.is_some() {
            &[Lead::Type]
        } else {
            &[Lead::Time]
        }
    }

    /// The parameter values of `conditions!`, in order.
    fn values(&self, limit: u64) -> Vec<Value> {
        let mut values = vec![
            self.session.as_ref().into(),
            self.event_type.as_ref().map(EventType::as_str).into(),
            self.category.as_ref().map(Category::as_str).into(),
            self.user.as_deref().into(),
            self.channel.as_deref().into(),
            self.turn.as_ref().into(),
            self.trace.map(|id| id.to_string()).into(),
        ];
        let levels = if self.levels.is_empty() { &Level::ALL[..] } else { &self.levels[..] };
        // The statement has four placeholders for levels; unused ones repeat a level.
        values.extend(Level::ALL.map(|level| {
            let wanted = if levels.contains(&level) { Some(&level) } else { levels.first() };
            Value::from(wanted.map(|level| level.as_str()))
        }));
        values.push(self.written_up_to.unwrap_or(u64::MAX).into());
        values.push(limit.into());
        values
    }

    /// The start of the time range; an empty string sorts before all times.
    fn first(&self) -> String {
        self.since.map(|at| at.to_string()).unwrap_or_default()
    }

    /// The end of the time range.
    fn end(&self) -> String {
        self.until.unwrap_or_else(|| Timestamp::from_micros(i64::MAX)).to_string()
    }
}

/// The conditions on every row; each value may be `NULL`.
macro_rules! conditions {
    () => {
        "(CAST(?1 AS TEXT) IS NULL OR session_id = ?1)
         AND (CAST(?2 AS TEXT) IS NULL OR event_type = ?2)
         AND (CAST(?3 AS TEXT) IS NULL OR category = ?3)
         AND (CAST(?4 AS TEXT) IS NULL OR user_id = ?4)
         AND (CAST(?5 AS TEXT) IS NULL OR channel = ?5)
         AND (CAST(?6 AS TEXT) IS NULL OR turn_id = ?6)
         AND (CAST(?7 AS TEXT) IS NULL OR trace_id = ?7)
         AND level IN (?8, ?9, ?10, ?11)
         AND id <= ?12"
    };
}

macro_rules! by_time {
    ($lead:literal) => {
        [
            concat!(
                "SELECT ",
                columns!(),
                " FROM events WHERE ",
                $lead,
                "(timestamp, id) > (?14, ?15) AND timestamp < ?16 AND ",
                conditions!(),
                " ORDER BY timestamp, id LIMIT ?13"
            ),
            concat!(
                "SELECT ",
                columns!(),
                " FROM events WHERE ",
                $lead,
                "(timestamp, id) < (?14, ?15) AND timestamp >= ?16 AND ",
                conditions!(),
                " ORDER BY timestamp DESC, id DESC LIMIT ?13"
            ),
        ]
    };
}

/// The statement for an index and an order. Both engines use a partial index only if the query repeats its condition
/// literally.
fn statement(lead: Lead, order: Order) -> &'static str {
    let [oldest_first, newest_first] = match lead {
        Lead::Trace => by_time!("trace_id = ?7 AND "),
        Lead::Turn => by_time!("turn_id = ?6 AND "),
        Lead::Session => by_time!("session_id = ?1 AND "),
        Lead::Errors => by_time!("level = 'error' AND level IN ('warn', 'error') AND "),
        Lead::Warnings => by_time!("level = 'warn' AND level IN ('warn', 'error') AND "),
        Lead::Type => by_time!("event_type = ?2 AND "),
        Lead::Time => by_time!(""),
    };
    match order {
        Order::OldestFirst => oldest_first,
        Order::NewestFirst => newest_first,
    }
}

pub(super) struct ByTime {
    pub(super) filter: EventFilter,
    pub(super) page: EventPage,
}

impl ByTime {
    fn values(&self) -> Vec<Value> {
        let (filter, page) = (&self.filter, &self.page);
        let mut values = filter.values(page.limit);
        // The key of the last event, or one just outside of the time range.
        let (outside, other_end) = match page.order {
            Order::OldestFirst => (filter.first(), filter.end()),
            Order::NewestFirst => (filter.end(), filter.first()),
        };
        match page.after {
            Some(key) => values.extend_from_slice(values![key.timestamp, key.id]),
            None => values.extend_from_slice(values![outside, -1_i64]),
        }
        values.push(other_end.into());
        values
    }
}

impl Operation for ByTime {
    type Output = Vec<StoredEvent>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<StoredEvent>, StoreError> {
        let values = self.values();
        let mut events = Vec::new();
        for lead in self.filter.leads() {
            let rows = sql.query(statement(*lead, self.page.order), &values).await?;
            for row in &rows {
                events.push(stored_event(row)?);
            }
        }
        events.sort_by_key(|event| EventKey::from(event));
        if self.page.order == Order::NewestFirst {
            events.reverse();
        }
        events.truncate(usize::try_from(self.page.limit).unwrap_or(usize::MAX));
        Ok(events)
    }
}

pub(super) struct ByNumber {
    pub(super) filter: EventFilter,
    pub(super) after: u64,
    pub(super) limit: u64,
}

impl Operation for ByNumber {
    type Output = EventTail;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<EventTail, StoreError> {
        let newest = newest(sql).await?;
        // SQLite restarts ids at 1 after everything has been pruned.
        let after = if newest < self.after { 0 } else { self.after };
        let select = concat!(
            "SELECT ",
            columns!(),
            " FROM events WHERE id > ?14 AND timestamp >= ?15 AND timestamp < ?16 AND ",
            conditions!(),
            " ORDER BY id LIMIT ?13"
        );
        let mut values = self.filter.values(self.limit);
        values.extend_from_slice(values![after, self.filter.first(), self.filter.end()]);
        let rows: Vec<Row> = sql.query(select, &values).await?;
        let events = rows.iter().map(stored_event).collect::<Result<Vec<_>, _>>()?;
        let full = events.len() as u64 >= self.limit;
        let last_id = events.last().filter(|_| full).map_or(newest, |event| event.id);
        Ok(EventTail { events, last_id })
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// SQLite's query plan of a statement.
    fn plan(sql: &str) -> String {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../../migrations/0001_first/sqlite/events.sql")).unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn every_filter_uses_an_index_without_sorting() {
        let expected = [
            (Lead::Trace, "USING INDEX idx_events_trace (trace_id=? AND "),
            (Lead::Turn, "USING INDEX idx_events_turn (turn_id=? AND "),
            (Lead::Session, "USING INDEX idx_events_session (session_id=? AND "),
            (Lead::Errors, "USING INDEX idx_events_error (level=? AND "),
            (Lead::Warnings, "USING INDEX idx_events_error (level=? AND "),
            (Lead::Type, "USING INDEX idx_events_type (event_type=? AND "),
            (Lead::Time, "USING INDEX idx_events_timestamp ("),
        ];
        for (lead, index) in expected {
            for order in [Order::OldestFirst, Order::NewestFirst] {
                let plan = plan(statement(lead, order));
                assert!(plan.contains(index) && plan.contains("timestamp"), "{lead:?} {order:?}: {plan}");
                assert!(!plan.contains("SCAN") && !plan.contains("B-TREE"), "{lead:?} {order:?}: {plan}");
            }
        }
    }

    #[test]
    fn filter_uses_the_most_selective_index() {
        let session = ConversationId::new("c-1").unwrap();
        let filter = EventFilter { event_type: Some(EventType::ApiCall), ..EventFilter::default() };
        assert_eq!(filter.leads(), [Lead::Type]);
        let filter = EventFilter { levels: vec![Level::Error, Level::Warn], ..filter };
        assert_eq!(filter.leads(), [Lead::Errors, Lead::Warnings]);
        let filter = EventFilter { levels: vec![Level::Error, Level::Info], ..filter };
        assert_eq!(filter.leads(), [Lead::Type]);
        let filter = EventFilter { levels: vec![Level::Error], session: Some(session), ..filter };
        assert_eq!(filter.leads(), [Lead::Session]);
        let filter = EventFilter { turn: Some(TurnId::new("t-1").unwrap()), ..filter };
        assert_eq!(filter.leads(), [Lead::Turn]);
        assert_eq!(EventFilter { trace: TraceId::new(1), ..filter }.leads(), [Lead::Trace]);
        assert_eq!(EventFilter::default().leads(), [Lead::Time]);
    }
}
