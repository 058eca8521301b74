//! Error details are for the owner: each kind of failure, each output, each kind of reader.

use foreword_core::api_token::Scope;
use foreword_store::location::Location;
use serde_json::{Value, json};

use crate::live_page::Page;
use crate::mcp_http::{call, client};
use crate::proxy_observe::{MESSAGES, post};
use crate::test_app::{MISSING_KEY, TestApp};
use crate::webhook::{SECRET, Webhook};

/// A way for a turn to fail.
struct Kind {
    name: &'static str,
    /// The one layer of the prompt.
    layer: String,
    model: &'static str,
    code: &'static str,
    /// The owner's part of the message.
    cause: &'static str,
    /// Text that other readers must not see.
    forbidden: &'static [&'static str],
}

const WELL: &str = "{ text: \"Be kind.\" }";

fn kinds() -> Vec<Kind> {
    let offline = "offline/echo";
    vec![
        Kind {
            name: "a required file is missing",
            layer: "source: { file: hidden-rules.md, required: true }".to_owned(),
            model: offline,
            code: "config_error",
            cause: "hidden-rules.md",
            forbidden: &["hidden-rules", "secret-layer"],
        },
        Kind {
            name: "a template is broken",
            layer: "source: { template: broken.jinja, dialect: jinja }".to_owned(),
            model: offline,
            code: "config_error",
            cause: "broken.jinja",
            forbidden: &["broken.jinja", "secret_word", "secret-layer"],
        },
        Kind {
            name: "the prompt is over its budget",
            layer: format!("overflow: reject, source: {{ text: \"{}\" }}", "many words ".repeat(400)),
            model: offline,
            code: "config_error",
            cause: "secret-layer",
            forbidden: &["secret-layer", "prompt.budget"],
        },
        Kind {
            name: "the provider refuses the connection",
            layer: format!("source: {WELL}"),
            model: "harbour/quay-7b",
            code: "provider_transient",
            cause: "harbour",
            forbidden: &["127.0.0.9", "base_url", "refused"],
        },
        Kind {
            name: "the key is missing",
            layer: format!("source: {WELL}"),
            model: "keyed/quay-7b",
            code: "config_error",
            cause: MISSING_KEY,
            forbidden: &[MISSING_KEY, "foreword.yaml"],
        },
    ]
}

async fn app(kind: &Kind, webhook: &Webhook) -> TestApp {
    let folder = tempfile::tempdir().unwrap();
    let provider = kind.model.split('/').next().unwrap();
    let proxied = if provider == "offline" { "harbour" } else { provider };
    let config = format!(
        "agent: {{ name: Ada, model: {}, blueprint: mine }}
users:
  - {{ name: alice, trust: full, match: [\"signal:alice\"] }}
  - {{ name: bob, trust: inner, match: [\"signal:bob\"] }}
  - {{ name: mallory, trust: public, match: [\"signal:mallory\"] }}
retry: {{ max_retries: 1, base_delay_ms: 5, max_delay_ms: 10, requeue: {{ max_attempts: 0 }} }}
prompt: {{ budget: {{ tokens: 300 }} }}
providers:
  harbour: {{ dialect: anthropic, base_url: \"http://127.0.0.9:9\" }}
  keyed: {{ dialect: anthropic, base_url: \"http://127.0.0.9:9\", api_key_env: {MISSING_KEY} }}
proxy: {{ mode: prepend, anthropic: {proxied}, max_retries: 0 }}
blueprints:
  mine:
    layers:
      - {{ id: secret-layer, stability: agent, trust: public, {} }}
{}",
        kind.model,
        kind.layer,
        webhook.config()
    );
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("foreword.yaml", &config);
    write("broken.jinja", "Hello {{ secret_word\n{% if %}\n");
    write(
        "workflows/greet.yaml",
        "name: greet\ndescription: Greets.\nsteps: [{ name: say, prompt: Hello. }]\n",
    );
    let location = Location::file(folder.path().join(".foreword/foreword.db"));
    TestApp::open(folder, &location, &[("BRIDGE_SECRET", SECRET)]).await
}

/// The output for a reader.
type Seen = Vec<(&'static str, String)>;

/// Fails a turn in the token's conversation, and reads all outputs.
async fn seen_by(app: &TestApp, token: &str) -> Seen {
    let mut seen = Seen::new();
    let (status, made) = app.send("POST", "/api/v1/conversations", token, &json!({})).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().unwrap();
    let messages = format!("/api/v1/conversations/{id}/messages");
    let (_, reply) = app.send("POST", &messages, token, &json!({ "text": "hello" })).await;
    assert_eq!(reply["outcome"], "failed", "{reply}");
    let turn = reply["turn"].as_str().unwrap().to_owned();
    seen.push(("reply", reply.to_string()));
    let stream = app.request("POST", &messages, token).header("accept", "text/event-stream");
    let stream = stream.json(&json!({ "text": "hello" })).send().await.unwrap();
    seen.push(("sse", stream.text().await.unwrap()));
    let mut page = Page::open(app, token).await;
    let session = page.begin("hello").await;
    seen.push(("socket", json!(page.until("turn_end").await).to_string()));
    let mut again = Page::open(app, token).await;
    again.subscribe(&session, 0).await;
    seen.push(("replay", json!(again.until("turn_end").await).to_string()));
    for (way, path) in [
        ("messages", messages.clone()),
        ("turns", format!("/api/v1/turns?session={id}")),
        ("trace", format!("/api/v1/traces/{turn}?conversation={id}")),
        ("events", format!("/api/v1/events?session={id}")),
        ("status", format!("/api/v1/status?conversation={id}")),
    ] {
        let (status, mut body) = app.get(&path, token).await;
        assert_eq!(status, 200, "{way}: {body}");
        // The status lists visible layers in any case.
        body.as_object_mut().and_then(|fields| fields.remove("layers"));
        seen.push((way, body.to_string()));
    }
    seen.extend(outside_of_turns(app, token).await);
    seen.extend(by_mcp(app, token, id, &turn).await);
    seen
}

async fn outside_of_turns(app: &TestApp, token: &str) -> Seen {
    let (_, built) = app.send("POST", "/api/v1/prompts/build", token, &json!({})).await;
    let body = r#"{"model":"quay-7b","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    let proxied = post(app, MESSAGES, token, body).send().await.unwrap();
    let (_, ran) = app.send("POST", "/api/v1/workflows/greet/run", token, &json!({ "wait": true })).await;
    assert_eq!(ran["outcome"], "failed", "{ran}");
    let (_, run) = app.get(&format!("/api/v1/workflows/runs/{}", ran["run"].as_str().unwrap()), token).await;
    let (_, runs) = app.get("/api/v1/workflows/runs", token).await;
    let (_, staged) = app.send("POST", "/api/v1/inbox", token, &json!({ "body": "hello" })).await;
    let _ = app.agent.tick().await;
    let (_, message) = app.get(&format!("/api/v1/inbox/{}", staged["id"].as_str().unwrap()), token).await;
    assert_eq!(message["attempts"], 1, "{message}");
    vec![
        ("build", built.to_string()),
        ("drop-in", proxied.text().await.unwrap()),
        ("workflow", ran.to_string()),
        ("run", run.to_string()),
        ("runs", runs.to_string()),
        ("inbox", message.to_string()),
    ]
}

async fn by_mcp(app: &TestApp, token: &str, session: &str, turn: &str) -> Seen {
    let client = client(app, token).await;
    let offered = client.list_all_tools().await.unwrap();
    let mut seen = Seen::new();
    for (tool, arguments) in [
        ("prompt_build", json!({})),
        ("foreword_logs", json!({ "session_id": session })),
        ("foreword_trace", json!({ "turn": turn })),
        ("foreword_status", json!({})),
    ] {
        if let Some(found) = offered.iter().find(|one| one.name == tool) {
            let text = call(&client, &found.name, arguments).await.1;
            let lines = text.lines().filter(|line| !line.starts_with("prompt layers:"));
            seen.push((tool, lines.collect::<Vec<_>>().join("\n")));
        }
    }
    seen
}

fn withheld(kind: &Kind, app: &TestApp, seen: &[(&str, String)]) {
    let folder = app.folder.path().to_str().unwrap();
    for (way, text) in seen {
        for forbidden in kind.forbidden.iter().copied().chain([folder]) {
            assert!(!text.contains(forbidden), "{}: `{forbidden}` in {way}: {text}", kind.name);
        }
    }
}

/// Whether this output contains the cause for the owner. A prompt that can be built has none, and the conversation only
/// stores the kind of a provider failure.
fn shows_cause(kind: &Kind, way: &str) -> bool {
    kind.model.starts_with("offline") || !["build", "prompt_build", "messages"].contains(&way)
}

#[tokio::test(flavor = "multi_thread")]
async fn non_owners_see_failures_as_code_and_id() {
    for kind in kinds() {
        let webhook = Webhook::start(&[]).await;
        let app = app(&kind, &webhook).await;
        let mallory = app.token("mallory", &[Scope::Chat, Scope::Observe], None).await;
        let bridge = app.token("alice", &[Scope::Chat, Scope::Assert], None).await;
        let message =
            json!({ "channel": "signal:bob", "sender": "bob", "text": "hello", "idempotencyKey": "m-1" });
        app.send("POST", "/api/v1/channels/signal/messages", &bridge, &message).await;
        for token in [&app.bob, &mallory] {
            let seen = seen_by(&app, token).await;
            withheld(&kind, &app, &seen);
            for way in ["reply", "sse", "socket", "replay", "turns", "trace"] {
                let text = &seen.iter().find(|(found, _)| *found == way).unwrap().1;
                assert!(text.contains(kind.code), "{}: no `{}` in {way}: {text}", kind.name, kind.code);
            }
        }
        let posted = webhook.posts(1).await[0].1.clone();
        withheld(&kind, &app, &[("webhook", posted)]);
        for (way, text) in seen_by(&app, &app.alice.clone()).await {
            let is_right = text.contains(kind.cause) || !shows_cause(&kind, way);
            assert!(is_right, "{}: no `{}` in {way}: {text}", kind.name, kind.cause);
        }
        app.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_reads_the_cause_in_any_conversation() {
    let kind = &kinds()[0];
    let app = app(kind, &Webhook::start(&[]).await).await;
    let mut bob = Page::open(&app, &app.bob).await;
    let session = bob.begin("hello").await;
    let bobs = json!(bob.until("turn_end").await).to_string();
    assert!(!bobs.contains(kind.cause), "{bobs}");
    let mut alice = Page::open(&app, &app.alice).await;
    alice.subscribe(&session, 0).await;
    let items: Vec<Value> = alice.until("turn_end").await;
    assert!(json!(items).to_string().contains(kind.cause), "{items:?}");
    app.stop().await;
}
