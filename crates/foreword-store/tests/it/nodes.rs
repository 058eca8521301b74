//! Servers that share a store, and what waits in it.

use std::time::Duration;

use foreword_core::id::InboxId;
use foreword_core::sender::SenderAddress;
use foreword_store::mailboxes::NewInboxMessage;
use foreword_store::nodes::Node;
use foreword_store::queues::Queues;
use foreword_store::store::Store;

use crate::contract::{contract, now};
use crate::turns::made_up::{begin, begun, conversation, done, say};

fn node(name: &str, seen_after: u64) -> Node {
    Node {
        node: name.parse().unwrap(),
        version: "0.1.0".to_owned(),
        listen: "127.0.0.1:7777".to_owned(),
        started_at: now(),
        seen_at: now().plus(Duration::from_secs(seen_after)),
    }
}

async fn seen(store: &Store, after: u64) -> Vec<String> {
    let nodes = store.nodes(now().plus(Duration::from_secs(after))).await.unwrap();
    nodes.into_iter().map(|node| node.node.to_string()).collect()
}

contract! {
    #[test]
    async fn a_node_is_there_until_it_stops_or_is_forgotten(store: TestStore) {
        for one in [node("node-b", 10), node("node-a", 0), node("node-c", 0)] {
            store.node_is_there(one).await.unwrap();
        }
        assert_eq!(seen(&store, 0).await, ["node-a", "node-b", "node-c"]);
        store.node_is_there(node("node-a", 20)).await.unwrap();
        assert_eq!(store.open_again().await.nodes(now()).await.unwrap()[0], node("node-a", 20));
        assert_eq!(seen(&store, 10).await, ["node-a", "node-b"]);
        store.node_has_stopped(&"node-b".parse().unwrap()).await.unwrap();
        store.node_has_stopped(&"node-b".parse().unwrap()).await.unwrap();
        assert_eq!(seen(&store, 0).await, ["node-a", "node-c"]);
        assert_eq!(store.forget_nodes(now().plus(Duration::from_secs(5))).await.unwrap(), 1);
        assert_eq!(seen(&store, 0).await, ["node-a"]);
    }

    #[test]
    async fn what_waits_is_counted_and_what_is_done_is_not(store: TestStore) {
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
