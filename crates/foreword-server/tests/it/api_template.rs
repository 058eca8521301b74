use serde_json::json;

use crate::test_app::{TestApp, read};

const PLACE: &str = "/system-prompt";

#[tokio::test(flavor = "multi_thread")]
async fn template_api_follows_the_seed() {
    let app = TestApp::start().await;
    let (status, body) = app.get(PLACE, &app.alice).await;
    assert_eq!((status, &body["source"], &body["version"]), (200, &json!("builtin"), &json!(null)));
    assert!(body["template"].as_str().unwrap().starts_with("You are a helpful coding assistant."));
    let new = json!({ "template": "You are kind. [sytem:date]\r\n" });
    let (status, body) = app.send("PUT", PLACE, &app.alice, &new).await;
    assert_eq!((status, &body["template"]), (200, &json!("You are kind. [sytem:date]\n")));
    assert_eq!((&body["version"], &body["stored"]), (&json!(1), &json!(true)));
    assert_eq!((&body["warnings"][0]["line"], &body["warnings"][0]["column"]), (&json!(1), &json!(16)));
    let (_, again) = app.send("PUT", PLACE, &app.alice, &new).await;
    assert_eq!((&again["version"], &again["stored"]), (&json!(1), &json!(false)));
    let (_, body) = app.get(PLACE, &app.alice).await;
    assert_eq!(
        (&body["template"], &body["author"]),
        (&json!("You are kind. [sytem:date]\n"), &json!("alice"))
    );
    app.events.flush().await.unwrap();
    let filter = foreword_store::events::EventFilter::default();
    let page = foreword_store::events::EventPage::newest(50);
    let events = app.store.events(&filter, &page).await.unwrap();
    let changes = events.iter().filter(|one| one.event.event_type.to_string() == "template_changed").count();
    assert_eq!(changes, 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_match_the_seed_and_files_are_dynamic() {
    let app = TestApp::start().await;
    let (status, body) = app.get("/system-prompt/variables", &app.carol).await;
    assert_eq!(status, 200);
    let names: Vec<String> = body["variables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{}:{}", one["type"].as_str().unwrap(), one["name"].as_str().unwrap()))
        .collect();
    let seed = [
        "system:time",
        "system:date",
        "system:os",
        "system:hostname",
        "prompt:cwd",
        "prompt:model",
        "prompt:conversation_id",
        "git:branch",
        "git:status",
        "file:<path>",
    ];
    assert_eq!(names, seed);
    let dynamic = |one: &&serde_json::Value| one["dynamic"] == true;
    let dynamic: Vec<_> = body["variables"].as_array().unwrap().iter().filter(dynamic).collect();
    assert_eq!((dynamic.len(), &dynamic[0]["type"]), (1, &json!("file")));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_template_is_refused_with_reasons() {
    let app = TestApp::with("prompt: { dialect: jinja }\n").await;
    for (body, code) in [
        (json!({ "template": 7 }), "not_a_template"),
        (json!({}), "not_a_template"),
        (json!([]), "not_a_template"),
        (json!({ "template": "x", "more": 1 }), "not_a_template"),
        (json!({ "template": "x", "message": "" }), "bad_line"),
        (json!({ "template": "x", "expected_version": -1 }), "not_a_template"),
        (json!({ "template": "one\n{% if %}" }), "template_refused"),
        (json!({ "template": "a\u{0}b" }), "template_refused"),
    ] {
        let (status, problem) = app.send("PUT", PLACE, &app.alice, &body).await;
        assert_eq!((status, &problem["code"]), (400, &json!(code)), "{body}");
        if code == "template_refused" {
            assert!(problem["problems"][0]["line"].is_u64() && problem["problems"][0]["message"].is_string());
        }
    }
    for raw in [&b"{\"template\": \"\xff\"}"[..], b"{", b""] {
        let request = app.request("PUT", PLACE, &app.alice).header("content-type", "application/json");
        let (status, problem) = read(request.body(raw.to_vec()).send().await.unwrap()).await;
        assert_eq!((status, &problem["code"]), (400, &json!("bad_json")), "{raw:?}");
    }
    let (_, body) = app.get(PLACE, &app.alice).await;
    assert_eq!(body["version"], json!(null));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_reads_and_writes_the_template() {
    let app = TestApp::start().await;
    let chat = app.token("alice", &[foreword_core::api_token::Scope::Chat], None).await;
    let admin = app.token("bob", &foreword_core::api_token::Scope::ALL, None).await;
    let new = json!({ "template": "Mine." });
    for (token, code) in [(&app.bob, "owner_only"), (&chat, "scope_missing"), (&admin, "owner_only")] {
        let (status, problem) = app.get(PLACE, token).await;
        assert_eq!((status, &problem["code"]), (403, &json!(code)));
        let (status, _) = app.send("PUT", PLACE, token, &new).await;
        assert_eq!(status, 403);
    }
    let (_, body) = app.get(PLACE, &app.alice).await;
    assert_eq!(body["version"], json!(null));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_template_edit_is_a_conflict() {
    let app = TestApp::start().await;
    let first = app.request("GET", PLACE, &app.alice).send().await.unwrap();
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    let put = |text: &str| {
        let body = json!({ "template": text }).to_string();
        let request = app.request("PUT", PLACE, &app.alice).header("if-match", &tag);
        request.header("content-type", "application/json").body(body).send()
    };
    assert_eq!(put("One.").await.unwrap().status(), 200);
    let (status, problem) = read(put("Other.").await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (412, &json!("changed_meanwhile")));
    for field in ["expected_version", "expectedVersion"] {
        let stale = json!({ "template": "Other.", (field): 0 });
        let (status, problem) = app.send("PUT", PLACE, &app.alice, &stale).await;
        assert_eq!((status, &problem["code"]), (409, &json!("version_conflict")));
    }
    let unchanged = app.request("GET", PLACE, &app.alice);
    let tag = unchanged.send().await.unwrap().headers()["etag"].clone();
    let again = app.request("GET", PLACE, &app.alice).header("if-none-match", tag);
    assert_eq!(again.send().await.unwrap().status(), 304);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn template_versions_are_listed_once_and_restorable() {
    let app = TestApp::start().await;
    for number in 1..=5 {
        let new = json!({ "template": format!("Version {number}."), "message": format!("for {number}") });
        assert_eq!(app.send("PUT", PLACE, &app.alice, &new).await.0, 200);
    }
    let history = "/api/v1/template/history";
    let listed = app.all_pages(&format!("{history}?limit=2"), &app.alice).await;
    let versions: Vec<_> = listed.iter().map(|one| one["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, [5, 4, 3, 2, 1]);
    let (status, body) = app.get(&format!("{history}/2"), &app.alice).await;
    assert_eq!((status, &body["template"], &body["message"]), (200, &json!("Version 2."), &json!("for 2")));
    let restore = format!("{history}/2/restore");
    let (status, body) = app.send("POST", &restore, &app.alice, &json!({})).await;
    assert_eq!((status, &body["version"], &body["template"]), (200, &json!(6), &json!("Version 2.")));
    for (path, expected) in [("77", 404), ("18446744073709551615", 404), ("x", 400), ("-1", 400)] {
        assert_eq!(app.get(&format!("{history}/{path}"), &app.alice).await.0, expected, "{path}");
    }
    assert_eq!(app.get(history, &app.bob).await.0, 403);
    assert_eq!(app.send("POST", &restore, &app.bob, &json!({})).await.0, 403);
    assert_eq!(app.get(&format!("{history}?limit=0"), &app.alice).await.0, 400);
    assert_eq!(app.get(&format!("{history}?after=q"), &app.alice).await.0, 400);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn put_and_check_warn_about_unreadable_files() {
    let app = TestApp::start().await;
    let template = json!({ "template": "Host: [file:/etc/hostname]" });
    let (status, put) = app.send("PUT", PLACE, &app.alice, &template).await;
    assert_eq!(status, 200, "{put}");
    let (status, checked) = app.send("POST", "/api/v1/template/check", &app.alice, &template).await;
    assert_eq!(status, 200, "{checked}");
    assert_eq!(put["warnings"], checked["warnings"]);
    let warnings = put["warnings"].to_string();
    assert!(warnings.contains("`[file:/etc/hostname]` counts as missing"), "{warnings}");
    assert_eq!((&put["warnings"][0]["line"], &put["warnings"][0]["column"]), (&json!(1), &json!(13)));
    app.stop().await;
}
