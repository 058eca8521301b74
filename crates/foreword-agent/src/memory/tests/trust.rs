//! Tests that trust is applied before anything is opened or counted: results at a lower trust are the same as if the
//! other notes did not exist.

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::trust::Trust;
use foreword_workspace::memory_index::Reader;
use proptest::prelude::*;
use serde_json::json;

use super::fixture::{Fixture, PEOPLE};
use crate::memory::Results;

pub(super) fn reader(trust: Trust) -> Reader {
    Reader { user: Some("alice".into()), ..Reader::of(trust) }
}

#[tokio::test]
async fn stores_above_the_users_trust_are_not_readable() {
    let fixture = Fixture::with(&[
        ("foreword.yaml", PEOPLE),
        ("MEMORY.md", "secret of the house"),
        ("memory/private/a.md", "secret of alice"),
        ("memory/shared/a.md", "secret of the family"),
        ("memory/social/a.md", "secret of the group"),
    ])
    .await;
    let mut paths = vec!["MEMORY.md".to_owned()];
    for store in MemoryStore::ALL {
        paths.push(format!("{store}/a.md"));
        paths.push(fixture.note(store.as_str(), "a secret", &format!("secret of {store}")).await);
    }
    for (trust, seen) in [(Trust::Public, 0), (Trust::Familiar, 2), (Trust::Inner, 4), (Trust::Full, 7)] {
        let found = fixture.search("secret", trust).await;
        assert_eq!(found.text.matches("memory_get(").count(), seen, "{trust}: {}", found.text);
        assert!(!found.text.contains("more match"), "{}", found.text);
        let mut readable = 0;
        for path in &paths {
            let read = fixture.get(path, trust).await;
            readable += usize::from(!read.is_error);
            assert_eq!(read.is_error, !read.text.contains("secret of"), "{}", read.text);
            // A note that may not be seen looks like a missing one.
            let missing = fixture.get(&path.replace("MEMORY", "NONE"), trust).await;
            assert!(
                !read.is_error
                    || read.text.replace(path, "")
                        == missing.text.replace(&path.replace("MEMORY", "NONE"), "")
            );
        }
        assert_eq!(readable, seen, "{trust}");
    }
}

#[tokio::test]
async fn user_files_are_private_and_others_must_be_listed() {
    let fixture = Fixture::with(&[
        ("foreword.yaml", PEOPLE),
        ("AGENTS.md", "rules"),
        ("diary.md", "unlisted"),
        ("users/alice/USER.md", "about alice"),
        ("users/bob/USER.md", "about bob"),
        ("channels/signal.md", "signal"),
        ("channels/discord.md", "discord"),
    ])
    .await;
    fixture.converse("signal:carol", "dm").await;
    let reads = async |user: &str, trust, path: &str| {
        let mut call = fixture.call(trust);
        call.user = Some(user.into());
        !fixture.run("memory_get", json!({ "path": path }), call).await.is_error
    };
    let table = [
        ("alice", Trust::Full, "users/alice/USER.md", true),
        ("alice", Trust::Familiar, "users/alice/USER.md", false),
        ("alice", Trust::Full, "users/bob/USER.md", false),
        ("bob", Trust::Inner, "users/bob/USER.md", true),
        ("bob", Trust::Inner, "users/alice/USER.md", false),
        ("alice", Trust::Full, "diary.md", false),
        ("alice", Trust::Full, "foreword.yaml", false),
        ("alice", Trust::Full, ".foreword/foreword.db", false),
        ("carol", Trust::Familiar, "AGENTS.md", true),
        ("carol", Trust::Familiar, "channels/signal.md", true),
        ("carol", Trust::Familiar, "channels/discord.md", false),
        ("mallory", Trust::Public, "channels/signal.md", false),
    ];
    for (user, trust, path, expected) in table {
        assert_eq!(reads(user, trust, path).await, expected, "{user} {trust} {path}");
    }
}

#[tokio::test]
async fn links_never_leave_a_store() {
    let fixture = Fixture::with(&[("memory/private/a.md", "secret"), ("memory/social/b.md", "fine")]).await;
    let link = |target: &str, path: &str| {
        std::os::unix::fs::symlink(target, fixture.path().join(path)).unwrap();
    };
    link("../private/a.md", "memory/social/link.md");
    link("../private", "memory/social/folder");
    link("private", "memory/other");
    for path in [
        "social/link.md",
        "social/folder/a.md",
        "memory/social/../private/a.md",
        "other/a.md",
        "memory/other/a.md",
    ] {
        let read = fixture.get(path, Trust::Familiar).await;
        assert!(read.is_error && !read.text.contains("secret"), "{path}: {}", read.text);
    }
    let found = fixture.search("secret", Trust::Familiar).await;
    assert!(!found.text.contains("memory_get("), "{}", found.text);
}

type Texts = Vec<(usize, String)>;

/// A corpus with files and notes for each store.
async fn fixture_of(files: &Texts, notes: &Texts, stores: &[MemoryStore]) -> Fixture {
    // One file of each store needs more trust than its store.
    let rules: Vec<String> = MemoryStore::ALL
        .iter()
        .map(|store| format!("{{ path: memory/{store}/0.md, trust: full }}"))
        .collect();
    let config = format!("{PEOPLE}prompt: {{ files: [{{ path: MEMORY.md }}, {}] }}\n", rules.join(", "));
    let fixture = Fixture::with(&[("foreword.yaml", &config)]).await;
    let owner = stores.contains(&MemoryStore::Private);
    for (number, (store, text)) in files.iter().enumerate() {
        let store = MemoryStore::ALL[*store];
        if stores.contains(&store) && (number > 0 || owner) {
            fixture.write(&format!("memory/{store}/{number}.md"), text);
        }
    }
    if owner {
        fixture.write("MEMORY.md", "tea for carol");
    }
    for (number, (store, text)) in notes.iter().enumerate() {
        let store = MemoryStore::ALL[*store];
        if stores.contains(&store) {
            let mut call = fixture.call(Trust::Full);
            // The same in every fixture.
            call.random = u128::try_from(number).unwrap() + 1;
            let arguments = json!({ "store": store.as_str(), "title": "tea", "text": format!("x {text}") });
            assert!(!fixture.run("memory_write", arguments, call).await.is_error);
        }
    }
    fixture
}

fn texts() -> impl Strategy<Value = Texts> {
    let word =
        prop::sample::select(vec!["tea", "carol", "birthday", "boiler", "boil", "garden", "\n\n# tea\n"]);
    let text = prop::collection::vec(word, 1..60).prop_map(|words| words.join(" "));
    prop::collection::vec((0..3_usize, text), 0..12)
}

fn results_text(results: &Results) -> String {
    format!("{results:?} {}", results.answer().text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn search_results_do_not_depend_on_withheld_stores(
        files in texts(), notes in texts(), question in prop::sample::select(vec!["tea", "carol birthday", "boi", "garden"]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let everything = fixture_of(&files, &notes, &MemoryStore::ALL).await;
            let ask = async |fixture: &Fixture, trust| {
                results_text(&fixture.memory.search(fixture.workspace.snapshot(), reader(trust), question).await.unwrap())
            };
            // The owner has searched everything before, so that every index exists.
            ask(&everything, Trust::Full).await;
            for trust in [Trust::Inner, Trust::Familiar] {
                let less = fixture_of(&files, &notes, &MemoryStore::permitted(trust)).await;
                assert_eq!(ask(&everything, trust).await, ask(&less, trust).await, "{trust}");
            }
            let nothing = everything.search(question, Trust::Public).await;
            assert_eq!(nothing.text, Fixture::with(&[]).await.search(question, Trust::Public).await.text);
        });
    }
}
