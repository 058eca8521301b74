//! Cost sums over times, users, conversations and models. They are equal on both engines, and equal to plain SQL on
//! the events table.

use std::time::{SystemTime, UNIX_EPOCH};

use foreword_core::cost_sum::CostSum;
use foreword_core::event::{Event, EventType};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::timestamp::Timestamp;
use foreword_store::events::{CostBy, CostFilter};
use foreword_store::store::Store;
use rusqlite::Connection;
use serde_json::json;

use crate::contract::{at, contract, on_sqlite};

/// A call of `user` in a turn of their own conversation.
fn call(user: &str, turn: &str, at: Timestamp, tokens_in: u64, usd: Option<f64>) -> Event {
    Event {
        session_id: Some(ConversationId::new(format!("c-{user}")).unwrap()),
        turn_id: Some(TurnId::new(turn).unwrap()),
        agent_id: Some("assistant".into()),
        user_id: Some(user.into()),
        tokens_in: Some(tokens_in),
        tokens_out: Some(10),
        cost_usd: usd,
        metadata: Some(json!({ "model": format!("test/{user}"), "provider": "test" })),
        ..Event::new(EventType::ApiCall, at)
    }
}

/// Alice on two days and bob on one; a call that failed midway and was billed, and one that failed at once.
async fn some_calls(store: &Store) {
    let cached = |event: Event, read: u64| Event {
        cache_read_tokens: Some(read),
        cache_write_tokens: Some(7),
        ..event
    };
    let failed = |event: Event| Event { event_type: EventType::ApiError, ..event };
    let (monday, tuesday) = (at("2025-11-16T23:59:59.999999Z"), at("2025-11-17T00:00:00Z"));
    let nothing = failed(Event { tokens_in: None, tokens_out: None, ..call("bob", "t-3", tuesday, 0, None) });
    let events = [
        cached(call("alice", "t-1", monday, 1_000, Some(0.25)), 600),
        cached(call("alice", "t-1", monday, 3_000, Some(0.5)), 2_400),
        cached(call("alice", "t-2", tuesday, 4_000, Some(1.0)), 0),
        call("bob", "t-3", tuesday, 500, None),
        failed(call("bob", "t-3", tuesday, 100, Some(0.125))),
        nothing,
        // The turn's own sum is not an additional cost.
        Event { event_type: EventType::TurnCompleted, ..call("bob", "t-3", tuesday, 600, Some(9.0)) },
    ];
    store.add_events(&events).await.unwrap();
}

fn sum(calls: u64, turns: u64, tokens_in: u64, tokens_out: u64, usd: f64) -> CostSum {
    CostSum { calls, turns, tokens_in, tokens_out, usd, ..CostSum::default() }
}

contract! {
    #[test]
    async fn calls_are_summed_by_time(store: TestStore) {
        some_calls(&store).await;
        let bounds = [at("2025-11-15T00:00:00Z"), at("2025-11-16T00:00:00Z"), at("2025-11-17T00:00:00Z"),
            at("2025-11-18T00:00:00Z")];
        let days = store.cost_between(&bounds, CostFilter::default()).await.unwrap();
        let monday = CostSum { cache_read: 3_000, cache_write: 14, tokens_with_cache_usage: 4_000, ..sum(2, 1, 4_000, 20, 0.75) };
        let tuesday = CostSum {
            failed: 1, unpriced: 1, cache_write: 7, tokens_with_cache_usage: 4_000, ..sum(3, 2, 4_600, 30, 1.125)
        };
        assert_eq!(days, [CostSum::default(), monday, tuesday]);
        assert_eq!(monday.cache_share(), Some(0.75));
        let whole = store.cost(CostFilter::default()).await.unwrap();
        assert_eq!(whole, CostSum { turns: 3, ..monday + tuesday });
        let bobs = CostFilter { user: Some("bob".to_owned()), ..CostFilter::default() };
        let of_bob = store.cost_between(&bounds, bobs.clone()).await.unwrap();
        assert!(of_bob[2].calls > 0 && of_bob[2].calls < tuesday.calls);
        assert_eq!(of_bob[1] + of_bob[2], store.cost(bobs).await.unwrap());
        assert_eq!(store.cost_between(&[], CostFilter::default()).await.unwrap(), []);
    }

    #[test]
    async fn calls_are_summed_by_group(store: TestStore) {
        some_calls(&store).await;
        let alice = CostSum { cache_read: 3_000, cache_write: 21, tokens_with_cache_usage: 8_000, ..sum(3, 2, 8_000, 30, 1.75) };
        let bob = CostSum { failed: 1, unpriced: 1, ..sum(2, 1, 600, 20, 0.125) };
        for (by, names) in [
            (CostBy::Session, ["c-alice", "c-bob"]),
            (CostBy::User, ["alice", "bob"]),
            (CostBy::Model, ["test/alice", "test/bob"]),
        ] {
            let mut groups = store.cost_by(by, CostFilter::default()).await.unwrap();
            groups.sort_by(|one, other| one.0.cmp(&other.0));
            let expected = names.map(|name| Some(name.to_owned())).into_iter().zip([alice, bob]).collect::<Vec<_>>();
            assert_eq!(groups, expected, "{by:?}");
        }
        let agents = store.cost_by(CostBy::Agent, CostFilter::default()).await.unwrap();
        assert_eq!(agents, [(Some("assistant".to_owned()), CostSum { turns: 3, ..alice + bob })]);
        assert_eq!(bob.cache_share(), None);
    }

    #[test]
    async fn sums_can_be_filtered_by_user_and_time(store: TestStore) {
        some_calls(&store).await;
        let usd = async |filter: CostFilter| store.cost(filter).await.unwrap().usd;
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(usd(CostFilter { user: named("bob"), ..CostFilter::default() }).await, 0.125);
        assert_eq!(usd(CostFilter { session: named("c-alice"), ..CostFilter::default() }).await, 1.75);
        assert_eq!(usd(CostFilter { agent: named("nobody"), ..CostFilter::default() }).await, 0.0);
        let stranger = Event { user_id: None, ..call("x", "t-9", at("2025-11-17T00:00:00Z"), 1, Some(4.0)) };
        store.add_events(&[stranger]).await.unwrap();
        assert_eq!(usd(CostFilter { nobody_known: true, ..CostFilter::default() }).await, 4.0);
        let tuesday = Some(at("2025-11-17T00:00:00Z"));
        let alice = CostFilter { user: named("alice"), ..CostFilter::default() };
        assert_eq!(usd(CostFilter { since: tuesday, ..alice.clone() }).await, 1.0);
        assert_eq!(usd(CostFilter { until: tuesday, ..alice }).await, 0.75);
    }
}

/// Queries the SQLite file directly.
fn asked<T: rusqlite::types::FromSql>(store: &crate::contract::TestStore, sql: &str) -> T {
    let connection = Connection::open(store.location().path().unwrap()).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

async fn in_sql(store: crate::contract::TestStore) {
    some_calls(&store).await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = Timestamp::from_micros(i64::try_from(now.as_micros()).unwrap());
    let calls = [0.5, 0.25].map(|usd| call("carol", "t-4", now, 9_000, Some(usd)));
    store.add_events(&calls).await.unwrap();
    let today =
        "SELECT SUM(cost_usd) FROM events WHERE event_type='api_call' AND date(timestamp)=date('now')";
    assert_eq!(asked::<f64>(&store, today), 0.75);
    let carol = CostFilter { user: Some("carol".to_owned()), ..CostFilter::default() };
    assert_eq!(store.cost(carol).await.unwrap().usd, 0.75);
    let most = "SELECT session_id FROM events WHERE event_type='api_call' GROUP BY session_id
                ORDER BY SUM(tokens_in + tokens_out) DESC LIMIT 1";
    let by_session = store.cost_by(CostBy::Session, CostFilter::default()).await.unwrap();
    let largest = by_session.into_iter().max_by_key(|(_, sum)| sum.tokens()).unwrap().0.unwrap();
    assert_eq!(asked::<String>(&store, most), largest);
    let average = "SELECT SUM(cost_usd) / COUNT(DISTINCT turn_id) FROM events WHERE event_type='api_call'";
    let whole = store.cost(CostFilter::default()).await.unwrap();
    // Our sum includes the call that failed midway and was billed.
    assert_eq!(asked::<f64>(&store, average) + 0.125 / 4.0, whole.usd_per_turn().unwrap());
}

#[test]
fn design_queries_run_as_documented() {
    on_sqlite(in_sql);
}
