use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::{ConversationId, TurnId};
use foreword_observe::human::Human;
use foreword_observe::redact::{RedactionRules, Redactor};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

fn event(event_type: EventType, metadata: Value) -> Event {
    Event {
        session_id: Some(ConversationId::new("c-1").unwrap()),
        turn_id: Some(TurnId::new("t-3").unwrap()),
        metadata: Some(metadata),
        ..Event::new(event_type, "2026-11-16T01:47:03Z".parse().unwrap())
    }
}

fn formatted(event: Event, colour: bool) -> String {
    let redactor = Redactor::new(&RedactionRules::default(), [7; 16]).unwrap();
    let human = Human { zone: TimeZone::fixed(jiff::tz::offset(1)), colour };
    human.event(&redactor.event(event))
}

#[test]
fn event_is_one_readable_line() {
    let failed = json!({ "provider": "anthropic", "statusCode": 429, "retryAttempt": 1, "delayMs": 2_000 });
    let failed = Event {
        level: Level::Warn,
        error: Some("rate limited".to_owned()),
        ..event(EventType::ApiError, failed)
    };
    let ended = Event {
        duration_ms: Some(3_050),
        tokens_in: Some(15_000),
        tokens_out: Some(320),
        cost_usd: Some(0.012_34),
        ..event(EventType::TurnCompleted, json!({ "outcome": "done", "toolCallCount": 2 }))
    };
    let tool = Event {
        duration_ms: Some(120),
        ..event(EventType::ToolCall, json!({ "tool": "bash", "isError": true }))
    };
    for (event, expected) in [
        (failed, "02:47:03 warn  provider_error anthropic 429 rate limited, retry 2 in 2.0 s  c-1/t-3\n"),
        (ended, "02:47:03 info  turn_end done 3.0 s 15,000 tokens in, 320 out $0.0123 2 tools  c-1/t-3\n"),
        (tool, "02:47:03 info  tool_call bash 120 ms failed  c-1/t-3\n"),
        (
            event(EventType::ToolBlocked, json!({ "tool": "bash", "reason": "not allowed" })),
            "02:47:03 warn  tool_blocked bash not allowed  c-1/t-3\n",
        ),
        (
            event(EventType::ConfigReloaded, json!({ "changedSections": ["retry", "logging"] })),
            "02:47:03 info  config_reload retry, logging  c-1/t-3\n",
        ),
        (
            event(
                EventType::from("moon_rose"),
                json!({ "moon": "full", "none": null, "deep": {}, "stars": [{}, {}] }),
            ),
            "02:47:03 info  moon_rose moon=full stars=2  c-1/t-3\n",
        ),
    ] {
        assert_eq!(formatted(event, false), expected);
    }
}

#[test]
fn control_characters_are_escaped_in_lines() {
    let hostile = "\u{1b}[2J\n02:47:03 info  turn_end done\r\u{202e}";
    let event = Event {
        error: Some(hostile.to_owned()),
        ..event(EventType::from(hostile.to_owned()), json!({ (hostile): hostile }))
    };
    let line = formatted(event, false);
    assert_eq!(line.find('\n'), Some(line.len() - 1));
    assert!(!line.contains(['\u{1b}', '\r', '\u{202e}']), "{line:?}");
}

#[test]
fn colours_differ_by_level_and_text_does_not() {
    let line = formatted(event(EventType::ToolBlocked, json!({})), true);
    assert!(line.contains("\u{1b}[1m\u{1b}[33mwarn "), "{line:?}");
}
