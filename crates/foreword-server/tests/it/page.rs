//! The web page: its files, signing in with a token or a link, and the cookie.

use foreword_server::auth::token_spec::TokenSpec;
use serde_json::{Value, json};

use crate::house::{House, read};

async fn sign_in(house: &House, body: &Value, origin: &str) -> reqwest::Response {
    let request = house.client.post(format!("{}/api/v1/session", house.url)).header("origin", origin);
    request.header("content-type", "application/json").body(body.to_string()).send().await.unwrap()
}

/// The cookie of a response, as a browser returns it.
fn cookie(response: &reqwest::Response) -> String {
    let given = response.headers()["set-cookie"].to_str().unwrap();
    given.split(';').next().unwrap().to_owned()
}

fn ask(house: &House, method: &str, path: &str, cookie: &str) -> reqwest::RequestBuilder {
    let url = format!("{}{path}", house.url);
    house.client.request(method.parse().unwrap(), url).header("cookie", cookie)
}

#[tokio::test(flavor = "multi_thread")]
async fn page_runs_only_its_own_files() {
    let house = House::start().await;
    let response = house.client.get(&house.url).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
    for rule in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    assert!(response.text().await.unwrap().contains("Foreword"));
    for path in ["/assets/../Cargo.toml", "/assets/%2e%2e%2fCargo.toml", "/assets/nothing.js", "/assets/x"] {
        let (status, _) = read(house.client.get(format!("{}{path}", house.url)).send().await.unwrap()).await;
        assert_eq!(status, 404, "{path}");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_is_exchanged_for_an_http_only_cookie() {
    let house = House::start().await;
    let response = sign_in(&house, &json!({ "token": house.bob }), &house.url).await;
    let given = response.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(given.contains("HttpOnly") && given.contains("SameSite=Strict"), "{given}");
    let bob = cookie(&response);
    let session: Value = response.json().await.unwrap();
    assert_eq!(
        (&session["user"], &session["trust"], &session["owner"]),
        (&json!("bob"), &json!("inner"), &json!(false))
    );
    assert_eq!(ask(&house, "GET", "/api/v1/conversations", &bob).send().await.unwrap().status(), 200);
    assert_eq!(ask(&house, "GET", "/api/v1/tokens", &bob).send().await.unwrap().status(), 403);
    let out =
        ask(&house, "DELETE", "/api/v1/session", &bob).header("origin", &house.url).send().await.unwrap();
    assert_eq!(out.status(), 204);
    assert!(out.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    // The token belonged to bob before, and still does.
    assert_eq!(house.get("/api/v1/session", &house.bob).await.0, 200);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cookie_requests_must_come_from_our_page() {
    let house = House::start().await;
    let alice = cookie(&sign_in(&house, &json!({ "token": house.alice }), &house.url).await);
    let begin = |origin: Option<&str>| {
        let request = ask(&house, "POST", "/api/v1/conversations", &alice);
        let request = request.header("content-type", "application/json").body("{}");
        origin.map_or(request.try_clone().unwrap(), |origin| request.header("origin", origin)).send()
    };
    assert_eq!(begin(Some(&house.url)).await.unwrap().status(), 201);
    for foreign in [None, Some("http://evil.example"), Some("http://127.0.0.1:1"), Some("null")] {
        let (status, problem) = read(begin(foreign).await.unwrap()).await;
        assert_eq!((status, problem["code"].as_str()), (403, Some("foreign_origin")), "{foreign:?}");
    }
    for (site, status) in [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)] {
        let read = ask(&house, "GET", "/api/v1/status", &alice).header("sec-fetch-site", site);
        assert_eq!(read.send().await.unwrap().status(), status, "{site}");
    }
    let refused = sign_in(&house, &json!({ "token": house.alice }), "http://evil.example").await;
    assert_eq!((refused.status().as_u16(), refused.headers().get("set-cookie")), (403, None));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cookie_stream_survives_token_changes() {
    let house = House::start().await;
    let alice = cookie(&sign_in(&house, &json!({ "token": house.alice }), &house.url).await);
    let (_, begun) = house.send("POST", "/api/v1/conversations", &house.alice, &json!({})).await;
    let path = format!("/api/v1/conversations/{}/messages", begun["id"].as_str().unwrap());
    let words =
        json!({ "text": "!slow 60ms\n!say One two three four five six seven eight nine ten eleven twelve." });
    let request = ask(&house, "POST", &path, &alice).header("origin", &house.url);
    let request = request.header("accept", "text/event-stream").header("content-type", "application/json");
    let mut stream = request.body(words.to_string()).send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    // Open streams are checked again.
    let (status, _) = house.send("POST", "/api/v1/tokens", &house.alice, &json!({ "user": "bob" })).await;
    assert_eq!(status, 201);
    let mut all = String::new();
    while let Some(piece) = stream.chunk().await.unwrap() {
        all.push_str(&String::from_utf8_lossy(&piece));
    }
    assert!(all.contains("event: turn_end"), "{all}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_link_works_once_and_not_after_sign_out() {
    let house = House::start().await;
    let link = house.server.as_ref().unwrap().page_link(&house.url, TokenSpec::default());
    let code = link.rsplit_once("/#/welcome/").unwrap().1.to_owned();
    let response = sign_in(&house, &json!({ "code": code }), &house.url).await;
    assert_eq!(response.status(), 200);
    let alice = cookie(&response);
    assert!(!alice.contains(&code));
    let session: Value = response.json().await.unwrap();
    assert_eq!((&session["user"], &session["owner"]), (&json!("alice"), &json!(true)));
    let (status, again) = read(sign_in(&house, &json!({ "code": code }), &house.url).await).await;
    assert_eq!((status, again["code"].as_str()), (401, Some("link_used")));
    ask(&house, "DELETE", "/api/v1/session", &alice).header("origin", &house.url).send().await.unwrap();
    let (status, _) = read(ask(&house, "GET", "/api/v1/session", &alice).send().await.unwrap()).await;
    assert_eq!(status, 401);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_sign_in_is_refused_with_a_code() {
    let house = House::start().await;
    let wrong = format!("fwd_{}", "a".repeat(32));
    for (body, status, code) in [
        (json!({}), 400, "one_of_two"),
        (json!({ "token": house.alice, "code": "x" }), 400, "one_of_two"),
        (json!({ "token": "hunter2" }), 401, "unauthorized"),
        (json!({ "token": wrong }), 401, "unauthorized"),
        (json!({ "code": "no" }), 401, "link_used"),
        (json!({ "password": "x" }), 422, "wrong_fields"),
        (json!({ "token": "x".repeat(10_000) }), 413, "body_too_large"),
    ] {
        let (actual, problem) = read(sign_in(&house, &body, &house.url).await).await;
        assert_eq!((actual, problem["code"].as_str()), (status, Some(code)), "{problem}");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_may_choose_any_user_and_others_themselves() {
    let house = House::start().await;
    let (_, all) = house.get("/api/v1/occasions", &house.alice).await;
    let names = |of: &Value| -> Vec<String> {
        of.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&all["users"]), ["alice", "bob", "carol"]);
    assert!(names(&all["situations"]).contains(&"group".to_owned()), "{all}");
    assert_eq!(all["agents"][0]["uses_template"], false);
    assert!(all["models"].as_array().unwrap().iter().any(|model| model["input_usd_per_mtok"].is_number()));
    let (_, own) = house.get("/api/v1/occasions", &house.bob).await;
    assert_eq!(
        (names(&own["users"]), names(&own["situations"])),
        (vec!["bob".to_owned()], vec!["dm".to_owned()])
    );
    house.stop().await;
}
