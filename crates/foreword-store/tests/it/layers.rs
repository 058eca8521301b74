use std::sync::Arc;

use foreword_core::id::TurnId;
use foreword_prompt::blueprint::{Blueprint, builtin};
use foreword_prompt::layer::LayerId;
use foreword_prompt::layer_update::{Refused, as_stored};
use foreword_store::changes::StoreChange;
use foreword_store::error::StoreError;
use foreword_store::layers::{LayerVersion, LayerWrite, MutableLayer, VersionOrigin, VersionWriter};
use foreword_store::store::Store;
use foreword_store::templates::NewTemplate;

use crate::contract::{at, contract, now, on_sqlite};

fn sovereign() -> Arc<Blueprint> {
    Arc::new(builtin::blueprint("sovereign").unwrap())
}

/// A program's blueprint with the default `default` for the layer `loop`.
fn program(default: &str) -> Arc<Blueprint> {
    limited(default, 100_000)
}

fn limited(default: &str, max_chars: usize) -> Arc<Blueprint> {
    let spec = format!(
        "max_chars: {max_chars}
layers:
  - {{ id: fixed, stability: static, source: {{ text: Be kind. }} }}
  - {{ id: loop, stability: agent, source: {{ stored: {default} }}, mutable: {{ max_chars: 4000 }} }}
  - {{ id: notes, stability: agent, source: {{ stored: sovereign-8 }}, mutable: {{ max_chars: 4000 }} }}
"
    );
    Arc::new(Blueprint::from_spec("mine", &serde_saphyr::from_str(&spec).unwrap()).unwrap())
}

fn text_of(default: &str) -> String {
    as_stored(builtin::text(default).unwrap())
}

fn alice() -> LayerWrite {
    LayerWrite::new(VersionWriter::Owner("alice".to_owned()), now())
}

fn expecting(expected: u64) -> LayerWrite {
    LayerWrite { expected: Some(expected), ..alice() }
}

async fn update(store: &Store, id: &str, text: &str) -> LayerVersion {
    store.update_layer(&sovereign(), id, text, alice()).await.unwrap().version
}

async fn history(store: &Store, blueprint: &str, id: &str) -> Vec<LayerVersion> {
    store.layer_history(blueprint, id, None, 100).await.unwrap()
}

async fn looped(store: &Store) -> MutableLayer {
    store.layer("mine", "loop").await.unwrap().unwrap()
}

contract! {
    #[test]
    async fn layer_versions_are_numbered_from_the_default(store: TestStore) {
        assert_eq!(store.layer("sovereign", "6").await.unwrap(), None);
        let agent = LayerWrite {
            writer: VersionWriter::Agent("Ada".to_owned()),
            turn: Some(TurnId::new("t-7").unwrap()),
            message: Some("the runway comes first".to_owned()),
            at: at("2026-11-17T08:00:00Z"),
            expected: Some(0),
        };
        let updated = store.update_layer(&sovereign(), "6", "\r\nCheck the runway.\r\n", agent.clone()).await.unwrap();
        let LayerVersion { version, text, origin, applied, writer, turn, message, at, hash, layer } = updated.version.clone();
        assert_eq!((layer.as_str(), version, text.as_str(), origin, applied), ("6", 2, "Check the runway.", VersionOrigin::Edit, true));
        assert_eq!((writer, turn, message, at), (agent.writer, agent.turn, agent.message, agent.at));
        assert_eq!(hash, foreword_prompt::text::ContentHash::of("Check the runway."));
        assert!(updated.accepted.remaining.unwrap() > 0 && updated.accepted.labels.is_empty());

        let again = store.open_again().await;
        let all = history(&again, "sovereign", "6").await;
        assert_eq!(all[0], updated.version);
        assert_eq!((all[1].version, all[1].origin, &all[1].writer), (1, VersionOrigin::Default, &VersionWriter::Program));
        assert_eq!(all[1].text, text_of("sovereign-6"));
        assert_eq!(again.layer_version("sovereign", "6", 1).await.unwrap(), all[1]);
        assert_eq!(again.layer("sovereign", "6").await.unwrap().unwrap().current, updated.version);
        assert_eq!(again.layer("mine", "6").await.unwrap(), None, "another blueprint's layer is another layer");
    }

    #[test]
    async fn history_is_read_a_page_at_a_time(store: TestStore) {
        for text in ["a", "b", "c"] {
            update(&store, "6", text).await;
        }
        let page = store.layer_history("sovereign", "6", None, 2).await.unwrap();
        assert_eq!(page.iter().map(|one| one.version).collect::<Vec<_>>(), [4, 3]);
        let page = store.layer_history("sovereign", "6", Some(3), 2).await.unwrap();
        assert_eq!(page.iter().map(|one| one.version).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(store.layer_history("sovereign", "7", None, 2).await.unwrap(), []);
    }

    #[test]
    async fn same_text_makes_no_new_version(store: TestStore) {
        let first = update(&store, "6", "Check the runway.").await;
        assert_eq!(update(&store, "6", "Check the runway.\n").await, first);
        let lost = store.update_layer(&sovereign(), "6", "Check the runway.", expecting(0)).await.unwrap();
        assert_eq!(lost.version, first, "an answer that got lost is given again");
        let default = update(&store, "7", &text_of("sovereign-7")).await;
        assert_eq!((default.version, default.origin), (1, VersionOrigin::Default));
        assert_eq!(history(&store, "sovereign", "7").await.len(), 1);
    }

    #[test]
    async fn outdated_layer_write_is_refused(store: TestStore) {
        store.update_layer(&sovereign(), "6", "a", expecting(0)).await.unwrap();
        for stale in [0, 1, 3] {
            let error = store.update_layer(&sovereign(), "6", "b", expecting(stale)).await.unwrap_err();
            assert_eq!(error.to_string(), format!("layer `6` is at version 2, not {stale}"));
            assert!(matches!(error, StoreError::VersionConflict { found: 2, .. }));
        }
        let error = store.rollback_layer(&sovereign(), "6", 1, expecting(1)).await.unwrap_err();
        assert!(matches!(error, StoreError::VersionConflict { expected: 1, found: 2, .. }), "{error}");
        assert_eq!(store.update_layer(&sovereign(), "6", "b", expecting(2)).await.unwrap().version.version, 3);
    }

    #[test]
    async fn rollback_is_a_new_version_naming_its_source(store: TestStore) {
        for text in ["a", "b"] {
            update(&store, "6", text).await;
        }
        let by = LayerWrite { message: Some("b was worse".to_owned()), ..expecting(3) };
        let back = store.rollback_layer(&sovereign(), "6", 2, by).await.unwrap().version;
        assert_eq!((back.version, back.text.as_str(), back.origin), (4, "a", VersionOrigin::Rollback { restores: 2 }));
        assert_eq!(store.layer("sovereign", "6").await.unwrap().unwrap().current, back);
        assert_eq!(history(&store, "sovereign", "6").await[0], back);
        assert_eq!(store.rollback_layer(&sovereign(), "6", 2, alice()).await.unwrap().version, back, "already there");
        let error = store.rollback_layer(&sovereign(), "6", 9, alice()).await.unwrap_err();
        assert_eq!(error.to_string(), "there is no layer version `6 v9`");
    }

    #[test]
    async fn only_mutable_layers_are_written_within_size_limits(store: TestStore) {
        let sovereign = sovereign();
        for id in ["0", "1", "2", "3", "4", "5", "10"] {
            for result in [
                store.update_layer(&sovereign, id, "x", alice()).await,
                store.rollback_layer(&sovereign, id, 1, alice()).await,
            ] {
                assert!(matches!(result, Err(StoreError::LayerRefused(Refused::Immutable { .. }))), "{id}");
            }
        }
        let refused = |id: &'static str, text: String| {
            let (store, sovereign) = (&store, &sovereign);
            async move { store.update_layer(sovereign, id, &text, alice()).await.unwrap_err() }
        };
        assert!(matches!(refused("66", "x".into()).await, StoreError::LayerRefused(Refused::Unknown { .. })));
        assert!(matches!(refused("6", " \n".into()).await, StoreError::LayerRefused(Refused::Blank { .. })));
        assert!(matches!(refused("6", "é".repeat(4_001)).await, StoreError::LayerRefused(Refused::TooLong { .. })));
        assert!(matches!(refused("6", "a\0b".into()).await, StoreError::ZeroByte));
        assert_eq!(store.layers("sovereign").await.unwrap(), [], "nothing of it was written");
    }

    #[test]
    async fn total_counts_the_current_layers(store: TestStore) {
        update(&store, "6", &"a".repeat(3_000)).await;
        let too_long = "b".repeat(3_000);
        let error = store.update_layer(&sovereign(), "7", &too_long, alice()).await.unwrap_err();
        let StoreError::LayerRefused(Refused::TotalTooLong { allowance, .. }) = error else { panic!("{error}") };
        let full = store.update_layer(&sovereign(), "7", &"b".repeat(allowance), alice()).await.unwrap();
        assert_eq!(full.accepted.remaining, Some(0));
        let error = store.update_layer(&sovereign(), "6", &"a".repeat(3_001), alice()).await.unwrap_err();
        assert!(matches!(error, StoreError::LayerRefused(Refused::TotalTooLong { allowance: 3_000, .. })), "{error}");
        update(&store, "6", "short").await;
        assert!(store.update_layer(&sovereign(), "7", &too_long, alice()).await.is_ok());
        let error = store.rollback_layer(&sovereign(), "6", 2, alice()).await.unwrap_err();
        assert!(matches!(error, StoreError::LayerRefused(Refused::TotalTooLong { .. })), "a rollback is no way around: {error}");
    }

    #[test]
    async fn concurrent_writes_never_exceed_the_total(store: TestStore) {
        let other = store.open_again().await;
        for round in 0..10 {
            for id in ["6", "7"] {
                update(&store, id, &format!("short {round}")).await;
            }
            let text = |letter: &str| format!("{round}{}", letter.repeat(3_500));
            let (sovereign, six, seven) = (sovereign(), text("a"), text("b"));
            let (one, two) = tokio::join!(
                store.update_layer(&sovereign, "6", &six, alice()),
                other.update_layer(&sovereign, "7", &seven, alice()),
            );
            assert!(one.is_ok() != two.is_ok(), "exactly one fits: {one:?} {two:?}");
            let refused = one.err().or(two.err()).unwrap();
            assert!(matches!(refused, StoreError::LayerRefused(Refused::TotalTooLong { .. })), "{refused}");
        }
    }

    #[test]
    async fn concurrent_writes_of_one_version_have_one_winner(store: TestStore) {
        let other = store.open_again().await;
        let sovereign = sovereign();
        for round in 0..10 {
            let found = store.layer("sovereign", "6").await.unwrap().map_or(0, |layer| layer.current.version);
            let (a, b) = (format!("a{round}"), format!("b{round}"));
            let (one, two) = tokio::join!(
                store.update_layer(&sovereign, "6", &a, expecting(found)),
                other.update_layer(&sovereign, "6", &b, expecting(found)),
            );
            assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
            let conflict = one.err().or(two.err()).unwrap();
            assert!(matches!(conflict, StoreError::VersionConflict { .. }), "{conflict}");
        }
        let versions: Vec<u64> = history(&store, "sovereign", "6").await.iter().map(|one| one.version).collect();
        assert_eq!(versions, (1..=11).rev().collect::<Vec<_>>(), "no number twice, and none missing");
    }

    #[test]
    async fn new_store_gets_each_default_once(store: TestStore) {
        let added = store.sync_defaults(&sovereign(), now()).await.unwrap();
        assert_eq!(added.iter().map(|one| one.layer.as_str()).collect::<Vec<_>>(), ["6", "7", "8", "9"]);
        assert!(added.iter().all(|one| one.version == 1 && one.applied && one.origin == VersionOrigin::Default));
        assert_eq!(store.sync_defaults(&sovereign(), now()).await.unwrap(), []);
        let layers = store.layers("sovereign").await.unwrap();
        assert_eq!(layers.iter().map(|layer| layer.current.clone()).collect::<Vec<_>>(), added);
        assert!(layers.iter().all(|layer| layer.is_default && layer.follows_defaults && layer.newer_default.is_none()));
    }

    #[test]
    async fn upgrade_replaces_an_unedited_layer(store: TestStore) {
        store.sync_defaults(&program("sovereign-6"), now()).await.unwrap();
        let added = store.sync_defaults(&program("sovereign-7"), now()).await.unwrap();
        assert_eq!(added.iter().map(|one| (one.layer.as_str(), one.version)).collect::<Vec<_>>(), [("loop", 2)]);
        let layer = looped(&store).await;
        assert_eq!(layer.current.text, text_of("sovereign-7"));
        assert_eq!((layer.current.version, layer.follows_defaults, layer.newer_default), (2, true, None));
    }

    #[test]
    async fn upgrade_keeps_an_edited_layer_and_shows_the_default(store: TestStore) {
        store.sync_defaults(&program("sovereign-6"), now()).await.unwrap();
        store.update_layer(&program("sovereign-6"), "loop", "Mine.", expecting(1)).await.unwrap();
        let edited = looped(&store).await;
        assert_eq!((edited.is_default, edited.follows_defaults, edited.newer_default), (false, false, None));

        let added = store.sync_defaults(&program("sovereign-7"), now()).await.unwrap();
        assert_eq!((added[0].version, added[0].applied), (3, false));
        let layer = looped(&store).await;
        assert_eq!((layer.current.version, layer.current.text.as_str()), (2, "Mine."));
        assert_eq!((layer.follows_defaults, layer.newer_default), (false, Some(3)));
        assert_eq!(history(&store, "mine", "loop").await[0], added[0]);

        let next = store.update_layer(&program("sovereign-7"), "loop", "Still mine.", expecting(2)).await.unwrap();
        assert_eq!(next.version.version, 4, "numbers go on behind what is on record");
        assert_eq!(looped(&store).await.newer_default, Some(3), "it is still there to be taken");
    }

    #[test]
    async fn layer_at_newest_default_follows_defaults_again(store: TestStore) {
        store.update_layer(&program("sovereign-6"), "loop", "Mine.", alice()).await.unwrap();
        store.sync_defaults(&program("sovereign-7"), now()).await.unwrap();
        let back = store.rollback_layer(&program("sovereign-7"), "loop", 3, alice()).await.unwrap().version;
        assert_eq!((back.version, back.origin), (4, VersionOrigin::Rollback { restores: 3 }));
        let layer = looped(&store).await;
        assert_eq!((layer.is_default, layer.follows_defaults, layer.newer_default), (true, true, None));
        store.sync_defaults(&program("sovereign-9"), now()).await.unwrap();
        assert_eq!(looped(&store).await.current.text, text_of("sovereign-9"));

        store.rollback_layer(&program("sovereign-9"), "loop", 1, alice()).await.unwrap();
        let pinned = looped(&store).await;
        assert_eq!((pinned.is_default, pinned.follows_defaults), (true, false), "an older default is a choice");
        assert_eq!(pinned.newer_default, None, "the newer one was in force and was left");
        store.sync_defaults(&program("sovereign-8"), now()).await.unwrap();
        let pinned = looped(&store).await;
        assert_eq!(pinned.current.text, text_of("sovereign-6"));
        assert_eq!(pinned.newer_default, Some(7));
    }

    #[test]
    async fn old_and_new_program_keep_each_others_defaults(store: TestStore) {
        let other = store.open_again().await;
        store.sync_defaults(&program("sovereign-6"), now()).await.unwrap();
        store.sync_defaults(&program("sovereign-7"), now()).await.unwrap();
        let settled = looped(&store).await;
        for _ in 0..3 {
            assert_eq!(other.sync_defaults(&program("sovereign-6"), now()).await.unwrap(), []);
            assert_eq!(store.sync_defaults(&program("sovereign-7"), now()).await.unwrap(), []);
        }
        assert_eq!(looped(&other).await, settled);
        assert_eq!(settled.current.text, text_of("sovereign-7"));
    }

    #[test]
    async fn concurrent_starts_record_each_default_once(store: TestStore) {
        let other = store.open_again().await;
        let sovereign = sovereign();
        let (one, two) = tokio::join!(store.sync_defaults(&sovereign, now()), other.sync_defaults(&sovereign, now()));
        assert_eq!(one.unwrap().len() + two.unwrap().len(), 4);
        for id in ["6", "7", "8", "9"] {
            assert_eq!(history(&store, "sovereign", id).await.len(), 1);
        }
    }

    #[test]
    async fn oversized_default_is_recorded_but_not_applied(store: TestStore) {
        let (short, long) = ("precedence", "sovereign-6");
        let room = "Be kind.".len() + text_of(short).chars().count() + "Mine.".len() + 2 * "\n\n".len();
        store.sync_defaults(&limited(short, room), now()).await.unwrap();
        store.update_layer(&limited(short, room), "notes", "Mine.", alice()).await.unwrap();
        let added = store.sync_defaults(&limited(long, room), now()).await.unwrap();
        assert!(text_of(long).len() > text_of(short).len());
        assert_eq!((added.len(), added[0].layer.as_str(), added[0].applied), (1, "loop", false));
        let layer = looped(&store).await;
        assert_eq!((layer.current.text, layer.newer_default), (text_of(short), Some(2)));
    }

    #[test]
    async fn template_and_layers_are_read_as_one_snapshot(store: TestStore) {
        let empty = store.current_texts("sovereign").await.unwrap();
        assert_eq!((empty.template(), empty.layers().count()), (None, 0));
        store.sync_defaults(&sovereign(), now()).await.unwrap();
        update(&store, "6", "Check the runway.").await;
        store.add_template(NewTemplate::new("You are kind.", "alice", now())).await.unwrap();
        let texts = store.current_texts("sovereign").await.unwrap();
        let template = texts.template().unwrap();
        assert_eq!((template.version, &*template.text), (1, "You are kind."));
        let six = texts.layer("sovereign", &LayerId::parse("6").unwrap()).unwrap();
        assert_eq!((six.version, &*six.text, six.is_default), (2, "Check the runway.", false));
        let seven = texts.layer("sovereign", &LayerId::parse("7").unwrap()).unwrap();
        assert_eq!((seven.version, &*seven.text, seven.is_default), (1, &*text_of("sovereign-7"), true));
        assert_eq!(texts.identity(), store.open_again().await.current_texts("sovereign").await.unwrap().identity());
        assert_ne!(texts.identity(), empty.identity());
    }

    #[test]
    async fn new_versions_are_announced_once(store: TestStore) {
        let mut changes = store.changes();
        update(&store, "6", "Check the runway.").await;
        assert_eq!(changes.recv().await.unwrap(), StoreChange::Layers);
        update(&store, "6", "Check the runway.").await;
        store.update_layer(&sovereign(), "1", "x", alice()).await.unwrap_err();
        store.add_template(NewTemplate::new("x", "alice", now())).await.unwrap();
        assert_eq!(changes.recv().await.unwrap(), StoreChange::Template);
    }
}

#[test]
fn damaged_text_is_refused_and_replaceable() {
    on_sqlite(|store| async move {
        let by = LayerWrite::new(VersionWriter::Owner("alice".to_owned()), now());
        store.update_layer(&sovereign(), "6", "Check first.", by.clone()).await.unwrap();
        store.add_template(NewTemplate::new("You are kind.", "alice", now())).await.unwrap();
        let database = rusqlite::Connection::open(store.location().path().unwrap()).unwrap();
        database.execute("UPDATE layer_versions SET content = 'Act first.' WHERE version = 2", []).unwrap();
        database.execute("UPDATE templates SET text = 'You are unkind.'", []).unwrap();
        let errors = [
            store.layer("sovereign", "6").await.unwrap_err(),
            store.layer_version("sovereign", "6", 2).await.unwrap_err(),
            store.current_texts("sovereign").await.unwrap_err(),
            store.template().await.unwrap_err(),
            store.template_version(1).await.unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        }
        let again = store.update_layer(&sovereign(), "6", "Check first.", by).await.unwrap();
        assert_eq!(again.version.version, 3, "the damaged one is not taken for the same");
        let again = store.add_template(NewTemplate::new("You are kind.", "alice", now())).await.unwrap();
        assert_eq!(again.version, 2);
        assert_eq!(store.template().await.unwrap(), Some(again));
    });
}
