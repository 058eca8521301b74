//! A provider's key appears in no event, step, stored turn, error or output, even if the provider repeats it.

use std::fs;

use foreword_agent::conversation::feed::Progress;
use foreword_core::provider::WireDialect;
use foreword_testkit::{FakeProvider, Reply};

use crate::fixture::{CONFIG, Fixture, Seen, alice};

/// Matches no known key format, so only an exact comparison can redact it.
const KEY: &str = "quokka:very!secret,key";

async fn fixture(dialect: WireDialect, replies: Vec<Reply>) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("foreword.yaml"), CONFIG).unwrap();
    let provider = FakeProvider::start(replies).unwrap();
    Fixture::with_key(folder, provider, dialect, KEY).await
}

/// Everything that is below the workspace's own folder, byte for byte.
fn stored(fixture: &Fixture) -> String {
    let folder = fixture.folder.path().join(".foreword");
    let files = fs::read_dir(folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// Eight characters of the key count as a leak.
fn assert_no_part_of_the_key(text: &str, place: &str) {
    for start in 0..=KEY.len() - 8 {
        let part = &KEY[start..start + 8];
        assert!(!text.contains(part), "`{part}` is in {place}");
    }
}

async fn keeps_its_secret(dialect: WireDialect, reply: Reply) {
    let fixture = fixture(dialect, vec![reply.clone(), reply.clone(), reply.clone(), reply.clone()]).await;
    let seen: Seen = fixture.say("c-1", alice(), "Hello?").await;
    let sent = &fixture.provider.requests()[0];
    assert!(sent.headers.iter().any(|(_, value)| value.contains(KEY)), "the key was not even used");
    let shown: Vec<String> = seen.progress.iter().map(|item| format!("{item:?}")).collect();
    assert!(
        seen.progress.iter().any(|item| matches!(&**item, Progress::TurnEnded { failure: Some(_), .. })),
        "{shown:?}"
    );
    assert_no_part_of_the_key(&shown.join("\n"), "what was shown");
    let log = format!("{:?}", fixture.log().await);
    assert!(log.contains("api_error") || log.contains("ApiError"), "{log}");
    assert_no_part_of_the_key(&log, "the log");
    // And the context of the next turn.
    fixture.provider.push(Reply::text("Well."));
    fixture.say("c-1", alice(), "And now?").await;
    for request in fixture.provider.requests() {
        assert_no_part_of_the_key(&request.text(), "a request");
    }
    assert_no_part_of_the_key(&stored(&fixture), "the database");
}

fn bad_key(words: &str) -> Reply {
    Reply::status(401).message(words)
}

#[tokio::test]
async fn key_in_a_provider_error_is_redacted() {
    for dialect in [WireDialect::Anthropic, WireDialect::OpenAi] {
        keeps_its_secret(dialect, bad_key(&format!("invalid key {KEY}"))).await;
        keeps_its_secret(dialect, Reply::status(400).body(format!("bad header: Bearer {KEY}\n"))).await;
        keeps_its_secret(dialect, Reply::status(500).body(format!("{{\"error\":\"{KEY}\"}}"))).await;
    }
}

#[tokio::test]
async fn key_split_in_two_is_redacted() {
    for before in 270..300 {
        keeps_its_secret(WireDialect::Anthropic, bad_key(&format!("{}{KEY}", "x ".repeat(before / 2)))).await;
    }
}

#[tokio::test]
async fn key_in_an_answer_or_header_is_redacted() {
    let in_answer = Reply::empty().then_error("invalid_request_error", format!("no: {KEY}"));
    keeps_its_secret(WireDialect::Anthropic, in_answer).await;
    let in_header = bad_key("no").header("request-id", KEY).header("x-request-id", KEY);
    keeps_its_secret(WireDialect::Anthropic, in_header.clone()).await;
    keeps_its_secret(WireDialect::OpenAi, in_header).await;
}
