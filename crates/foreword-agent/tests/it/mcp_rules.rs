//! Tool rules outside of the MCP section: the model is offered exactly the tools that can run.

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::provider::WireDialect;
use foreword_testkit::{Reply, Script};
use foreword_workspace::speaker::Speaker;
use serde_json::json;

use crate::fixture::{Fixture, alice, on};
use crate::mcp_fixture::{fake, named};

/// An agent with the servers `fake` and `more`, and these rules.
async fn fixture(script: impl Into<Script>, rules: &str, agents: &str) -> Fixture {
    let servers = [fake(&[], "trust: familiar"), named("more", &[], "trust: familiar")].concat();
    Fixture::with(script, WireDialect::Anthropic, &format!("tools:\n{rules}  mcp:\n{servers}{agents}")).await
}

const RULES: &str =
    "  disabled: [fake__die, \"more__*\"]\n  trust: { \"fake__*\": inner, fake__fail: full }\n";

#[tokio::test]
async fn disabled_server_tool_is_neither_listed_nor_run() {
    let replies = [
        Reply::text("One."),
        Reply::text("Two."),
        Reply::text("Three."),
        Reply::tool_call("more__echo", json!({ "text": "hi" }))
            .and_tool_call("fake__fail", json!({}))
            .and_tool_call("fake__echo", json!({ "text": "hi" })),
        Reply::text("Done."),
    ];
    let fixture = fixture(replies, RULES, "").await;
    for (at, channel) in ["signal:alice", "signal:bob", "signal:carol"].into_iter().enumerate() {
        fixture.say(&format!("c-{at}"), on(channel), "hello").await;
    }
    let names = ["fake__echo", "fake__fail", "fake__die", "more__echo"];
    let is_offered = [0, 1, 2]
        .map(|at| names.map(|name| fixture.offered_tools(at).iter().any(|is_offered| is_offered == name)));
    assert_eq!(is_offered, [[true, true, false, false], [true, false, false, false], [false; 4]]);
    let seen = fixture.say("c-1", on("signal:bob"), "try them").await;
    let mut results = seen.results();
    results.sort_unstable();
    let [("fake__echo", said, false), ("fake__fail", fail, true), ("more__echo", off, true)] = results[..]
    else {
        panic!("{results:?}")
    };
    assert!(said.contains("\n| hi\n"), "{said}");
    assert!(fail.contains("there is no tool `fake__fail`") && off.contains("there is no tool `more__echo`"));
}

#[tokio::test]
async fn agent_tool_rules_add_to_the_global_ones() {
    let agents = "\
agents:
  clerk:
    tools: { disabled: [fake__echo], trust: { \"fake__*\": familiar }, sensitive: [\"fake__*\"] }
";
    let replies = [
        Reply::text("One."),
        Reply::tool_call("fake__echo", json!({ "text": "hi" })),
        // Server output taints the turn.
        Reply::tool_call("fake__preach", json!({})),
        Reply::tool_call("fake__preach", json!({})),
        Reply::text("Two."),
        Reply::text("Three."),
    ];
    let fixture = fixture(replies, RULES, agents).await;
    fixture.say("c-1", alice(), "hello").await;
    let clerk = |channel: &str| TurnOrigin {
        speaker: Speaker { agent: Some("clerk".into()), ..on(channel).speaker.clone() },
        ..on(channel)
    };
    let seen = fixture.say("c-2", clerk("signal:bob"), "try them").await;
    let [("fake__echo", off, true), ("fake__preach", _, false), ("fake__preach", refused, true)] =
        seen.results()[..]
    else {
        panic!("{:?}", seen.results())
    };
    assert!(off.contains("there is no tool `fake__echo`"), "{off}");
    assert!(refused.contains("`fake__preach` is sensitive"), "{refused}");
    let has_echo = |at: usize| fixture.offered_tools(at).contains(&"fake__echo".to_owned());
    assert_eq!([0, 1].map(has_echo), [true, false]);
    // A weaker rule of the agent does not override the global one.
    fixture.say("c-3", clerk("signal:carol"), "hello").await;
    assert_eq!(fixture.offered_tools(5), Vec::<String>::new());
}
