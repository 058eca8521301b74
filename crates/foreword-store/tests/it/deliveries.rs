use std::time::Duration;

use foreword_core::id::{DeliveryId, NodeId};
use foreword_core::message::{NewMessage, Role};
use foreword_store::conversations::NewConversation;
use foreword_store::deliveries::{ClaimDeliveries, NewDelivery, SendOutcome, scope};
use foreword_store::error::StoreError;
use foreword_store::messages::IdempotencyKey;
use foreword_store::store::Store;
use serde_json::json;

use crate::contract::{contract, now};
use crate::turns::fixtures::{begin, begun, done, message};

const LEASE: Duration = Duration::from_secs(30);

fn new(number: u32, channel: &str) -> NewDelivery {
    NewDelivery {
        id: DeliveryId::new(format!("d-{number}")).unwrap(),
        family: "signal".to_owned(),
        channel: channel.to_owned(),
        conversation: "c-1".parse().unwrap(),
        turn: format!("t-{number}").parse().unwrap(),
        in_reply_to: None,
        body: json!({ "text": number }),
        at: now().minus(LEASE),
    }
}

fn node(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

/// The ids of the deliveries that `by` can claim now.
async fn claim(store: &Store, by: &str) -> Vec<String> {
    let claim = ClaimDeliveries { node: node(by), lease: LEASE, limit: 10, now: now() };
    let claimed = store.claim_deliveries(claim).await.unwrap();
    claimed.into_iter().map(|delivery| delivery.id.to_string()).collect()
}

fn id(text: &str) -> DeliveryId {
    DeliveryId::new(text).unwrap()
}

/// A turn that has answered a message from a channel.
async fn answered(store: &Store, number: u32, channel: &str) {
    let (name, message_id) = (format!("c-{number}"), format!("m-{number}"));
    let new = NewConversation::new(name.parse().unwrap(), "assistant", "dm", now());
    let new = NewConversation { channel: Some(channel.to_owned()), ..new };
    store.create_conversation(new).await.unwrap();
    let said = NewMessage { role: Role::User, ..message(&name, &message_id) };
    let key = IdempotencyKey { scope: scope(channel), key: message_id };
    store.accept(said, Some(key)).await.unwrap();
    let turn = begun(store, begin(&format!("t-{number}"), &name)).await;
    store.finish_turn(&turn.hold, done(&name, &format!("r-{number}"))).await.unwrap();
}

contract! {
    #[test]
    async fn unwanted_answers_do_not_block_others(store: TestStore) {
        let channels = ["irc:a", "irc:b", "signal2:bob", "signal:bob", "matrix:carol", "signal:carol", "signal"];
        for (number, channel) in (1..).zip(channels) {
            answered(&store, number, channel).await;
        }
        let unsent = async |families: &[&str], limit| {
            let families = families.iter().map(ToString::to_string).collect();
            let unsent = store.unsent_answers(families, now().minus(LEASE), now(), limit).await.unwrap();
            unsent.into_iter().map(|answer| answer.channel).collect::<Vec<_>>()
        };
        assert_eq!(unsent(&["signal"], 2).await, ["signal:bob", "signal:carol"]);
        assert_eq!(unsent(&["irc", "matrix"], 1).await, ["irc:a", "matrix:carol"]);
        assert_eq!(unsent(&[], 9).await, [""; 0]);
    }

    #[test]
    async fn delivery_is_added_once_and_sent_in_order(store: TestStore) {
        assert!(store.add_delivery(new(1, "signal:bob")).await.unwrap());
        assert!(!store.add_delivery(new(1, "signal:bob")).await.unwrap());
        store.add_delivery(new(2, "signal:bob")).await.unwrap();
        store.add_delivery(new(3, "signal:carol")).await.unwrap();
        let other = store.open_again().await;
        assert_eq!(claim(&store, "a").await, ["d-1", "d-3"]);
        assert_eq!(claim(&other, "b").await, [""; 0]);
        assert!(!other.delivery_sent(&id("d-1"), &node("b"), SendOutcome::Taken, now()).await.unwrap());
        assert!(store.delivery_sent(&id("d-1"), &node("a"), SendOutcome::Taken, now()).await.unwrap());
        assert_eq!(claim(&other, "b").await, ["d-2"]);
        let listed = store.deliveries(None, 10).await.unwrap();
        assert_eq!(listed.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["d-3", "d-2", "d-1"]);
        assert!(listed[2].delivered_at.is_some() && listed[1].delivered_at.is_none());
        assert_eq!(store.deliveries(Some(listed[0].number), 1).await.unwrap()[0].id, id("d-2"));
    }

    #[test]
    async fn failed_delivery_is_rescheduled(store: TestStore) {
        store.add_delivery(new(1, "signal:bob")).await.unwrap();
        assert_eq!(claim(&store, "a").await, ["d-1"]);
        let later = SendOutcome::Later { error: "away".to_owned(), due_at: now().plus(LEASE) };
        store.delivery_sent(&id("d-1"), &node("a"), later, now()).await.unwrap();
        assert_eq!(claim(&store, "a").await, [""; 0]);
        assert!(store.next_delivery().await.unwrap().is_some());
        let refused = store.retry_delivery(&id("d-1"), now()).await.unwrap_err();
        assert!(matches!(refused, StoreError::NotFound { .. }), "{refused}");
        let now_due = SendOutcome::Later { error: "away".to_owned(), due_at: now() };
        assert!(!store.delivery_sent(&id("d-1"), &node("a"), now_due, now()).await.unwrap());
    }

    #[test]
    async fn given_up_delivery_restarts_its_attempts(store: TestStore) {
        store.add_delivery(new(1, "signal:bob")).await.unwrap();
        store.add_delivery(new(2, "signal:bob")).await.unwrap();
        claim(&store, "a").await;
        let given_up = SendOutcome::GivenUp { error: "gone".to_owned() };
        store.delivery_sent(&id("d-1"), &node("a"), given_up, now()).await.unwrap();
        assert_eq!(claim(&store, "a").await, ["d-2"]);
        store.delivery_sent(&id("d-2"), &node("a"), SendOutcome::Taken, now()).await.unwrap();
        assert_eq!(store.next_delivery().await.unwrap(), None);
        let again = store.retry_delivery(&id("d-1"), now()).await.unwrap();
        assert_eq!((again.attempts, again.gave_up_at, again.error.as_deref()), (0, None, Some("gone")));
        assert_eq!(claim(&store, "b").await, ["d-1"]);
    }
}
