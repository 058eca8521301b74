//! `foreword build --format` prints the bytes that `foreword chat` sends: the same system prompt and turn context, for
//! every blueprint, dialect and placement of the turn context.

use foreword_core::provider::WireDialect;
use foreword_testkit::{FakeProvider, Reply};
use serde_json::Value;

use crate::program::{Home, PEOPLE, Ran};

const BLUEPRINTS: [&str; 5] = ["gateway", "vm", "sovereign", "template", "agent"];

fn home(provider: &FakeProvider, dialect: WireDialect, blueprint: &str, prompt: &str) -> Home {
    let (name, model) = match dialect {
        WireDialect::Anthropic => ("anthropic", "claude-haiku-4-5"),
        WireDialect::OpenAi => ("openai", "gpt-5.6"),
    };
    let base_url = provider.provider(dialect).base_url.clone();
    let config = format!(
        "agent: {{ name: Ada, model: {name}/{model}, blueprint: {blueprint} }}\n{PEOPLE}prompt: {{ {prompt} }}\n\
         providers:\n  {name}: {{ dialect: {name}, base_url: \"{base_url}\", api_key_env: HARBOUR_KEY }}\n"
    );
    Home::with(&[
        ("foreword.yaml", &config),
        ("SOUL.md", &"You are kind, and you explain what you do. ".repeat(200)),
        ("AGENTS.md", "Answer briefly.\n"),
        (".agents/prompt/ADA.md", "You are {{ agent_name }}.\n"),
        ("memory/private/people.md", "Carol: birthday 14 March.\n"),
    ])
}

fn run(home: &Home, args: &[&str]) -> Ran {
    let mut command = home.command(args);
    Ran::of(command.env("HARBOUR_KEY", "key-of-the-harbour-4711").output().unwrap())
}

/// The text without the time, which may change between two commands.
fn without_clock(value: &Value) -> String {
    let text = value.to_string();
    let lines = text.split("\\n").filter(|line| !line.contains("Time:") && !line.contains("timestamp:"));
    lines.collect::<Vec<_>>().join("\\n")
}

#[test]
fn build_prints_the_bytes_that_chat_sends() {
    for dialect in [WireDialect::Anthropic, WireDialect::OpenAi] {
        for blueprint in BLUEPRINTS {
            for prompt in ["turn_context: message", "turn_context: system"] {
                let what = format!("{dialect:?} {blueprint} {prompt}");
                let provider = FakeProvider::start([Reply::text("Yes.")]).unwrap();
                let home = home(&provider, dialect, blueprint, prompt);
                let format = if dialect == WireDialect::Anthropic { "anthropic" } else { "openai" };
                let built = run(&home, &["build", "--format", format, "--conversation", "c-1"]);
                assert_eq!(built.code, 0, "{what}: {}", built.stderr);
                let built: Value = serde_json::from_str(&built.stdout).unwrap();
                let chat = run(&home, &["chat", "--conversation", "c-1", "hello"]);
                assert_eq!(chat.code, 0, "{what}: {}", chat.stderr);
                let sent = provider.requests()[0].json();
                assert_eq!(built["model"], sent["model"], "{what}");
                match dialect {
                    WireDialect::Anthropic => {
                        assert_eq!(without_clock(&built["system"]), without_clock(&sent["system"]), "{what}");
                        if let Some(turn) = built.pointer("/messages/0/content/0/text") {
                            let sent = &sent["messages"][0]["content"][0]["text"];
                            assert_eq!(without_clock(turn), without_clock(sent), "{what}");
                        }
                    }
                    WireDialect::OpenAi => {
                        let system = |body: &Value| without_clock(&body["messages"][0]);
                        assert_eq!(system(&built), system(&sent), "{what}");
                        assert_eq!(built["prompt_cache_key"], sent["prompt_cache_key"], "{what}");
                        if let Some(turn) = built.pointer("/messages/1/content").and_then(Value::as_str) {
                            let sent = &sent["messages"][1]["content"];
                            let sent = sent.as_str().or(sent[0]["text"].as_str()).unwrap();
                            let (turn, sent) = (Value::from(turn), Value::from(sent));
                            let sent = without_clock(&sent);
                            let turn = without_clock(&turn);
                            assert!(sent.starts_with(turn.trim_end_matches('"')), "{what}: {sent}\n{turn}");
                        }
                    }
                }
            }
        }
    }
}
