//! Tests that a search sees the current state: files on disk, and notes of this and other processes.

use std::time::Duration;

use foreword_core::memory_store::MemoryStore;
use foreword_prompt::trust::Trust;
use foreword_store::observations::Observation;
use serde_json::json;

use super::fixture::{Fixture, now, run};

async fn finds(fixture: &Fixture, word: &str) -> bool {
    !fixture.search(word, Trust::Full).await.text.starts_with("Nothing")
}

#[tokio::test]
async fn changed_new_and_removed_files_update_the_search() {
    let fixture =
        Fixture::with(&[("memory/private/a.md", "apples"), ("memory/private/b.md", "bananas")]).await;
    assert!(finds(&fixture, "apples").await && finds(&fixture, "bananas").await);
    fixture.write("memory/private/a.md", "cherry");
    assert!(
        !finds(&fixture, "apples").await
            && finds(&fixture, "cherry").await
            && finds(&fixture, "bananas").await
    );
    std::fs::remove_file(fixture.path().join("memory/private/b.md")).unwrap();
    assert!(!finds(&fixture, "bananas").await);
    fixture.write("memory/social/new/c.md", "dates");
    assert!(finds(&fixture, "dates").await);
    std::fs::rename(fixture.path().join("memory/social"), fixture.path().join("memory/shared")).unwrap();
    let found = fixture.search("dates", Trust::Full).await;
    assert!(found.text.contains("shared/new/c.md") && !found.text.contains("social/new"), "{}", found.text);
    std::fs::remove_dir_all(fixture.path().join("memory")).unwrap();
    assert!(!finds(&fixture, "cherry").await && !finds(&fixture, "dates").await);
}

#[tokio::test]
async fn file_rule_changes_the_trust_of_its_results() {
    let fixture = Fixture::with(&[("memory/social/plan.md", "the surprise party")]).await;
    let finds = async |trust| !fixture.search("surprise", trust).await.text.starts_with("Nothing");
    assert!(finds(Trust::Familiar).await && finds(Trust::Full).await);
    fixture.write("foreword.yaml", "prompt: { files: [{ path: memory/social/plan.md, trust: full }] }\n");
    fixture.workspace.refresh();
    assert!(!finds(Trust::Familiar).await && !finds(Trust::Inner).await && finds(Trust::Full).await);
    fixture.write("foreword.yaml", "prompt: {}\n");
    fixture.workspace.refresh();
    assert!(finds(Trust::Familiar).await);
}

#[tokio::test]
async fn two_processes_on_one_store_find_each_others_notes() {
    let fixture = Fixture::with(&[]).await;
    let other = fixture.another_process().await;
    let write = async |memory, title: String| {
        let arguments = json!({ "store": "shared", "title": title, "text": "something" });
        assert!(!run(memory, "memory_write", arguments, fixture.call(Trust::Full)).await.is_error);
    };
    let finds = async |memory, word: String| {
        let arguments = json!({ "query": word });
        let found = run(memory, "memory_search", arguments, fixture.call(Trust::Inner)).await;
        found.text.matches("memory_get(").count()
    };
    for number in 0..5 {
        write(&fixture.memory, format!("first{number}")).await;
        write(&other, format!("second{number}")).await;
        for memory in [&fixture.memory, &other] {
            assert_eq!(finds(memory, format!("first{number}")).await, 1);
            assert_eq!(finds(memory, format!("second{number}")).await, 1);
        }
    }
}

#[tokio::test]
async fn note_of_a_node_with_slow_clock_is_found() {
    let fixture = Fixture::with(&[]).await;
    for number in 0..20 {
        fixture.note("shared", &format!("note {number}"), "something").await;
    }
    assert!(finds(&fixture, "something").await);
    let late = Observation {
        id: "late".parse().unwrap(),
        store: MemoryStore::Shared,
        title: "from long ago".to_owned(),
        text: "The lighthouse.".to_owned(),
        trust: Trust::Inner,
        provenance: foreword_core::message::Provenance::Owner,
        tainted: false,
        conversation: None,
        turn: None,
        author: None,
        at: now().minus(Duration::from_secs(86_400)),
    };
    fixture.store.add_observation(late).await.unwrap();
    assert!(finds(&fixture, "lighthouse").await);
}

#[tokio::test]
async fn many_notes_are_read_page_by_page() {
    let fixture = Fixture::with(&[]).await;
    let other = fixture.another_process().await;
    for number in 0..1_203 {
        fixture.note("social", &format!("entry{number}"), "something").await;
    }
    let found = other
        .search(fixture.workspace.snapshot(), super::trust::reader(Trust::Full), "something")
        .await
        .unwrap();
    assert_eq!(found.matches, 1_203);
    for word in ["entry0", "entry600", "entry1202"] {
        let found = other
            .search(fixture.workspace.snapshot(), super::trust::reader(Trust::Full), word)
            .await
            .unwrap();
        assert_eq!(found.snippets.len(), 1, "{word}");
    }
}
