use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;
use foreword_store::conversations::{ConversationPage, NewConversation};
use foreword_store::proxied::{NewLine, PASSED_THROUGH, ProxiedLine};
use foreword_store::requests::LastRequest;

use crate::contract::{contract, now};

fn later(seconds: u64) -> Timestamp {
    now().plus(Duration::from_secs(seconds))
}

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

fn line(name: &str, payer: &str, last_at: Timestamp, chain: &str) -> NewLine {
    let (payer, dialect, chain) = (payer.to_owned(), "anthropic".to_owned(), chain.to_owned());
    NewLine {
        line: ProxiedLine { conversation: id(name), payer, dialect, last_at, chain },
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
    async fn a_line_makes_its_conversation_and_comes_back_as_it_was_last(store: TestStore) {
        let first = line("p-1", "tok-1", now(), "aa");
        let last = line("p-1", "tok-1", later(5), "aabb");
        store.keep_proxied(vec![first], vec![request("p-1", now())]).await.unwrap();
        store.keep_proxied(vec![last.clone()], vec![request("p-1", later(5))]).await.unwrap();
        let again = store.open_again().await;
        assert_eq!(again.recent_proxied(10).await.unwrap(), [last.line]);
        assert_eq!(again.last_request("p-1").await.unwrap().unwrap().at, later(5));
        let made = again.conversation(&id("p-1")).await.unwrap().unwrap();
        assert_eq!((made.user.as_deref(), &*made.situation), (Some("alice"), PASSED_THROUGH));
        assert_eq!((made.created_at, made.last_activity_at), (now(), later(5)));
        assert_eq!(again.conversations(ConversationPage::first(5).of_user("alice")).await.unwrap(), [made]);
    }

    #[test]
    async fn what_another_node_wrote_later_stays(store: TestStore) {
        let newer = line("p-1", "tok-1", later(5), "new");
        store.keep_proxied(vec![newer.clone()], vec![]).await.unwrap();
        store.keep_proxied(vec![line("p-1", "tok-1", now(), "old")], vec![]).await.unwrap();
        assert_eq!(store.recent_proxied(10).await.unwrap(), [newer.line]);
    }

    #[test]
    async fn whoever_pays_finds_their_own_lines_and_nobody_elses(store: TestStore) {
        let lines = [("p-1", "tok-1", 1), ("p-2", "tok-2", 2), ("p-3", "tok-1", 3)];
        let lines = lines.map(|(id, payer, at)| line(id, payer, later(at), "aa"));
        store.keep_proxied(lines.to_vec(), vec![]).await.unwrap();
        let [first, other, last] = lines.map(|new| new.line);
        assert_eq!(store.proxied_of("tok-1", 10).await.unwrap(), [last.clone(), first]);
        assert_eq!(store.proxied_of("tok-1", 1).await.unwrap(), std::slice::from_ref(&last));
        assert_eq!(store.proxied_line("tok-1", &last.conversation).await.unwrap(), Some(last));
        assert_eq!(store.proxied_line("tok-1", &other.conversation).await.unwrap(), None);
    }

    #[test]
    async fn how_a_conversation_began_is_kept_by_whoever_does_not_remember_it(store: TestStore) {
        store.keep_proxied(vec![line("p-1", "tok-1", now(), "aa")], vec![]).await.unwrap();
        store.keep_proxied(vec![line("p-1", "tok-1", later(5), "")], vec![]).await.unwrap();
        assert_eq!(store.recent_proxied(10).await.unwrap(), [line("p-1", "tok-1", later(5), "aa").line]);
    }

    #[test]
    async fn no_line_is_laid_over_a_conversation_of_the_agents_own(store: TestStore) {
        let own = NewConversation::new(id("p-1"), "Ada", "direct", now());
        store.create_conversation(own).await.unwrap();
        store.keep_proxied(vec![line("p-1", "tok-1", later(9), "aa")], vec![]).await.unwrap();
        assert_eq!(store.recent_proxied(10).await.unwrap(), []);
        let found = store.conversation(&id("p-1")).await.unwrap().unwrap();
        assert_eq!((&*found.situation, found.last_activity_at), ("direct", now()));
    }

    #[test]
    async fn nobody_takes_over_a_line_that_somebody_else_pays_for(store: TestStore) {
        let first = line("p-1", "tok-1", now(), "aa");
        store.keep_proxied(vec![first.clone()], vec![]).await.unwrap();
        store.keep_proxied(vec![line("p-1", "tok-2", later(9), "bb")], vec![]).await.unwrap();
        assert_eq!(store.recent_proxied(10).await.unwrap(), [first.line]);
    }

    #[test]
    async fn a_conversation_that_came_to_nothing_is_forgotten_too(store: TestStore) {
        for (name, situation, at) in [
            ("proxy:c-old", PASSED_THROUGH, now()),
            ("proxy:c-young", PASSED_THROUGH, later(9)),
            ("signal:alice", PASSED_THROUGH, now()),
            ("proxy:c-other", "dm", now()),
        ] {
            store.create_conversation(NewConversation::new(id(name), "Ada", situation, at)).await.unwrap();
        }
        store.keep_proxied(vec![line("proxy:c-lined", "tok-1", later(9), "aa")], vec![]).await.unwrap();
        assert_eq!(store.forget_proxied(later(5)).await.unwrap(), 1);
        assert_eq!(store.conversation(&id("proxy:c-old")).await.unwrap(), None);
        for name in ["proxy:c-young", "signal:alice", "proxy:c-other", "proxy:c-lined"] {
            assert!(store.conversation(&id(name)).await.unwrap().is_some(), "{name}");
        }
    }

    #[test]
    async fn what_is_old_or_too_much_is_forgotten_with_its_conversation(store: TestStore) {
        let lines = (0..6).map(|number| line(&format!("p-{number}"), "tok-1", later(number), "aa"));
        let other = line("q-1", "tok-2", later(1), "aa");
        let requests = (0..6).map(|number| request(&format!("p-{number}"), later(number)));
        store.keep_proxied(lines.chain([other]).collect(), requests.collect()).await.unwrap();
        assert_eq!(store.trim_proxied("tok-1", 4).await.unwrap(), 2);
        assert_eq!(store.conversation(&id("p-1")).await.unwrap(), None);
        assert_eq!(store.last_request("p-1").await.unwrap(), None);
        assert_eq!(store.forget_proxied(later(3)).await.unwrap(), 2);
        let left = store.recent_proxied(10).await.unwrap();
        let left: Vec<&str> = left.iter().map(|line| line.conversation.as_str()).collect();
        assert_eq!(left, ["p-5", "p-4", "p-3"]);
        assert_eq!(store.last_request("p-5").await.unwrap().map(|last| last.at), Some(later(5)));
    }
}
