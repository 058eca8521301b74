//! Files with hostile text or names, and files of other users.

use std::fs;
use std::path::Path;

use foreword_testkit::Reply;
use serde_json::json;

use super::audit::{Results, Sent, assert_in_place};
use super::corpus::{folded, names, texts};
use super::stage::turn;
use crate::fixture::{Fixture, alice, in_group, on};

const SAID: &str = "What is there?";

async fn fixture() -> Fixture {
    Fixture::new(Reply::text("Well.")).await
}

/// Writes a file, if the name is valid.
fn write(fixture: &Fixture, path: &str, text: &str) -> bool {
    let path = fixture.folder.path().join(path);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).is_ok() && fs::write(path, text).is_ok()
}

#[tokio::test]
async fn downloaded_text_is_framed_for_every_tool() {
    let fixture = fixture().await;
    for hostile in texts('a') {
        let file = format!("{}.txt", hostile.canary);
        assert!(write(&fixture, &file, &hostile.text));
        let read = ("read_file", json!({ "path": file }));
        let printed = ("bash", json!({ "command": format!("cat {file}; cat {file} >&2; false") }));
        turn(&fixture, &format!("c-{}", hostile.canary), alice(), SAID, vec![vec![read, printed]]).await;
        let last = fixture.provider.requests().pop().unwrap();
        assert!(Sent::of(&last).tells(&hostile.canary), "{}: {}", hostile.name, last.text());
    }
    assert_in_place(&fixture.provider.requests(), &[SAID], Results::Framed);
}

#[tokio::test]
async fn hostile_file_names_are_framed_or_on_their_line() {
    let fixture = fixture().await;
    for hostile in names('a') {
        write(&fixture, &format!("downloads/{}", hostile.text), "x");
        let listing = ("bash", json!({ "command": "find downloads; ls downloads" }));
        let given = |tool| (tool, json!({ "path": hostile.text }));
        let written = ("write_file", json!({ "path": format!("../{}", hostile.text), "text": "x" }));
        let calls = vec![given("read_file"), given("memory_get"), written, listing];
        turn(&fixture, &format!("c-{}", hostile.canary), alice(), SAID, vec![calls]).await;
    }
    let requests = fixture.provider.requests();
    assert!(
        requests
            .iter()
            .any(|request| Sent::of(request).results.iter().any(|text| text.contains("| downloads/")))
    );
    assert_in_place(&requests, &[SAID], Results::Framed);
    assert!(!fixture.folder.path().join("pwned.txt").exists());
}

#[tokio::test]
async fn memory_file_text_is_in_no_frozen_layer() {
    let fixture = fixture().await;
    let files = texts('a');
    for (number, hostile) in files.iter().enumerate() {
        let store = ["private", "shared", "social"][number % 3];
        assert!(write(&fixture, &format!("memory/{store}/note-{number}.md"), &hostile.text));
    }
    fixture.workspace.refresh();
    for (number, hostile) in files.iter().enumerate() {
        let store = ["private", "shared", "social"][number % 3];
        let found = ("memory_search", json!({ "query": hostile.canary }));
        let read = ("memory_get", json!({ "path": format!("{store}/note-{number}.md") }));
        let (seen, _) = turn(&fixture, &format!("c-{number}"), alice(), SAID, vec![vec![read, found]]).await;
        let (_, content, failed) = seen.results()[0];
        // A file with a NUL is binary and is not read.
        assert_eq!(failed, hostile.name == "nul", "{}: {content}", hostile.name);
        assert!(failed || folded(content).contains(&hostile.canary), "{}: {content}", hostile.name);
    }
    for (number, occasion) in [on("signal:bob"), in_group("signal:carol")].into_iter().enumerate() {
        turn(&fixture, &format!("others-{number}"), occasion, SAID, vec![]).await;
    }
    let requests = fixture.provider.requests();
    let menus = requests.iter().filter(|request| Sent::of(request).user[0].contains("quokka"));
    assert!(menus.count() > files.len(), "the menu shows what notes are about");
    assert_in_place(&requests, &[SAID], Results::Ours);
}

#[tokio::test]
async fn hostile_memory_file_name_stays_on_its_line() {
    let fixture = fixture().await;
    for hostile in names('a') {
        write(&fixture, &format!("memory/social/{}.md", hostile.text), &format!("word {}", hostile.canary));
    }
    fixture.workspace.refresh();
    for (number, hostile) in names('a').into_iter().enumerate() {
        let found = ("memory_search", json!({ "query": hostile.canary }));
        let read = ("memory_get", json!({ "path": format!("social/{}.md", hostile.text) }));
        let occasion = if number % 2 == 0 { alice() } else { on("signal:bob") };
        turn(&fixture, &format!("c-{number}"), occasion, SAID, vec![vec![found, read]]).await;
    }
    let requests = fixture.provider.requests();
    assert!(requests.iter().any(|request| Sent::of(request).tells("quokka")));
    assert_in_place(&requests, &[SAID], Results::Framed);
}

#[tokio::test]
async fn skill_of_another_user_is_in_no_request() {
    let fixture = fixture().await;
    let skills = texts('a');
    for (number, hostile) in skills.iter().enumerate() {
        let description = serde_json::to_string(&hostile.text).unwrap();
        let card = format!("---\nname: secret-{number}\ndescription: {description}\n---\n\n{}", hostile.text);
        assert!(write(&fixture, &format!("users/bob/skills/secret-{number}/SKILL.md"), &card));
    }
    fixture.workspace.refresh();
    let others =
        [alice(), on("signal:carol"), on("signal:mallory"), in_group("signal:bob"), in_group("signal:carol")];
    for (number, occasion) in others.into_iter().enumerate() {
        let calls =
            vec![("skill_get", json!({ "name": "secret-1" })), ("skill_get", json!({ "name": "secert" }))];
        turn(&fixture, &format!("c-{number}"), occasion, SAID, vec![calls]).await;
    }
    let requests = fixture.provider.requests();
    assert!(requests.iter().all(|request| !Sent::of(request).knows("quokka")));
    assert_in_place(&requests, &[SAID], Results::Framed);
    turn(&fixture, "c-bob", on("signal:bob"), SAID, vec![]).await;
    let own = Sent::of(&fixture.provider.requests().pop().unwrap());
    assert!(own.knows("quokka"), "bob himself has them");
}
