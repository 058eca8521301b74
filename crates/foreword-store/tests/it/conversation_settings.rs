//! The contract of conversation settings.

use foreword_core::template_context::TemplateContext;
use foreword_store::backup::Existing;
use foreword_store::changes::StoreChange;
use foreword_store::conversation_settings::{ConversationSettings, SettingChange, SettingsUpdate};
use foreword_store::conversations::NewConversation;
use foreword_store::error::StoreError;
use serde_json::{Value, json};

use crate::contract::{contract, now};
use crate::conversations::{begin, id};
use crate::turns::fixtures;

fn context(value: Value) -> TemplateContext {
    value.as_object().unwrap().clone().into()
}

fn settings() -> ConversationSettings {
    ConversationSettings {
        session_instructions: Some("Be brief. ÄÖ🦀".to_owned()),
        cwd: Some("notes".to_owned()),
        context: Some(context(json!({ "locale": "pt-PT", "depth": { "list": [1, null, 2.5] } }))),
    }
}

contract! {
    #[test]
    async fn settings_survive_restart_and_reach_every_node(store: TestStore) {
        let new = NewConversation::new(id("c-1"), "Assistant", "direct", now());
        store.create_conversation(NewConversation { settings: settings(), ..new.clone() }).await.unwrap();
        let other_node = store.open_again().await;
        assert_eq!(other_node.conversation_settings(&id("c-1")).await.unwrap(), settings());
        // A conversation that exists keeps its settings.
        store.create_conversation(new).await.unwrap();
        assert_eq!(store.conversation_settings(&id("c-1")).await.unwrap(), settings());
        assert_eq!(store.turn_inputs(&id("c-1")).await.unwrap().settings.settings, settings());
        assert!(store.conversation_settings(&id("c-2")).await.unwrap().is_empty());
    }

    #[test]
    async fn settings_change_independently(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        let set = store.update_conversation_settings(&conversation, settings().into(), now()).await.unwrap();
        assert_eq!(set, settings());
        let update = SettingsUpdate {
            session_instructions: SettingChange::Remove,
            context: SettingChange::Set(context(json!({ "locale": "en" }))),
            ..SettingsUpdate::default()
        };
        let changed = store.update_conversation_settings(&conversation, update, now()).await.unwrap();
        let expected = ConversationSettings {
            session_instructions: None,
            context: Some(context(json!({ "locale": "en" }))),
            ..settings()
        };
        assert_eq!(changed, expected);
        assert_eq!(store.conversation_settings(&conversation).await.unwrap(), expected);
        let missing = store.update_conversation_settings(&id("c-2"), settings().into(), now()).await;
        assert!(matches!(missing, Err(StoreError::NotFound { .. })));
    }

    #[test]
    async fn settings_change_is_announced_and_invalidates_inputs(store: TestStore) {
        let conversation = fixtures::conversation(&store, "c-1").await;
        let mut changes = store.changes();
        let before = store.turn_inputs(&conversation).await.unwrap();
        store.update_conversation_settings(&conversation, settings().into(), now()).await.unwrap();
        // The creation may be announced late.
        while changes.recv().await.unwrap() != StoreChange::Settings(conversation.clone()) {}
        let after = store.turn_inputs(&conversation).await.unwrap();
        // Nothing changes, so nothing is outdated.
        store.update_conversation_settings(&conversation, settings().into(), now()).await.unwrap();
        fixtures::say(&store, &conversation, "m-1").await;
        let turn = fixtures::begun(&store, fixtures::begin("t-1", "c-1")).await;
        assert_eq!(before.followed_by(&turn), None);
        assert_eq!(after.followed_by(&turn).unwrap().settings.settings, settings());
    }

    #[test]
    async fn settings_are_in_backups_and_deleted_with_their_conversation(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        store.update_conversation_settings(&conversation, settings().into(), now()).await.unwrap();
        let report = store.check(|_| {}).await.unwrap();
        let rows = |name: &str| report.tables.iter().find(|table| table.name == name).unwrap().rows;
        assert_eq!((rows("conversation_settings"), report.problems.len()), (1, 0));
        let folder = tempfile::tempdir().unwrap();
        let backup = folder.path().join("backup.db");
        store.backup(&backup, Existing::Keep, |_| {}).await.unwrap();
        let restored = crate::sqlite::open(&folder.path().join("restored.db")).await.unwrap();
        restored.restore(&backup, |_| {}).await.unwrap();
        assert_eq!(restored.conversation_settings(&conversation).await.unwrap(), settings());
        assert!(store.delete_conversation(&conversation).await.unwrap());
        assert!(store.conversation_settings(&conversation).await.unwrap().is_empty());
        begin(&store, "c-1").await;
        assert!(store.conversation_settings(&conversation).await.unwrap().is_empty());
    }
}
