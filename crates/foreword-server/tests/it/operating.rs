//! What an operator sees: whether the server can work, and what it counts.

use foreword_core::api_token::Scope;
use foreword_server::server::Server;
use foreword_store::location::Location;

use crate::house::{CONFIG, House, LEASE, parts_with_lease, read};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_ready_once_what_was_left_is_taken_up_and_until_it_is_told_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("foreword.yaml"), CONFIG).unwrap();
    let location = Location::file(folder.path().join(".foreword/foreword.db"));
    let parts = parts_with_lease(folder.path(), &location, (&[], LEASE)).await;
    let server = Server::start(parts, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |path: &str| {
        let (status, body) = read(client.get(format!("{}{path}", server.url())).send().await.unwrap()).await;
        (status, body["code"].as_str().unwrap_or("ready").to_owned())
    };
    assert_eq!(ask("/readyz").await, (503, "starting".to_owned()));
    assert_eq!(ask("/healthz").await.0, 200);
    server.ready();
    assert_eq!(ask("/readyz").await, (200, "ready".to_owned()));
    // A connection that is there is served to the end of its request.
    let open = client.get(format!("{}/readyz", server.url()));
    server.begin_to_stop();
    if let Ok(answer) = open.send().await {
        assert_eq!(answer.status(), 503);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_through_is_counted_by_route_and_never_by_path() {
    let house = House::start().await;
    house.get("/nothing/secret-of-alice", &house.alice).await;
    house.get("/metrics", &house.alice).await;
    let text = house.get("/metrics", &house.alice).await.1;
    let text = text.as_str().unwrap();
    for line in [
        "foreword_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"2xx\"} 1\n",
        "foreword_http_requests_total{route=\"none\",method=\"GET\",status=\"4xx\"} 1\n",
        "foreword_http_requests_running 1\n",
        "foreword_websocket_clients 0\n",
        "foreword_proxy_overhead_seconds_bucket{dialect=\"openai\",le=\"+Inf\"} 0\n",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(!text.contains("secret-of-alice") && !text.contains("alice"), "{text}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_number_is_explained_and_every_explanation_has_its_number() {
    let house = House::start().await;
    let text = house.get("/metrics", &house.alice).await.1;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
    let page = |name: &str| std::fs::read_to_string(format!("{root}{name}")).unwrap();
    let (own, all) = (page("operations.md"), page("operations.md") + &page("telemetry.md"));
    let names: Vec<&str> =
        text.as_str().unwrap().lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let names: Vec<&str> = names.iter().map(|line| line.split(' ').next().unwrap()).collect();
    for name in &names {
        assert!(all.contains(&format!("| `{name}` |")), "{name} is not explained");
    }
    let explained = own.lines().filter_map(|line| line.strip_prefix("| `foreword_")?.split('`').next());
    for name in explained {
        assert!(names.contains(&format!("foreword_{name}").as_str()), "{name} is not counted");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_not_observe_or_is_not_the_owner_does_not_see_what_is_counted() {
    let house = House::start().await;
    let token = house.token("alice", &[Scope::Chat], None).await;
    for (token, code) in [(&token, "scope_missing"), (&house.bob, "owner_only")] {
        let (status, problem) = house.get("/metrics", token).await;
        assert_eq!((status, &problem["code"]), (403, &code.into()));
    }
    house.stop().await;
}
