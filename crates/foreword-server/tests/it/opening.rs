use foreword_core::id::TokenId;
use foreword_core::timestamp::Timestamp;

use foreword_testkit::{FakeProvider, Reply};

use crate::house::{House, read};
use crate::proxy_observe::{COMPLETIONS, house_before, post};

#[tokio::test(flavor = "multi_thread")]
async fn only_the_two_that_say_whether_it_lives_need_no_token() {
    let house = House::start().await;
    for open in ["/healthz", "/readyz"] {
        let response = house.client.get(format!("{}{open}", house.url)).send().await.unwrap();
        assert_eq!(response.status(), 200, "{open}");
    }
    let (status, problem) =
        read(house.client.get(format!("{}/metrics", house.url)).send().await.unwrap()).await;
    assert_eq!((status, &problem["code"]), (401, &"unauthorized".into()));
    assert_eq!(house.get("/metrics", &house.alice).await.0, 200);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_revoked_opens_nothing_a_moment_later() {
    let house = House::start().await;
    assert_eq!(house.get("/openapi.json", &house.bob).await.0, 200);
    let tokens = house.store.tokens().await.unwrap();
    let id: TokenId = tokens.iter().find(|token| token.user == "bob").unwrap().id.clone();
    let now: Timestamp = jiff::Timestamp::now().into();
    house.store.revoke_token(&id, now).await.unwrap();
    for _ in 0..100 {
        if house.get("/openapi.json", &house.bob).await.0 == 401 {
            return house.stop().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("bob's token still opens");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_whose_body_nobody_has_read_says_that_the_connection_ends() {
    let house = House::start().await;
    let send = |token: &str| {
        let request = house.request("POST", "/api/v1/conversations", token);
        request.header("content-type", "application/json").body("{}").send()
    };
    let refused = send("fwd_nobodys").await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["connection"].as_bytes()), (401, &b"close"[..]));
    let taken = send(&house.alice).await.unwrap();
    assert!(taken.status().is_success() && !taken.headers().contains_key("connection"), "{taken:?}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_said_with_a_code_and_a_request_id() {
    let house = House::start().await;
    let response =
        house.request("GET", "/nothing", &house.alice).header("x-request-id", "mine-1").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.headers()["x-request-id"], "mine-1");
    let (status, problem) = read(response).await;
    assert_eq!((status, &problem["code"]), (404, &"not_found".into()));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_were_named_may_read_what_they_are_answered_and_no_others() {
    let fake = FakeProvider::start(Reply::text("hi").header("access-control-allow-origin", "*")).unwrap();
    let house = house_before(&fake, "server: { origins: [\"https://desk.example.org\"] }\n").await;
    let paths = ["/api/v1/conversations", COMPLETIONS];
    for (origin, is_named) in [("https://desk.example.org", true), ("https://evil.example", false)] {
        for path in paths {
            let asks = house.client.request("OPTIONS".parse().unwrap(), format!("{}{path}", house.url));
            let asks = asks.header("origin", origin).header("access-control-request-method", "POST");
            let asks = asks.header("access-control-request-headers", "authorization, content-type");
            let answer = asks.send().await.unwrap();
            assert_eq!(answer.status() == 204, is_named, "{origin} {path}");
            let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
            let answer = post(&house, path, &house.bob, body).header("origin", origin).send().await.unwrap();
            assert_eq!(answer.status() == 403, !is_named, "{origin} {path}");
            let shown =
                answer.headers().get("access-control-allow-origin").map(|shown| shown.to_str().unwrap());
            assert_eq!(shown, is_named.then_some(origin), "{path}");
            assert!(!answer.headers().contains_key("access-control-allow-credentials"));
        }
    }
    // A program says nothing of pages, and is told nothing of them.
    let answer =
        post(&house, COMPLETIONS, &house.bob, r#"{"model":"m","messages":[]}"#).send().await.unwrap();
    assert!(!answer.headers().contains_key("access-control-allow-origin"));
    house.stop().await;
}
