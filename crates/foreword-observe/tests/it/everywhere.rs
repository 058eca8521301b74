use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use foreword_core::event::{Category, Event, EventType, Level};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::timestamp::Timestamp;
use foreword_observe::human::Human;
use foreword_observe::lines::{Levels, LineForm, LineLayer};
use foreword_observe::recorder::Recorder;
use foreword_observe::redact::{Redacted, RedactionRules, Redactor};
use foreword_observe::sink::SinkLayer;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde_json::{Value, json};
use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::secrets::{all, give_away};

static REDACTOR: LazyLock<Redactor> =
    LazyLock::new(|| Redactor::new(&RedactionRules::default(), [7; 16]).unwrap());

/// The output of every sink for one event.
fn seen(event: Event) -> Vec<String> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = || {
        let seen = Arc::clone(&seen);
        move |line: String| seen.lock().unwrap().push(line)
    };
    let stored = into();
    let store = move |event: &Redacted| stored(serde_json::to_string(&**event.event()).unwrap());
    let clock = || Arc::new(|| Timestamp::from_micros(0));
    let human = LineForm::Human(Human { zone: TimeZone::UTC, colour: false });
    let layer = |form| LineLayer::new(into(), form, Levels::new(Level::Debug), REDACTOR.clone(), clock());
    let registry = foreword_observe::recorder::base()
        .with(SinkLayer::new(store))
        .with(layer(LineForm::Json))
        .with(layer(human));
    let dispatch = Dispatch::new(registry);
    Recorder::new(REDACTOR.clone(), dispatch).record(event);
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 3);
    seen
}

/// The secret in different contexts.
fn wrapped(secret: &str, way: usize) -> String {
    match way {
        0 => secret.to_owned(),
        1 => format!("before \"{secret}\" behind"),
        2 => format!("before\n{secret}\nbehind"),
        3 => format!("'{secret}'"),
        4 => json!({ "text": secret }).to_string(),
        5 => json!({ "text": json!({ "inner": secret }).to_string() }).to_string(),
        6 => format!("Authorization: Bearer {secret}\nHost: h"),
        7 => format!("export SECRET={secret} && run --token {secret}"),
        _ => format!("http://alice:{secret}@host/?key={secret}"),
    }
}

/// The same without spaces.
fn as_id(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect();
    plain.chars().take(200).collect()
}

fn planted(text: &str, deep: Value) -> Event {
    let shared = || Some(Arc::from(text));
    Event {
        category: Category::from(text.to_owned()),
        session_id: ConversationId::new(as_id(text)).ok(),
        turn_id: TurnId::new(as_id(text)).ok(),
        agent_id: shared(),
        user_id: shared(),
        channel: shared(),
        error: Some(text.to_owned()),
        metadata: Some(
            json!({ "plain": text, (text): 1, "deep": deep, "list": [text, [text]], "model": "offline/echo" }),
        ),
        layer_versions: Some(Arc::new(BTreeMap::from([(text.to_owned(), 1)]))),
        ..Event::new(EventType::from(text.to_owned()), Timestamp::from_micros(0))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn sinks_get_only_redacted_events(kind in 0..25_usize, way in 0..9_usize, depth in 0..6_usize) {
        let secrets = all();
        let secret = &secrets[kind % secrets.len()];
        // A multi-line key cannot be part of a URL or a header.
        let way = if secret.kind.starts_with("private") { way % 6 } else { way };
        let text = wrapped(&secret.text, way);
        let deep = (0..depth).fold(json!(text), |inner, level| {
            if level % 2 == 0 { json!({ "inner": inner }) } else { json!([inner]) }
        });
        for line in seen(planted(&text, deep)) {
            for piece in give_away(&secret.text) {
                prop_assert!(!line.contains(piece), "{}: {piece} is in {line}", secret.kind);
            }
        }
    }

    #[test]
    fn redaction_is_idempotent_and_keeps_characters_whole(parts in proptest::collection::vec(0..40_usize, 0..12), free in ".{0,40}") {
        let secrets = all();
        let pieces = ["password=", "token: ", "\"", "\\\"", "://a:", "@", " ", "\n", "--key ", "[REDACTED]", "#12ab", "é", "Cookie: ", "&x=", "Bearer "];
        let text: String = parts.iter().map(|part| match secrets.get(*part) {
            Some(secret) => secret.text.as_str(),
            None => pieces[(part - secrets.len()) % pieces.len()],
        }).chain([free.as_str()]).collect();
        let once = REDACTOR.text(&text).into_owned();
        prop_assert_eq!(REDACTOR.text(&once).into_owned(), once, "of {}", text);
    }
}
