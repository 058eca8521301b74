//! Events: recorded, read by every filter, followed, exported, pruned.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::backoff::Backoff;
use foreword_core::event::{Category, Event, EventType, Level, SpanId, StoredEvent, TraceId};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::ContentHash;
use foreword_store::events::{EventFilter, EventKey, EventPage, EventQueue, QueueConfig, RetentionConfig};
use foreword_store::store::Store;

use crate::contract::{at, contract, now};

fn config() -> QueueConfig {
    QueueConfig { linger: Duration::from_millis(5), retention: None, ..QueueConfig::default() }
}

/// An event with a value in every column.
fn full_event() -> Event {
    Event {
        level: Level::Warn,
        category: Category::from("plumbing"),
        session_id: Some(ConversationId::new("c-1").unwrap()),
        agent_id: Some("assistant".into()),
        user_id: Some("alice".into()),
        channel: Some("signal".into()),
        duration_ms: Some(4_200),
        tokens_in: Some(5_200),
        tokens_out: Some(320),
        cost_usd: Some(0.12),
        error: Some("rate limited, 3 retries".to_owned()),
        metadata: Some(serde_json::json!({"model": "offline/echo", "tries": [1, 2, 4], "none": null})),
        turn_id: Some(TurnId::new("t-1").unwrap()),
        trace_id: TraceId::new(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736),
        span_id: SpanId::new(1),
        parent_span_id: SpanId::new(u64::MAX),
        cache_read_tokens: Some(3_100),
        cache_write_tokens: Some(0),
        prompt_fingerprint: Some(ContentHash::of("frozen")),
        layer_versions: Some(Arc::new(BTreeMap::from([("6".to_owned(), 3), ("7".to_owned(), 1)]))),
        ..Event::new(EventType::ApiCall, now())
    }
}

/// An event whose channel is its name.
fn named(name: &str, at: Timestamp) -> Event {
    Event { channel: Some(name.into()), ..Event::new(EventType::ToolCall, at) }
}

fn names(events: &[StoredEvent]) -> Vec<&str> {
    events.iter().map(|stored| stored.event.channel.as_deref().unwrap_or_default()).collect()
}

async fn all(store: &Store) -> Vec<StoredEvent> {
    store.events(&EventFilter::default(), &EventPage::oldest(100_000)).await.unwrap()
}

/// Reads the pages of a filter one after the other.
async fn page_by_page(store: &Store, filter: &EventFilter, first: EventPage) -> Vec<StoredEvent> {
    let (mut page, mut events) = (first, Vec::new());
    loop {
        let next = store.events(filter, &page).await.unwrap();
        assert!(next.len() as u64 <= page.limit);
        let Some(last) = next.last() else { return events };
        page.after = Some(EventKey::from(last));
        events.extend(next);
    }
}

contract! {
    #[test]
    async fn event_is_stored_as_recorded(store: TestStore) {
        let queue = EventQueue::start(Store::clone(&store), Arc::new(now), config());
        let little = Event::new(EventType::SessionCreated, now());
        queue.record(full_event());
        queue.record(little.clone());
        queue.flush().await.unwrap();
        let stored: Vec<Event> = all(&store.open_again().await).await.into_iter().map(|stored| stored.event).collect();
        assert_eq!(stored, [full_event(), little]);
        assert_eq!(queue.dropped(), 0);
    }

    /// The conversation does not exist.
    #[test]
    async fn events_need_no_conversation_to_point_to(store: TestStore) {
        store.add_events(&[full_event()]).await.unwrap();
        assert_eq!(all(&store).await.len(), 1);
    }

    #[test]
    async fn zero_bytes_in_events_are_replaced(store: TestStore) {
        let queue = EventQueue::start(Store::clone(&store), Arc::new(now), config());
        let dirty = Event {
            error: Some("from\0outside".to_owned()),
            metadata: Some(serde_json::json!({"text": "\0"})),
            cost_usd: Some(f64::INFINITY),
            tokens_in: Some(u64::MAX),
            ..named("dirty", now())
        };
        queue.record(named("before", now()));
        queue.record(dirty);
        queue.record(named("after", now()));
        queue.flush().await.unwrap();
        let events = all(&store).await;
        assert_eq!(names(&events), ["before", "dirty", "after"]);
        let dirty = &events[1].event;
        assert_eq!(dirty.error.as_deref(), Some("from\u{FFFD}outside"));
        assert_eq!(dirty.metadata, Some(serde_json::json!({"text": "\u{FFFD}"})));
        assert_eq!((dirty.cost_usd, dirty.tokens_in), (None, Some(i64::MAX as u64)));
        assert_eq!(queue.dropped(), 0);
    }

    #[test]
    async fn concurrent_recorders_lose_no_event(store: TestStore) {
        let queue = EventQueue::start(Store::clone(&store), Arc::new(now), QueueConfig { batch: 64, ..config() });
        let recorders: Vec<_> = (0..4)
            .map(|recorder| {
                let queue = queue.clone();
                std::thread::spawn(move || {
                    (0..500).for_each(|number| queue.record(named(&format!("{recorder}-{number}"), now())));
                })
            })
            .collect();
        recorders.into_iter().for_each(|recorder| recorder.join().unwrap());
        queue.close().await;
        let events = all(&store).await;
        assert_eq!((events.len(), queue.dropped()), (2_000, 0));
        // The events of one recorder are in order.
        let first: Vec<&str> = names(&events).into_iter().filter(|name| name.starts_with("0-")).collect();
        let expected: Vec<String> = (0..500).map(|number| format!("0-{number}")).collect();
        assert_eq!(first, expected);
    }

    #[test]
    async fn every_filter_returns_exactly_its_matches(store: TestStore) {
        let other = Event {
            session_id: Some(ConversationId::new("c-2").unwrap()),
            user_id: Some("bob".into()),
            turn_id: Some(TurnId::new("t-2").unwrap()),
            trace_id: TraceId::new(2),
            ..named("terminal", at("2026-11-16T09:00:00Z"))
        };
        let error = Event { channel: Some("x".into()), ..Event::new(EventType::ApiError, at("2026-11-16T10:00:00Z")) };
        store.add_events(&[full_event(), other, error]).await.unwrap();
        let any = EventFilter::default;
        let cases = [
            (any(), vec!["signal", "terminal", "x"]),
            (EventFilter { session: Some(ConversationId::new("c-2").unwrap()), ..any() }, vec!["terminal"]),
            (EventFilter { levels: vec![Level::Error], ..any() }, vec!["x"]),
            (EventFilter { levels: vec![Level::Warn], ..any() }, vec!["signal"]),
            (EventFilter { levels: vec![Level::Error, Level::Warn], ..any() }, vec!["signal", "x"]),
            (EventFilter { levels: vec![Level::Info, Level::Error], ..any() }, vec!["terminal", "x"]),
            (EventFilter { levels: vec![Level::Debug], ..any() }, vec![]),
            (EventFilter { category: Some(Category::from("plumbing")), ..any() }, vec!["signal"]),
            (EventFilter { event_type: Some(EventType::ApiError), ..any() }, vec!["x"]),
            (EventFilter { user: Some("bob".to_owned()), ..any() }, vec!["terminal"]),
            (EventFilter { channel: Some("x".to_owned()), ..any() }, vec!["x"]),
            (EventFilter { turn: Some(TurnId::new("t-1").unwrap()), ..any() }, vec!["signal"]),
            (EventFilter { trace: TraceId::new(2), ..any() }, vec!["terminal"]),
            (EventFilter { trace: TraceId::new(2), user: Some("alice".to_owned()), ..any() }, vec![]),
            (EventFilter { since: Some(at("2026-11-16T09:00:00Z")), ..any() }, vec!["terminal", "x"]),
            (EventFilter { until: Some(at("2026-11-16T09:00:00Z")), ..any() }, vec!["signal"]),
            (EventFilter { written_up_to: Some(2), ..any() }, vec!["signal", "terminal"]),
        ];
        for (filter, expected) in cases {
            let oldest = store.events(&filter, &EventPage::oldest(10)).await.unwrap();
            assert_eq!(names(&oldest), expected, "{filter:?}");
            let mut newest = store.events(&filter, &EventPage::newest(10)).await.unwrap();
            newest.reverse();
            assert_eq!(newest, oldest, "{filter:?}");
            let followed = store.events_written_after(&filter, 0, 10).await.unwrap();
            assert_eq!((names(&followed.events), followed.last_id), (expected, 3), "{filter:?}");
        }
    }

    #[test]
    async fn pages_hold_simultaneous_events_once(store: TestStore) {
        let moment = |number: u64| now().plus(Duration::from_secs(number / 10));
        let level = |number: u64| if number.is_multiple_of(3) { Level::Warn } else { Level::Error };
        let events: Vec<Event> = (0..47)
            .map(|number| Event { level: level(number), ..named(&number.to_string(), moment(number)) })
            .collect();
        store.add_events(&events).await.unwrap();
        let filters = [
            EventFilter::default(),
            EventFilter { event_type: Some(EventType::ToolCall), ..EventFilter::default() },
            EventFilter { levels: vec![Level::Warn, Level::Error], ..EventFilter::default() },
        ];
        for filter in filters {
            let whole = all(&store).await;
            assert_eq!(whole.len(), 47);
            assert_eq!(page_by_page(&store, &filter, EventPage::oldest(7)).await, whole, "{filter:?}");
            let mut newest = page_by_page(&store, &filter, EventPage::newest(7)).await;
            newest.reverse();
            assert_eq!(newest, whole, "{filter:?}");
        }
        let window = EventFilter { since: Some(moment(10)), until: Some(moment(30)), ..EventFilter::default() };
        assert_eq!(page_by_page(&store, &window, EventPage::oldest(7)).await.len(), 20);
        assert_eq!(page_by_page(&store, &window, EventPage::newest(7)).await.len(), 20);
    }

    #[test]
    async fn follower_sees_late_events_once(store: TestStore) {
        store.add_events(&[named("old", now())]).await.unwrap();
        let begin = store.newest_event_id().await.unwrap();
        let filter = EventFilter { event_type: Some(EventType::ToolCall), ..EventFilter::default() };
        let nothing = store.events_written_after(&filter, begin, 10).await.unwrap();
        assert_eq!((nothing.events.len(), nothing.last_id), (0, begin));
        // Its clock is behind; and the next event has another type.
        let late = named("late", at("2020-01-01T00:00:00Z"));
        store.add_events(&[named("a", now()), late, Event::new(EventType::ApiCall, now())]).await.unwrap();
        let first = store.events_written_after(&filter, nothing.last_id, 1).await.unwrap();
        assert_eq!(names(&first.events), ["a"]);
        let second = store.events_written_after(&filter, first.last_id, 10).await.unwrap();
        assert_eq!(names(&second.events), ["late"]);
        assert_eq!(store.events_written_after(&filter, second.last_id, 10).await.unwrap().events, []);
        assert_eq!(second.last_id, store.newest_event_id().await.unwrap());
    }

    #[test]
    async fn pruning_is_batched_and_deletes_only_old_events(store: TestStore) {
        let day = |day: u64| now().minus(Duration::from_secs(day * 86_400));
        let events: Vec<Event> = (0..60).map(|days| named(&days.to_string(), day(days))).collect();
        store.add_events(&events).await.unwrap();
        let first = store.prune_events(day(30), 20).await.unwrap();
        assert_eq!((first.count, first.more), (20, true));
        // The oldest went first.
        assert_eq!(names(&all(&store).await).first(), Some(&"39"));
        let second = store.prune_events(day(30), 20).await.unwrap();
        assert_eq!((second.count, second.more), (9, false));
        let left = all(&store).await;
        assert_eq!((left.len(), names(&left).first()), (31, Some(&"30")));
        assert_eq!(store.prune_events(day(30), 20).await.unwrap().count, 0);
        assert_eq!(store.prune_events(day(30), 0).await.unwrap().count, 0);
    }

    #[test]
    async fn queue_pruning_ignores_a_clock_set_back(store: TestStore) {
        let day = |day: u64| now().minus(Duration::from_secs(day * 86_400));
        let events: Vec<Event> = [40, 31, 29, 0].map(|days| named(&days.to_string(), day(days))).into();
        store.add_events(&events).await.unwrap();
        let retention = RetentionConfig {
            slice: 1,
            pause: Duration::from_millis(1),
            first_after: Duration::ZERO,
            every: Duration::from_millis(2),
            ..RetentionConfig::default()
        };
        let start = |clock: Timestamp| {
            let config = QueueConfig { retention: Some(retention.clone()), ..config() };
            EventQueue::start(Store::clone(&store), Arc::new(move || clock), config)
        };
        let behind = start(day(365));
        tokio::time::sleep(Duration::from_millis(50)).await;
        behind.close().await;
        assert_eq!(all(&store).await.len(), 4);
        let right = start(now());
        while all(&store).await.len() > 2 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        right.close().await;
        assert_eq!(names(&all(&store).await), ["29", "0"]);
    }

    #[test]
    async fn export_is_a_consistent_ordered_snapshot(store: TestStore) {
        let moment = |number: u64| now().plus(Duration::from_millis(number / 7));
        let events: Vec<Event> = (0..2_500).map(|number| named(&number.to_string(), moment(number))).collect();
        store.add_events(&events).await.unwrap();
        let mut export = store.export_events(EventFilter::default()).await.unwrap();
        let mut exported = Vec::new();
        while let Some(page) = export.next_page().await.unwrap() {
            assert!(page.len() <= 1_000);
            exported.extend(page);
            store.add_events(&[named("later", moment(9_999)), named("between", moment(1_500))]).await.unwrap();
        }
        let expected: Vec<String> = (0..2_500).map(|number| number.to_string()).collect();
        assert_eq!(names(&exported), expected);
        assert_eq!(export.next_page().await.unwrap(), None);
        let json = serde_json::to_value(&exported[0]).unwrap();
        assert_eq!(json["timestamp"], "2026-11-16T08:00:00.000000Z");
        assert_eq!(json["event_type"], "tool_call");
        assert_eq!(json.get("session_id"), None);
    }
}

/// Faults that can only be produced on SQLite.
mod on_sqlite {
    use super::*;
    use crate::contract::{TestStore, on_sqlite};

    fn connect(store: &TestStore) -> rusqlite::Connection {
        rusqlite::Connection::open(store.location().path().unwrap()).unwrap()
    }

    #[test]
    fn rejected_event_does_not_affect_others() {
        on_sqlite(|store| async move {
            let trigger = "CREATE TRIGGER picky BEFORE INSERT ON events WHEN NEW.channel = 'bad'
                BEGIN SELECT RAISE(ABORT, 'no'); END";
            connect(&store).execute_batch(trigger).unwrap();
            let config = QueueConfig {
                backoff: Backoff { first: Duration::from_millis(1), max: Duration::from_secs(5) },
                ..config()
            };
            let queue = EventQueue::start(Store::clone(&store), Arc::new(now), config);
            ["a", "bad", "b", "c"].iter().for_each(|name| queue.record(named(name, now())));
            queue.flush().await.unwrap();
            assert_eq!((names(&all(&store).await), queue.dropped()), (vec!["a", "b", "c"], 1));
        });
    }

    #[test]
    fn events_wait_for_a_locked_database() {
        on_sqlite(|store| async move {
            let other = connect(&store);
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            let config = QueueConfig {
                backoff: Backoff { first: Duration::from_millis(1), max: Duration::from_secs(5) },
                ..config()
            };
            let queue = EventQueue::start(Store::clone(&store), Arc::new(now), config);
            queue.record(named("a", now()));
            // Longer than SQLite's busy timeout: the queue must retry.
            tokio::time::sleep(Duration::from_millis(5_500)).await;
            other.execute_batch("COMMIT").unwrap();
            queue.flush().await.unwrap();
            assert_eq!((names(&all(&store).await), queue.dropped()), (vec!["a"], 0));
        });
    }

    #[test]
    fn table_starts_with_the_documented_columns_and_indexes() {
        on_sqlite(|store| async move {
            let connection = connect(&store);
            let read = |sql: &str| -> Vec<String> {
                let mut statement = connection.prepare(sql).unwrap();
                statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
            };
            let columns =
                read("SELECT name || ' ' || type || ' ' || \"notnull\" FROM pragma_table_info('events')");
            let expected = [
                "id INTEGER 0",
                "timestamp TEXT 1",
                "level TEXT 1",
                "category TEXT 1",
                "session_id TEXT 0",
                "agent_id TEXT 0",
                "user_id TEXT 0",
                "channel TEXT 0",
                "event_type TEXT 1",
                "duration_ms INTEGER 0",
                "tokens_in INTEGER 0",
                "tokens_out INTEGER 0",
                "cost_usd REAL 0",
                "error TEXT 0",
                "metadata TEXT 0",
            ];
            assert_eq!(columns[..expected.len()], expected);
            let indexes = read("SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'events'");
            for index in [
                "CREATE INDEX idx_events_session ON events(session_id, timestamp)",
                "CREATE INDEX idx_events_error ON events(level, timestamp) WHERE level IN ('warn', 'error')",
                "CREATE INDEX idx_events_type ON events(event_type, timestamp)",
            ] {
                assert!(indexes.iter().any(|found| found == index), "{index} is not in {indexes:?}");
            }
        });
    }
}
