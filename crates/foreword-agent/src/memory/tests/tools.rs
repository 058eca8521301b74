//! Tests of each tool's output, and that the calls it suggests work.

use foreword_core::event::EventType;
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::trust::Trust;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
use serde_json::json;

use super::fixture::{Fixture, PEOPLE, printed_call};

const PEOPLE_NOTE: &str = "---\ndescription: people we know\n---\n# People\n\n\
    - Carol: birthday 14 March. Loves peonies.\n- Helen: birthday 2 September.\n";

#[tokio::test]
async fn search_shows_snippets_prices_and_the_next_call() {
    let fixture = Fixture::with(&[("memory/private/people.md", PEOPLE_NOTE)]).await;
    fixture.note("shared", "Carol's gift", "Carol wants a book for her birthday.").await;
    let found = fixture.search("what's Carol's birthday?", Trust::Full).await;
    assert!(!found.is_error && !found.from_outside);
    let text = found.text.replace(found.text.split("shared/notes/").nth(1).unwrap().split_at(12).0, "ID");
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn printed_calls_work_and_cost_what_they_state() {
    let filler = "A line about nothing in particular, with some words in it.\n".repeat(30);
    let note =
        format!("# House\n\n{filler}\n## Keys\n\nThe spare key \"hangs\" behind the coats.\n\n{filler}");
    let fixture = Fixture::with(&[("memory/shared/the \"house\".md", &note)]).await;
    let found = fixture.search("spare key", Trust::Inner).await;
    let read = fixture.run("memory_get", printed_call(&found.text), fixture.call(Trust::Inner)).await;
    assert!(
        !read.is_error && read.text.contains("The spare key \"hangs\" behind the coats."),
        "{}",
        read.text
    );
    let (head, lines) = read.text.split_once(":\n\n").unwrap();
    let tokens = Tokenizer::Estimate.get().count(lines);
    assert!(head.ends_with(&format!("of 67 ({tokens} tok)")), "{head}");
    assert!(found.text.contains(&format!("costs {tokens} tok")), "{}", found.text);
}

#[tokio::test]
async fn results_are_few_and_small_for_large_stores() {
    let fixture = Fixture::with(&[]).await;
    for number in 0..40 {
        fixture.write(&format!("memory/social/{number}.md"), &format!("tea {}\n", "and so on ".repeat(200)));
    }
    let found = fixture.search("tea", Trust::Familiar).await;
    assert_eq!(found.text.matches("memory_get(").count(), 8);
    assert!(found.text.contains("more match less well"), "{}", found.text);
    assert!(Tokenizer::Estimate.get().count(&found.text) < 8 * 130, "{}", found.text);
}

#[tokio::test]
async fn saved_note_is_found_immediately_and_readable_by_path() {
    let fixture = Fixture::with(&[]).await;
    let path =
        fixture.note("private", "Carol's birthday", "Born on 3 May 1980.\nShe told us at lunch.").await;
    assert!(path.starts_with("private/notes/"), "{path}");
    let found = fixture.search("carol birthdays", Trust::Full).await;
    assert!(found.text.contains(&path), "{}", found.text);
    for path in [path.clone(), format!("memory/{path}")] {
        let read = fixture.get(&path, Trust::Full).await;
        assert!(
            read.text.ends_with("# Carol's birthday\n\nBorn on 3 May 1980.\nShe told us at lunch."),
            "{}",
            read.text
        );
        assert!(!read.from_outside);
    }
    let arguments = json!({ "path": path, "from": 3, "lines": 1 });
    let read = fixture.run("memory_get", arguments, fixture.call(Trust::Full)).await;
    assert!(read.text.ends_with("line 3 of 4 (12 tok):\n\nBorn on 3 May 1980."), "{}", read.text);
}

#[tokio::test]
async fn failed_calls_explain_what_to_do() {
    let fixture = Fixture::with(&[("memory/social/a.md", "one\ntwo\n")]).await;
    let said = async |name: &str, arguments, trust| {
        let output = fixture.run(name, arguments, fixture.call(trust)).await;
        assert!(output.is_error && output.events.is_empty(), "{}", output.text);
        output.text
    };
    let full = Trust::Full;
    let mut all = vec![
        said("memory_search", json!({ "query": "… ?" }), full).await,
        said("memory_search", json!({ "query": "tea" }), Trust::Public).await,
        said("memory_get", json!({ "path": "social/b.md" }), full).await,
        said("memory_get", json!({ "path": "../foreword.yaml" }), full).await,
        said("memory_get", json!({ "path": "social/a.md", "from": 3 }), full).await,
        said("memory_get", json!({ "path": "social/a.md", "from": 0 }), full).await,
        said("memory_get", json!({ "path": "social/a.md", "from": -1 }), full).await,
        said("memory_get", json!({ "path": "social/a.md", "lines": 0 }), full).await,
    ];
    for (store, title, text) in [
        ("secret", "t", "x"),
        ("private", "t", "x"),
        ("social", "a\nb", "x"),
        ("social", "t", ""),
        ("social", "t", &"x".repeat(20_000)),
    ] {
        let arguments = json!({ "store": store, "title": title, "text": text });
        all.push(said("memory_write", arguments, Trust::Familiar).await);
    }
    insta::assert_snapshot!(all.join("\n"));
    assert_eq!(fixture.memory.note_count(full).await.unwrap(), 0);
}

#[tokio::test]
async fn log_has_tool_calls_without_note_text() {
    let fixture = Fixture::with(&[]).await;
    let arguments = json!({ "store": "shared", "title": "A surprise", "text": "The party is on Friday." });
    let kept = fixture.run("memory_write", arguments, fixture.call(Trust::Full)).await;
    let found = fixture.search(&format!("party {}", "x".repeat(200)), Trust::Inner).await;
    let [write, search] = [&kept.events[..], &found.events[..]].map(|events| match events {
        [one] => one.clone(),
        other => panic!("{other:?}"),
    });
    assert_eq!((&write.event_type, &search.event_type), (&EventType::MemoryWrite, &EventType::MemorySearch));
    assert_eq!(write.metadata.as_ref().unwrap()["store"], "shared");
    let about = search.metadata.unwrap();
    assert_eq!((&about["stores"], &about["results"]), (&json!(["shared", "social"]), &json!(1)));
    assert_eq!(about["query"].as_str().unwrap().chars().count(), 80);
    assert!(search.duration_ms.is_some() && search.turn_id.is_some() && search.session_id.is_some());
    let written = serde_json::to_string(&write).unwrap();
    assert!(!written.contains("party") && !written.contains("surprise"), "{written}");
}

#[tokio::test]
async fn paths_in_menu_and_truncation_markers_are_readable() {
    let long = "A rule of the house, among many others that are just as good.\n".repeat(200);
    let small = format!("prompt: {{ budget: {{ tokens: 2500 }} }}\n{PEOPLE}");
    let fixture = Fixture::with(&[
        ("foreword.yaml", &small),
        ("AGENTS.md", &long),
        ("channels/signal.md", &long),
        ("MEMORY.md", "---\ndescription: what lasts\n---\n# Facts\n\nThe fuse box is behind the coats.\n"),
        ("memory/social/people.md", "Carol lives at number 7.\n"),
    ])
    .await;
    fixture.converse("signal:alice", "dm").await;
    let now = "2026-11-16T08:30[UTC]".parse().unwrap();
    let request = Request {
        speaker: Speaker {
            user: Some("alice".into()),
            channel: Some(foreword_prompt::occasion::Channel::new("signal:alice")),
            ..Speaker::default()
        },
        ..Request::at(now, [7; 16])
    };
    let prompt = fixture.workspace.build(&request).unwrap().prompt.text();
    assert!(prompt.contains("- MEMORY.md ("), "{prompt}");
    let mut calls = 0;
    for (at, _) in prompt.match_indices("memory_get(\"") {
        let arguments = printed_call(&prompt[at..]);
        let lines = usize::try_from(arguments["lines"].as_u64().unwrap()).unwrap();
        let read = fixture.run("memory_get", arguments, fixture.call(Trust::Full)).await;
        assert!(!read.is_error && read.text.matches("A rule of the house").count() == lines, "{}", read.text);
        calls += 1;
    }
    assert_eq!(calls, 2, "{prompt}");
    for path in ["MEMORY.md", "social/people.md"] {
        assert!(!fixture.get(path, Trust::Full).await.is_error, "{path}");
    }
    assert!(fixture.search("fuse box", Trust::Full).await.text.contains("memory_get(\"MEMORY.md\", "));
}
