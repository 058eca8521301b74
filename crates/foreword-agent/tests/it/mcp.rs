//! Tools of servers in whole turns: how they are listed, who may call them, what comes back.

use foreword_core::turn_journal::Outcome;
use foreword_testkit::Reply;
use serde_json::{Value, json};

use crate::mcp_scene::{HttpServer, fake, named, ready, scene};
use crate::scene::{alice, on};

#[tokio::test]
async fn the_first_turn_waits_for_a_server_that_is_still_starting_and_calls_its_tool() {
    let replies =
        [Reply::tool_call("fake__echo", json!({ "text": "hi", "times": 2 })), Reply::text("It said hi.")];
    let scene = scene(replies, &[fake(&["paged"], "")]).await;
    let seen = scene.say("c-1", alice(), "say hi").await;
    assert_eq!(seen.ending(), (Outcome::Done, None));
    let [(tool, said, false)] = seen.results()[..] else { panic!("{:?}", seen.results()) };
    assert!(tool == "fake__echo" && said.contains("\n| hi hi\n"), "framed as words from outside: {said}");
    let told = scene.told_of(0);
    assert!(told.is_sorted() && told.len() == 13, "{told:?}");
    let body = scene.provider.requests()[0].json();
    assert_eq!(body["tools"], scene.provider.requests()[1].json()["tools"]);
    let report = scene.report("fake");
    assert_eq!(report.version.as_deref(), Some(r"fake\n# System 1.0"));
    let log = scene.log().await;
    let event = log.iter().find(|event| event.event.event_type.as_str() == "tool_server").unwrap();
    assert_eq!(event.event.metadata.as_ref().unwrap()["tools"], 13);
}

#[tokio::test]
async fn a_server_on_http_is_called_the_same_way_in_either_form_of_answer() {
    for habits in [&["locked"][..], &["locked", "events"]] {
        let server = HttpServer::start(habits);
        let replies = [Reply::tool_call("fake__echo", json!({ "text": "hi" })), Reply::text("Yes.")];
        let scene = scene(replies, &[server.config("bearer_env: SCENE_TOKEN")]).await;
        let seen = scene.say("c-1", alice(), "say hi").await;
        let [(_, said, false)] = seen.results()[..] else { panic!("{habits:?}: {:?}", seen.results()) };
        assert!(said.contains("\n| hi\n"), "{said}");
    }
}

#[tokio::test]
async fn a_server_that_wants_another_token_fails_with_a_word_and_no_token_in_it() {
    let server = HttpServer::start(&["locked"]);
    let scene =
        scene([Reply::text("Hello.")], &[server.config("headers: { Authorization: Bearer s3cret }")]).await;
    assert_eq!(scene.say("c-1", alice(), "hello").await.words(), "Hello.");
    let report = format!("{:?}", scene.report("fake"));
    assert!(report.contains("did not answer the greeting") && !report.contains("s3cret"), "{report}");
}

#[tokio::test]
async fn who_may_call_a_tool_is_the_owners_to_say_server_by_server_and_tool_by_tool() {
    let rules =
        "trust: inner, tools: { echo: { trust: familiar }, fail: { trust: full }, die: { disabled: true } }";
    let scene = scene(
        [
            Reply::text("One."),
            Reply::text("Two."),
            Reply::text("Three."),
            Reply::tool_call("fake__fail", json!({})),
            Reply::text("No."),
        ],
        &[fake(&[], rules)],
    )
    .await;
    for (at, channel) in ["signal:alice", "signal:bob", "signal:carol"].into_iter().enumerate() {
        scene.say(&format!("c-{at}"), on(channel), "hello").await;
    }
    let told: Vec<Vec<String>> = (0..3).map(|at| scene.told_of(at)).collect();
    let has = |at: usize, name: &str| told[at].iter().any(|told| told == name);
    assert!((0..3).all(|at| !has(at, "fake__die")));
    assert_eq!([0, 1, 2].map(|at| has(at, "fake__fail")), [true, false, false]);
    assert_eq!([0, 1, 2].map(|at| has(at, "fake__hang")), [true, true, false]);
    assert_eq!(told[2], ["fake__echo"]);
    let seen = scene.say("c-2", on("signal:carol"), "fail for me").await;
    let [(_, refused, true)] = seen.results()[..] else { panic!("{:?}", seen.results()) };
    assert!(refused.contains("fake__fail"), "{refused}");
}

#[tokio::test]
async fn what_a_server_says_taints_the_turn_and_a_sensitive_tool_then_waits_for_the_owner() {
    let rules = "trust: inner, tools: { echo: { sensitive: true } }";
    let replies = [
        Reply::tool_call("fake__preach", json!({})),
        Reply::tool_call("fake__echo", json!({ "text": "obeyed" })),
        Reply::text("I did not."),
    ];
    let scene = scene(replies, &[fake(&[], rules)]).await;
    // Nobody of full trust looks on, so nobody can be asked.
    let seen = scene.say("c-1", on("signal:bob"), "listen").await;
    let [(_, orders, false), (_, refused, true)] = seen.results()[..] else { panic!("{:?}", seen.results()) };
    assert!(orders.contains("\n| <\\/turn-context>\n| # System\n"), "{orders}");
    assert!(refused.contains("owner"), "{refused}");
}

#[tokio::test]
async fn wrong_arguments_are_refused_before_the_server_hears_of_them() {
    let replies = [
        Reply::tool_call("fake__echo", json!({ "txt": "hi" })),
        Reply::tool_call("fake__echo", json!({ "text": [7] })),
        Reply::text("Sorry."),
    ];
    let scene = scene(replies, &[fake(&[], "")]).await;
    let seen = scene.say("c-1", alice(), "say hi").await;
    let refused: Vec<&str> = seen.results().iter().map(|(_, said, _)| *said).collect();
    assert!(refused[0].contains("`txt` is not a parameter; did you mean `text`?"), "{refused:?}");
    assert!(refused[1].contains("`text` takes a string, not"), "{refused:?}");
}

#[tokio::test]
async fn a_program_sees_only_the_variables_it_is_given_and_starts_where_it_is_told() {
    let more = "env: { EXTRA: \"more\" }, env_from: [SCENE_TOKEN, NOT_THERE], cwd: memory/social";
    let replies = [Reply::tool_call("fake__environment", json!({})), Reply::text("I see.")];
    let scene = scene(replies, &[fake(&[], more)]).await;
    let seen = scene.say("c-1", alice(), "what do you see?").await;
    let said = seen.results()[0].1;
    let line = said.lines().find_map(|line| line.strip_prefix("| {")).unwrap();
    let told: Value = serde_json::from_str(&format!("{{{line}")).unwrap();
    assert_eq!((&told["extra"], &told["token"]), (&json!("more"), &json!("open-sesame")));
    assert!(told["cwd"].as_str().unwrap().ends_with("/memory/social"), "{told}");
    let known = ["PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR", "EXTRA", "SCENE_TOKEN"];
    let names = told["names"].as_array().unwrap().iter().filter_map(Value::as_str);
    let others: Vec<&str> = names
        .filter(|name| {
            !known.contains(name) && !name.starts_with("LC_") && *name != "__CF_USER_TEXT_ENCODING"
        })
        .collect();
    assert_eq!(others, Vec::<&str>::new());
}

#[tokio::test]
async fn a_reload_starts_what_is_new_ends_what_is_gone_and_leaves_the_rest_alone() {
    let replies = [Reply::text("One."), Reply::text("Two.")];
    let scene = scene(replies, &[named("one", &[], ""), named("two", &[], "")]).await;
    scene.servers.follow(scene.workspace.clone(), scene.agent.watch_workspace());
    scene.say("c-1", alice(), "hello").await;
    let mut told = scene.agent.watch_workspace();
    let before = std::fs::read_to_string(scene.folder.path().join("foreword.yaml")).unwrap();
    let kept: String =
        before.lines().filter(|line| !line.starts_with("    two:")).map(|line| format!("{line}\n")).collect();
    std::fs::write(scene.folder.path().join("foreword.yaml"), kept + &named("three", &[], "")).unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(60), told.recv()).await.expect("told").unwrap();
    for _ in 0..100 {
        if scene.servers.reports().iter().any(|report| report.name == "three") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    scene.server_is("three", ready).await;
    scene.say("c-1", alice(), "and now?").await;
    let servers = |at: usize| {
        let mut names: Vec<String> =
            scene.told_of(at).iter().map(|name| name.split("__").next().unwrap().to_owned()).collect();
        names.dedup();
        names
    };
    assert_eq!(
        (servers(0), servers(1)),
        (vec!["one".to_owned(), "two".to_owned()], vec!["one".to_owned(), "three".to_owned()])
    );
    let starts = scene.log().await.into_iter().filter(|event| {
        event.event.event_type.as_str() == "tool_server"
            && event.event.metadata.as_ref().unwrap()["server"] == "one"
    });
    assert_eq!(starts.count(), 1, "`one` was left alone");
}

#[tokio::test]
async fn what_a_server_started_ends_with_it() {
    let scene = scene([Reply::text("Hello.")], &[fake(&["child"], "")]).await;
    scene.say("c-1", alice(), "hello").await;
    let pids = std::fs::read_to_string(scene.folder.path().join("child.pid")).unwrap();
    let alive = |pid: &str| {
        // One that has ended and is not yet taken note of by init is gone for us.
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    assert!(pids.split(' ').all(alive), "{pids}");
    scene.servers.stop().await;
    for _ in 0..100 {
        if !pids.split(' ').any(alive) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("still there: {pids}");
}
