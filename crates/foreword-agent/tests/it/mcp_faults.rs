//! MCP servers that hang, flood, send invalid data, die, change their tools or inject instructions: only the calling
//! turn is affected, by an error.

use std::time::Duration;

use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_agent::mcp::ServerState;
use foreword_core::turn_journal::Outcome;
use foreword_testkit::{Reply, eventually, until};
use serde_json::json;

use crate::fixture::{Fixture, Seen, Setting, alice, on};
use crate::mcp_fixture::{HttpServer, failing, fake, fixture, named, ready};

/// The error of the turn's only call; asserts that the turn succeeded.
fn failure(seen: &Seen) -> &str {
    assert_eq!(seen.ending(), (Outcome::Done, None));
    let [(_, said, true)] = seen.results()[..] else { panic!("{:?}", seen.results()) };
    said
}

fn calls(tool: &str) -> [Reply; 2] {
    [Reply::tool_call(format!("fake__{tool}"), json!({})), Reply::text("Well.")]
}

#[tokio::test]
async fn hanging_server_call_times_out_and_is_cancelled() {
    let fixture = fixture(calls("hang"), &[fake(&[], "timeout_ms: 300")]).await;
    let seen = fixture.say("c-1", alice(), "go").await;
    assert!(
        failure(&seen).starts_with("timeout: the server `fake` took longer than 0.3 seconds"),
        "{:?}",
        seen.results()
    );
    assert!(fixture.event_names().await.contains(&"tool_timeout".to_owned()));
    fixture.server_is("fake", |report| report.last_words.contains(&"cancelled".to_owned())).await;
    assert!(ready(&fixture.report("fake")), "it answers other questions, so it stays");
}

#[tokio::test]
async fn flooding_server_is_killed_and_restarted() {
    for tool in ["flood", "chatter"] {
        let fixture = fixture(calls(tool), &[fake(&[], "timeout_ms: 20000")]).await;
        let seen = fixture.say("c-1", alice(), "go").await;
        assert!(failure(&seen).contains("was lost during the call"), "{tool}: {:?}", seen.results());
        let log = loop_until_logged(&fixture, "more than can be read").await;
        assert!(log.contains("failing"), "{log}");
        fixture.server_is("fake", ready).await;
    }
}

async fn loop_until_logged(fixture: &Fixture, words: &str) -> String {
    eventually(async || {
        let log = fixture.log().await;
        let found =
            log.iter().find(|event| event.event.error.as_deref().is_some_and(|error| error.contains(words)));
        found.map(|event| format!("{:?}", event.event)).ok_or(log)
    })
    .await
}

#[tokio::test]
async fn endless_http_response_is_cut_off() {
    let server = HttpServer::start(&[]);
    let fixture = fixture(calls("flood"), &[server.config("timeout_ms: 20000")]).await;
    let seen = fixture.say("c-1", alice(), "go").await;
    assert!(failure(&seen).contains("was lost during the call"), "{:?}", seen.results());
}

#[tokio::test]
async fn long_server_output_is_truncated_and_logged() {
    let fixture = fixture(calls("big"), &[fake(&[], "")]).await;
    let seen = fixture.say("c-1", alice(), "go").await;
    let said = seen.results()[0].1;
    assert!(said.contains("| begin xxx") && said.contains("xxx end") && said.contains("bytes left out here"));
    assert!(said.len() < 40_000, "{}", said.len());
    assert!(fixture.event_names().await.contains(&"tool_output_truncated".to_owned()));
}

#[tokio::test]
async fn invalid_server_response_is_an_error() {
    let lie = [Reply::tool_call("fake__lie", json!({ "number": 7 })), Reply::text("Well.")];
    for (replies, words) in [
        (lie, "the server `fake` says that it failed:"),
        (calls("nonsense"), "the server `fake`"),
        (calls("fail"), "the server `fake` refused the call:\n| no such thing"),
    ] {
        let fixture = fixture(replies, &[fake(&[], "timeout_ms: 3000")]).await;
        let seen = fixture.say("c-1", alice(), "go").await;
        let said = failure(&seen).replace("| the server", "the server");
        assert!(said.contains(words) && !said.contains("\n</turn-context>"), "{said}");
    }
}

#[tokio::test]
async fn server_that_dies_during_a_call_is_restarted() {
    let replies = [
        Reply::tool_call("fake__die", json!({})),
        Reply::tool_call("other__echo", json!({ "text": "still here" })),
        Reply::text("One of them is."),
        Reply::text("Hello carol."),
        Reply::tool_call("fake__echo", json!({ "text": "back" })),
        Reply::text("It is back."),
    ];
    let fixture = fixture(replies, &[fake(&[], ""), named("other", &[], "")]).await;
    let seen = fixture.say("c-1", alice(), "go").await;
    let [(_, broken, true), (_, fine, false)] = seen.results()[..] else { panic!("{:?}", seen.results()) };
    assert!(broken.contains("was lost") && fine.contains("| still here"), "{broken} {fine}");
    assert_eq!(fixture.say("c-2", on("signal:carol"), "hello").await.text(), "Hello carol.");
    let report = fixture.server_is("fake", ready).await;
    assert!(report.last_words.iter().any(|line| line.starts_with("I can't go on\\u{1b}")), "{report:?}");
    loop_until_logged(&fixture, "it ended with exit status: 3").await;
    let seen = fixture.say("c-1", alice(), "and now?").await;
    assert!(seen.results()[0].1.contains("| back"), "{:?}", seen.results());
    let bodies: Vec<_> = fixture.provider.requests().iter().map(|request| request.json()).collect();
    assert_eq!(bodies[0]["tools"], bodies[4]["tools"]);
    assert_eq!(bodies[0]["system"], bodies[4]["system"], "no prompt was made anew because of it");
}

#[tokio::test]
async fn unavailable_server_keeps_its_tools_listed() {
    let mut server = HttpServer::start(&[]);
    let replies = [
        Reply::text("Hello."),
        Reply::tool_call("fake__echo", json!({ "text": "hi" })),
        Reply::text("Later."),
    ];
    let again = [Reply::tool_call("fake__echo", json!({ "text": "hi" })), Reply::text("Later.")];
    let script: Vec<Reply> = replies.into_iter().chain(again).collect();
    let fixture = fixture(script, &[server.config("start_timeout_ms: 2000")]).await;
    fixture.say("c-1", alice(), "hello").await;
    server.kill();
    let seen = fixture.say("c-1", alice(), "say hi").await;
    assert!(failure(&seen).contains("the server `fake`"), "{:?}", seen.results());
    fixture.server_is("fake", failing).await;
    let seen = fixture.say("c-1", alice(), "say hi").await;
    assert!(
        failure(&seen).contains("can't be reached now; it is being started again"),
        "{:?}",
        seen.results()
    );
    assert_eq!(fixture.offered_tools(0), fixture.offered_tools(3));
}

#[tokio::test]
async fn servers_that_never_start_delay_a_turn_once() {
    let soon = "start_timeout_ms: 700";
    let servers = [
        named("silent", &["silent"], soon),
        named("garbage", &["garbage"], soon),
        named("dead", &["dead"], ""),
        "    missing: { command: no-such-program-here }\n".to_owned(),
        "    refused: { url: \"http://127.0.0.1:9/mcp\" }\n".to_owned(),
        named("fake", &[], ""),
    ];
    let replies = [Reply::tool_call("fake__echo", json!({ "text": "hi" })), Reply::text("Yes.")];
    let fixture = fixture(replies, &servers).await;
    let seen = fixture.say("c-1", alice(), "say hi").await;
    assert!(seen.results()[0].1.contains("| hi"), "{:?}", seen.results());
    let why = |name: &str| format!("{:?}", fixture.report(name));
    assert!(why("silent").contains("did not start within 0.7 seconds"), "{}", why("silent"));
    assert!(why("garbage").contains("did not start within 0.7 seconds"), "{}", why("garbage"));
    assert!(
        why("dead").contains("it ended with exit status: 2")
            && why("dead").contains("no configuration found")
    );
    assert!(why("missing").contains("`no-such-program-here` can't be started"), "{}", why("missing"));
    assert!(why("refused").contains("did not answer the greeting"), "{}", why("refused"));
}

#[tokio::test]
async fn turn_waiting_for_a_server_keeps_its_lease() {
    let yaml = format!("tools:\n  mcp:\n{}", fake(&["silent"], "start_timeout_ms: 60000"));
    let lease = Duration::from_millis(1_500);
    let fixture = Fixture::set([Reply::text("Too late.")], Setting::lease(lease), &yaml).await;
    let receipt = fixture.send("c-1", alice(), "go").await;
    let now = || (&Machine as &dyn ClockAndRng).timestamp();
    let expired = async |at| fixture.store.unfinished_turns(at).await.unwrap();
    let much_later = now().plus(lease * 100);
    until("the turn begins", async || !expired(much_later).await.is_empty()).await;
    // The first lease ends before.
    let at = now().plus(lease);
    until("the lease is renewed", async || expired(at).await.is_empty()).await;
    assert_eq!(fixture.provider.requests().len(), 0, "it waits");
    fixture.agent.cancel(&receipt.message.message.conversation);
    let stopped = tokio::time::timeout(Duration::from_secs(4), fixture.follow(receipt)).await;
    assert_eq!(stopped.expect("it is stopped at once").ending(), (Outcome::Cancelled, None));
}

#[tokio::test]
async fn slow_server_is_left_out_of_the_turn() {
    let servers = [fake(&["silent"], "start_timeout_ms: 60000"), named("other", &[], "")];
    let fixture = fixture([Reply::text("Without it.")], &servers).await;
    let seen = fixture.say("c-1", alice(), "go").await;
    assert_eq!(seen.text(), "Without it.");
    assert!(fixture.offered_tools(0).contains(&"other__echo".to_owned()), "{:?}", fixture.offered_tools(0));
    assert_eq!(fixture.report("fake").state, ServerState::Starting);
}

#[tokio::test]
async fn repeated_tool_list_is_logged_once() {
    let again = Reply::tool_call("fake__echo", json!({ "text": "list again" }));
    let change = Reply::tool_call("fake__change", json!({}));
    let fixture =
        fixture([again, Reply::text("Well."), change, Reply::text("Well.")], &[fake(&[], "")]).await;
    fixture.say("c-1", alice(), "go").await;
    // Polled at most once a second.
    tokio::time::sleep(Duration::from_secs(3)).await;
    fixture.say("c-1", alice(), "go").await;
    fixture.server_is("fake", |report| report.tools.contains(&"fake__fresh".to_owned())).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let names = fixture.event_names().await;
    assert_eq!(names.iter().filter(|name| *name == "tool_server").count(), 2, "it came, and it changed");
}

#[tokio::test]
async fn changed_tools_apply_from_the_next_turn() {
    let replies = [
        Reply::tool_call("fake__change", json!({})),
        Reply::tool_call("fake__fresh", json!({})),
        Reply::text("Not yet."),
        Reply::tool_call("fake__fresh", json!({})),
        Reply::tool_call("fake__echo", json!({ "text": "hi" })),
        Reply::text("Now."),
    ];
    let fixture = fixture(replies, &[fake(&[], "")]).await;
    let seen = fixture.say("c-1", alice(), "change").await;
    let results = seen.results();
    assert!(!results[0].2 && results[1].2 && results[1].1.contains("fake__fresh"), "{results:?}");
    assert_eq!(fixture.offered_tools(0), fixture.offered_tools(2));
    fixture.server_is("fake", |report| report.tools.contains(&"fake__fresh".to_owned())).await;
    let seen = fixture.say("c-1", alice(), "and now?").await;
    let results = seen.results();
    assert!(!results[0].2 && results[0].1.contains("fresh indeed"), "{results:?}");
    assert!(results[1].2, "what is gone is gone: {results:?}");
    let log = fixture.log().await;
    let built: Vec<_> =
        log.iter().filter(|event| event.event.event_type.as_str() == "prompt_built").collect();
    assert!(built[1].event.metadata.as_ref().unwrap()["opened"].to_string().contains("tool set changed"));
}

#[tokio::test]
async fn removed_tool_returns_an_error() {
    let wait = Reply::tool_call("bash", json!({ "command": "sleep 3" }));
    let replies = [
        Reply::tool_call("fake__change", json!({})),
        wait,
        Reply::tool_call("fake__echo", json!({ "text": "hi" })),
        Reply::text("Gone."),
    ];
    let yaml = format!("tools:\n  sensitive: []\n  mcp:\n{}", fake(&[], ""));
    let fixture = Fixture::with(replies, foreword_core::provider::WireDialect::Anthropic, &yaml).await;
    let seen = fixture.say("c-1", alice(), "change").await;
    let results = seen.results();
    assert!(results[2].2 && results[2].1.contains("gone"), "{results:?}");
}

#[tokio::test]
async fn hostile_tool_descriptions_stay_on_one_line() {
    let fixture = fixture([Reply::text("I only listen to you.")], &[fake(&["hostile"], "")]).await;
    fixture.say("c-1", alice(), "hello").await;
    let body = fixture.provider.requests()[0].json();
    let orders =
        body["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "fake__orders").unwrap();
    let description = orders["description"].as_str().unwrap();
    assert!(description.starts_with("A tool of the server `fake`, whose own words"), "{description}");
    assert!(description.len() < 1_000 && !description.contains('\n'), "{description}");
    let text = body.to_string();
    for mark in ["</turn-context>\\n# System", "<|im_start|>", "<outside-text-1>"] {
        assert!(!text.contains(mark), "{mark}");
    }
    let offered = fixture.offered_tools(0);
    assert!(!offered.iter().any(|name| name.contains("deep") || name.contains("far")), "{offered:?}");
    assert!(offered.iter().any(|name| name.starts_with("fake__odd_name__")), "{offered:?}");
    let warnings = fixture.report("fake").warnings;
    assert_eq!(
        warnings,
        [
            "the tool `deep` is left out: its schema is nested more than 8 deep",
            "the tool `far` is left out: its schema refers to something outside of itself",
        ]
    );
}

#[tokio::test]
async fn server_requests_are_declined() {
    let fixture = fixture(calls("ask"), &[fake(&[], "")]).await;
    let seen = fixture.say("c-1", alice(), "go").await;
    let said = seen.results()[0].1;
    assert!(said.contains("sampling: error"), "{said}");
    assert!(said.contains("elicitation: error") || said.contains("decline"), "{said}");
    assert!(said.contains("roots: error") || said.contains("\"roots\": []"), "{said}");
}
