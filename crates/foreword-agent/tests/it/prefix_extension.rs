//! Within an epoch each request extends the previous one byte for byte; otherwise the log has the reason of the new
//! epoch.

use std::collections::BTreeMap;

use foreword_core::provider::WireDialect;
use foreword_core::turn_journal::Outcome;
use foreword_testkit::{Received, Reply, Script};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::fixture::{Fixture, alice, configuration};
use crate::well_formed::all_well_formed;

/// Whether what a provider caches of `later` begins with all of `earlier`, as it was really sent: tools, system,
/// messages.
pub(crate) fn extends(earlier: &Received, later: &Received) -> bool {
    let (earlier, later) = (parts(earlier), parts(later));
    let same = |name: &str| earlier.get(name) == later.get(name);
    !earlier["tools"].is_empty()
        && same("tools")
        && same("system")
        && later["messages"].len() >= earlier["messages"].len()
        && later["messages"].starts_with(&earlier["messages"])
}

/// The parts of a request as their raw text, element by element, without the marks that are not part of what is cached.
fn parts(request: &Received) -> BTreeMap<String, Vec<String>> {
    let body = request.text();
    let fields = elements(&body).into_iter().filter_map(|field| field.split_once(':'));
    let cached = fields.map(|(name, raw)| (name.trim_matches('"').to_owned(), raw));
    let cached = cached.filter(|(name, _)| ["tools", "system", "messages"].contains(&name.as_str()));
    cached.map(|(name, raw)| (name, elements(raw).into_iter().map(unmarked).collect())).collect()
}

/// The elements of a list or the fields of an object, as they are written; anything else is one element.
fn elements(text: &str) -> Vec<&str> {
    let Some(inner) = text.strip_prefix(['[', '{']).and_then(|text| text.strip_suffix([']', '}'])) else {
        return vec![text];
    };
    let (mut elements, mut begun, mut depth, mut quoted, mut escaped) = (Vec::new(), 0, 0, false, false);
    for (at, letter) in inner.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                elements.push(&inner[begun..at]);
                begun = at + 1;
            }
            _ => {}
        }
    }
    elements.push(&inner[begun..]);
    elements
}

/// The text without `cache_control`.
fn unmarked(text: &str) -> String {
    let mut rest = text.to_owned();
    while let Some(start) = rest.find(r#","cache_control":{"#) {
        let end = start + rest[start..].find('}').unwrap() + 1;
        rest.replace_range(start..end, "");
    }
    rest
}

/// An event between two turns, followed by a message.
#[derive(Debug, Clone, Copy)]
enum Happens {
    Nothing,
    SoulEdited,
    MemoryWrittenByHand,
    AgentRemembers,
    AgentSearches,
    ToolSwitched,
    ProviderFails,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        2 => Just(Happens::Nothing),
        1 => Just(Happens::SoulEdited),
        2 => Just(Happens::MemoryWrittenByHand),
        2 => Just(Happens::AgentRemembers),
        1 => Just(Happens::AgentSearches),
        1 => Just(Happens::ToolSwitched),
        1 => Just(Happens::ProviderFails),
    ]
}

/// One turn after something has happened.
async fn turn(fixture: &Fixture, number: usize, what: Happens, bash_is_off: &mut bool) {
    let write = |path: &str, text: String| std::fs::write(fixture.folder.path().join(path), text).unwrap();
    match what {
        Happens::Nothing => {}
        Happens::SoulEdited => write("SOUL.md", format!("You are kind, version {number}.")),
        Happens::MemoryWrittenByHand => {
            write(&format!("memory/social/note-{number}.md"), format!("Note {number}"))
        }
        Happens::AgentRemembers => {
            let note =
                json!({ "store": "shared", "title": format!("Note {number}"), "text": "Tea at five." });
            fixture.provider.push(Reply::text("Noting. ").and_tool_call("memory_write", note));
        }
        Happens::AgentSearches => {
            fixture.provider.push(Reply::tool_call("memory_search", json!({ "query": "Carol" })));
        }
        Happens::ToolSwitched => {
            *bash_is_off = !*bash_is_off;
            let more = if *bash_is_off { "tools: { disabled: [bash] }\n" } else { "" };
            write("foreword.yaml", configuration(more));
        }
        Happens::ProviderFails => {
            fixture.provider.push(Reply::cut_after("Half an ans"));
        }
    }
    fixture.workspace.refresh();
    let seen = fixture.say("c-1", alice(), &format!("message {number}")).await;
    assert_eq!(seen.ending(), (Outcome::Done, None), "{what:?}");
}

/// For each request, whether a new epoch was opened for it, and why.
async fn openings(fixture: &Fixture) -> Vec<Option<String>> {
    let (mut opened, mut openings) = (None, Vec::new());
    for event in fixture.log().await {
        match event.event.event_type.to_string().as_str() {
            "prompt_built" => {
                let metadata: &Value = event.event.metadata.as_ref().unwrap();
                opened = metadata["opened"].as_str().map(str::to_owned);
            }
            "api_call" | "api_error" => openings.push(opened.take()),
            _ => {}
        }
    }
    openings
}

async fn holds(dialect: WireDialect, story: &[Happens]) {
    let script =
        Script::default().then_answering(|request| Reply::text(format!("Answer {}.", request.number)));
    let fixture = Fixture::with(script, dialect, "").await;
    let mut bash_is_off = false;
    for (number, what) in story.iter().enumerate() {
        turn(&fixture, number, *what, &mut bash_is_off).await;
    }
    let (requests, openings) = (fixture.provider.requests(), openings(&fixture).await);
    all_well_formed(&requests);
    assert_eq!(requests.len(), openings.len());
    assert_eq!(openings[0].as_deref(), Some("this is the first turn"));
    for (pair, opened) in requests.windows(2).zip(&openings[1..]) {
        match opened {
            None => assert!(
                extends(&pair[0], &pair[1]),
                "request {} does not extend the one before, in {story:?}:\n{}\n{}",
                pair[1].number,
                pair[0].text(),
                pair[1].text()
            ),
            Some(why) => assert!(why.contains("tool set changed"), "{why}, in {story:?}"),
        }
    }
    let switched = story.iter().skip(1).filter(|what| matches!(what, Happens::ToolSwitched)).count();
    assert_eq!(openings.iter().skip(1).flatten().count(), switched, "{openings:?} in {story:?}");
}

#[test]
fn requests_of_an_epoch_extend_each_other_bytewise() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config {
        cases: 6,
        failure_persistence: None,
        max_shrink_iters: 12,
        ..Config::default()
    });
    let story = prop::collection::vec(happens(), 8..12);
    runner
        .run(&story, |story| {
            for dialect in [WireDialect::Anthropic, WireDialect::OpenAi] {
                runtime.block_on(holds(dialect, &story));
            }
            Ok(())
        })
        .unwrap();
}
