use foreword_agent::conversation::inbound::{Inbound, TurnOrigin};
use foreword_agent::reports::viewer::Viewer;
use foreword_core::api_token::Scope;
use foreword_core::event::{Event, EventType};
use foreword_core::id::ConversationId;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_store::events::EventFilter;
use foreword_workspace::speaker::Speaker;
use serde_json::{Value, json};

use crate::test_app::TestApp;

/// Posts a message and waits for the answer.
async fn speak(app: &TestApp, user: &str, conversation: &str) {
    let occasion = TurnOrigin {
        speaker: Speaker {
            user: Some(user.into()),
            channel: Some(Channel::new(&format!("http:{user}"))),
            ..Speaker::default()
        },
        ..TurnOrigin::default()
    };
    let conversation = ConversationId::new(conversation).unwrap();
    let inbound = Inbound { conversation, origin: occasion, text: "Good morning.".to_owned(), key: None };
    app.agent.ask(inbound).await.unwrap();
    app.events.flush().await.unwrap();
}

fn items(page: &Value) -> &Vec<Value> {
    page["items"].as_array().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn event_json_matches_the_log() {
    let app = TestApp::start().await;
    speak(&app, "alice", "c-alice").await;
    let (status, page) = app.get("/api/v1/events?session=c-alice&limit=500", &app.alice).await;
    assert_eq!(status, 200);
    let now: foreword_core::timestamp::Timestamp = jiff::Timestamp::now().into();
    let zone = jiff::tz::TimeZone::UTC;
    let (store, trust) = (app.store.clone(), Trust::Full);
    let viewer = Viewer { store, trust, user: None, conversation: None, turn: None, now, zone };
    let session = Some(ConversationId::new("c-alice").unwrap());
    let logged = viewer.newest_stored(EventFilter { session, ..EventFilter::default() }, 500).await.unwrap();
    assert!(logged.len() > 3, "{logged:?}");
    assert_eq!(page["items"], serde_json::to_value(&logged).unwrap());
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_boundaries_reveal_nothing_about_withheld_events() {
    let app = TestApp::start().await;
    for user in ["bob", "alice", "alice", "alice", "alice", "alice", "alice", "alice", "bob"] {
        speak(&app, user, "c-bob").await;
    }
    let path = "/api/v1/events?session=c-bob";
    let all = app.get(&format!("{path}&limit=500"), &app.bob).await.1;
    let hidden = items(&app.get(&format!("{path}&limit=500"), &app.alice).await.1).len() - items(&all).len();
    assert!(hidden > 40, "{hidden}");
    for limit in 1..=items(&all).len() {
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let (_, page) = app.get(&format!("{path}&limit={limit}{after}"), &app.bob).await;
            seen.extend(items(&page).clone());
            let Some(next) = page["next"].as_str() else { break };
            let last = seen.last().unwrap()["id"].to_string();
            assert_eq!(next.rsplit('-').next(), Some(last.as_str()), "limit {limit}");
            after = format!("&after={next}");
        }
        assert_eq!(&seen, items(&all), "limit {limit}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_events_hold_each_of_them_once() {
    let app = TestApp::start().await;
    speak(&app, "alice", "c-alice").await;
    let whole = app.get("/api/v1/events?session=c-alice&limit=500", &app.alice).await.1;
    for token in [&app.alice] {
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/api/v1/events?session=c-alice&limit=2&after={after}");
            let (status, page) = app.get(&path, token).await;
            assert_eq!(status, 200, "{page}");
            seen.extend(items(&page).clone());
            let Some(next) = page["next"].as_str() else { break };
            after = next.to_owned();
        }
        assert_eq!(&seen, items(&whole));
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_sees_own_conversations_only() {
    let app = TestApp::start().await;
    for user in ["alice", "bob", "carol"] {
        speak(&app, user, &format!("c-{user}")).await;
    }
    let (status, own) = app.get("/api/v1/events?session=c-bob&limit=500", &app.bob).await;
    assert_eq!(status, 200);
    assert!(items(&own).iter().any(|event| event["event_type"] == "api_call"), "{own}");
    assert!(items(&own).iter().all(|event| event["session_id"] == "c-bob"), "{own}");
    for path in ["events?session", "cache?conversation", "status?conversation"] {
        let not_there = app.get(&format!("/api/v1/{path}=c-nobody"), &app.bob).await;
        assert_eq!((not_there.0, &not_there.1["code"]), (404, &"not_found".into()), "{path}");
        for others in ["c-alice", "c-carol"] {
            let (status, problem) = app.get(&format!("/api/v1/{path}={others}"), &app.bob).await;
            let words = problem.to_string().replace(others, "c-nobody");
            assert_eq!((status, words), (404, not_there.1.to_string()), "{path} {others}");
        }
    }
    for path in ["/api/v1/events", "/api/v1/cache"] {
        let (status, problem) = app.get(path, &app.bob).await;
        assert_eq!((status, &problem["code"]), (400, &"conversation_needed".into()), "{path}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_above_the_callers_trust_are_hidden() {
    let app = TestApp::start().await;
    speak(&app, "bob", "c-bob").await;
    // The owner lowers bob's trust.
    let file = app.folder.path().join("foreword.yaml");
    let less = std::fs::read_to_string(&file).unwrap().replace("trust: inner", "trust: familiar");
    std::fs::write(&file, less).unwrap();
    app.workspace.refresh();
    let page = app.get("/api/v1/events?session=c-bob&limit=500", &app.bob).await.1;
    assert!(items(&page).iter().all(|event| event.get("turn_id").is_none()), "{page}");
    assert_eq!(app.get("/api/v1/traces/last", &app.bob).await.0, 404);
    assert_eq!(app.get("/api/v1/traces/last?conversation=c-bob", &app.alice).await.0, 200);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turn_is_visible_to_its_user_and_the_owner() {
    let app = TestApp::start().await;
    speak(&app, "alice", "c-alice").await;
    speak(&app, "bob", "c-bob").await;
    let (status, bobs) = app.get("/api/v1/traces/last", &app.bob).await;
    assert_eq!((status, &bobs["session_id"], &bobs["state"]), (200, &json!("c-bob"), &json!("done")));
    assert_eq!((&bobs["calls"], &bobs["trust"]), (&json!(1), &json!("inner")));
    assert!(!bobs["spans"].as_array().unwrap().is_empty());
    let id = bobs["turn"].as_str().unwrap();
    for token in [&app.alice, &app.bob] {
        assert_eq!(app.get(&format!("/api/v1/traces/{id}"), token).await.1["turn"], bobs["turn"]);
    }
    let (status, problem) = app.get(&format!("/api/v1/traces/{id}"), &app.carol).await;
    assert_eq!((status, &problem["code"]), (404, &"not_found".into()));
    // Both turns match the prefix, but bob may see only one.
    let beginning = &id[..3];
    let path = format!("/api/v1/traces/{beginning}");
    let (status, problem) = app.get(&path, &app.alice).await;
    assert_eq!((status, &problem["code"]), (409, &"several_turns".into()));
    assert_eq!(app.get(&path, &app.bob).await.0, 404);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_sees_all_costs_and_others_their_own() {
    let app = TestApp::start().await;
    let now: foreword_core::timestamp::Timestamp = jiff::Timestamp::now().into();
    let call = |user: &str, usd| Event {
        user_id: Some(user.into()),
        session_id: Some(ConversationId::new(format!("c-{user}")).unwrap()),
        tokens_in: Some(1_000),
        cost_usd: Some(usd),
        ..Event::new(EventType::ApiCall, now)
    };
    app.store.add_events(&[call("alice", 0.5), call("bob", 0.25)]).await.unwrap();
    let (_, all) = app.get("/api/v1/costs?by=user", &app.alice).await;
    assert_eq!((&all["total"]["cost_usd"], &all["rows"][0]["key"]), (&json!(0.75), &json!("alice")));
    for by in ["day", "session", "user", "model", "agent"] {
        let (status, bobs) = app.get(&format!("/api/v1/costs?by={by}"), &app.bob).await;
        assert_eq!((status, &bobs["by"], &bobs["total"]["cost_usd"]), (200, &json!(by), &json!(0.25)));
        assert_eq!(
            (bobs["rows"].as_array().unwrap().len(), &bobs["today"]["calls"]),
            (1, &json!(1)),
            "{bobs}"
        );
        assert!(!bobs.to_string().contains("alice"), "{bobs}");
    }
    assert_eq!(app.get("/api/v1/costs", &app.carol).await.1["total"]["calls"], 0);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_sees_the_whole_status() {
    let app = TestApp::start().await;
    speak(&app, "bob", "c-bob").await;
    let (_, all) = app.get("/api/v1/status", &app.alice).await;
    assert_eq!(format!("http://{}", all["server"]["listen"].as_str().unwrap()), app.url);
    assert_eq!(
        (&all["server"]["version"], &all["store"]),
        (&env!("CARGO_PKG_VERSION").into(), &"sqlite".into())
    );
    assert_eq!((&all["conversations"]["count"], &all["cost_today"]["calls"]), (&json!(1), &json!(1)));
    let (_, bobs) = app.get("/api/v1/status?conversation=c-bob", &app.bob).await;
    let names: Vec<&str> = bobs.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["conversation", "errors", "layers", "memory", "now"]);
    // The layers of the prompt, those that bob's trust permits.
    let ids = |status: &Value| -> Vec<String> {
        status["layers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|layer| layer["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let (owners, bobs_layers) = (ids(&all), ids(&bobs));
    assert!(
        owners.contains(&"long_term/MEMORY.md".to_owned()) && owners.contains(&"soul".to_owned()),
        "{owners:?}"
    );
    assert!(
        bobs_layers.contains(&"soul".to_owned()) && !bobs_layers.iter().any(|id| id.contains("MEMORY.md"))
    );
    assert_eq!(bobs["conversation"]["id"], "c-bob");
    assert_eq!(bobs["memory"], json!({ "shared": 0, "social": 0 }));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cache_report_covers_the_callers_conversations() {
    let app = TestApp::start().await;
    speak(&app, "bob", "c-bob").await;
    speak(&app, "bob", "c-bob").await;
    let (status, report) = app.get("/api/v1/cache?conversation=c-bob", &app.bob).await;
    assert_eq!((status, &report["conversations"][0]["conversation"]), (200, &json!("c-bob")));
    let calls =
        |report: &Value| report["calls"].as_u64().unwrap() + report["calls_unreported"].as_u64().unwrap();
    assert_eq!((calls(&report), calls(&report["conversations"][0])), (2, 2));
    assert_eq!(app.get("/api/v1/cache", &app.alice).await.1["conversations"], report["conversations"]);
    let later = app.get("/api/v1/cache?since=2999-01-01", &app.alice).await;
    assert_eq!((later.0, calls(&later.1)), (200, 0));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_depend_on_the_callers_trust() {
    let app = TestApp::start().await;
    let names = |answer: &Value| -> Vec<String> {
        answer["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let (_, all) = app.get("/api/v1/tools", &app.alice).await;
    let (_, carols) = app.get("/api/v1/tools", &app.carol).await;
    assert!(names(&all).len() > names(&carols).len() && !names(&carols).is_empty());
    assert!(names(&carols).iter().all(|name| names(&all).contains(name)));
    assert!(carols["tools"].as_array().unwrap().iter().all(|tool| {
        ["public", "familiar"].contains(&tool["trust"].as_str().unwrap())
            && tool["schema"]["type"] == "object"
    }));
    let first = app.request("GET", "/api/v1/tools", &app.alice).send().await.unwrap();
    let tag = first.headers()["etag"].clone();
    let again = app.request("GET", "/api/v1/tools", &app.alice).header("if-none-match", tag);
    assert_eq!(again.send().await.unwrap().status(), 304);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_queries_are_refused_with_a_code() {
    let app = TestApp::start().await;
    let long = format!("events?session={}", "x".repeat(300));
    for (path, code) in [
        ("events?limit=0", "bad_limit"),
        ("events?limit=501", "bad_limit"),
        ("events?limit=99999999999999999999999", "bad_query"),
        ("events?limit=many", "bad_query"),
        ("events?level=loud", "unknown_level"),
        ("events?since=soon", "bad_time"),
        ("events?until=99999999999999999999d", "bad_time"),
        ("events?after=here", "bad_cursor"),
        ("events?after=1-", "bad_cursor"),
        ("events?after=99999999999999999999-1", "bad_cursor"),
        ("events?session=two%20words", "invalid_id"),
        ("events?turn=%00", "invalid_id"),
        ("events?user=%00", "nul_byte"),
        (&long, "invalid_id"),
        ("events?since=%FF", "bad_time"),
        ("costs?by=colour", "unknown_by"),
        ("costs?since=2999-01-01", "bad_span"),
        ("costs?since=1000-01-01", "bad_span"),
        ("costs?since=-009999-01-02", "bad_time"),
        ("cache?since=", "bad_time"),
        ("status?conversation=", "invalid_id"),
        ("tokens?after=nowhere", "bad_cursor"),
        ("workflows/runs?after=-", "bad_cursor"),
        ("workflows/runs/two%20words", "invalid_id"),
    ] {
        let (status, problem) = app.get(&format!("/api/v1/{path}"), &app.alice).await;
        assert_eq!((status, problem["code"].as_str()), (400, Some(code)), "{path}: {problem}");
    }
    for path in ["events?since=2999-01-01", "events?until=0001-01-01", "events?type=unheard_of"] {
        let (status, page) = app.get(&format!("/api/v1/{path}"), &app.alice).await;
        assert_eq!((status, &page["items"]), (200, &json!([])), "{path}: {page}");
    }
    assert_eq!(app.get("/api/v1/traces/two%20words", &app.alice).await.0, 404);
    let token = app.token("alice", &[Scope::Chat], None).await;
    assert_eq!(app.get("/api/v1/events", &token).await.1["code"], "scope_missing");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn costs_without_a_user_are_paginated() {
    let app = TestApp::start().await;
    let now: foreword_core::timestamp::Timestamp = jiff::Timestamp::now().into();
    for (user, usd) in [(None, 3.0), (Some("alice"), 2.0), (Some("bob"), 1.0)] {
        app.events.record(Event {
            user_id: user.map(Into::into),
            cost_usd: Some(usd),
            tokens_in: Some(1),
            ..Event::new(EventType::ApiCall, now)
        });
    }
    let (mut keys, mut after) = (Vec::new(), String::new());
    for _ in 0..4 {
        let (_, page) = app.get(&format!("/api/v1/costs?by=user&limit=1{after}"), &app.alice).await;
        keys.extend(page["rows"].as_array().unwrap().iter().map(|row| row["key"].clone()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(keys, [Value::Null, "alice".into(), "bob".into()]);
    app.stop().await;
}
