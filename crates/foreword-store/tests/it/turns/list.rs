use std::time::Duration;

use foreword_core::event::{Event, EventType};
use foreword_core::failure::Failure;
use foreword_core::id::ConversationId;
use foreword_core::retry::ErrorCategory;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::trust::Trust;
use foreword_store::conversations::NewConversation;
use foreword_store::store::Store;
use foreword_store::turns::{BeginTurn, FinishTurn, ListedTurn, TakeMessages, TurnFilter};

use super::fixtures::{begin, begun};
use crate::contract::{contract, now, on_sqlite};

/// A conversation of `user` with turns that have these outcomes, a minute apart; `None` is still running.
async fn conversation_with_turns(
    store: &Store,
    id: &str,
    user: &str,
    trust: Trust,
    ends: &[Option<Outcome>],
) {
    let new = NewConversation::new(ConversationId::new(id).unwrap(), "Ada", "dm", now());
    let new = NewConversation { user: Some(user.to_owned()), title: Some(format!("About {id}")), ..new };
    store.create_conversation(new).await.unwrap();
    for (number, end) in ends.iter().enumerate() {
        let at = now().plus(Duration::from_secs(60 * number as u64));
        let new = BeginTurn {
            trust,
            take: TakeMessages::Nothing,
            now: at,
            ..begin(&format!("t-{id}-{number}"), id)
        };
        let turn = begun(store, new).await;
        if let Some(outcome) = end {
            let failure = Failure::new(ErrorCategory::ProviderTransient, "no answer");
            let failure = (*outcome == Outcome::Failed).then_some(failure);
            let finish =
                FinishTurn { outcome: *outcome, reply: vec![], failure, at: at.plus(Duration::from_secs(2)) };
            store.finish_turn(&turn.hold, finish).await.unwrap();
        }
    }
}

const DONE: Option<Outcome> = Some(Outcome::Done);
const FAILED: Option<Outcome> = Some(Outcome::Failed);

async fn sample_data(store: &Store) {
    conversation_with_turns(store, "c-1", "alice", Trust::Full, &[DONE, FAILED, DONE]).await;
    conversation_with_turns(store, "c-2", "bob", Trust::Inner, &[DONE, DONE, None]).await;
    conversation_with_turns(store, "c-3", "bob", Trust::Full, &[FAILED]).await;
}

/// The ids of all pages, two turns each.
async fn ids(store: &Store, filter: TurnFilter) -> Vec<String> {
    let (mut all, mut after): (Vec<ListedTurn>, _) = (Vec::new(), None);
    loop {
        let page = store.list_turns(filter.clone(), after, 2).await.unwrap();
        after = page.last().map(ListedTurn::key);
        let full = page.len() == 2;
        all.extend(page);
        if !full {
            return all.into_iter().map(|turn| turn.id.to_string()).collect();
        }
    }
}

contract! {
    #[test]
    async fn turns_are_paged_newest_first(store: TestStore) {
        sample_data(&store).await;
        let all = ids(&store, TurnFilter::default()).await;
        assert_eq!(all, ["t-c-2-2", "t-c-1-2", "t-c-2-1", "t-c-1-1", "t-c-3-0", "t-c-2-0", "t-c-1-0"]);
    }

    #[test]
    async fn turn_filters_select_matching_turns(store: TestStore) {
        sample_data(&store).await;
        let (user, any) = (Some("bob".to_owned()), TurnFilter::default);
        let session = |id: &str| Some(ConversationId::new(id).unwrap());
        let state = |outcome| Some(TurnState::Ended(outcome));
        let minute = |number: u64| Some(now().plus(Duration::from_secs(60 * number)));
        let cases: [(TurnFilter, &[&str]); 9] = [
            (TurnFilter { session: session("c-1"), ..any() }, &["t-c-1-2", "t-c-1-1", "t-c-1-0"]),
            (TurnFilter { user: user.clone(), ..any() }, &["t-c-2-2", "t-c-2-1", "t-c-3-0", "t-c-2-0"]),
            (TurnFilter { state: state(Outcome::Failed), ..any() }, &["t-c-1-1", "t-c-3-0"]),
            (TurnFilter { state: Some(TurnState::Running), ..any() }, &["t-c-2-2"]),
            (TurnFilter { state: state(Outcome::Done), user: user.clone(), ..any() }, &["t-c-2-1", "t-c-2-0"]),
            (
                TurnFilter { user: user.clone(), permitted_by: Some(Trust::Inner), ..any() },
                &["t-c-2-2", "t-c-2-1", "t-c-2-0"],
            ),
            (TurnFilter { user, session: session("c-1"), ..any() }, &[]),
            (TurnFilter { since: minute(1), until: minute(2), ..any() }, &["t-c-2-1", "t-c-1-1"]),
            (TurnFilter { permitted_by: Some(Trust::Public), ..any() }, &[]),
        ];
        for (filter, expected) in cases {
            assert_eq!(ids(&store, filter.clone()).await, expected, "{filter:?}");
        }
    }

    #[test]
    async fn turn_sums_come_from_its_events(store: TestStore) {
        sample_data(&store).await;
        let of = |turn: &str, kind| Event { turn_id: Some(turn.parse().unwrap()), ..Event::new(kind, now()) };
        let model = |name: &str| serde_json::from_value(serde_json::json!({ "model": name })).unwrap();
        let call = |turn, cost_usd| Event {
            tokens_in: Some(1_000),
            tokens_out: Some(10),
            cache_read_tokens: Some(900),
            cost_usd,
            metadata: Some(model("offline/echo")),
            ..of(turn, EventType::ApiCall)
        };
        let broke_off = Event { metadata: Some(model("a/other")), ..of("t-c-1-2", EventType::ApiError) };
        store
            .add_events(&[
                call("t-c-1-2", Some(0.25)),
                call("t-c-1-2", Some(0.5)),
                broke_off,
                of("t-c-1-2", EventType::ToolCall),
                of("t-c-1-2", EventType::ToolCall),
                of("t-c-1-2", EventType::TurnStarted),
                call("t-c-2-2", None),
            ])
            .await
            .unwrap();
        let turns = store.list_turns(TurnFilter::default(), None, 3).await.unwrap();
        let [unpriced, whole, bare] = &turns[..] else { panic!("{turns:?}") };
        let sums = &whole.sums;
        assert_eq!((sums.calls, sums.failed_calls, sums.tool_calls), (2, 1, 2));
        assert_eq!((sums.tokens_in, sums.tokens_out, sums.cache_read), (2_000, 20, 1_800));
        assert_eq!(sums.cost.map(|cost| cost.dollars()), Some(0.75));
        assert_eq!(sums.model.as_deref(), Some("offline/echo"));
        assert_eq!((unpriced.sums.calls, unpriced.sums.cost), (1, None));
        assert_eq!(bare.sums, foreword_store::turns::TurnSums::default());
        assert_eq!((whole.title.as_deref(), whole.user.as_deref()), (Some("About c-1"), Some("alice")));
        assert_eq!((whole.agent.as_str(), whole.trust), ("Ada", Trust::Full));
        assert_eq!(whole.ended_at, Some(now().plus(Duration::from_secs(122))));
        assert_eq!((unpriced.state, unpriced.ended_at), (TurnState::Running, None));
    }
}

#[test]
fn turns_of_an_older_node_get_their_owner() {
    on_sqlite(|store| async move {
        sample_data(&store).await;
        let database = rusqlite::Connection::open(store.location().path().unwrap()).unwrap();
        database.execute("UPDATE turns SET user_id = NULL WHERE id = 't-c-3-0'", []).unwrap();
        let of_c_3 =
            TurnFilter { session: Some(ConversationId::new("c-3").unwrap()), ..TurnFilter::default() };
        let listed = store.list_turns(of_c_3, None, 2).await.unwrap();
        assert_eq!(listed[0].user.as_deref(), Some("bob"));
        let of_bob = TurnFilter { user: Some("bob".to_owned()), ..TurnFilter::default() };
        assert_eq!(ids(&store, of_bob.clone()).await.len(), 3);
        assert_eq!(store.backfill_turn_owners().await.unwrap(), 1);
        assert_eq!(ids(&store, of_bob).await.len(), 4);
        assert_eq!(store.backfill_turn_owners().await.unwrap(), 0);
    });
}
