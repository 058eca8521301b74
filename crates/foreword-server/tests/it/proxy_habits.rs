//! Habits of existing clients that must keep working.

use foreword_testkit::{FakeProvider, Reply};
use serde_json::{Value, json};

use crate::proxy_observe::{MESSAGES, app_before, post};

const BILLING: &str = "x-anthropic-billing-header: cc_version=2.1.0; cc_entrypoint=cli;";

/// A request as Claude Code sends it, with cache markers.
fn claude_code() -> Value {
    let mark = json!({ "type": "ephemeral" });
    json!({
        "model": "claude-sonnet-4-5",
        "system": [
            { "type": "text", "text": BILLING },
            { "type": "text", "text": "You are Claude Code.", "cache_control": mark },
            { "type": "text", "text": "Long instructions.", "cache_control": mark },
        ],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "hi", "cache_control": mark }] },
            { "role": "assistant", "content": [{ "type": "thinking", "thinking": "hm", "signature": "EqQBCg==" }] },
            { "role": "user", "content": "go on" },
        ],
        "stream": true,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_billing_block_stays_first() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    for (mode, theirs) in [("prepend", 3), ("replace", 1)] {
        let app = app_before(&fake, &format!("proxy: {{ mode: {mode} }}\n")).await;
        std::fs::write(app.folder.path().join("SOUL.md"), "You are Ada, and always kind. ".repeat(800))
            .unwrap();
        std::fs::write(
            app.folder.path().join("AGENTS.md"),
            "Always answer in a whole sentence. ".repeat(400),
        )
        .unwrap();
        app.workspace.refresh();
        let response = post(&app, MESSAGES, &app.bob, claude_code().to_string()).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let received = fake.requests().pop().unwrap();
        let (request, text) = (received.json(), received.text());
        assert_eq!(request["system"][0], json!({ "type": "text", "text": BILLING }), "{mode}");
        assert!(text.find("You are Ada") > text.find(BILLING), "{mode}");
        let marks = text.matches("\"cache_control\":{").count();
        assert!(marks > theirs && marks <= 4, "{mode}: {marks}");
        assert_eq!(request["messages"], claude_code()["messages"], "{mode}: signed thoughts are not touched");
        assert_eq!(text.contains("You are Claude Code."), mode == "prepend");
        app.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beta_headers_and_queries_pass_in_injecting_modes() {
    let fake = FakeProvider::start(Reply::text("hi")).unwrap();
    let app = app_before(&fake, "proxy: { mode: prepend }\n").await;
    let request = post(&app, "/anthropic/v1/messages?beta=true", &app.bob, claude_code().to_string())
        .header("anthropic-beta", "claude-code-20250219,interleaved-thinking-2025-05-14")
        .header("user-agent", "claude-cli/2.1.0 (external, cli)")
        .header("x-app", "cli");
    assert_eq!(request.send().await.unwrap().status(), 200);
    let received = fake.requests().pop().unwrap();
    assert_eq!(received.path, "/v1/messages?beta=true");
    assert_eq!(
        received.header("anthropic-beta"),
        Some("claude-code-20250219,interleaved-thinking-2025-05-14")
    );
    assert_eq!(received.header("user-agent"), Some("claude-cli/2.1.0 (external, cli)"));
    assert_eq!(received.header("x-app"), Some("cli"));
    assert_eq!(received.header("content-length"), Some(received.body.len().to_string().as_str()));
    app.stop().await;
}
