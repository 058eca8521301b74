//! Estimating the cost of a conversation over HTTP.

use foreword_agent::reports::simulation::SimulationParams;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
use serde_json::json;

use crate::test_app::TestApp;

const PRICES: &str = "prices:
  - { id: offline/demo-large, context_window: 200000, min_cacheable: 1024, breakpoints: explicit, prices: { input: 3, output: 15, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6 } }
";

#[tokio::test(flavor = "multi_thread")]
async fn simulation_matches_the_command_line() {
    let app = TestApp::with(PRICES).await;
    let path = "/api/v1/simulate?user=bob&model=offline/demo-large,openai/gpt-4o&turns=20&pause=5m";
    let (status, body) = app.get(path, &app.alice).await;
    assert_eq!(status, 200, "{body}");
    let models = ["offline/demo-large".to_owned(), "openai/gpt-4o".to_owned()].to_vec();
    let params = SimulationParams { turns: 20, models, ..SimulationParams::paused("5m").unwrap() };
    let request = Request {
        speaker: Speaker { user: Some("bob".into()), ..Speaker::default() },
        ..Request::at(jiff::Zoned::now(), [7; 16])
    };
    let simulation = app.agent.simulate(request, params).await.unwrap().unwrap();
    assert_eq!(body, serde_json::to_value(simulation.report()).unwrap());
    let [large, _] = body["models"].as_array().unwrap().as_slice() else { panic!("{body}") };
    assert_eq!(
        (&large["model"], &large["cache"]["lookup"]),
        (&json!("offline/demo-large"), &json!("at_marks"))
    );
    let strategies = large["strategies"].as_array().unwrap();
    assert_eq!((strategies.len(), &strategies[0]["strategy"]), (3, &json!("freeze_then_append")));
    assert!(
        strategies[0]["cost"].as_f64().unwrap() > 0.0
            && !strategies[0]["cost_curve"].as_array().unwrap().is_empty()
    );
    assert_eq!((&body["occasion"]["user"], &body["scenario"]["turns"]), (&json!("bob"), &json!(20)));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsimulatable_request_is_refused_with_a_hint() {
    let app = TestApp::with(PRICES).await;
    for (query, status, code) in [
        ("turns=0", 400, "bad_scenario"),
        ("turns=100001", 400, "bad_scenario"),
        ("turns=x", 400, "bad_query"),
        ("pause=soon", 400, "bad_pause"),
        ("model=offline/demo-lrge", 400, "no_price"),
        ("model=a/1,a/2,a/3,a/4,a/5,a/6,a/7,a/8,a/9", 400, "bad_query"),
    ] {
        let (found, problem) = app.get(&format!("/api/v1/simulate?{query}"), &app.alice).await;
        assert_eq!((found, &problem["code"]), (status, &json!(code)), "{query}: {problem}");
    }
    let (_, problem) = app.get("/api/v1/simulate?model=offline/demo-lrge", &app.alice).await;
    assert!(problem["help"].as_str().unwrap().contains("offline/demo-large"), "{problem}");
    let (status, problem) = app.get("/api/v1/simulate", &app.bob).await;
    assert_eq!((status, &problem["code"]), (403, &json!("owner_only")));
    app.stop().await;
}
