//! Tests of the queue with a fake database that fails on demand.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreword_core::backoff::Backoff;
use foreword_core::event::{Event, EventType};
use foreword_core::timestamp::Timestamp;

use super::queue::{EventQueue, QueueClosed, QueueConfig};
use super::rows;
use super::worker::Sink;
use crate::engine::Value;
use crate::error::StoreError;

/// The behaviour of the fake database.
#[derive(Debug, Default)]
struct Fake {
    /// The errors of the next writes.
    failures: VecDeque<StoreError>,
    /// Rejects events that contain this text.
    poison: Option<&'static str>,
    /// Never responds.
    hangs: bool,
    rows: Vec<Vec<Value>>,
    largest: usize,
}

#[derive(Debug, Clone, Default)]
struct FakeSink(Arc<Mutex<Fake>>);

impl FakeSink {
    fn set(&self, change: impl FnOnce(&mut Fake)) {
        change(&mut self.0.lock().unwrap());
    }

    /// The `error` fields of the written events, which these tests use as names.
    fn names(&self) -> Vec<String> {
        let error = |row: &Vec<Value>| match &row[12] {
            Value::Text(text) => text.clone(),
            _ => String::new(),
        };
        self.0.lock().unwrap().rows.iter().map(error).collect()
    }
}

impl Sink for FakeSink {
    async fn write(&self, rows: Arc<Vec<Vec<Value>>>, range: Range<usize>) -> Result<(), StoreError> {
        if self.0.lock().unwrap().hangs {
            std::future::pending::<()>().await;
        }
        let mut fake = self.0.lock().unwrap();
        if let Some(failure) = fake.failures.pop_front() {
            return Err(failure);
        }
        let rows = &rows[range];
        let poisoned = |value: &Value| matches!((value, fake.poison), (Value::Text(text), Some(poison)) if text == poison);
        if rows.iter().flatten().any(poisoned) {
            return Err(StoreError::Engine { place: "fake".to_owned(), reason: "no".into() });
        }
        fake.largest = fake.largest.max(rows.len());
        fake.rows.extend_from_slice(rows);
        Ok(())
    }
}

fn away() -> StoreError {
    StoreError::Disconnected { place: "fake".to_owned(), reason: "gone".to_owned() }
}

fn now() -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000)
}

fn event(name: &str) -> Event {
    Event { error: Some(name.to_owned()), ..Event::new(EventType::ToolError, now()) }
}

fn config() -> QueueConfig {
    QueueConfig {
        linger: Duration::from_millis(5),
        backoff: Backoff { first: Duration::from_millis(1), max: Duration::from_millis(4) },
        close_timeout: Duration::from_millis(50),
        retention: None,
        ..QueueConfig::default()
    }
}

fn start(sink: &FakeSink, config: QueueConfig) -> EventQueue {
    EventQueue::start_with(sink.clone(), Arc::new(now), config, None)
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(5), future).await.expect("this should not take so long")
}

#[tokio::test]
async fn events_keep_their_order_while_the_database_is_unavailable() {
    let sink = FakeSink::default();
    sink.set(|fake| fake.failures = std::iter::repeat_n(away(), 6).collect());
    let queue = start(&sink, QueueConfig { batch: 10, ..config() });
    let names: Vec<String> = (0..95).map(|number| number.to_string()).collect();
    names.iter().for_each(|name| queue.record(event(name)));
    soon(queue.flush()).await.unwrap();
    assert_eq!(sink.names(), names);
    assert_eq!(queue.dropped(), 0);
    assert_eq!(sink.0.lock().unwrap().largest, 10);
}

#[tokio::test]
async fn overflowing_events_are_dropped_counted_and_reported_once() {
    let sink = FakeSink::default();
    let queue = start(&sink, QueueConfig { capacity: 8, batch: 4, ..config() });
    // On one thread the worker can't run before the next await.
    (0..20).for_each(|number| queue.record(event(&number.to_string())));
    assert_eq!(queue.dropped(), 12);
    soon(queue.flush()).await.unwrap();
    queue.record(event("later"));
    soon(queue.flush()).await.unwrap();
    let names = sink.names();
    let notices: Vec<_> = names.iter().filter(|name| name.contains("lost")).collect();
    assert_eq!(notices, ["12 events were lost: the queue was full, or the database refused them"]);
    assert_eq!(names.len(), 10, "{names:?}");
    assert_eq!(queue.dropped(), 12);
    let fake = sink.0.lock().unwrap();
    let notice = fake.rows.iter().find(|row| row[7] == Value::from("events_lost")).unwrap();
    assert_eq!(
        (&notice[1], &notice[13]),
        (&Value::from("warn"), &Value::from(r#"{"lost":12,"lost_since_start":12}"#))
    );
}

#[tokio::test]
async fn refused_event_does_not_affect_others() {
    let sink = FakeSink::default();
    sink.set(|fake| fake.poison = Some("bad"));
    let queue = start(&sink, config());
    for name in ["a", "b", "bad", "c", "d", "bad", "e"] {
        queue.record(event(name));
    }
    soon(queue.flush()).await.unwrap();
    assert_eq!(sink.names(), ["a", "b", "c", "d", "e"]);
    assert_eq!(queue.dropped(), 2);
    soon(queue.flush()).await.unwrap();
    assert!(sink.names().last().unwrap().starts_with("2 events were lost"), "{:?}", sink.names());
}

#[tokio::test]
async fn refused_loss_report_is_not_counted_as_a_loss() {
    let sink = FakeSink::default();
    sink.set(|fake| fake.poison = Some("error"));
    let queue = start(&sink, config());
    queue.record(event("level is poisoned"));
    soon(queue.flush()).await.unwrap();
    sink.set(|fake| fake.poison = Some("events_lost"));
    soon(queue.flush()).await.unwrap();
    soon(queue.flush()).await.unwrap();
    assert_eq!((queue.dropped(), sink.names().len()), (1, 0));
    sink.set(|fake| fake.poison = None);
    soon(queue.flush()).await.unwrap();
    assert!(sink.names()[0].starts_with("1 events were lost"), "{:?}", sink.names());
}

#[tokio::test]
async fn closing_writes_queued_events() {
    let sink = FakeSink::default();
    sink.set(|fake| fake.failures = [away(), away()].into());
    let queue = start(&sink, QueueConfig { linger: Duration::from_secs(60), ..config() });
    queue.record(event("a"));
    soon(queue.close()).await;
    assert_eq!(sink.names(), ["a"]);
    queue.record(event("b"));
    assert_eq!(queue.dropped(), 1);
    assert_eq!(soon(queue.flush()).await, Err(QueueClosed));
    soon(queue.close()).await;
}

#[tokio::test]
async fn closing_gives_up_on_an_unavailable_database() {
    for hangs in [false, true] {
        let sink = FakeSink::default();
        sink.set(|fake| {
            fake.hangs = hangs;
            fake.failures = std::iter::repeat_n(away(), 100_000).collect();
        });
        let queue = start(&sink, QueueConfig { batch: 2, ..config() });
        (0..5).for_each(|number| queue.record(event(&number.to_string())));
        // The worker is in the middle of a write when we close.
        tokio::time::sleep(Duration::from_millis(20)).await;
        soon(queue.close()).await;
        assert_eq!(queue.dropped(), 5);
    }
}

#[tokio::test]
async fn closing_does_not_wait_for_blocked_senders() {
    let sink = FakeSink::default();
    sink.set(|fake| fake.hangs = true);
    let queue = start(&sink, QueueConfig { capacity: 1, batch: 1, ..config() });
    queue.record(event("a"));
    let flushes: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.flush().await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(20)).await;
    soon(queue.close()).await;
    for flush in flushes {
        soon(flush).await.unwrap().ok();
    }
}

#[tokio::test]
async fn dropped_queue_writes_queued_events() {
    let sink = FakeSink::default();
    let queue = start(&sink, config());
    queue.record(event("a"));
    drop(queue);
    soon(async {
        while sink.names().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[test]
fn every_event_can_be_stored() {
    let dirty = Event {
        agent_id: Some("a\0b".into()),
        user_id: Some("\0".into()),
        channel: Some("\0".into()),
        cost_usd: Some(f64::NAN),
        duration_ms: Some(u64::MAX),
        error: Some("x\0".to_owned()),
        metadata: Some(serde_json::json!({"k\0": "v\0", "kept": "\\u0000"})),
        layer_versions: Some(Arc::new([("\0".to_owned(), 1)].into())),
        ..Event::new(EventType::from("odd\0"), now())
    };
    let values = rows::to_values(&dirty);
    crate::engine::value::storable(&values).unwrap();
    assert_eq!(values[11], Value::Null);
    let Value::Text(metadata) = &values[13] else { panic!("{:?}", values[13]) };
    let metadata: serde_json::Value = serde_json::from_str(metadata).unwrap();
    assert_eq!(metadata, serde_json::json!({"k\u{FFFD}": "v\u{FFFD}", "kept": "\\u0000"}));
}
