//! The web page: its files, signing in with a token or a link, and the cookie.

use foreword_server::auth::token_spec::TokenSpec;
use serde_json::{Value, json};

use crate::test_app::{TestApp, read};

async fn sign_in(app: &TestApp, body: &Value, origin: &str) -> reqwest::Response {
    let request = app.client.post(format!("{}/api/v1/session", app.url)).header("origin", origin);
    request.header("content-type", "application/json").body(body.to_string()).send().await.unwrap()
}

/// The cookie of a response, as a browser returns it.
fn cookie(response: &reqwest::Response) -> String {
    let given = response.headers()["set-cookie"].to_str().unwrap();
    given.split(';').next().unwrap().to_owned()
}

fn ask(app: &TestApp, method: &str, path: &str, cookie: &str) -> reqwest::RequestBuilder {
    let url = format!("{}{path}", app.url);
    app.client.request(method.parse().unwrap(), url).header("cookie", cookie)
}

#[tokio::test(flavor = "multi_thread")]
async fn page_runs_only_its_own_files() {
    let app = TestApp::start().await;
    let response = app.client.get(&app.url).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
    for rule in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    assert!(response.text().await.unwrap().contains("Foreword"));
    for path in ["/assets/../Cargo.toml", "/assets/%2e%2e%2fCargo.toml", "/assets/nothing.js", "/assets/x"] {
        let (status, _) = read(app.client.get(format!("{}{path}", app.url)).send().await.unwrap()).await;
        assert_eq!(status, 404, "{path}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_is_exchanged_for_an_http_only_cookie() {
    let app = TestApp::start().await;
    let response = sign_in(&app, &json!({ "token": app.bob }), &app.url).await;
    let given = response.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(given.contains("HttpOnly") && given.contains("SameSite=Strict"), "{given}");
    let bob = cookie(&response);
    let session: Value = response.json().await.unwrap();
    assert_eq!(
        (&session["user"], &session["trust"], &session["owner"]),
        (&json!("bob"), &json!("inner"), &json!(false))
    );
    assert_eq!(ask(&app, "GET", "/api/v1/conversations", &bob).send().await.unwrap().status(), 200);
    assert_eq!(ask(&app, "GET", "/api/v1/tokens", &bob).send().await.unwrap().status(), 403);
    let out = ask(&app, "DELETE", "/api/v1/session", &bob).header("origin", &app.url).send().await.unwrap();
    assert_eq!(out.status(), 204);
    assert!(out.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    // The token belonged to bob before, and still does.
    assert_eq!(app.get("/api/v1/session", &app.bob).await.0, 200);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cookie_requests_must_come_from_our_page() {
    let app = TestApp::start().await;
    let alice = cookie(&sign_in(&app, &json!({ "token": app.alice }), &app.url).await);
    let begin = |origin: Option<&str>| {
        let request = ask(&app, "POST", "/api/v1/conversations", &alice);
        let request = request.header("content-type", "application/json").body("{}");
        origin.map_or(request.try_clone().unwrap(), |origin| request.header("origin", origin)).send()
    };
    assert_eq!(begin(Some(&app.url)).await.unwrap().status(), 201);
    for foreign in [None, Some("http://evil.example"), Some("http://127.0.0.1:1"), Some("null")] {
        let (status, problem) = read(begin(foreign).await.unwrap()).await;
        assert_eq!((status, problem["code"].as_str()), (403, Some("foreign_origin")), "{foreign:?}");
    }
    for (site, status) in [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)] {
        let read = ask(&app, "GET", "/api/v1/status", &alice).header("sec-fetch-site", site);
        assert_eq!(read.send().await.unwrap().status(), status, "{site}");
    }
    let refused = sign_in(&app, &json!({ "token": app.alice }), "http://evil.example").await;
    assert_eq!((refused.status().as_u16(), refused.headers().get("set-cookie")), (403, None));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cookie_stream_survives_token_changes() {
    let app = TestApp::start().await;
    let alice = cookie(&sign_in(&app, &json!({ "token": app.alice }), &app.url).await);
    let (_, begun) = app.send("POST", "/api/v1/conversations", &app.alice, &json!({})).await;
    let path = format!("/api/v1/conversations/{}/messages", begun["id"].as_str().unwrap());
    let words =
        json!({ "text": "!slow 60ms\n!say One two three four five six seven eight nine ten eleven twelve." });
    let request = ask(&app, "POST", &path, &alice).header("origin", &app.url);
    let request = request.header("accept", "text/event-stream").header("content-type", "application/json");
    let mut stream = request.body(words.to_string()).send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    // Open streams are checked again.
    let (status, _) = app.send("POST", "/api/v1/tokens", &app.alice, &json!({ "user": "bob" })).await;
    assert_eq!(status, 201);
    let mut all = String::new();
    while let Some(piece) = stream.chunk().await.unwrap() {
        all.push_str(&String::from_utf8_lossy(&piece));
    }
    assert!(all.contains("event: turn_end"), "{all}");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_link_works_once_and_not_after_sign_out() {
    let app = TestApp::start().await;
    let link = app.server.as_ref().unwrap().page_link(&app.url, TokenSpec::default());
    let code = link.rsplit_once("/#/welcome/").unwrap().1.to_owned();
    let response = sign_in(&app, &json!({ "code": code }), &app.url).await;
    assert_eq!(response.status(), 200);
    let alice = cookie(&response);
    assert!(!alice.contains(&code));
    let session: Value = response.json().await.unwrap();
    assert_eq!((&session["user"], &session["owner"]), (&json!("alice"), &json!(true)));
    let (status, again) = read(sign_in(&app, &json!({ "code": code }), &app.url).await).await;
    assert_eq!((status, again["code"].as_str()), (401, Some("link_used")));
    ask(&app, "DELETE", "/api/v1/session", &alice).header("origin", &app.url).send().await.unwrap();
    let (status, _) = read(ask(&app, "GET", "/api/v1/session", &alice).send().await.unwrap()).await;
    assert_eq!(status, 401);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_sign_in_is_refused_with_a_code() {
    let app = TestApp::start().await;
    let wrong = format!("fwd_{}", "a".repeat(32));
    for (body, status, code) in [
        (json!({}), 400, "one_of_two"),
        (json!({ "token": app.alice, "code": "x" }), 400, "one_of_two"),
        (json!({ "token": "hunter2" }), 401, "unauthorized"),
        (json!({ "token": wrong }), 401, "unauthorized"),
        (json!({ "code": "no" }), 401, "link_used"),
        (json!({ "password": "x" }), 422, "wrong_fields"),
        (json!({ "token": "x".repeat(10_000) }), 413, "body_too_large"),
    ] {
        let (actual, problem) = read(sign_in(&app, &body, &app.url).await).await;
        assert_eq!((actual, problem["code"].as_str()), (status, Some(code)), "{problem}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_may_choose_any_user_and_others_themselves() {
    let app = TestApp::start().await;
    let (_, all) = app.get("/api/v1/occasions", &app.alice).await;
    let names = |of: &Value| -> Vec<String> {
        of.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&all["users"]), ["alice", "bob", "carol"]);
    assert!(names(&all["situations"]).contains(&"group".to_owned()), "{all}");
    assert_eq!(all["agents"][0]["uses_template"], false);
    assert!(all["models"].as_array().unwrap().iter().any(|model| model["input_usd_per_mtok"].is_number()));
    let (_, own) = app.get("/api/v1/occasions", &app.bob).await;
    assert_eq!(
        (names(&own["users"]), names(&own["situations"])),
        (vec!["bob".to_owned()], vec!["dm".to_owned()])
    );
    app.stop().await;
}
