use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_prompt::assemble::{FrozenMaterial, Materials, Provenance, Settings, assemble};
use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::budget::TokenBudget;
use foreword_prompt::content::Content;
use foreword_prompt::epoch::{Dependencies, EpochTriggers, HardDependencies, Reason};
use foreword_prompt::layer::{Authority, Source, Stability};
use foreword_prompt::plan::{Plan, PlanFor};
use foreword_prompt::prompt::{CacheClass, Frozen, SegmentStatus, TurnPlacement};
use foreword_prompt::text::ContentHash;
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::trust::{Trust, TrustDecision};
use foreword_store::epochs::{CurrentEpoch, FrozenBlock, FrozenLayer, FrozenPrompt, ProposedEpoch};
use foreword_store::error::StoreError;
use foreword_store::location::Location;
use foreword_store::store::Store;
use foreword_store::templates::NewTemplate;
use proptest::prelude::*;

use crate::contract::{contract, now, on_sqlite};
use crate::conversations::{begin, id};

/// A prompt of one layer at full trust.
pub(crate) fn proposed(conversation: &ConversationId, text: &str) -> ProposedEpoch {
    let layer = FrozenLayer {
        id: "soul".to_owned(),
        title: "Soul".to_owned(),
        authority: Authority::Identity,
        stability: Stability::Agent,
        trust: Trust::Public,
        source: "file".to_owned(),
        origin: Some("SOUL.md".to_owned()),
        status: SegmentStatus::Included,
        range: 0..text.len(),
        separator: 0,
        tokens: 7,
        hash: ContentHash::of(text),
        cut: None,
    };
    let block = FrozenBlock {
        class: CacheClass::Agent,
        range: 0..text.len(),
        layers: vec!["soul".to_owned()],
        tokens: 7,
    };
    ProposedEpoch {
        conversation: conversation.clone(),
        prompt: FrozenPrompt { text: text.into(), tokens: 7, blocks: vec![block], layers: vec![layer] },
        dependencies: Dependencies {
            hard: HardDependencies {
                trust: Trust::Full,
                agent: "Assistant".into(),
                blueprint: "gateway".into(),
                cwd: "/home/alice".into(),
                tools: ContentHash::of("tools"),
                channel_family: None,
                model_family: "claude".into(),
                personal_to: Some("alice".into()),
                session_instructions: None,
                context: None,
            },
            soft: [("soul".into(), ContentHash::of(text))].into(),
        },
        triggers: EpochTriggers::default(),
        layer_versions: BTreeMap::from([("6".to_owned(), 3)]),
        template_version: Some(2),
        at: now(),
    }
}

pub(crate) fn at_trust(trust: Trust, mut proposed: ProposedEpoch) -> ProposedEpoch {
    proposed.dependencies.hard.trust = trust;
    proposed
}

async fn reasons(store: &Store, conversation: &ConversationId) -> Vec<Reason> {
    store.epochs(conversation).await.unwrap().into_iter().map(|epoch| epoch.reason).collect()
}

contract! {
    #[test]
    async fn prompt_is_frozen_on_the_first_turn_and_reused_exactly(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        assert_eq!(store.epoch(&conversation, Trust::Full, Some("alice")).await.unwrap(), None);
        let opened = store.epoch_for(proposed(&conversation, "You are kind.\n")).await.unwrap();
        let CurrentEpoch::Opened(first) = &opened else { panic!("{opened:?}") };
        assert_eq!((first.info.number, &first.info.reason), (1, &Reason::FirstTurn));
        assert_eq!(first.info.fingerprint, ContentHash::of("You are kind.\n"));
        assert_eq!(first.prompt.text_of(&first.prompt.layers[0]), "You are kind.\n");

        let again = store.epoch_for(proposed(&conversation, "You are kind.\n")).await.unwrap();
        assert_eq!(again, CurrentEpoch::Reused { epoch: first.clone(), drifted: vec![] });
        let elsewhere = store.open_again().await;
        assert_eq!(elsewhere.epoch(&conversation, Trust::Full, Some("alice")).await.unwrap().as_ref(), Some(first));
        assert_eq!(&elsewhere.epoch_number(&conversation, 1).await.unwrap(), first);
    }

    #[test]
    async fn drift_is_reported_and_applied_when_free(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        store.epoch_for(proposed(&conversation, "You are kind.")).await.unwrap();
        let edited = proposed(&conversation, "You are kinder.");
        let CurrentEpoch::Reused { epoch, drifted } = store.epoch_for(edited.clone()).await.unwrap() else { panic!("opened") };
        assert_eq!((&*epoch.prompt.text, &*drifted[0]), ("You are kind.", "soul"));

        let cold = EpochTriggers { cache_cold: true, ..EpochTriggers::default() };
        let opened = store.epoch_for(ProposedEpoch { triggers: cold, ..edited }).await.unwrap();
        assert_eq!((&*opened.epoch().prompt.text, opened.epoch().info.number), ("You are kinder.", 2));
        assert_eq!(reasons(&store, &conversation).await, [Reason::FirstTurn, Reason::CacheCold]);
        assert_eq!(&*store.epoch_number(&conversation, 1).await.unwrap().prompt.text, "You are kind.");
    }

    #[test]
    async fn frozen_prompt_is_never_returned_at_another_trust(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        let private = proposed(&conversation, "Alice's diary.");
        let shared = at_trust(Trust::Familiar, proposed(&conversation, "Hello, all."));
        store.epoch_for(private.clone()).await.unwrap();
        assert_eq!(store.epoch(&conversation, Trust::Familiar, Some("alice")).await.unwrap(), None);

        let fallen = store.epoch_for(shared.clone()).await.unwrap();
        assert_eq!(&*fallen.epoch().prompt.text, "Hello, all.");
        assert_eq!(store.epoch(&conversation, Trust::Full, Some("alice")).await.unwrap(), None);
        // Up and down again: a new epoch each time, with the reason.
        let back = store.epoch_for(private).await.unwrap();
        assert_eq!((back.epoch().info.number, &*back.epoch().prompt.text), (3, "Alice's diary."));
        assert!(matches!(store.epoch_for(shared).await.unwrap(), CurrentEpoch::Opened(_)));
        let fell = Reason::TrustFell { from: Trust::Full, to: Trust::Familiar };
        let reasons = reasons(&store, &conversation).await;
        assert_eq!((&reasons[1], &reasons[3]), (&fell, &fell));
        let Reason::Changed(changes) = &reasons[2] else { panic!("{reasons:?}") };
        assert_eq!((&*changes[0].what, changes[0].to.as_str()), ("trust", "full"));
    }

    #[test]
    async fn concurrent_first_turns_open_one_epoch(store: TestStore) {
        let again = store.open_again().await;
        for round in 0..5 {
            let conversation = begin(&store, &format!("c-{round}")).await;
            let tasks: Vec<_> = (0..16).map(|index| {
                let store = if index % 2 == 0 { (*store).clone() } else { again.clone() };
                let proposed = proposed(&conversation, &format!("As number {index} would have it."));
                tokio::spawn(async move { store.epoch_for(proposed).await.unwrap() })
            }).collect();
            let mut all = Vec::new();
            for task in tasks {
                all.push(task.await.unwrap());
            }
            assert_eq!(all.iter().filter(|one| matches!(one, CurrentEpoch::Opened(_))).count(), 1);
            assert!(all.iter().all(|one| one.epoch() == all[0].epoch()), "{all:?}");
            assert_eq!(store.epochs(&conversation).await.unwrap().len(), 1);
        }
    }

    #[test]
    async fn missing_conversation_gets_no_epoch(store: TestStore) {
        let error = store.epoch_for(proposed(&id("c-9"), "x")).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "conversation", .. }), "{error}");
        let conversation = begin(&store, "c-1").await;
        let error = store.epoch_number(&conversation, 1).await.unwrap_err();
        assert_eq!(error.to_string(), "there is no epoch `c-1/1`");
    }

    #[test]
    async fn new_template_leaves_existing_epochs_unchanged(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        let opened = store.epoch_for(proposed(&conversation, "You are kind.")).await.unwrap();
        store.add_template(NewTemplate::new("You are unkind.", "mallory", now())).await.unwrap();
        let there = store.epoch(&conversation, Trust::Full, Some("alice")).await.unwrap();
        assert_eq!(there.as_ref(), Some(opened.epoch()));
    }

    #[test]
    async fn empty_prompt_is_stored_and_zero_byte_refused(store: TestStore) {
        let conversation = begin(&store, "c-1").await;
        let error = store.epoch_for(proposed(&conversation, "a\0b")).await.unwrap_err();
        assert!(matches!(error, StoreError::ZeroByte), "{error}");
        assert_eq!(store.epochs(&conversation).await.unwrap(), []);
        store.epoch_for(proposed(&conversation, "")).await.unwrap();
        assert_eq!(&*store.epoch(&conversation, Trust::Full, Some("alice")).await.unwrap().unwrap().prompt.text, "");
    }

    #[test]
    async fn concurrent_delete_keeps_texts_in_use(store: TestStore) {
        let again = store.open_again().await;
        for round in 0..10 {
            let old = begin(&store, &format!("old-{round}")).await;
            store.epoch_for(proposed(&old, "The same for all.")).await.unwrap();
            let new = begin(&store, &format!("new-{round}")).await;
            let deleting = { let store = (*store).clone(); tokio::spawn(async move { store.delete_conversation(&old).await.unwrap() }) };
            again.epoch_for(proposed(&new, "The same for all.")).await.unwrap();
            assert!(deleting.await.unwrap());
            let epoch = store.epoch(&new, Trust::Full, Some("alice")).await.unwrap().unwrap();
            assert_eq!(&*epoch.prompt.text, "The same for all.");
            store.delete_conversation(&new).await.unwrap();
        }
    }
}

/// A prompt of two layers, assembled as for a turn.
fn assembled() -> Arc<Frozen> {
    let spec = serde_json::json!({ "layers": [
        { "id": "rules", "title": "Rules", "stability": "static", "trust": "public", "source": { "text": "Be kind." } },
        { "id": "soul", "title": "Soul", "stability": "agent", "trust": "public", "source": { "text": "You are Ann." } },
    ] });
    let blueprint = Blueprint::from_spec("porter", &serde_json::from_value(spec).unwrap()).unwrap();
    let trust = TrustDecision::new(Trust::Full, Trust::Full);
    let plan = Plan::new(&blueprint, PlanFor { trust, files: &[], fills: &[], window: None });
    let mut materials = Materials::default();
    for layer in plan.layers.iter().map(Arc::clone) {
        let Source::Text(text) = &layer.source else { panic!("{layer:?}") };
        let content = Content::of_block(text);
        let from = Provenance { kind: "text", origin: None, read_path: None, description: "".into() };
        materials.frozen.push(FrozenMaterial { layer, content, from });
    }
    let settings = Settings {
        blueprint: "porter",
        budget: TokenBudget { tokens: 1_000, window: None, history: 0 },
        counter: Tokenizer::Estimate.get(),
        placement: TurnPlacement::Message,
    };
    assemble(&plan, materials, settings).unwrap().frozen
}

#[test]
fn prompt_report_is_stored_with_the_prompt() {
    on_sqlite(|store| async move {
        let conversation = begin(&store, "c-1").await;
        let frozen = assembled();
        let new = ProposedEpoch { prompt: (&*frozen).into(), ..proposed(&conversation, "") };
        store.epoch_for(new).await.unwrap();
        let stored =
            store.open_again().await.epoch(&conversation, Trust::Full, Some("alice")).await.unwrap().unwrap();
        assert_eq!(stored.prompt, (&*frozen).into());
        assert_eq!(stored.info.fingerprint, frozen.fingerprint);
        for (layer, segment) in stored.prompt.layers.iter().zip(&frozen.segments) {
            assert_eq!(stored.prompt.text_of(layer), frozen.text_of(segment));
        }
        assert_eq!(stored.prompt.layers.len(), 2);
        assert_eq!(
            stored.prompt.blocks.iter().map(|block| block.class).collect::<Vec<_>>(),
            [CacheClass::Static, CacheClass::Agent]
        );
    });
}

fn path(location: &Location) -> &std::path::Path {
    location.path().unwrap()
}

fn texts(location: &Location) -> Vec<String> {
    let database = rusqlite::Connection::open(path(location)).unwrap();
    let mut statement = database.prepare("SELECT text FROM texts ORDER BY text").unwrap();
    let texts = statement.query_map([], |row| row.get(0)).unwrap();
    texts.map(Result::unwrap).collect()
}

#[test]
fn frozen_text_is_stored_once_while_in_use() {
    on_sqlite(|store| async move {
        let (one, two) = (begin(&store, "c-1").await, begin(&store, "c-2").await);
        store.epoch_for(proposed(&one, "only one")).await.unwrap();
        for conversation in [&one, &two] {
            let shared = at_trust(Trust::Familiar, proposed(conversation, "shared"));
            store.epoch_for(shared).await.unwrap();
        }
        assert_eq!(texts(store.location()), ["only one", "shared"]);
        store.delete_conversation(&one).await.unwrap();
        assert_eq!(texts(store.location()), ["shared"]);
        store.delete_conversation(&two).await.unwrap();
        assert_eq!(texts(store.location()), [""; 0]);
    });
}

#[test]
fn personal_prompt_is_only_for_its_person() {
    on_sqlite(|store| async move {
        let conversation = begin(&store, "c-1").await;
        let mut personal = proposed(&conversation, "Alice likes tea.");
        personal.dependencies.hard.personal_to = Some("alice".into());
        store.epoch_for(personal).await.unwrap();
        let seen_by = async |person| store.epoch(&conversation, Trust::Full, person).await.unwrap().is_some();
        assert!(seen_by(Some("alice")).await);
        assert!(!seen_by(Some("bob")).await);
        assert!(!seen_by(None).await);
    });
}

#[test]
fn text_with_a_wrong_hash_is_not_returned() {
    on_sqlite(|store| async move {
        let conversation = begin(&store, "c-1").await;
        store.epoch_for(proposed(&conversation, "You are kind.")).await.unwrap();
        let database = rusqlite::Connection::open(path(store.location())).unwrap();
        database.execute("UPDATE texts SET text = 'You are unkind.'", []).unwrap();
        let errors = [
            store.epoch(&conversation, Trust::Full, Some("alice")).await.unwrap_err(),
            store.epoch_number(&conversation, 1).await.unwrap_err(),
            store.epoch_for(proposed(&conversation, "You are kind.")).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.to_string(), "the frozen prompt `c-1/1` is damaged: it does not match its hash");
        }
        // A new epoch does not need the old text, and repairs it.
        let cold = EpochTriggers { cache_cold: true, compacting: true };
        let again = ProposedEpoch { triggers: cold, ..proposed(&conversation, "You are kind.") };
        store.epoch_for(again).await.unwrap();
        assert_eq!(&*store.epoch_number(&conversation, 1).await.unwrap().prompt.text, "You are kind.");
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn frozen_text_round_trips_exactly(
        texts in proptest::collection::vec("(\\PC|[\\n\\r\\t\u{1}\u{feff}\u{202e}\u{301}\u{1f600}]){0,200}", 1..6),
    ) {
        on_sqlite(|store| async move {
            let again = store.open_again().await;
            for (index, text) in texts.iter().enumerate() {
                let conversation = begin(&store, &format!("c-{index}")).await;
                store.epoch_for(proposed(&conversation, text)).await.unwrap();
                for turn in 0..3 {
                    let drifted = format!("{text}{turn}");
                    let reused = again.epoch_for(proposed(&conversation, &drifted)).await.unwrap();
                    assert_eq!(&*reused.epoch().prompt.text, text);
                    let read = store.epoch(&conversation, Trust::Full, Some("alice")).await.unwrap().unwrap();
                    assert_eq!(&*read.prompt.text, text);
                }
            }
        });
    }
}
