use foreword_core::api_token::{Scope, TokenLimits};
use foreword_store::location::Location;
use foreword_testkit::until;
use serde_json::{Value, json};

use crate::test_app::{CONFIG, TestApp};

const GREET: &str = "\
name: greet
description: Greets somebody.
trust: inner
parameters: [{ name: whom, required: true }]
steps: [{ name: say, prompt: \"Say hello to {{ whom }}.\" }]
";
const READ: &str = "\
name: read
description: Reads a note.
steps: [{ name: note, tool: memory_get, arguments: { path: memory/shared/none.md } }]
";
const PRIVATE: &str = "\
name: private
description: The owner's own.
trust: full
steps: [{ name: say, prompt: Hello. }]
";

async fn app() -> TestApp {
    let folder = tempfile::tempdir().unwrap();
    let schedules = "schedules: { greeting: { cron: \"0 7 * * *\", prompt: Good morning. } }\n";
    std::fs::write(folder.path().join("foreword.yaml"), format!("{CONFIG}{schedules}")).unwrap();
    std::fs::create_dir(folder.path().join("workflows")).unwrap();
    for (name, text) in [("greet", GREET), ("read", READ), ("private", PRIVATE)] {
        std::fs::write(folder.path().join(format!("workflows/{name}.yaml")), text).unwrap();
    }
    let location = Location::file(folder.path().join(".foreword/foreword.db"));
    TestApp::open(folder, &location, &[]).await
}

async fn run(app: &TestApp, name: &str, token: &str, body: &Value) -> (u16, Value) {
    app.send("POST", &format!("/api/v1/workflows/{name}/run"), token, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn workflows_are_listed_to_permitted_users() {
    let app = app().await;
    let names = |answer: &Value| -> Vec<Value> {
        answer["workflows"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect()
    };
    let (_, all) = app.get("/api/v1/workflows", &app.alice).await;
    assert_eq!(names(&all), ["greet", "private", "read"]);
    let (_, bobs) = app.get("/api/v1/workflows", &app.bob).await;
    assert!(names(&bobs).contains(&json!("greet")) && !names(&bobs).contains(&json!("private")), "{bobs}");
    let (_, greet) = app.get("/api/v1/workflows/greet", &app.alice).await;
    assert_eq!(
        (&greet["parameters"][0]["name"], &greet["steps"][0]["name"]),
        (&json!("whom"), &json!("say"))
    );
    let (_, greet) = app.get("/api/v1/workflows/greet", &app.bob).await;
    assert_eq!((greet.get("steps"), greet.get("path")), (None, None));
    for (name, token) in [("private", &app.bob), ("greet", &app.carol), ("none", &app.alice)] {
        assert_eq!(app.get(&format!("/api/v1/workflows/{name}"), token).await.0, 404, "{name}");
        let (status, problem) = run(&app, name, token, &json!({ "parameters": { "whom": "x" } })).await;
        assert_eq!((status, &problem["code"]), (404, &"not_found".into()), "{problem}");
        assert!(name != "private" || !problem.to_string().contains("own"), "{problem}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workflow_runs_awaited_or_in_the_background() {
    let app = app().await;
    let body = json!({ "parameters": { "whom": "the world" } });
    let (status, end) = run(&app, "greet", &app.bob, &body).await;
    assert_eq!(
        (status, &end["outcome"], &end["steps"][0]["done"]),
        (200, &json!("done"), &json!(true)),
        "{end}"
    );
    let path = format!("/api/v1/workflows/runs/{}", end["run"].as_str().unwrap());
    let (_, run_body) = app.get(&path, &app.bob).await;
    assert_eq!((&run_body["state"], &run_body["started_by"]), (&json!("done"), &json!("bob")));
    assert_eq!((app.get(&path, &app.alice).await.0, app.get(&path, &app.carol).await.0), (200, 404));
    let (status, begun) =
        run(&app, "greet", &app.alice, &json!({ "parameters": { "whom": "x" }, "wait": false })).await;
    assert!([200, 202].contains(&status), "{begun}");
    let path = format!("/api/v1/workflows/runs/{}", begun["run"].as_str().unwrap());
    until("the run ends", async || app.get(&path, &app.alice).await.1["state"] != "running").await;
    let (_, runs) = app.get("/api/v1/workflows/runs", &app.alice).await;
    assert_eq!((runs["items"].as_array().unwrap().len(), &runs["items"][0]["run"]), (2, &begun["run"]));
    let (_, runs) = app.get("/api/v1/workflows/runs", &app.bob).await;
    assert_eq!((runs["items"].as_array().unwrap().len(), &runs["items"][0]["run"]), (1, &end["run"]));
    assert_eq!(app.get("/api/v1/workflows/runs", &app.carol).await.1["items"], json!([]));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_resumes_and_compactions_count_as_concurrent_turns() {
    let app = app().await;
    let limits = TokenLimits { concurrent_turns: Some(0), ..TokenLimits::default() };
    let token = app.limited_token("alice", &[Scope::Chat], limits).await;
    let (_, failed) = run(&app, "read", &app.alice, &json!({})).await;
    let (_, begun) = app.send("POST", "/api/v1/conversations", &app.alice, &json!({})).await;
    let resume = format!("/api/v1/workflows/runs/{}/resume", failed["run"].as_str().unwrap());
    let compact = format!("/api/v1/conversations/{}/compact", begun["id"].as_str().unwrap());
    for path in ["/api/v1/workflows/private/run", &resume, &compact] {
        let (status, problem) = app.send("POST", path, &token, &json!({})).await;
        assert_eq!((status, &problem["code"]), (429, &"too_many_turns".into()), "{path}: {problem}");
    }
    let (_, runs) = app.get("/api/v1/workflows/runs?workflow=private", &app.alice).await;
    assert_eq!(runs["items"], json!([]));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_that_do_not_fit_are_refused() {
    let app = app().await;
    for (body, code) in [
        (json!({}), "bad_parameters"),
        (json!({ "parameters": { "whom": 7 } }), "bad_parameters"),
        (json!({ "parameters": { "whom": "x", "who": "y" } }), "bad_parameters"),
        (json!({ "parameters": [] }), "wrong_fields"),
        (json!({ "wait": "long" }), "wrong_fields"),
    ] {
        let (status, problem) = run(&app, "greet", &app.alice, &body).await;
        assert_eq!((status, problem["code"].as_str()), (422, Some(code)), "{body}: {problem}");
        let (status, problem) = run(&app, "greet", &app.alice, &json!({ "wait": false })).await;
        assert_eq!((status, problem["code"].as_str()), (422, Some("bad_parameters")));
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_run_is_resumed_by_its_starter() {
    let app = app().await;
    let (status, end) = run(&app, "read", &app.bob, &json!({})).await;
    assert_eq!((status, &end["outcome"]), (200, &json!("failed")), "{end}");
    let path = format!("/api/v1/workflows/runs/{}/resume", end["run"].as_str().unwrap());
    assert_eq!(app.send("POST", &path, &app.carol, &json!({})).await.0, 404);
    let (status, again) = app.send("POST", &path, &app.bob, &json!({})).await;
    assert_eq!((status, &again["outcome"]), (200, &json!("failed")), "{again}");
    let (status, done) = app.send("POST", &path, &app.bob, &json!({ "how": "skip" })).await;
    assert_eq!((status, &done["outcome"]), (200, &json!("done")), "{done}");
    let (status, problem) = app.send("POST", &path, &app.bob, &json!({})).await;
    assert_eq!((status, &problem["code"]), (409, &"run_ended".into()));
    let (status, problem) = app.send("POST", &path, &app.bob, &json!({ "how": "gently" })).await;
    assert_eq!((status, &problem["code"]), (422, &"wrong_fields".into()));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_are_the_owners() {
    let app = app().await;
    let (_, all) = app.get("/api/v1/schedules", &app.alice).await;
    let one = &all["schedules"][0];
    assert_eq!(
        (&one["name"], &one["action"], &one["last"]),
        (&json!("greeting"), &json!("prompt"), &Value::Null)
    );
    let (_, one) = app.get("/api/v1/schedules/greeting", &app.alice).await;
    assert_eq!(one["next"].as_array().unwrap().len(), 5);
    let (status, fired) = app.send("POST", "/api/v1/schedules/greeting/run", &app.alice, &Value::Null).await;
    assert_eq!((status, &fired["outcome"]), (200, &json!("done")), "{fired}");
    let (_, history) = app.get("/api/v1/schedules/greeting/history", &app.alice).await;
    assert_eq!(
        (history["items"].as_array().unwrap().len(), &history["items"][0]["outcome"]),
        (1, &json!("done"))
    );
    for path in ["", "/greeting", "/greeting/history", "/none"] {
        assert_eq!(app.get(&format!("/api/v1/schedules{path}"), &app.bob).await.1["code"], "owner_only");
    }
    assert_eq!(app.send("POST", "/api/v1/schedules/greeting/run", &app.bob, &Value::Null).await.0, 403);
    for path in ["/none", "/none/history", "/%2e%2e"] {
        assert_eq!(app.get(&format!("/api/v1/schedules{path}"), &app.alice).await.0, 404, "{path}");
    }
    assert_eq!(app.send("POST", "/api/v1/schedules/none/run", &app.alice, &Value::Null).await.0, 404);
    app.stop().await;
}
