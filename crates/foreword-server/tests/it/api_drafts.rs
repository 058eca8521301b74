//! Draft templates: checked and tried without storing them.

use foreword_core::api_token::Scope;
use serde_json::{Value, json};

use crate::test_app::TestApp;

const CHECK: &str = "/api/v1/template/check";
const BUILD: &str = "/api/v1/prompts/build";

/// A server with an agent that uses the template and one that does not.
async fn with_scribe(dialect: &str) -> TestApp {
    let agents = "agents:\n  scribe: { blueprint: template, description: Writes. }\n";
    TestApp::with(&format!("prompt: {{ dialect: {dialect} }}\n{agents}")).await
}

async fn check(app: &TestApp, body: Value) -> Value {
    let (status, checked) = app.send("POST", CHECK, &app.alice, &body).await;
    assert_eq!(status, 200, "{checked}");
    checked
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_problems_have_ranges() {
    let app = with_scribe("bracket").await;
    let checked = check(&app, json!({ "template": "You are kind.\nÄh, [sytem:date]!" })).await;
    let warning = json!({ "line": 2, "column": 6, "end_line": 2, "end_column": 11 });
    for (name, value) in warning.as_object().unwrap() {
        assert_eq!(&checked["warnings"][0][name], value, "{checked}");
    }
    assert_eq!((&checked["dialect"], &checked["problems"]), (&json!("bracket"), &json!([])));
    // An agent uses the template, so there is no such warning.
    assert_eq!(checked["warnings"].as_array().unwrap().len(), 1, "{checked}");
    let of_ada = check(&app, json!({ "template": "Kind.", "agent": "Ada" })).await;
    assert!(of_ada["warnings"][0]["message"].as_str().unwrap().contains("does not use the stored template"));
    let nul = check(&app, json!({ "template": "a\u{0}b" })).await;
    assert_eq!((&nul["problems"][0]["column"], &nul["problems"][0]["end_column"]), (&json!(2), &json!(3)));
    let (_, stored) = app.get("/system-prompt", &app.alice).await;
    assert_eq!(stored["version"], json!(null));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn problem_in_an_included_file_has_no_range() {
    let app = with_scribe("jinja").await;
    std::fs::create_dir_all(app.folder.path().join("prompts")).unwrap();
    std::fs::write(app.folder.path().join("prompts/part.md"), "one\n{% if %}\n").unwrap();
    app.workspace.refresh();
    let own = check(&app, json!({ "template": "one\n{% if %}" })).await;
    assert_eq!((&own["dialect"], &own["problems"][0]["line"]), (&json!("jinja"), &json!(2)));
    let included = check(&app, json!({ "template": "{% include 'part.md' %}" })).await;
    assert!(included["problems"][0]["message"].as_str().unwrap().contains("part.md:2:"), "{included}");
    assert_eq!(included["problems"][0].get("line"), None);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_checks_or_tries_a_template() {
    let app = with_scribe("bracket").await;
    let body = json!({ "template": "Mine.", "agent": "scribe" });
    let (status, problem) = app.send("POST", CHECK, &app.bob, &body).await;
    assert_eq!((status, &problem["code"]), (403, &json!("owner_only")));
    let chat = app.token("alice", &[Scope::Chat], None).await;
    assert_eq!(app.send("POST", CHECK, &chat, &body).await.1["code"], json!("scope_missing"));
    let (status, problem) = app.send("POST", BUILD, &app.bob, &body).await;
    assert_eq!((status, &problem["code"]), (403, &json!("owner_only")));
    for (path, agent) in [(CHECK, "nobody"), (BUILD, "nobody")] {
        let body = json!({ "template": "Mine.", "agent": agent });
        assert_eq!(app.send("POST", path, &app.alice, &body).await.0, 404, "{path}");
    }
    let long = json!({ "template": "x".repeat(1024 * 1024 + 1), "agent": "scribe" });
    for path in [CHECK, BUILD] {
        assert_eq!(app.send("POST", path, &app.alice, &long).await.1["code"], json!("too_long"), "{path}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_prompt_equals_the_stored_one_in_every_dialect() {
    for (dialect, draft, expected) in [
        ("bracket", "For [prompt:model]: be kind.", "For offline/echo: be kind."),
        ("bracket-compat", "For [prompt:model]: be [no:such]kind.", "For offline/echo: be kind."),
        ("jinja", "For {{ agent_name }}: be kind.", "For scribe: be kind."),
    ] {
        let app = with_scribe(dialect).await;
        let stored = json!({ "template": "As stored." });
        assert_eq!(app.send("PUT", "/system-prompt", &app.alice, &stored).await.0, 200);
        let body = json!({ "template": draft, "agent": "scribe", "user": "bob" });
        let (status, built) = app.send("POST", BUILD, &app.alice, &body).await;
        assert_eq!(status, 200, "{dialect}: {built}");
        let text = built["text"].as_str().unwrap();
        assert!(text.contains(expected) && !text.contains("As stored."), "{text}");
        assert_eq!(built["trust"]["effective"], json!("inner"));
        let explain = format!("{BUILD}?explain=true");
        let (status, explained) = app.send("POST", &explain, &app.alice, &body).await;
        assert_eq!((status, &explained["fingerprint"]), (200, &built["fingerprint"]), "{dialect}");
        let now = json!({ "agent": "scribe", "user": "bob" });
        let (_, now) = app.send("POST", BUILD, &app.alice, &now).await;
        assert!(now["text"].as_str().unwrap().contains("As stored."));
        let (_, kept) = app.get("/system-prompt", &app.alice).await;
        assert_eq!((&kept["version"], &kept["template"]), (&json!(1), &json!("As stored.")));
        app.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_draft_names_the_place() {
    let app = with_scribe("jinja").await;
    for (draft, line) in [("one\n{% if %}", 2), ("one\ntwo\n{{ nope }}", 3)] {
        let body = json!({ "template": draft, "agent": "scribe" });
        let (status, problem) = app.send("POST", BUILD, &app.alice, &body).await;
        assert_eq!((status, &problem["code"]), (400, &json!("template_refused")), "{problem}");
        assert_eq!(problem["problems"][0]["line"], json!(line), "{problem}");
        assert!(problem["problems"][0]["end_column"].is_u64(), "{problem}");
    }
    let (status, problem) = app.send("POST", BUILD, &app.alice, &json!({ "template": "Kind." })).await;
    assert_eq!((status, &problem["code"]), (400, &json!("no_template")));
    assert!(problem["help"].as_str().unwrap().contains("agent"));
    app.stop().await;
}
