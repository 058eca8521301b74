//! Servers of tools that hang, flood, lie, die, change their minds or give orders: each costs the turn that called it an answer
//! that says so, and nobody else anything.

use std::time::Duration;

use foreword_agent::mcp::ServerState;
use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_core::turn_journal::Outcome;
use foreword_testkit::Reply;
use serde_json::json;

use crate::mcp_scene::{HttpServer, failing, fake, named, ready, scene};
use crate::scene::{Scene, Seen, Setting, alice, on};

/// What the one call of a turn gave, if it was to fail and the turn went on.
fn failure(seen: &Seen) -> &str {
    assert_eq!(seen.ending(), (Outcome::Done, None));
    let [(_, said, true)] = seen.results()[..] else { panic!("{:?}", seen.results()) };
    said
}

fn calls(tool: &str) -> [Reply; 2] {
    [Reply::tool_call(format!("fake__{tool}"), json!({})), Reply::text("Well.")]
}

#[tokio::test]
async fn a_server_that_hangs_is_not_waited_for_longer_than_its_limit_and_is_told_so() {
    let scene = scene(calls("hang"), &[fake(&[], "timeout_ms: 300")]).await;
    let seen = scene.say("c-1", alice(), "go").await;
    assert!(
        failure(&seen).starts_with("stopped: the server `fake` took longer than 0.3 seconds"),
        "{:?}",
        seen.results()
    );
    assert!(scene.event_names().await.contains(&"tool_timeout".to_owned()));
    scene.server_is("fake", |report| report.last_words.contains(&"cancelled".to_owned())).await;
    assert!(ready(&scene.report("fake")), "it answers other questions, so it stays");
}

#[tokio::test]
async fn a_server_that_floods_is_ended_before_it_fills_the_memory_and_started_again() {
    for tool in ["flood", "chatter"] {
        let scene = scene(calls(tool), &[fake(&[], "timeout_ms: 20000")]).await;
        let seen = scene.say("c-1", alice(), "go").await;
        assert!(failure(&seen).contains("broke off during the call"), "{tool}: {:?}", seen.results());
        let log = loop_until_logged(&scene, "more than can be read").await;
        assert!(log.contains("failing"), "{log}");
        scene.server_is("fake", ready).await;
    }
}

async fn loop_until_logged(scene: &Scene, words: &str) -> String {
    for _ in 0..200 {
        let log = scene.log().await;
        let found =
            log.iter().find(|event| event.event.error.as_deref().is_some_and(|error| error.contains(words)));
        if let Some(event) = found {
            return format!("{:?}", event.event);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("`{words}` is in no event");
}

#[tokio::test]
async fn an_endless_answer_over_http_is_cut_off_too() {
    let server = HttpServer::start(&[]);
    let scene = scene(calls("flood"), &[server.config("timeout_ms: 20000")]).await;
    let seen = scene.say("c-1", alice(), "go").await;
    assert!(failure(&seen).contains("broke off during the call"), "{:?}", seen.results());
}

#[tokio::test]
async fn a_megabyte_of_answer_is_cut_to_its_ends_and_that_is_logged() {
    let scene = scene(calls("big"), &[fake(&[], "")]).await;
    let seen = scene.say("c-1", alice(), "go").await;
    let said = seen.results()[0].1;
    assert!(said.contains("| begin xxx") && said.contains("xxx end") && said.contains("bytes left out here"));
    assert!(said.len() < 40_000, "{}", said.len());
    assert!(scene.event_names().await.contains(&"tool_output_truncated".to_owned()));
}

#[tokio::test]
async fn a_server_that_lies_about_its_schema_or_answers_nonsense_gives_an_error_like_any_other() {
    let lie = [Reply::tool_call("fake__lie", json!({ "number": 7 })), Reply::text("Well.")];
    for (replies, words) in [
        (lie, "the server `fake` says that it failed:"),
        (calls("nonsense"), "the server `fake`"),
        (calls("fail"), "the server `fake` refused the call:\n| no such thing"),
    ] {
        let scene = scene(replies, &[fake(&[], "timeout_ms: 3000")]).await;
        let seen = scene.say("c-1", alice(), "go").await;
        let said = failure(&seen).replace("| the server", "the server");
        assert!(said.contains(words) && !said.contains("\n</turn-context>"), "{said}");
    }
}

#[tokio::test]
async fn a_server_that_dies_on_a_call_takes_nothing_else_down_and_comes_back_with_the_same_tools() {
    let replies = [
        Reply::tool_call("fake__die", json!({})),
        Reply::tool_call("other__echo", json!({ "text": "still here" })),
        Reply::text("One of them is."),
        Reply::text("Hello carol."),
        Reply::tool_call("fake__echo", json!({ "text": "back" })),
        Reply::text("It is back."),
    ];
    let scene = scene(replies, &[fake(&[], ""), named("other", &[], "")]).await;
    let seen = scene.say("c-1", alice(), "go").await;
    let [(_, broken, true), (_, fine, false)] = seen.results()[..] else { panic!("{:?}", seen.results()) };
    assert!(broken.contains("broke off") && fine.contains("| still here"), "{broken} {fine}");
    assert_eq!(scene.say("c-2", on("signal:carol"), "hello").await.words(), "Hello carol.");
    let report = scene.server_is("fake", ready).await;
    assert!(report.last_words.iter().any(|line| line.starts_with("I can't go on\\u{1b}")), "{report:?}");
    loop_until_logged(&scene, "it ended with exit status: 3").await;
    let seen = scene.say("c-1", alice(), "and now?").await;
    assert!(seen.results()[0].1.contains("| back"), "{:?}", seen.results());
    let bodies: Vec<_> = scene.provider.requests().iter().map(|request| request.json()).collect();
    assert_eq!(bodies[0]["tools"], bodies[4]["tools"]);
    assert_eq!(bodies[0]["system"], bodies[4]["system"], "no prompt was made anew because of it");
}

#[tokio::test]
async fn while_a_server_is_away_its_tools_stay_listed_and_a_call_says_to_try_later() {
    let mut server = HttpServer::start(&[]);
    let replies = [
        Reply::text("Hello."),
        Reply::tool_call("fake__echo", json!({ "text": "hi" })),
        Reply::text("Later."),
    ];
    let again = [Reply::tool_call("fake__echo", json!({ "text": "hi" })), Reply::text("Later.")];
    let script: Vec<Reply> = replies.into_iter().chain(again).collect();
    let scene = scene(script, &[server.config("start_timeout_ms: 2000")]).await;
    scene.say("c-1", alice(), "hello").await;
    server.kill();
    let seen = scene.say("c-1", alice(), "say hi").await;
    assert!(failure(&seen).contains("the server `fake`"), "{:?}", seen.results());
    scene.server_is("fake", failing).await;
    let seen = scene.say("c-1", alice(), "say hi").await;
    assert!(
        failure(&seen).contains("can't be reached now; it is being started again"),
        "{:?}",
        seen.results()
    );
    assert_eq!(scene.told_of(0), scene.told_of(3));
}

#[tokio::test]
async fn servers_that_never_come_up_cost_a_turn_no_more_than_their_time_to_start() {
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
    let scene = scene(replies, &servers).await;
    let seen = scene.say("c-1", alice(), "say hi").await;
    assert!(seen.results()[0].1.contains("| hi"), "{:?}", seen.results());
    let why = |name: &str| format!("{:?}", scene.report(name));
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
async fn a_turn_that_waits_for_a_server_to_start_keeps_its_lease_and_can_be_stopped() {
    let yaml = format!("tools:\n  mcp:\n{}", fake(&["silent"], "start_timeout_ms: 60000"));
    let setting = Setting { lease: Duration::from_millis(1_500), ..Setting::default() };
    let scene = Scene::set([Reply::text("Too late.")], setting, &yaml).await;
    let receipt = scene.send("c-1", alice(), "go").await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let now = (&Machine as &dyn Surroundings).timestamp();
    assert_eq!(scene.store.unfinished_turns(now).await.unwrap(), [], "nobody may take it over");
    assert_eq!(scene.provider.requests().len(), 0, "it waits");
    scene.agent.cancel(&receipt.message.message.conversation);
    let stopped = tokio::time::timeout(Duration::from_secs(4), scene.follow(receipt)).await;
    assert_eq!(stopped.expect("it is stopped at once").ending(), (Outcome::Cancelled, None));
}

#[tokio::test]
async fn a_server_that_takes_longer_than_a_turn_waits_is_done_without() {
    let servers = [fake(&["silent"], "start_timeout_ms: 60000"), named("other", &[], "")];
    let scene = scene([Reply::text("Without it.")], &servers).await;
    let seen = scene.say("c-1", alice(), "go").await;
    assert_eq!(seen.words(), "Without it.");
    assert!(scene.told_of(0).contains(&"other__echo".to_owned()), "{:?}", scene.told_of(0));
    assert_eq!(scene.report("fake").state, ServerState::Starting);
}

#[tokio::test]
async fn a_server_that_says_again_what_it_offers_is_in_the_log_once() {
    let again = Reply::tool_call("fake__echo", json!({ "text": "list again" }));
    let change = Reply::tool_call("fake__change", json!({}));
    let scene = scene([again, Reply::text("Well."), change, Reply::text("Well.")], &[fake(&[], "")]).await;
    scene.say("c-1", alice(), "go").await;
    // It is asked at most once a second.
    tokio::time::sleep(Duration::from_secs(3)).await;
    scene.say("c-1", alice(), "go").await;
    scene.server_is("fake", |report| report.tools.contains(&"fake__fresh".to_owned())).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let names = scene.event_names().await;
    assert_eq!(names.iter().filter(|name| *name == "tool_server").count(), 2, "it came, and it changed");
}

#[tokio::test]
async fn tools_that_change_in_the_middle_of_a_turn_count_from_the_next_one() {
    let replies = [
        Reply::tool_call("fake__change", json!({})),
        Reply::tool_call("fake__fresh", json!({})),
        Reply::text("Not yet."),
        Reply::tool_call("fake__fresh", json!({})),
        Reply::tool_call("fake__echo", json!({ "text": "hi" })),
        Reply::text("Now."),
    ];
    let scene = scene(replies, &[fake(&[], "")]).await;
    let seen = scene.say("c-1", alice(), "change").await;
    let results = seen.results();
    assert!(!results[0].2 && results[1].2 && results[1].1.contains("fake__fresh"), "{results:?}");
    assert_eq!(scene.told_of(0), scene.told_of(2));
    scene.server_is("fake", |report| report.tools.contains(&"fake__fresh".to_owned())).await;
    let seen = scene.say("c-1", alice(), "and now?").await;
    let results = seen.results();
    assert!(!results[0].2 && results[0].1.contains("fresh indeed"), "{results:?}");
    assert!(results[1].2, "what is gone is gone: {results:?}");
    let log = scene.log().await;
    let built: Vec<_> =
        log.iter().filter(|event| event.event.event_type.as_str() == "prompt_built").collect();
    assert!(built[1].event.metadata.as_ref().unwrap()["opened"].to_string().contains("tool set changed"));
}

#[tokio::test]
async fn a_tool_that_goes_while_its_turn_runs_answers_with_an_error() {
    let wait = Reply::tool_call("bash", json!({ "command": "sleep 3" }));
    let replies = [
        Reply::tool_call("fake__change", json!({})),
        wait,
        Reply::tool_call("fake__echo", json!({ "text": "hi" })),
        Reply::text("Gone."),
    ];
    let yaml = format!("tools:\n  sensitive: []\n  mcp:\n{}", fake(&[], ""));
    let scene = Scene::with(replies, foreword_core::provider::WireDialect::Anthropic, &yaml).await;
    let seen = scene.say("c-1", alice(), "change").await;
    let results = seen.results();
    assert!(results[2].2 && results[2].1.contains("gone"), "{results:?}");
}

#[tokio::test]
async fn orders_in_a_description_are_data_on_one_line_and_tools_that_can_not_be_shown_are_left_out() {
    let scene = scene([Reply::text("I only listen to you.")], &[fake(&["hostile"], "")]).await;
    scene.say("c-1", alice(), "hello").await;
    let body = scene.provider.requests()[0].json();
    let orders =
        body["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "fake__orders").unwrap();
    let description = orders["description"].as_str().unwrap();
    assert!(description.starts_with("A tool of the server `fake`, whose own words"), "{description}");
    assert!(description.len() < 1_000 && !description.contains('\n'), "{description}");
    let text = body.to_string();
    for mark in ["</turn-context>\\n# System", "<|im_start|>", "<outside-text-1>"] {
        assert!(!text.contains(mark), "{mark}");
    }
    let told = scene.told_of(0);
    assert!(!told.iter().any(|name| name.contains("deep") || name.contains("far")), "{told:?}");
    assert!(told.iter().any(|name| name.starts_with("fake__odd_name__")), "{told:?}");
    let warnings = scene.report("fake").warnings;
    assert_eq!(
        warnings,
        [
            "the tool `deep` is left out: its schema is nested more than 8 deep",
            "the tool `far` is left out: its schema refers to something outside of itself",
        ]
    );
}

#[tokio::test]
async fn what_a_server_asks_of_us_is_declined() {
    let scene = scene(calls("ask"), &[fake(&[], "")]).await;
    let seen = scene.say("c-1", alice(), "go").await;
    let said = seen.results()[0].1;
    assert!(said.contains("sampling: error"), "{said}");
    assert!(said.contains("elicitation: error") || said.contains("decline"), "{said}");
    assert!(said.contains("roots: error") || said.contains("\"roots\": []"), "{said}");
}
