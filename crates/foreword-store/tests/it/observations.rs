use std::time::Duration;

use foreword_core::id::{ConversationId, ObservationId};
use foreword_core::memory_store::MemoryStore;
use foreword_core::message::Provenance;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::NewConversation;
use foreword_store::error::StoreError;
use foreword_store::observations::Observation;
use foreword_store::turns::{BeginOutcome, BeginTurn, TakeMessages};

use crate::contract::{TestStore, contract, now};

/// An observation at second `second` of the test.
fn observation(id: &str, store: MemoryStore, second: u64) -> Observation {
    Observation {
        id: ObservationId::new(id).unwrap(),
        store,
        title: format!("About {id}"),
        text: "Bob likes tea.".to_owned(),
        trust: Trust::Inner,
        provenance: Provenance::Outside,
        tainted: true,
        conversation: None,
        turn: None,
        author: Some("bob".to_owned()),
        at: now().plus(Duration::from_secs(second)),
    }
}

async fn five(store: &TestStore) {
    let all = [
        ("p-1", MemoryStore::Private, 1),
        ("s-2", MemoryStore::Shared, 2),
        ("o-3", MemoryStore::Social, 3),
        ("s-4", MemoryStore::Shared, 4),
        ("p-5", MemoryStore::Private, 4),
    ];
    for (id, kept_in, second) in all {
        assert!(store.add_observation(observation(id, kept_in, second)).await.unwrap());
    }
}

fn ids(observations: &[Observation]) -> Vec<&str> {
    observations.iter().map(|observation| observation.id.as_str()).collect()
}

contract! {
    #[test]
    async fn observations_round_trip(store: TestStore) {
        let written = observation("o-1", MemoryStore::Shared, 0);
        assert!(store.add_observation(written.clone()).await.unwrap());
        let other = Observation { text: "Bob likes coffee.".to_owned(), ..written.clone() };
        assert!(!store.add_observation(other).await.unwrap(), "the same id again");
        let again = store.open_again().await;
        assert_eq!(again.observation(&written.id, &MemoryStore::ALL).await.unwrap(), written);
        assert_eq!(again.observations(&[MemoryStore::Shared], None, 9).await.unwrap(), [written]);
    }

    #[test]
    async fn only_permitted_memory_stores_are_read(store: TestStore) {
        five(&store).await;
        let table = [
            (Trust::Public, vec![], vec![]),
            (Trust::Familiar, vec!["o-3"], vec![(MemoryStore::Social, 1)]),
            (Trust::Inner, vec!["s-4", "o-3", "s-2"], vec![(MemoryStore::Shared, 2), (MemoryStore::Social, 1)]),
            (
                Trust::Full,
                vec!["s-4", "p-5", "o-3", "s-2", "p-1"],
                vec![(MemoryStore::Private, 2), (MemoryStore::Shared, 2), (MemoryStore::Social, 1)],
            ),
        ];
        for (trust, seen, counts) in table {
            let permitted = MemoryStore::permitted(trust);
            let found = store.observations(&permitted, None, 9).await.unwrap();
            assert_eq!(ids(&found), seen, "{trust}");
            let counted = store.count_observations(&permitted).await.unwrap();
            assert_eq!(counted.into_iter().collect::<Vec<_>>(), counts, "{trust}");
            let secret = store.observation(&"p-1".parse().unwrap(), &permitted).await;
            assert_eq!(secret.is_ok(), trust == Trust::Full, "{trust}");
        }
        // A hidden observation looks like a missing one.
        let hidden = store.observation(&"p-1".parse().unwrap(), &[MemoryStore::Social]).await.unwrap_err();
        assert!(matches!(hidden, StoreError::NotFound { what: "observation", .. }), "{hidden}");
    }

    #[test]
    async fn newest_are_first_and_paginated(store: TestStore) {
        five(&store).await;
        // A store named twice is read once.
        let stores = [MemoryStore::Social, MemoryStore::Private, MemoryStore::Shared, MemoryStore::Private];
        let mut seen = Vec::new();
        let mut last: Option<Observation> = None;
        loop {
            let page = store.observations(&stores, last.as_ref(), 2).await.unwrap();
            assert!(page.len() <= 2);
            let Some(end) = page.last() else { break };
            seen.extend(page.iter().map(|observation| observation.id.to_string()));
            last = Some(end.clone());
        }
        assert_eq!(seen, ["s-4", "p-5", "o-3", "s-2", "p-1"]);
    }

    #[test]
    async fn observation_outlives_its_conversation(store: TestStore) {
        let id = ConversationId::new("c-1").unwrap();
        store.create_conversation(NewConversation::new(id.clone(), "assistant", "direct", now())).await.unwrap();
        let begin = BeginTurn {
            turn: "t-1".parse().unwrap(),
            conversation: id.clone(),
            node: "node-a".parse().unwrap(),
            trust: Trust::Full,
            take: TakeMessages::Nothing,
            lease: Duration::from_secs(60),
            now: now(),
        };
        let BeginOutcome::Begun(begun) = store.begin_turn(begin).await.unwrap() else { panic!("not begun") };
        let turn = Some(begun.hold.turn);
        let linked = |name| Observation {
            conversation: Some(id.clone()),
            turn: turn.clone(),
            ..observation(name, MemoryStore::Private, 0)
        };
        store.add_observation(linked("o-1")).await.unwrap();
        let find = async |name: &str| store.observation(&name.parse().unwrap(), &MemoryStore::ALL).await.unwrap();
        assert_eq!(find("o-1").await, linked("o-1"));

        assert!(store.delete_conversation(&id).await.unwrap());
        let forgotten = |name| Observation { conversation: None, turn: None, ..linked(name) };
        assert_eq!(find("o-1").await, forgotten("o-1"));
        // An observation that arrives after the deletion is stored too.
        store.add_observation(linked("o-2")).await.unwrap();
        assert_eq!(find("o-2").await, forgotten("o-2"));
    }
}
