use foreword_core::api_token::{Scope, TokenLimits};
use foreword_store::location::Location;
use foreword_testkit::until;
use serde_json::{Value, json};

use crate::house::{CONFIG, House};

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

async fn house() -> House {
    let folder = tempfile::tempdir().unwrap();
    let schedules = "schedules: { greeting: { cron: \"0 7 * * *\", prompt: Good morning. } }\n";
    std::fs::write(folder.path().join("foreword.yaml"), format!("{CONFIG}{schedules}")).unwrap();
    std::fs::create_dir(folder.path().join("workflows")).unwrap();
    for (name, text) in [("greet", GREET), ("read", READ), ("private", PRIVATE)] {
        std::fs::write(folder.path().join(format!("workflows/{name}.yaml")), text).unwrap();
    }
    let location = Location::file(folder.path().join(".foreword/foreword.db"));
    House::open(folder, &location, &[]).await
}

async fn run(house: &House, name: &str, token: &str, body: &Value) -> (u16, Value) {
    house.send("POST", &format!("/api/v1/workflows/{name}/run"), token, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn workflows_are_listed_to_permitted_users() {
    let house = house().await;
    let names = |answer: &Value| -> Vec<Value> {
        answer["workflows"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect()
    };
    let (_, all) = house.get("/api/v1/workflows", &house.alice).await;
    assert_eq!(names(&all), ["greet", "private", "read"]);
    let (_, bobs) = house.get("/api/v1/workflows", &house.bob).await;
    assert!(names(&bobs).contains(&json!("greet")) && !names(&bobs).contains(&json!("private")), "{bobs}");
    let (_, greet) = house.get("/api/v1/workflows/greet", &house.alice).await;
    assert_eq!(
        (&greet["parameters"][0]["name"], &greet["steps"][0]["name"]),
        (&json!("whom"), &json!("say"))
    );
    let (_, greet) = house.get("/api/v1/workflows/greet", &house.bob).await;
    assert_eq!((greet.get("steps"), greet.get("path")), (None, None));
    for (name, token) in [("private", &house.bob), ("greet", &house.carol), ("none", &house.alice)] {
        assert_eq!(house.get(&format!("/api/v1/workflows/{name}"), token).await.0, 404, "{name}");
        let (status, problem) = run(&house, name, token, &json!({ "parameters": { "whom": "x" } })).await;
        assert_eq!((status, &problem["code"]), (404, &"not_found".into()), "{problem}");
        assert!(name != "private" || !problem.to_string().contains("own"), "{problem}");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workflow_runs_awaited_or_in_the_background() {
    let house = house().await;
    let body = json!({ "parameters": { "whom": "the world" } });
    let (status, end) = run(&house, "greet", &house.bob, &body).await;
    assert_eq!(
        (status, &end["outcome"], &end["steps"][0]["done"]),
        (200, &json!("done"), &json!(true)),
        "{end}"
    );
    let path = format!("/api/v1/workflows/runs/{}", end["run"].as_str().unwrap());
    let (_, run_body) = house.get(&path, &house.bob).await;
    assert_eq!((&run_body["state"], &run_body["started_by"]), (&json!("done"), &json!("bob")));
    assert_eq!((house.get(&path, &house.alice).await.0, house.get(&path, &house.carol).await.0), (200, 404));
    let (status, begun) =
        run(&house, "greet", &house.alice, &json!({ "parameters": { "whom": "x" }, "wait": false })).await;
    assert!([200, 202].contains(&status), "{begun}");
    let path = format!("/api/v1/workflows/runs/{}", begun["run"].as_str().unwrap());
    until("the run ends", async || house.get(&path, &house.alice).await.1["state"] != "running").await;
    let (_, runs) = house.get("/api/v1/workflows/runs", &house.alice).await;
    assert_eq!((runs["items"].as_array().unwrap().len(), &runs["items"][0]["run"]), (2, &begun["run"]));
    let (_, runs) = house.get("/api/v1/workflows/runs", &house.bob).await;
    assert_eq!((runs["items"].as_array().unwrap().len(), &runs["items"][0]["run"]), (1, &end["run"]));
    assert_eq!(house.get("/api/v1/workflows/runs", &house.carol).await.1["items"], json!([]));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_resumes_and_compactions_count_as_concurrent_turns() {
    let house = house().await;
    let limits = TokenLimits { concurrent_turns: Some(0), ..TokenLimits::default() };
    let token = house.limited_token("alice", &[Scope::Chat], limits).await;
    let (_, failed) = run(&house, "read", &house.alice, &json!({})).await;
    let (_, begun) = house.send("POST", "/api/v1/conversations", &house.alice, &json!({})).await;
    let resume = format!("/api/v1/workflows/runs/{}/resume", failed["run"].as_str().unwrap());
    let compact = format!("/api/v1/conversations/{}/compact", begun["id"].as_str().unwrap());
    for path in ["/api/v1/workflows/private/run", &resume, &compact] {
        let (status, problem) = house.send("POST", path, &token, &json!({})).await;
        assert_eq!((status, &problem["code"]), (429, &"too_many_turns".into()), "{path}: {problem}");
    }
    let (_, runs) = house.get("/api/v1/workflows/runs?workflow=private", &house.alice).await;
    assert_eq!(runs["items"], json!([]));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_that_do_not_fit_are_refused() {
    let house = house().await;
    for (body, code) in [
        (json!({}), "bad_parameters"),
        (json!({ "parameters": { "whom": 7 } }), "bad_parameters"),
        (json!({ "parameters": { "whom": "x", "who": "y" } }), "bad_parameters"),
        (json!({ "parameters": [] }), "wrong_fields"),
        (json!({ "wait": "long" }), "wrong_fields"),
    ] {
        let (status, problem) = run(&house, "greet", &house.alice, &body).await;
        assert_eq!((status, problem["code"].as_str()), (422, Some(code)), "{body}: {problem}");
        let (status, problem) = run(&house, "greet", &house.alice, &json!({ "wait": false })).await;
        assert_eq!((status, problem["code"].as_str()), (422, Some("bad_parameters")));
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_run_is_resumed_by_its_starter() {
    let house = house().await;
    let (status, end) = run(&house, "read", &house.bob, &json!({})).await;
    assert_eq!((status, &end["outcome"]), (200, &json!("failed")), "{end}");
    let path = format!("/api/v1/workflows/runs/{}/resume", end["run"].as_str().unwrap());
    assert_eq!(house.send("POST", &path, &house.carol, &json!({})).await.0, 404);
    let (status, again) = house.send("POST", &path, &house.bob, &json!({})).await;
    assert_eq!((status, &again["outcome"]), (200, &json!("failed")), "{again}");
    let (status, done) = house.send("POST", &path, &house.bob, &json!({ "how": "skip" })).await;
    assert_eq!((status, &done["outcome"]), (200, &json!("done")), "{done}");
    let (status, problem) = house.send("POST", &path, &house.bob, &json!({})).await;
    assert_eq!((status, &problem["code"]), (409, &"run_ended".into()));
    let (status, problem) = house.send("POST", &path, &house.bob, &json!({ "how": "gently" })).await;
    assert_eq!((status, &problem["code"]), (422, &"wrong_fields".into()));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_are_the_owners() {
    let house = house().await;
    let (_, all) = house.get("/api/v1/schedules", &house.alice).await;
    let one = &all["schedules"][0];
    assert_eq!(
        (&one["name"], &one["action"], &one["last"]),
        (&json!("greeting"), &json!("prompt"), &Value::Null)
    );
    let (_, one) = house.get("/api/v1/schedules/greeting", &house.alice).await;
    assert_eq!(one["next"].as_array().unwrap().len(), 5);
    let (status, fired) =
        house.send("POST", "/api/v1/schedules/greeting/run", &house.alice, &Value::Null).await;
    assert_eq!((status, &fired["outcome"]), (200, &json!("done")), "{fired}");
    let (_, history) = house.get("/api/v1/schedules/greeting/history", &house.alice).await;
    assert_eq!(
        (history["items"].as_array().unwrap().len(), &history["items"][0]["outcome"]),
        (1, &json!("done"))
    );
    for path in ["", "/greeting", "/greeting/history", "/none"] {
        assert_eq!(house.get(&format!("/api/v1/schedules{path}"), &house.bob).await.1["code"], "owner_only");
    }
    assert_eq!(house.send("POST", "/api/v1/schedules/greeting/run", &house.bob, &Value::Null).await.0, 403);
    for path in ["/none", "/none/history", "/%2e%2e"] {
        assert_eq!(house.get(&format!("/api/v1/schedules{path}"), &house.alice).await.0, 404, "{path}");
    }
    assert_eq!(house.send("POST", "/api/v1/schedules/none/run", &house.alice, &Value::Null).await.0, 404);
    house.stop().await;
}
