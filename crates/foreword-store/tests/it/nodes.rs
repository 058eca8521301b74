//! Nodes that share a store, and the lengths of its queues.

use std::time::Duration;

use foreword_core::id::InboxId;
use foreword_core::sender::SenderAddress;
use foreword_store::mailboxes::NewInboxMessage;
use foreword_store::nodes::Node;
use foreword_store::queues::Queues;
use foreword_store::store::Store;

use crate::contract::{contract, now};
use crate::turns::fixtures::{begin, begun, conversation, done, say};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A node whose clock is `ahead` seconds fast.
fn node(name: &str, ahead: u64) -> Node {
    Node {
        node: name.parse().unwrap(),
        version: "0.1.0".to_owned(),
        listen: "127.0.0.1:7777".to_owned(),
        started_at: now(),
        seen_at: now().plus(Duration::from_secs(ahead)),
    }
}

async fn seen(store: &Store) -> Vec<String> {
    let seen = store.nodes(now(), DAY).await.unwrap();
    seen.nodes.into_iter().map(|node| node.node.to_string()).collect()
}

contract! {
    #[test]
    async fn node_is_listed_until_it_stops_or_expires(store: TestStore) {
        for name in ["node-b", "node-a", "node-c"] {
            store.register_node(node(name, 0)).await.unwrap();
        }
        assert_eq!(seen(&store).await, ["node-a", "node-b", "node-c"]);
        let again = store.open_again().await.nodes(now(), DAY).await.unwrap();
        let found = Node { seen_at: again.nodes[0].seen_at, ..node("node-a", 0) };
        assert_eq!(again.nodes[0], found);
        store.unregister_node(&"node-b".parse().unwrap()).await.unwrap();
        store.unregister_node(&"node-b".parse().unwrap()).await.unwrap();
        assert_eq!(seen(&store).await, ["node-a", "node-c"]);
        assert_eq!(store.remove_stale_nodes(now(), DAY).await.unwrap(), 0);
        // A moment later no node was seen within zero time.
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(store.remove_stale_nodes(now().plus(DAY), Duration::ZERO).await.unwrap(), 2);
        assert_eq!(seen(&store).await, Vec::<String>::new());
    }

    #[test]
    async fn heartbeats_use_the_stores_clock(store: TestStore) {
        store.register_node(node("node-a", 0)).await.unwrap();
        // The caller's clock is hours fast. SQLite has no clock and trusts its one machine.
        let ahead = now().plus(Duration::from_secs(3 * 60 * 60));
        let found = store.nodes(ahead, DAY).await.unwrap();
        let silent = found.now.since(found.nodes[0].seen_at);
        if store.location().path().is_some() {
            assert_eq!((found.now, silent), (ahead, Duration::from_secs(3 * 60 * 60)));
        } else {
            assert!(silent < Duration::from_secs(60), "{found:?}");
        }
    }

    #[test]
    async fn queues_count_pending_items_only(store: TestStore) {
        assert_eq!(store.queues().await.unwrap(), Queues::default());
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let turn = begun(&store, begin("t-1", "c-1")).await;
        let letter = NewInboxMessage {
            id: InboxId::new("i-1").unwrap(),
            sender: SenderAddress::new("bob").unwrap(),
            body: "hello".to_owned(),
            at: now(),
        };
        store.stage(letter).await.unwrap();
        assert_eq!(store.queues().await.unwrap(), Queues { inbox: 1, turns: 1, ..Queues::default() });
        store.finish_turn(&turn.hold, done("c-1", "r-1")).await.unwrap();
        assert_eq!(store.queues().await.unwrap(), Queues { inbox: 1, ..Queues::default() });
    }
}
