use foreword_core::api_token::{Scope, TokenLimits};

use crate::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_asks_too_often_is_told_when_it_may_again_and_others_are_not() {
    let house = House::with("server: { limits: { requests_per_minute: 3 } }\n").await;
    for _ in 0..3 {
        assert_eq!(house.get("/openapi.json", &house.bob).await.0, 200);
    }
    let refused = house.request("GET", "/openapi.json", &house.bob).send().await.unwrap();
    assert_eq!(refused.status(), 429);
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=120).contains(&wait), "{wait}");
    let problem: serde_json::Value = serde_json::from_str(&refused.text().await.unwrap()).unwrap();
    assert_eq!(problem["code"], "too_many_requests");
    assert_eq!(house.get("/openapi.json", &house.carol).await.0, 200);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_with_limits_of_its_own_has_those() {
    let house = House::with("server: { limits: { requests_per_minute: 1 } }\n").await;
    let limits = TokenLimits { requests_per_minute: Some(2), ..TokenLimits::default() };
    let token = house.limited_token("bob", &[Scope::Observe], limits).await;
    assert_eq!(house.get("/openapi.json", &token).await.0, 200);
    assert_eq!(house.get("/openapi.json", &token).await.0, 200);
    assert_eq!(house.get("/openapi.json", &token).await.0, 429);
    house.stop().await;
}
