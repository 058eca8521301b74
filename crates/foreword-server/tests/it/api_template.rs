use serde_json::json;

use crate::house::{House, read};

const PLACE: &str = "/system-prompt";

#[tokio::test(flavor = "multi_thread")]
async fn template_api_follows_the_seed() {
    let house = House::start().await;
    let (status, body) = house.get(PLACE, &house.alice).await;
    assert_eq!((status, &body["source"], &body["version"]), (200, &json!("builtin"), &json!(null)));
    assert!(body["template"].as_str().unwrap().starts_with("You are a helpful coding assistant."));
    let new = json!({ "template": "You are kind. [sytem:date]\r\n" });
    let (status, body) = house.send("PUT", PLACE, &house.alice, &new).await;
    assert_eq!((status, &body["template"]), (200, &json!("You are kind. [sytem:date]\n")));
    assert_eq!((&body["version"], &body["stored"]), (&json!(1), &json!(true)));
    assert_eq!((&body["warnings"][0]["line"], &body["warnings"][0]["column"]), (&json!(1), &json!(16)));
    let (_, again) = house.send("PUT", PLACE, &house.alice, &new).await;
    assert_eq!((&again["version"], &again["stored"]), (&json!(1), &json!(false)));
    let (_, body) = house.get(PLACE, &house.alice).await;
    assert_eq!(
        (&body["template"], &body["author"]),
        (&json!("You are kind. [sytem:date]\n"), &json!("alice"))
    );
    house.events.flush().await.unwrap();
    let filter = foreword_store::events::EventFilter::default();
    let page = foreword_store::events::EventPage::newest(50);
    let events = house.store.events(&filter, &page).await.unwrap();
    let changes = events.iter().filter(|one| one.event.event_type.to_string() == "template_changed").count();
    assert_eq!(changes, 1);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_match_the_seed_and_files_are_dynamic() {
    let house = House::start().await;
    let (status, body) = house.get("/system-prompt/variables", &house.carol).await;
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
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_template_is_refused_with_reasons() {
    let house = House::with("prompt: { dialect: jinja }\n").await;
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
        let (status, problem) = house.send("PUT", PLACE, &house.alice, &body).await;
        assert_eq!((status, &problem["code"]), (400, &json!(code)), "{body}");
        if code == "template_refused" {
            assert!(problem["problems"][0]["line"].is_u64() && problem["problems"][0]["message"].is_string());
        }
    }
    for raw in [&b"{\"template\": \"\xff\"}"[..], b"{", b""] {
        let request = house.request("PUT", PLACE, &house.alice).header("content-type", "application/json");
        let (status, problem) = read(request.body(raw.to_vec()).send().await.unwrap()).await;
        assert_eq!((status, &problem["code"]), (400, &json!("bad_json")), "{raw:?}");
    }
    let (_, body) = house.get(PLACE, &house.alice).await;
    assert_eq!(body["version"], json!(null));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_reads_and_writes_the_template() {
    let house = House::start().await;
    let chat = house.token("alice", &[foreword_core::api_token::Scope::Chat], None).await;
    let admin = house.token("bob", &foreword_core::api_token::Scope::ALL, None).await;
    let new = json!({ "template": "Mine." });
    for (token, code) in [(&house.bob, "owner_only"), (&chat, "scope_missing"), (&admin, "owner_only")] {
        let (status, problem) = house.get(PLACE, token).await;
        assert_eq!((status, &problem["code"]), (403, &json!(code)));
        let (status, _) = house.send("PUT", PLACE, token, &new).await;
        assert_eq!(status, 403);
    }
    let (_, body) = house.get(PLACE, &house.alice).await;
    assert_eq!(body["version"], json!(null));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_template_edit_is_a_conflict() {
    let house = House::start().await;
    let first = house.request("GET", PLACE, &house.alice).send().await.unwrap();
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    let put = |text: &str| {
        let body = json!({ "template": text }).to_string();
        let request = house.request("PUT", PLACE, &house.alice).header("if-match", &tag);
        request.header("content-type", "application/json").body(body).send()
    };
    assert_eq!(put("One.").await.unwrap().status(), 200);
    let (status, problem) = read(put("Other.").await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (412, &json!("changed_meanwhile")));
    for field in ["expected_version", "expectedVersion"] {
        let stale = json!({ "template": "Other.", (field): 0 });
        let (status, problem) = house.send("PUT", PLACE, &house.alice, &stale).await;
        assert_eq!((status, &problem["code"]), (409, &json!("version_conflict")));
    }
    let unchanged = house.request("GET", PLACE, &house.alice);
    let tag = unchanged.send().await.unwrap().headers()["etag"].clone();
    let again = house.request("GET", PLACE, &house.alice).header("if-none-match", tag);
    assert_eq!(again.send().await.unwrap().status(), 304);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn template_versions_are_listed_once_and_restorable() {
    let house = House::start().await;
    for number in 1..=5 {
        let new = json!({ "template": format!("Version {number}."), "message": format!("for {number}") });
        assert_eq!(house.send("PUT", PLACE, &house.alice, &new).await.0, 200);
    }
    let history = "/api/v1/template/history";
    let listed = house.all_pages(&format!("{history}?limit=2"), &house.alice).await;
    let versions: Vec<_> = listed.iter().map(|one| one["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, [5, 4, 3, 2, 1]);
    let (status, body) = house.get(&format!("{history}/2"), &house.alice).await;
    assert_eq!((status, &body["template"], &body["message"]), (200, &json!("Version 2."), &json!("for 2")));
    let restore = format!("{history}/2/restore");
    let (status, body) = house.send("POST", &restore, &house.alice, &json!({})).await;
    assert_eq!((status, &body["version"], &body["template"]), (200, &json!(6), &json!("Version 2.")));
    for (path, expected) in [("77", 404), ("18446744073709551615", 404), ("x", 400), ("-1", 400)] {
        assert_eq!(house.get(&format!("{history}/{path}"), &house.alice).await.0, expected, "{path}");
    }
    assert_eq!(house.get(history, &house.bob).await.0, 403);
    assert_eq!(house.send("POST", &restore, &house.bob, &json!({})).await.0, 403);
    assert_eq!(house.get(&format!("{history}?limit=0"), &house.alice).await.0, 400);
    assert_eq!(house.get(&format!("{history}?after=q"), &house.alice).await.0, 400);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn put_and_check_warn_about_unreadable_files() {
    let house = House::start().await;
    let template = json!({ "template": "Host: [file:/etc/hostname]" });
    let (status, put) = house.send("PUT", PLACE, &house.alice, &template).await;
    assert_eq!(status, 200, "{put}");
    let (status, checked) = house.send("POST", "/api/v1/template/check", &house.alice, &template).await;
    assert_eq!(status, 200, "{checked}");
    assert_eq!(put["warnings"], checked["warnings"]);
    let warnings = put["warnings"].to_string();
    assert!(warnings.contains("`[file:/etc/hostname]` counts as missing"), "{warnings}");
    assert_eq!((&put["warnings"][0]["line"], &put["warnings"][0]["column"]), (&json!(1), &json!(13)));
    house.stop().await;
}
