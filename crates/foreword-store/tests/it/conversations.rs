use std::time::Duration;

use foreword_core::id::{ConversationId, MessageId};
use foreword_core::message::{ContentBlock, Kind, NewMessage, Provenance, Role};
use foreword_prompt::trust::Trust;
use foreword_store::conversations::{
    Conversation, ConversationPage, ConversationSearch, Created, NewConversation, SearchScope,
};
use foreword_store::error::StoreError;
use foreword_store::messages::MessagePage;
use foreword_store::store::Store;

use crate::contract::{contract, now};
use crate::epochs::proposed;

pub(crate) fn id(text: &str) -> ConversationId {
    ConversationId::new(text).unwrap()
}

/// Makes a conversation with that id.
pub(crate) async fn begin(store: &Store, conversation: &str) -> ConversationId {
    let new = NewConversation::new(id(conversation), "Assistant", "direct", now());
    store.create_conversation(new).await.unwrap();
    id(conversation)
}

/// A message by alice at full trust.
pub(crate) fn new_message(conversation: &ConversationId, message: &str, text: &str) -> NewMessage {
    NewMessage {
        id: MessageId::new(message).unwrap(),
        conversation: conversation.clone(),
        role: Role::User,
        kind: Kind::Message,
        content: vec![ContentBlock::text(text)],
        trust: Trust::Full,
        provenance: Provenance::Owner,
        author: Some("alice".to_owned()),
        turn: None,
        usage: None,
        at: now(),
    }
}

fn ids(listed: &[Conversation]) -> Vec<&str> {
    listed.iter().map(|conversation| conversation.id.as_str()).collect()
}

/// All pages, two conversations each.
async fn all_pages(store: &Store, first: ConversationPage) -> Vec<Conversation> {
    let (mut all, mut next) = (Vec::new(), Some(first));
    while let Some(page) = next {
        let listed = store.conversations(page.clone()).await.unwrap();
        next = page.after(&listed);
        all.extend(listed);
    }
    all
}

/// All results of a search, page by page.
async fn all_found(store: &Store, first: ConversationSearch) -> Vec<Conversation> {
    let (mut all, mut next) = (Vec::new(), Some(first));
    while let Some(search) = next {
        let found = store.search_conversations(search.clone()).await.unwrap();
        next = search.after(&found);
        all.extend(found.conversations);
    }
    all
}

contract! {
    #[test]
    async fn search_finds_names_and_messages(store: TestStore) {
        let made = [
            ("c-1", "Ada", "alice", "signal:alice", "Dinner for Öko"),
            ("c-2", "scribe", "bob", "signal:bob", "100% wool_socks"),
            ("c-3", "Ada", "bob", "web:tab", "1000 wool socks"),
            ("c-4", "Ada", "carol", "web:tab", "Nothing"),
        ];
        for (number, (name, agent, user, channel, title)) in (0_u64..).zip(made) {
            let at = now().plus(Duration::from_secs(number));
            let new = NewConversation::new(id(name), agent, "dm", at);
            let (user, channel) = (Some(user.to_owned()), Some(channel.to_owned()));
            let new = NewConversation { user, channel, title: Some(title.to_owned()), ..new };
            store.create_conversation(new).await.unwrap();
        }
        let words = NewMessage { at: now(), ..new_message(&id("c-4"), "m-1", "A \"quoted\" line,\nin the TEXT of Zoë") };
        store.accept(words, None).await.unwrap();
        let names: [(&str, &[&str]); 12] = [
            ("dinner", &["c-1"]),
            ("öKO", &["c-1"]),
            ("100%", &["c-2"]),
            ("l_s", &["c-2"]),
            ("WOOL", &["c-3", "c-2"]),
            ("SCRIBE", &["c-2"]),
            ("bob", &["c-3", "c-2"]),
            ("web:", &["c-4", "c-3"]),
            ("C-", &["c-4", "c-3", "c-2", "c-1"]),
            ("quoted", &[]),
            ("%", &["c-2"]),
            ("!", &[]),
        ];
        for (words, expected) in names {
            let found = all_found(&store, ConversationPage::first(2).matching(words, SearchScope::Names)).await;
            assert_eq!(ids(&found), expected, "{words}");
        }
        let everywhere: [(&str, &[&str]); 6] = [
            ("\"QUOTED\"", &["c-4"]),
            (",\nin", &["c-4"]),
            ("zoË", &["c-4"]),
            ("the text", &["c-4"]),
            // JSON keys are not message text.
            ("type", &[]),
            ("wool", &["c-3", "c-2"]),
        ];
        for (words, expected) in everywhere {
            let found = all_found(&store, ConversationPage::first(2).matching(words, SearchScope::NamesAndMessages)).await;
            assert_eq!(ids(&found), expected, "{words}");
        }
        let bobs = ConversationPage::first(1).of_user("bob");
        let wool = |page: &ConversationPage| page.clone().matching("wool", SearchScope::NamesAndMessages);
        assert_eq!(ids(&all_found(&store, wool(&bobs)).await), ["c-3", "c-2"]);
        assert_eq!(ids(&all_found(&store, wool(&bobs.of_agent("scribe"))).await), ["c-2"]);
        assert_eq!(all_found(&store, ConversationPage::first(0).matching("wool", SearchScope::Names)).await, []);
        let zero = store.search_conversations(ConversationPage::first(2).matching("\0", SearchScope::NamesAndMessages)).await;
        assert!(matches!(zero, Err(StoreError::ZeroByte)), "{zero:?}");
    }

    #[test]
    async fn search_ignores_case_in_all_scripts(store: TestStore) {
        let made = [("c-1", "Reise nach 日本"), ("c-2", "İSTANBUL"), ("c-3", "Привет"), ("c-4", "Nothing")];
        for (number, (name, words)) in (0_u64..).zip(made) {
            let at = now().plus(Duration::from_secs(number));
            store.create_conversation(NewConversation::new(id(name), "Ada", "dm", at)).await.unwrap();
            store.accept(NewMessage { at, ..new_message(&id(name), &format!("m-{number}"), words) }, None).await.unwrap();
        }
        let cases = [("日本", "c-1"), ("İstanbul", "c-2"), ("i\u{307}stanbul", "c-2"), ("пРИВЕТ", "c-3"), ("привет", "c-3")];
        for (words, expected) in cases {
            let found = all_found(&store, ConversationPage::first(2).matching(words, SearchScope::NamesAndMessages)).await;
            assert_eq!(ids(&found), [expected], "{words}");
        }
    }

    #[test]
    async fn search_scans_a_limited_number_and_continues(store: TestStore) {
        for number in 0_u64..7 {
            let (name, at) = (format!("c-{number}"), now().plus(Duration::from_secs(number)));
            store.create_conversation(NewConversation::new(id(&name), "Ada", "dm", at)).await.unwrap();
            let words = if number % 4 == 0 { "An anchor." } else { "A pump." };
            store.accept(NewMessage { at, ..new_message(&id(&name), &format!("m-{number}"), words) }, None).await.unwrap();
        }
        let search = ConversationPage::first(5).matching("anchor", SearchScope::NamesAndMessages).scan_limit(2);
        let nothing = store.search_conversations(search.clone()).await.unwrap();
        assert_eq!((ids(&nothing.conversations), nothing.scanned_to.is_some()), (vec![], true));
        let short = store.search_conversations(search.clone().after(&nothing).unwrap()).await.unwrap();
        assert_eq!((ids(&short.conversations), short.scanned_to.is_some()), (vec!["c-4"], true));
        assert_eq!(ids(&all_found(&store, search).await), ["c-4", "c-0"]);
        // A full page continues after its last match, and the last page says that it is the last.
        let full = ConversationPage::first(1).matching("anchor", SearchScope::NamesAndMessages);
        let first = store.search_conversations(full.clone()).await.unwrap();
        let second = store.search_conversations(full.after(&first).unwrap()).await.unwrap();
        assert_eq!((ids(&first.conversations), ids(&second.conversations)), (vec!["c-4"], vec!["c-0"]));
        assert_eq!(second.scanned_to, None);
    }

    #[test]
    async fn agent_conversations_are_paged(store: TestStore) {
        for number in 0..7_u64 {
            let agent = if number % 2 == 0 { "Ada" } else { "Charles" };
            let user = if number < 4 { "alice" } else { "bob" };
            let at = now().plus(Duration::from_secs(number));
            let new = NewConversation::new(id(&format!("c-{number}")), agent, "dm", at);
            let new = NewConversation { user: Some(user.to_owned()), ..new };
            store.create_conversation(new).await.unwrap();
        }
        let of_ada = all_pages(&store, ConversationPage::first(2).of_agent("Ada")).await;
        assert_eq!(ids(&of_ada), ["c-6", "c-4", "c-2", "c-0"]);
        let of_both = all_pages(&store, ConversationPage::first(1).of_agent("Ada").of_user("alice")).await;
        assert_eq!(ids(&of_both), ["c-2", "c-0"]);
    }

    #[test]
    async fn conversation_is_created_once(store: TestStore) {
        let new = NewConversation {
            user: Some("alice".to_owned()),
            channel: Some("signal:group-7".to_owned()),
            title: Some("Dinner".to_owned()),
            one_of_several: true,
            ..NewConversation::new(id("c-1"), "Assistant", "group", now())
        };
        assert_eq!(store.conversation(&id("c-1")).await.unwrap(), None);
        let Created::New(made) = store.create_conversation(new.clone()).await.unwrap() else { panic!("not new") };
        assert_eq!((made.user.as_deref(), made.channel.as_deref()), (Some("alice"), Some("signal:group-7")));
        let other = NewConversation { user: Some("mallory".to_owned()), ..new };
        assert_eq!(store.create_conversation(other).await.unwrap(), Created::Before(made.clone()));
        assert_eq!(store.open_again().await.conversation(&id("c-1")).await.unwrap(), Some(made));
    }

    #[test]
    async fn concurrent_creates_make_one_conversation(store: TestStore) {
        let again = store.open_again().await;
        let tasks: Vec<_> = (0..16).map(|index| {
            let store = if index % 2 == 0 { (*store).clone() } else { again.clone() };
            tokio::spawn(async move {
                store.create_conversation(NewConversation::new(id("c-1"), "Assistant", "direct", now())).await.unwrap()
            })
        }).collect();
        let mut made = 0;
        for task in tasks {
            made += u32::from(matches!(task.await.unwrap(), Created::New(_)));
        }
        assert_eq!(made, 1);
    }

    #[test]
    async fn conversations_are_paged_by_last_activity(store: TestStore) {
        // Conversations with the same time are ordered by id, without gaps or duplicates.
        for (conversation, minute) in [("c-1", 5), ("c-2", 1), ("c-3", 5), ("c-4", 5), ("c-5", 9)] {
            let at = now().plus(Duration::from_secs(60 * minute));
            let user = Some(if conversation < "c-3" { "alice" } else { "bob" }.to_owned());
            let new = NewConversation { user, ..NewConversation::new(id(conversation), "Assistant", "direct", at) };
            store.create_conversation(new).await.unwrap();
        }
        let everybody = all_pages(&store, ConversationPage::first(2)).await;
        assert_eq!(ids(&everybody), ["c-5", "c-4", "c-3", "c-1", "c-2"]);
        let of_bob = all_pages(&store, ConversationPage::first(2).of_user("bob")).await;
        assert_eq!(ids(&of_bob), ["c-5", "c-4", "c-3"]);

        let mut late = new_message(&id("c-2"), "m-1", "hello");
        late.at = now().plus(Duration::from_secs(3_600));
        store.accept(late, None).await.unwrap();
        let everybody = store.conversations(ConversationPage::first(1)).await.unwrap();
        assert_eq!(ids(&everybody), ["c-2"]);
    }

    #[test]
    async fn last_activity_never_decreases(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        let mut early = new_message(&conversation, "m-1", "from the past");
        early.at = now().minus(Duration::from_secs(86_400));
        store.accept(early, None).await.unwrap();
        assert_eq!(store.conversation(&conversation).await.unwrap().unwrap().last_activity_at, now());
    }

    #[test]
    async fn deleting_a_conversation_does_not_affect_others(store: TestStore) {
        let (gone, stays) = (begin(&store, "c-1").await, begin(&store, "c-2").await);
        for conversation in [&gone, &stays] {
            store.accept(new_message(conversation, &format!("m-{conversation}"), "hello"), None).await.unwrap();
            store.epoch_for(proposed(conversation, "Shared by both.")).await.unwrap();
        }
        assert!(store.delete_conversation(&gone).await.unwrap());
        assert!(!store.delete_conversation(&gone).await.unwrap());

        assert_eq!(store.conversation(&gone).await.unwrap(), None);
        assert_eq!(store.all_messages(&gone, MessagePage::newest(9)).await.unwrap(), []);
        assert_eq!(store.epochs(&gone).await.unwrap(), []);
        let error = store.accept(new_message(&gone, "m-3", "hello?"), None).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{error}");

        assert_eq!(store.history(&stays).await.unwrap().messages.len(), 1);
        let epoch = store.epoch(&stays, Trust::Full, Some("alice")).await.unwrap().unwrap();
        assert_eq!(&*epoch.prompt.text, "Shared by both.");
        // A new conversation with the old id is empty.
        begin(&store, "c-1").await;
        assert_eq!(store.epoch(&gone, Trust::Full, Some("alice")).await.unwrap(), None);
        assert_eq!(store.history(&gone).await.unwrap().messages, []);
    }

    #[test]
    async fn creation_and_deletion_are_announced(store: TestStore) {
        use foreword_store::changes::StoreChange;
        let mut changes = store.changes();
        let conversation = begin(&store, "c-1").await;
        assert_eq!(changes.recv().await.unwrap(), StoreChange::Conversation(conversation.clone()));
        store.delete_conversation(&conversation).await.unwrap();
        assert_eq!(changes.recv().await.unwrap(), StoreChange::Conversation(conversation));
    }
}
