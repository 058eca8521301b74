//! Searching lists.

use serde_json::{Value, json};

use crate::house::House;

async fn begin(house: &House, token: &str, title: &str, words: &str) {
    let body = json!({ "title": title });
    let (status, made) = house.send("POST", "/api/v1/conversations", token, &body).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("/api/v1/conversations/{}/messages", made["id"].as_str().unwrap());
    assert_eq!(house.send("POST", &path, token, &json!({ "text": words })).await.0, 200);
}

fn titles(found: &[Value]) -> Vec<&str> {
    found.iter().map(|one| one["title"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn search_covers_messages_for_the_owner_and_own_names_for_others() {
    let house = House::start().await;
    begin(&house, &house.bob, "Boat", "Where is the anchor?").await;
    begin(&house, &house.bob, "Bicycle", "Where is the pump?").await;
    begin(&house, &house.alice, "Safe boat", "It opens with 1234.").await;
    for (token, words, expected) in [
        (&house.alice, "BOAT", vec!["Safe boat", "Boat"]),
        (&house.alice, "anchor", vec!["Boat"]),
        (&house.alice, "bob", vec!["Bicycle", "Boat"]),
        (&house.alice, "%25", vec![]),
        (&house.alice, "", vec!["Safe boat", "Bicycle", "Boat"]),
        (&house.bob, "boat", vec!["Boat"]),
        (&house.bob, "anchor", vec![]),
        (&house.bob, "1234", vec![]),
        (&house.carol, "b", vec![]),
    ] {
        let found = house.all_pages(&format!("/api/v1/conversations?limit=1&q={words}"), token).await;
        assert_eq!(titles(&found), expected, "{words}");
    }
    let long = format!("/api/v1/conversations?q={}", "x".repeat(201));
    let (status, problem) = house.get(&long, &house.alice).await;
    assert_eq!((status, &problem["code"]), (400, &json!("bad_query")));
    assert_eq!(house.get("/api/v1/conversations?q=%00", &house.alice).await.0, 400);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn senders_are_the_owners_to_look_through() {
    let house = House::start().await;
    assert_eq!(house.all_pages("/api/v1/senders?q=a", &house.alice).await, Vec::<Value>::new());
    assert_eq!(house.get("/api/v1/senders?q=a", &house.bob).await.0, 403);
    house.stop().await;
}
