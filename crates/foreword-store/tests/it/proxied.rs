use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_store::conversations::{ConversationPage, NewConversation};
use foreword_store::proxied::{NewProxiedConversation, PROXY_SITUATION, ProxiedConversation};
use foreword_store::requests::LastRequest;

use crate::contract::{contract, now};

fn later(seconds: u64) -> Timestamp {
    now().plus(Duration::from_secs(seconds))
}

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

fn conversation(name: &str, payer: &str, last_at: Timestamp, chain: &str) -> NewProxiedConversation {
    let (payer, dialect, chain) = (payer.to_owned(), "anthropic".to_owned(), chain.to_owned());
    NewProxiedConversation {
        proxied: ProxiedConversation { conversation: id(name), payer, dialect, last_at, chain },
        agent: "Ada".to_owned(),
        user: Some("alice".to_owned()),
        channel: "proxy:tok-1".to_owned(),
    }
}

fn request(thread: &str, at: Timestamp) -> LastRequest {
    let (thread, shape) = (thread.to_owned(), "{}".to_owned());
    LastRequest { thread, at, shape, epoch: None, usage: None, answer_id: None }
}

contract! {
    #[test]
    async fn proxied_conversation_round_trips(store: TestStore) {
        let first = conversation("p-1", "tok-1", now(), "aa");
        let last = conversation("p-1", "tok-1", later(5), "aabb");
        store.save_proxied(vec![first], vec![request("p-1", now())]).await.unwrap();
        store.save_proxied(vec![last.clone()], vec![request("p-1", later(5))]).await.unwrap();
        let again = store.open_again().await;
        assert_eq!(again.recent_proxied(10).await.unwrap(), [last.proxied]);
        assert_eq!(again.last_request("p-1").await.unwrap().unwrap().at, later(5));
        let made = again.conversation(&id("p-1")).await.unwrap().unwrap();
        assert_eq!((made.user.as_deref(), &*made.situation), (Some("alice"), PROXY_SITUATION));
        assert_eq!((made.created_at, made.last_activity_at), (now(), later(5)));
        assert_eq!(again.conversations(ConversationPage::first(5).of_user("alice")).await.unwrap(), [made]);
    }

    #[test]
    async fn later_write_of_another_node_stays(store: TestStore) {
        let newer = conversation("p-1", "tok-1", later(5), "new");
        store.save_proxied(vec![newer.clone()], vec![]).await.unwrap();
        store.save_proxied(vec![conversation("p-1", "tok-1", now(), "old")], vec![]).await.unwrap();
        assert_eq!(store.recent_proxied(10).await.unwrap(), [newer.proxied]);
    }

    #[test]
    async fn payer_reads_only_own_conversations(store: TestStore) {
        let lines = [("p-1", "tok-1", 1), ("p-2", "tok-2", 2), ("p-3", "tok-1", 3)];
        let lines = lines.map(|(id, payer, at)| conversation(id, payer, later(at), "aa"));
        store.save_proxied(lines.to_vec(), vec![]).await.unwrap();
        let [first, other, last] = lines.map(|new| new.proxied);
        assert_eq!(store.proxied_of("tok-1", 10).await.unwrap(), [last.clone(), first]);
        assert_eq!(store.proxied_of("tok-1", 1).await.unwrap(), std::slice::from_ref(&last));
        assert_eq!(store.proxied_line("tok-1", &last.conversation).await.unwrap(), Some(last));
        assert_eq!(store.proxied_line("tok-1", &other.conversation).await.unwrap(), None);
    }

    #[test]
    async fn empty_chain_keeps_the_stored_chain(store: TestStore) {
        store.save_proxied(vec![conversation("p-1", "tok-1", now(), "aa")], vec![]).await.unwrap();
        store.save_proxied(vec![conversation("p-1", "tok-1", later(5), "")], vec![]).await.unwrap();
        assert_eq!(store.recent_proxied(10).await.unwrap(), [conversation("p-1", "tok-1", later(5), "aa").proxied]);
    }

    #[test]
    async fn agent_conversations_are_never_overwritten(store: TestStore) {
        let own = NewConversation::new(id("p-1"), "Ada", "direct", now());
        store.create_conversation(own).await.unwrap();
        store.save_proxied(vec![conversation("p-1", "tok-1", later(9), "aa")], vec![]).await.unwrap();
        assert_eq!(store.recent_proxied(10).await.unwrap(), []);
        let found = store.conversation(&id("p-1")).await.unwrap().unwrap();
        assert_eq!((&*found.situation, found.last_activity_at), ("direct", now()));
    }

    #[test]
    async fn other_payers_conversation_is_not_taken_over(store: TestStore) {
        let first = conversation("p-1", "tok-1", now(), "aa");
        store.save_proxied(vec![first.clone()], vec![]).await.unwrap();
        store.save_proxied(vec![conversation("p-1", "tok-2", later(9), "bb")], vec![]).await.unwrap();
        assert_eq!(store.recent_proxied(10).await.unwrap(), [first.proxied]);
    }

    #[test]
    async fn failed_proxied_conversation_is_pruned_too(store: TestStore) {
        for (name, situation, at) in [
            ("proxy:c-old", PROXY_SITUATION, now()),
            ("proxy:c-young", PROXY_SITUATION, later(9)),
            ("signal:alice", PROXY_SITUATION, now()),
            ("proxy:c-other", "dm", now()),
        ] {
            store.create_conversation(NewConversation::new(id(name), "Ada", situation, at)).await.unwrap();
        }
        store.save_proxied(vec![conversation("proxy:c-lined", "tok-1", later(9), "aa")], vec![]).await.unwrap();
        assert_eq!(store.prune_proxied(later(5)).await.unwrap(), 1);
        assert_eq!(store.conversation(&id("proxy:c-old")).await.unwrap(), None);
        for name in ["proxy:c-young", "signal:alice", "proxy:c-other", "proxy:c-lined"] {
            assert!(store.conversation(&id(name)).await.unwrap().is_some(), "{name}");
        }
    }

    #[test]
    async fn old_and_surplus_conversations_are_pruned(store: TestStore) {
        let lines = (0..6).map(|number| conversation(&format!("p-{number}"), "tok-1", later(number), "aa"));
        let other = conversation("q-1", "tok-2", later(1), "aa");
        let requests = (0..6).map(|number| request(&format!("p-{number}"), later(number)));
        store.save_proxied(lines.chain([other]).collect(), requests.collect()).await.unwrap();
        assert_eq!(store.trim_proxied("tok-1", 4).await.unwrap(), 2);
        assert_eq!(store.conversation(&id("p-1")).await.unwrap(), None);
        assert_eq!(store.last_request("p-1").await.unwrap(), None);
        assert_eq!(store.prune_proxied(later(3)).await.unwrap(), 2);
        let left = store.recent_proxied(10).await.unwrap();
        let left: Vec<&str> = left.iter().map(|one| one.conversation.as_str()).collect();
        assert_eq!(left, ["p-5", "p-4", "p-3"]);
        assert_eq!(store.last_request("p-5").await.unwrap().map(|last| last.at), Some(later(5)));
    }
}
